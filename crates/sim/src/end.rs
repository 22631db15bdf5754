//! How a world ended, so that a run with a crash can be laid beside one without.

use crate::check;
use crate::ray::{Kind, Work};
use crate::world::World;
use ostler_model::PoolId;
use std::collections::BTreeMap;
use std::fmt;

/// What must be the same at the end, whatever happened on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// Nodes of workers that are up, pool by pool.
    pub workers: BTreeMap<PoolId, u64>,
    /// Machines, pool by pool.
    pub machines: BTreeMap<PoolId, u64>,
    /// Machines that no record owns.
    pub unowned: u64,
    /// Records that are not final and have no machine.
    pub empty: u64,
    /// Tasks and gangs that are not at their end and do not run.
    pub waiting: u64,
    /// Tasks and gangs that failed since Ostler ended their machine.
    pub failures_by_us: u64,
}

impl End {
    /// The end of a world as it is.
    pub fn of(world: &World) -> Self {
        let mut machines = BTreeMap::new();
        for machine in world.machines() {
            *machines.entry(machine.pool.clone()).or_insert(0) += 1;
        }
        let unowned = world.machines().iter().filter(|machine| check::record_of(world, machine).is_none());
        let exists = |i: &ostler_lifecycle::Instance| {
            let cloud = i.state().cloud();
            cloud.is_some_and(|cloud| world.machines().iter().any(|machine| machine.id == *cloud))
        };
        let open = world.records.values().filter(|i| !i.state().name().is_final());
        let waits = |work: &&Work| !matches!(work.kind, Kind::Floor { .. }) && work.waits(world.now);
        let by_us = world.ray.killed.iter().filter(|killed| killed.by_us.is_some());
        Self {
            workers: world.ray.workers(world.now),
            unowned: unowned.count() as u64,
            empty: open.filter(|i| !exists(i)).count() as u64,
            machines,
            waiting: world.ray.work.iter().filter(waits).count() as u64,
            failures_by_us: by_us.map(|killed| killed.work).sum(),
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "workers {:?}, machines {:?}, {} unowned, {} records without machine, {} waiting, {} failed by us",
            self.workers, self.machines, self.unowned, self.empty, self.waiting, self.failures_by_us
        )
    }
}
