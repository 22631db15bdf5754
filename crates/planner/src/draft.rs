//! The working copy that the steps write on.

use crate::memory::Memory;
use crate::plan::{Note, Plan, Severity, Step, Subject};
use crate::reason::{HoldReason, Reason};
use crate::report::Report;
use crate::snapshot::Snapshot;
use crate::standing::Names;
use crate::stillborn::rests_until;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use ostler_lifecycle::{Event, Instance};
use ostler_model::{
    CloudId, CloudInstance, Failure, InstanceId, Node, NodeId, Observed, Pool, PoolId, ProviderId, Timestamp,
};
use ostler_packing::problem::Keep;

/// Position of a record in the order of birth: the key of the working copy, so that every loop over records
/// runs oldest first whatever the order of the snapshot.
pub(crate) type Serial = u64;

pub(crate) struct Draft<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) instances: BTreeMap<Serial, Instance>,
    pub(crate) memory: Memory,
    pub(crate) report: Report,
    looks: Looks<'a>,
    /// Nodes with a status that we do not know.
    pub(crate) odd: BTreeSet<NodeId>,
    changed: BTreeSet<Serial>,
    forgotten: Vec<InstanceId>,
    steps: Vec<Step>,
    notes: Vec<Note>,
    reported: BTreeSet<String>,
    explained: BTreeMap<Serial, Explained>,
}

/// Why a record stays, and what it waits for.
#[derive(Default)]
pub(crate) struct Explained {
    pub(crate) kept: Option<Keep>,
    pub(crate) reason: Option<Reason>,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot) -> Self {
        Self {
            snapshot,
            instances: snapshot.instances.iter().map(|i| (i.serial(), i.clone())).collect(),
            memory: snapshot.memory.clone(),
            report: Report::new(snapshot),
            looks: Looks::of(snapshot),
            odd: BTreeSet::new(),
            changed: BTreeSet::new(),
            forgotten: Vec::new(),
            steps: Vec::new(),
            notes: Vec::new(),
            reported: BTreeSet::new(),
            explained: BTreeMap::new(),
        }
    }

    /// Moves one record along one edge. An edge that does not exist costs this record only: it stays as it is
    /// and the fault is said.
    pub(crate) fn apply(&mut self, serial: Serial, event: Event, reason: Reason) {
        let now = self.snapshot.now;
        let Some(instance) = self.instances.get_mut(&serial) else { return };
        let (id, pool) = (instance.id().clone(), instance.pool().clone());
        match instance.transition(&event, now) {
            Ok(()) => {
                self.changed.insert(serial);
                self.steps.push(Step { instance: id, pool, event: Some(event), reason });
            }
            Err(error) => self.note(
                Subject::Instance(id),
                Severity::Error,
                Reason::Illegal { message: error.to_string() },
            ),
        }
    }

    /// Adds a new record.
    pub(crate) fn create(&mut self, instance: Instance, reason: Reason) {
        let serial = instance.serial();
        self.steps.push(Step {
            instance: instance.id().clone(),
            pool: instance.pool().clone(),
            event: None,
            reason,
        });
        self.changed.insert(serial);
        self.instances.insert(serial, instance);
    }

    /// Drops a final record.
    pub(crate) fn forget(&mut self, serial: Serial) {
        if let Some(instance) = self.instances.remove(&serial) {
            self.changed.remove(&serial);
            self.forgotten.push(instance.id().clone());
        }
    }

    /// Says something. What holds from plan to plan is said once, until it no longer holds.
    pub(crate) fn note(&mut self, subject: Subject, severity: Severity, reason: Reason) {
        let mut key = alloc::format!("{subject:?} {}", reason.code());
        // Another number is other news.
        if let Reason::Would { what } = &reason {
            key.push_str(what);
        }
        if self.reported.insert(key.clone()) && !self.memory.reported.contains(&key) {
            self.notes.push(Note { subject, severity, reason });
        }
    }

    /// Says something that happened once and then is over.
    pub(crate) fn announce(&mut self, subject: Subject, severity: Severity, reason: Reason) {
        self.notes.push(Note { subject, severity, reason });
    }

    /// Says why a record stays, or what it waits for.
    pub(crate) fn explain(&mut self, serial: Serial, kept: Option<Keep>, reason: Option<Reason>) {
        let entry = self.explained.entry(serial).or_default();
        entry.kept = kept.or(entry.kept);
        entry.reason = reason.or(entry.reason.take());
    }

    /// Is it a worker that must not be removed, as the one who asked last said?
    pub(crate) fn is_protected(&self, serial: Serial) -> bool {
        let Some(target) = self.memory.target.as_ref().filter(|target| !target.wish.keep.is_empty()) else {
            return false;
        };
        let names = Names::of_listings(&self.snapshot.listings, &self.snapshot.workload);
        self.instances.get(&serial).is_some_and(|instance| target.wish.keep.contains(names.of(instance)))
    }

    /// Serials of the records for which `wanted` holds, oldest first.
    pub(crate) fn serials(&self, wanted: impl Fn(&Instance) -> bool) -> Vec<Serial> {
        self.instances.values().filter(|i| wanted(i)).map(Instance::serial).collect()
    }

    /// Who owns which machine.
    pub(crate) fn owners(&self) -> Owners {
        let mut owners = Owners::default();
        for instance in self.instances.values() {
            if let Some(cloud) = instance.state().cloud() {
                let of_cloud = owners.0.entry(cloud.clone()).or_default();
                of_cloud.insert(instance.pool().clone(), instance.serial());
            }
        }
        owners
    }

    /// Has this node a status that we do not know?
    pub(crate) fn is_odd(&self, node: &NodeId) -> bool {
        self.odd.contains(node)
    }

    /// A pool of the configuration.
    pub(crate) fn pool(&self, id: &PoolId) -> Option<&'a Pool> {
        self.looks.pools.get(id).copied()
    }

    /// When the pool's provider was looked at, if that look succeeded.
    pub(crate) fn looked_at(&self, pool: &PoolId) -> Option<Timestamp> {
        match self.pool(pool) {
            Some(pool) => at(self.snapshot.listings.get(&pool.provider)?),
            None => self.looks.removed.get(pool).copied().or(self.looks.all),
        }
    }

    /// Ends the draft of a workload that cannot be observed: nothing is decided, and that is said.
    pub(crate) fn unobserved(mut self) -> Plan {
        let failed = |o: &Observed<_>| o.result.as_ref().err().cloned();
        let failure: Option<Failure> = self.snapshot.state.as_ref().and_then(failed);
        let why = HoldReason::Unobserved { failure };
        self.report.hold = Some(why.clone());
        // What was reported before still holds for all we know.
        self.reported = self.memory.reported.clone();
        self.note(Subject::Workload, Severity::Error, Reason::WorkloadHeld { why });
        // Nodes had no chance to be listed: their time to be heard of again begins anew.
        self.memory.missing_since.clear();
        self.finish()
    }

    /// Ends the draft of a workload for which nothing may be done: what would be is said, and nothing but what is
    /// needed to say it is written.
    pub(crate) fn only_say(mut self) -> Plan {
        let before = &self.snapshot.memory;
        self.memory = Memory { kube: core::mem::take(&mut self.memory.kube), ..before.clone() };
        let Plan { memory, notes, report, .. } = self.finish();
        Plan { steps: Vec::new(), changed: Vec::new(), forgotten: Vec::new(), memory, notes, report }
    }

    pub(crate) fn finish(mut self) -> Plan {
        self.say_resting_pools();
        self.memory.reported = core::mem::take(&mut self.reported);
        self.report.fill(&self.instances, self.explained);
        let changed = self.changed.iter().filter_map(|serial| self.instances.get(serial).cloned()).collect();
        let memory = (self.memory != self.snapshot.memory).then_some(self.memory);
        Plan {
            steps: self.steps,
            changed,
            forgotten: self.forgotten,
            memory,
            notes: self.notes,
            report: self.report,
        }
    }

    /// Which pools rest, and why.
    fn say_resting_pools(&mut self) {
        for n in 0..self.report.pools.len() {
            let id = self.report.pools[n].pool.clone();
            let until = self.resting_until(&id);
            let refusal = self.memory.pools.get(&id).and_then(|pool| pool.refusal.as_ref());
            self.report.pools[n].backing_off_until = until;
            self.report.pools[n].last_refusal = refusal.map(|refusal| refusal.failure.clone());
            if let Some(until) = until.filter(|_| refusal.is_none()) {
                self.note(Subject::Pool(id), Severity::Warning, Reason::PoolRests { until });
            }
        }
    }

    /// Until when the pool is not to be asked: its provider refused, or its machines end too early.
    pub(crate) fn resting_until(&self, pool: &PoolId) -> Option<Timestamp> {
        let (now, policy) = (self.snapshot.now, &self.snapshot.policy);
        let rests = rests_until(self.instances.values(), pool, policy, now);
        rests.max(self.memory.backing_off(pool, policy, now))
    }

    /// Is the provider of this pool listed well enough to act on the pool?
    pub(crate) fn is_seen(&self, pool: &PoolId) -> bool {
        self.looked_at(pool).is_some()
    }

    /// Is the pool configured, or listed by a provider that is? If neither, its provider has left with it.
    pub(crate) fn has_provider(&self, pool: &PoolId) -> bool {
        self.looks.pools.contains_key(pool) || self.looks.removed.contains_key(pool)
    }

    /// Providers of the workload's pools, each once, in order of name.
    pub(crate) fn providers(&self) -> BTreeSet<&'a ProviderId> {
        self.snapshot.pools.iter().map(|pool| &pool.provider).collect()
    }
}

/// The records that own machines. Ids are unique within a provider only, and a pool is of one provider.
#[derive(Default)]
pub(crate) struct Owners(BTreeMap<CloudId, BTreeMap<PoolId, Serial>>);

impl Owners {
    /// The owner of a machine of this pool.
    pub(crate) fn of(&self, cloud: &CloudId, pool: &PoolId) -> Option<Serial> {
        self.0.get(cloud)?.get(pool).copied()
    }

    /// The owner of the machine under a node, which may not know its pool, or call it something else.
    pub(crate) fn under(&self, node: &Node) -> Option<Serial> {
        let owners = self.0.get(node.cloud.as_ref()?)?;
        let of_pool = node.pool.as_ref().and_then(|pool| owners.get(pool));
        let only = owners.values().next().filter(|_| owners.len() == 1);
        of_pool.or(only).copied()
    }
}

/// Which look shows the machines of which pool.
struct Looks<'a> {
    pools: BTreeMap<&'a PoolId, &'a Pool>,
    /// Pools that the configuration no longer has: when a provider that lists machines of it was looked at.
    removed: BTreeMap<&'a PoolId, Timestamp>,
    /// The oldest look at any provider, if all looks succeeded: whoever had the machines of a removed pool, they
    /// would be listed.
    all: Option<Timestamp>,
}

impl<'a> Looks<'a> {
    fn of(snapshot: &'a Snapshot) -> Self {
        // Of two pools with one name the first counts.
        let pools: BTreeMap<_, _> = snapshot.pools.iter().rev().map(|pool| (&pool.id, pool)).collect();
        let mut removed: BTreeMap<&PoolId, Timestamp> = BTreeMap::new();
        for observed in snapshot.listings.values() {
            let machines = observed.result.iter().flatten();
            for machine in machines.filter(|machine| !pools.contains_key(&machine.pool)) {
                let seen = removed.entry(&machine.pool).or_insert(observed.at);
                *seen = observed.at.min(*seen);
            }
        }
        let looked = |pool: &Pool| snapshot.listings.contains_key(&pool.provider);
        let complete = snapshot.pools.iter().all(looked);
        let looks: Option<Vec<Timestamp>> = snapshot.listings.values().map(at).collect();
        let all = looks.filter(|_| complete).and_then(|looks| looks.into_iter().min());
        Self { pools, removed, all }
    }
}

/// When a look that succeeded was made.
fn at(observed: &Observed<Vec<CloudInstance>>) -> Option<Timestamp> {
    observed.result.is_ok().then_some(observed.at)
}
