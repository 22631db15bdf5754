//! A pool keeps its minimum. Machines on their way do not count: they may never come; nor do those that are lost.

use crate::kube::problem::{Keep, Stage};
use crate::kube::world::World;
use alloc::vec::Vec;

/// How many machines of each pool are up and stay, and how many must.
pub(in crate::kube) struct Sizes {
    pub(in crate::kube) up: Vec<u64>,
    /// Up and coming.
    pub(in crate::kube) all: Vec<u64>,
    min: Vec<u64>,
}

impl Sizes {
    pub(in crate::kube) fn of(world: &World<'_>) -> Self {
        let pools = &world.problem.pools;
        let (mut up, mut all) = (alloc::vec![0; pools.len()], alloc::vec![0; pools.len()]);
        for (machine, _) in world.problem.machines.iter().zip(&world.lost).filter(|(_, lost)| !**lost) {
            let Some(pool) = machine.pool.filter(|&pool| pool < pools.len()) else { continue };
            up[pool] += u64::from(machine.stage == Stage::Up);
            all[pool] += u64::from(matches!(machine.stage, Stage::Up | Stage::Coming));
        }
        Self { up, all, min: pools.iter().map(|pool| pool.min.into()).collect() }
    }

    /// Why no machine of the pool that is up may go.
    pub(in crate::kube) fn keep(&self, pool: usize) -> Option<Keep> {
        (self.up[pool] <= self.min[pool]).then_some(Keep::Min)
    }

    /// The same for one that is on its way.
    pub(in crate::kube) fn keep_coming(&self, pool: usize) -> Option<Keep> {
        (self.all[pool] <= self.min[pool]).then_some(Keep::Min)
    }

    /// One that was up goes.
    pub(in crate::kube) fn take(&mut self, pool: usize) {
        self.up[pool] = self.up[pool].saturating_sub(1);
        self.all[pool] = self.all[pool].saturating_sub(1);
    }

    /// One that was on its way goes.
    pub(in crate::kube) fn take_coming(&mut self, pool: usize) {
        self.all[pool] = self.all[pool].saturating_sub(1);
    }
}
