//! What the engine knows of one workload.

use crate::effects::Effects;
use crate::input::{Request, Setup};
use crate::requests::Answered;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;
use ostler_lifecycle::Instance;
use ostler_model::{
    CloudInstance, EffectOutcome, EffectReport, InstanceId, Millis, Observed, ProviderId, Timestamp,
    WorkloadState,
};
use ostler_planner::{Listings, Memory, Plan, Snapshot, Standing};

/// One workload: its records, the freshest look at it, and what is under way.
#[derive(Debug)]
pub(crate) struct Room {
    pub(crate) setup: Setup,
    pub(crate) version: u64,
    pub(crate) records: BTreeMap<InstanceId, Instance>,
    pub(crate) memory: Memory,
    pub(crate) state: Option<Observed<WorkloadState>>,
    pub(crate) reports: Vec<EffectReport>,
    pub(crate) effects: Effects,
    pub(crate) stage: Stage,
    /// A plan has held the records against a look since they were read.
    pub(crate) reconciled: bool,
    /// Something was seen that the last snapshot did not hold.
    pub(crate) dirty: bool,
    /// What was seen last was seen again: only time has passed.
    pub(crate) again: bool,
    /// Time alone is worth a plan from then on.
    pub(crate) rests_until: Timestamp,
    /// Its records have been read once.
    pub(crate) loaded: bool,
    /// Requests that wait for their turn, in the order in which they came.
    pub(crate) requests: VecDeque<Request>,
    /// The last plan was dropped for the sake of requests: the next one goes first.
    pub(crate) gave_way: bool,
}

/// What is under way for a workload; at most one thing is.
#[derive(Debug)]
pub(crate) enum Stage {
    /// Its records are being read.
    Loading,
    /// Nothing.
    Idle,
    /// A snapshot is being planned.
    Planning(Arc<Snapshot>),
    /// A plan is being written.
    Committing(Arc<Plan>, Arc<Snapshot>),
    /// What requests change is being written.
    Accepting(Arc<Plan>, Vec<Answered>),
}

/// Reports that wait for a plan are bounded: beyond this the oldest goes. A report that is lost costs a
/// timeout, no more.
const REPORTS_MAX: usize = 10_000;
/// While nothing new is seen, planning takes one part in so many of the time. A plan of a few milliseconds is made
/// with every look, one of a large cluster less often: its timers are late by seconds, and count minutes.
const REST: u64 = 200;

impl Room {
    pub(crate) fn new(setup: Setup) -> Self {
        Self {
            setup,
            version: 0,
            records: BTreeMap::new(),
            memory: Memory::default(),
            state: None,
            reports: Vec::new(),
            effects: Effects::default(),
            stage: Stage::Loading,
            reconciled: false,
            dirty: false,
            again: false,
            rests_until: Timestamp(0),
            loaded: false,
            requests: VecDeque::new(),
            gave_way: false,
        }
    }

    /// Providers that must have been looked at once before anything is decided.
    pub(crate) fn providers(&self) -> BTreeSet<&ProviderId> {
        self.setup.pools.iter().map(|pool| &pool.provider).collect()
    }

    /// Takes in a look at the workload.
    pub(crate) fn seen(&mut self, look: Observed<WorkloadState>) {
        let version = |look: &Observed<WorkloadState>| match &look.result {
            // Zero counts nothing.
            Ok(state) if state.version != 0 => Some((state.version, state.session.clone())),
            _ => None,
        };
        let known = self.state.as_ref().and_then(version);
        self.noticed(known.is_some() && known == version(&look));
        self.state = Some(look);
    }

    /// Something was seen: as before, or not.
    pub(crate) fn noticed(&mut self, as_before: bool) {
        *(if as_before { &mut self.again } else { &mut self.dirty }) = true;
    }

    /// Is it time for a plan?
    pub(crate) fn wants_plan(&self, now: Timestamp) -> bool {
        self.dirty || (self.again && now >= self.rests_until)
    }

    /// A plan that was begun then changes something, or not.
    pub(crate) fn planned(&mut self, now: Timestamp, begun: Timestamp, quiet: bool) {
        let rest = now.since(begun).0.saturating_mul(REST);
        self.rests_until = if quiet { now + Millis(rest) } else { now };
    }

    /// Where it stands with this memory, which may be newer than its own.
    pub(crate) fn standing<'a>(
        &'a self,
        now: Timestamp,
        memory: &'a Memory,
        listings: &'a Listings,
    ) -> Standing<'a> {
        let mut instances: Vec<&Instance> = self.records.values().collect();
        instances.sort_by_key(|instance| instance.serial());
        Standing {
            now,
            workload: &self.setup.workload,
            policy: &self.setup.policy,
            pools: &self.setup.pools,
            memory,
            instances,
            listings,
            state: self.state.as_ref(),
        }
    }

    pub(crate) fn push_report(&mut self, report: EffectReport) {
        if self.reports.len() == REPORTS_MAX {
            self.reports.remove(0);
        }
        self.reports.push(report);
    }

    /// Drops the reports that a plan has seen. That a launch was accepted is told until its record moves on: the
    /// listing that must show the machine may be yet to come. After a restart launches are asked again, and so told.
    pub(crate) fn drop_reports(&mut self, seen: &Snapshot) {
        let key = |report: &EffectReport| (report.instance.clone(), report.epoch, report.at);
        let seen: BTreeSet<_> = seen.reports.iter().map(key).collect();
        let records = &self.records;
        let waits = |report: &EffectReport| {
            let launched = matches!(report.outcome, EffectOutcome::Launched { .. });
            launched && records.get(&report.instance).is_some_and(|record| record.epoch() == report.epoch)
        };
        self.reports.retain(|report| waits(report) || !seen.contains(&key(report)));
    }

    pub(crate) fn snapshot(
        &self,
        now: Timestamp,
        listings: &BTreeMap<ProviderId, Observed<Vec<CloudInstance>>>,
    ) -> Snapshot {
        let workload = &self.setup.workload;
        let ours = |look: &Observed<Vec<CloudInstance>>| Observed {
            at: look.at,
            result: look.result.as_ref().map_err(Clone::clone).map(|machines| {
                machines.iter().filter(|machine| machine.workload == *workload).cloned().collect()
            }),
        };
        let mut instances: Vec<Instance> = self.records.values().cloned().collect();
        instances.sort_by_key(Instance::serial);
        Snapshot {
            now,
            workload: workload.clone(),
            policy: self.setup.policy.clone(),
            pools: self.setup.pools.clone(),
            state: self.state.clone(),
            listings: listings.iter().map(|(provider, look)| (provider.clone(), ours(look))).collect(),
            reports: self.reports.clone(),
            instances,
            memory: self.memory.clone(),
        }
    }

    /// Takes over what a plan wrote.
    pub(crate) fn apply(&mut self, plan: &Plan, version: u64) {
        self.version = version;
        for instance in &plan.changed {
            self.records.insert(instance.id().clone(), instance.clone());
        }
        for id in &plan.forgotten {
            self.records.remove(id);
        }
        if let Some(memory) = &plan.memory {
            self.memory = memory.clone();
        }
    }
}
