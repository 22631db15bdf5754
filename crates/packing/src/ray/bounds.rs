//! What stays under the bounds: outdated machines go, then what is over a pool's maximum, then over the total;
//! what a pool lacks to its minimum is launched. What is leaving takes neither demand nor room.

use super::victims;
use super::world::World;
use crate::problem::{Phase, Removal, RemovalCause};
use alloc::vec::Vec;
use ostler_model::NodeKind;

/// Who stays, who goes, and how much may be launched.
#[derive(PartialEq, Eq)]
pub(super) struct Standing {
    /// By machine: it is there (or coming), and stays.
    pub(super) stays: Vec<bool>,
    /// Those that go for the bounds, in the order of the steps.
    pub(super) removals: Vec<Removal>,
    /// `(pool, count)` to launch for the minimums.
    pub(super) minimum: Vec<(usize, u64)>,
    /// A minimum could not be met for the bound over all pools.
    pub(super) short: bool,
    /// Machines that each pool may still launch.
    pub(super) room: Vec<u64>,
    /// The same over all pools.
    pub(super) total_room: u64,
}

/// `raw`: machines over a bound go in Ray's order.
pub(super) fn standing(world: &World<'_>, raw: bool) -> Standing {
    let problem = world.problem;
    let mut out = Standing {
        stays: (0..problem.machines.len()).map(|n| is_there(world, n)).collect(),
        removals: Vec::new(),
        minimum: Vec::new(),
        short: false,
        room: Vec::new(),
        total_room: 0,
    };
    world.released.iter().for_each(|removal| out.stays[removal.machine] = false);
    out.outdated(world);
    for pool in 0..problem.pools.len() {
        let over = out.count(world, Some(pool)).saturating_sub(limit(world, pool));
        out.remove(world, Some(pool), over, RemovalCause::MaxPerPool, raw);
    }
    if let Some(max) = problem.max_machines {
        let over = out.count(world, None).saturating_sub(max);
        out.remove(world, None, over, RemovalCause::MaxTotal, raw);
    }
    out.launch_minimum(world);
    out
}

/// A machine that serves or will serve. Leaving ones do not, nor do those that the workload does not see.
fn is_there(world: &World<'_>, n: usize) -> bool {
    let machine = &world.problem.machines[n];
    machine.phase.is_coming() || (machine.phase == Phase::Running && machine.up.is_some())
}

/// Machines that the pool may have; its maximum is one of workers, so the head's pool has room for the head too.
pub(super) fn limit(world: &World<'_>, pool: usize) -> u64 {
    let head = world.head_pool() == Some(pool);
    u64::from(world.problem.pools[pool].pool.max) + u64::from(head)
}

/// May anybody's wish remove this machine?
pub(super) fn is_free_to_go(world: &World<'_>, n: usize) -> bool {
    world.problem.machines[n].kind == NodeKind::Worker && !world.problem.machines[n].keep
}

impl Standing {
    /// Machines that stay, of one pool or of all.
    pub(super) fn count(&self, world: &World<'_>, pool: Option<usize>) -> u64 {
        let of_pool = |n: &usize| pool.is_none() || world.pool_of[*n] == pool;
        (0..self.stays.len()).filter(|n| self.stays[*n]).filter(of_pool).count() as u64
    }

    /// A machine whose pool is gone and that is not at work yet has nothing to become.
    fn outdated(&mut self, world: &World<'_>) {
        if !world.problem.replace_outdated {
            return;
        }
        for (n, machine) in world.problem.machines.iter().enumerate() {
            let lost = world.pool_of[n].is_none() && machine.phase.is_coming();
            if self.stays[n] && (machine.outdated || lost) && is_free_to_go(world, n) {
                self.drop(n, RemovalCause::Outdated);
            }
        }
    }

    pub(super) fn drop(&mut self, machine: usize, cause: RemovalCause) {
        self.stays[machine] = false;
        self.removals.push(Removal { machine, cause });
    }

    fn remove(&mut self, world: &World<'_>, pool: Option<usize>, over: u64, cause: RemovalCause, raw: bool) {
        if over == 0 {
            return;
        }
        let of_pool = |n: &usize| self.stays[*n] && (pool.is_none() || world.pool_of[*n] == pool);
        let candidates: Vec<usize> = world.canonical.iter().copied().filter(of_pool).collect();
        let ranked = victims::ranked(world, &candidates, raw);
        for machine in victims::choose(world, self, &ranked, over, raw) {
            self.drop(machine, cause);
        }
    }

    fn launch_minimum(&mut self, world: &World<'_>) {
        let problem = world.problem;
        let no_head = problem.head_pool.is_some() && !(0..self.stays.len()).any(|n| world.is_head(n));
        let there = self.count(world, None).saturating_add(u64::from(no_head));
        self.total_room = problem.max_machines.map_or(u64::MAX, |max| max.saturating_sub(there));
        for (pool, option) in problem.pools.iter().enumerate() {
            let have = self.count(world, Some(pool));
            let room = limit(world, pool).saturating_sub(have);
            let room = if option.backing_off { 0 } else { room };
            let lacks = u64::from(option.pool.min).saturating_sub(have).min(room);
            let count = lacks.min(self.total_room);
            self.short |= count < lacks;
            if count > 0 {
                self.minimum.push((pool, count));
            }
            self.total_room -= count;
            self.room.push(room - count);
        }
    }
}
