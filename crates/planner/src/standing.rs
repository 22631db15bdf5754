//! Where a workload stands that is scaled to a target: what there is, as the question that `packing::target`
//! answers. The planner, the desk that takes new targets, and the picture that is shown all ask the same one.

use crate::memory::Memory;
use crate::stillborn::rests_until;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use ostler_lifecycle::{Instance, State, StateName};
use ostler_model::{
    CloudInstance, FailureClass, InstanceId, NodeId, Observed, Policy, Pool, ProviderId, Scale, Timestamp,
    WorkloadId, WorkloadState,
};
use ostler_packing::target::{self, Bounds, Question, Stage, Worker};

/// What each provider lists.
pub type Listings = BTreeMap<ProviderId, Observed<Vec<CloudInstance>>>;

/// One workload at one moment, borrowed from whoever knows it.
#[derive(Debug)]
pub struct Standing<'a> {
    /// The moment.
    pub now: Timestamp,
    /// Whose.
    pub workload: &'a WorkloadId,
    /// How it is scaled.
    pub policy: &'a Policy,
    /// Its pools, in order of preference.
    pub pools: &'a [Pool],
    /// What the planner remembers, the target among it.
    pub memory: &'a Memory,
    /// Its records, oldest first.
    pub instances: Vec<&'a Instance>,
    /// What the providers list, of other workloads too.
    pub listings: &'a Listings,
    /// The newest look at it.
    pub state: Option<&'a Observed<WorkloadState>>,
}

impl Standing<'_> {
    /// What to show of it.
    pub fn scale(&self) -> Scale {
        let (question, _) = self.question();
        let Bounds { min, max } = Bounds::of(&question);
        let available = u32::try_from(self.available()).unwrap_or(u32::MAX);
        Scale { desired: target::decide(&question).goal, available, min, max }
    }

    /// The question, and which record each of its workers is.
    pub(crate) fn question(&self) -> (Question, Vec<&Instance>) {
        let names = self.names();
        let wish = self.memory.target.as_ref().map(|target| &target.wish);
        let (mut workers, mut records) = (Vec::new(), Vec::new());
        for instance in &self.instances {
            let Some(stage) = stage(instance.state().name()) else { continue };
            let name = names.of(instance);
            let keep = wish.is_some_and(|wish| wish.keep.contains(name));
            workers.push(Worker {
                pool: self.pools.iter().position(|pool| pool.id == *instance.pool()),
                stage,
                keep,
                listed: !keep && wish.is_some_and(|wish| wish.delete.contains(name)),
                unseen: !self.is_seen(instance),
            });
            records.push(*instance);
        }
        let pools = self.pools.iter().map(|pool| self.pool(pool)).collect();
        let amount = wish.map(|wish| wish.amount);
        (Question { amount, max_total: self.policy.max_workers, pools, workers }, records)
    }

    pub(crate) fn names(&self) -> Names<'_> {
        Names::of_listings(self.listings, self.workload)
    }

    /// Names that mean something: of records that live, and of machines that are listed.
    pub(crate) fn known_names(&self) -> BTreeSet<InstanceId> {
        let names = self.names();
        let live = self.instances.iter().filter(|i| !i.state().name().is_final());
        let mut known: BTreeSet<InstanceId> = live.map(|i| names.of(i).clone()).collect();
        known.extend(names.0.values().map(|name| (*name).clone()));
        known
    }

    /// Has every provider of its pools been seen? Before that, a name that we do not know may still be one.
    pub(crate) fn all_seen(&self) -> bool {
        let seen = |pool: &Pool| self.listings.get(&pool.provider).is_some_and(|look| look.result.is_ok());
        self.pools.iter().all(seen)
    }

    /// Ready workers: those that run and answered at the newest look that saw anything.
    fn available(&self) -> usize {
        let seen = self.state.and_then(|look| look.result.as_ref().ok());
        let up: Option<BTreeSet<&NodeId>> =
            seen.map(|state| state.nodes.iter().filter(|n| n.status.is_up()).map(|n| &n.id).collect());
        let ready = |i: &&&Instance| match i.state() {
            State::Running { node, .. } => up.as_ref().is_none_or(|up| up.contains(node)),
            _ => false,
        };
        self.instances.iter().filter(ready).count()
    }

    fn is_seen(&self, instance: &Instance) -> bool {
        let of = self.pools.iter().find(|pool| pool.id == *instance.pool());
        let ok = |look: &Observed<_>| look.result.is_ok();
        match of {
            Some(pool) => self.listings.get(&pool.provider).is_some_and(ok),
            // Whoever has the machines of a pool that is gone: all must be seen.
            None => self.listings.values().all(ok),
        }
    }

    fn pool(&self, pool: &Pool) -> target::Pool {
        let memory = self.memory.pools.get(&pool.id);
        let refused = self.memory.backing_off(&pool.id, self.policy, self.now).is_some();
        let seen = self.listings.get(&pool.provider).is_some_and(|look| look.result.is_ok());
        let timed_out = memory.and_then(|memory| memory.timed_out_at);
        let quota = refused
            && memory
                .and_then(|memory| memory.refusal.as_ref())
                .is_some_and(|r| r.failure.class == FailureClass::Quota);
        target::Pool {
            min: pool.min,
            max: if quota { pool.max.min(self.existing(pool)) } else { pool.max },
            closed: refused || !seen || self.crashes(pool),
            doubtful: timed_out.is_some_and(|at| self.now.since(at) < self.policy.availability_recovery),
            blind: self.policy.blind_pools.contains(&pool.id),
        }
    }

    /// Machines that a pool has or is about to get: what its quota turned out to allow.
    fn existing(&self, pool: &Pool) -> u32 {
        let exists = |i: &&&Instance| {
            let name = i.state().name();
            *i.pool() == pool.id && !name.is_final() && name != StateName::Queued
        };
        u32::try_from(self.instances.iter().filter(exists).count()).unwrap_or(u32::MAX)
    }

    /// Do machines of this pool end as soon as they begin?
    fn crashes(&self, pool: &Pool) -> bool {
        rests_until(self.instances.iter().copied(), &pool.id, self.policy, self.now).is_some()
    }
}

/// What each machine is called by the program on it: the record that asked for it, which is not always the
/// record that has it now.
pub(crate) struct Names<'a>(BTreeMap<(&'a str, &'a str), &'a InstanceId>);

impl<'a> Names<'a> {
    pub(crate) fn of_listings(listings: &'a Listings, workload: &WorkloadId) -> Self {
        let machines = listings.values().filter_map(|look| look.result.as_ref().ok()).flatten();
        let named = machines.filter(|machine| machine.workload == *workload).filter_map(|machine| {
            let (name, _) = machine.launched_for.as_ref()?;
            Some(((machine.id.as_str(), machine.pool.as_str()), name))
        });
        Self(named.collect())
    }

    pub(crate) fn of<'b>(&self, instance: &'b Instance) -> &'b InstanceId
    where
        'a: 'b,
    {
        let machine = instance.state().cloud().map(|cloud| (cloud.as_str(), instance.pool().as_str()));
        machine.and_then(|machine| self.0.get(&machine).copied()).unwrap_or_else(|| instance.id())
    }
}

/// How far a record is; `None`: on its way out, or gone.
const fn stage(state: StateName) -> Option<Stage> {
    match state {
        StateName::Queued | StateName::Requested => Some(Stage::Asked),
        StateName::Allocated | StateName::Installing => Some(Stage::Starting),
        StateName::Running => Some(Stage::Ready),
        _ => None,
    }
}
