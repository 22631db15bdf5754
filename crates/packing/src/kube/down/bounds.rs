//! Machines that are too many, or made in a way or for a pool that is no longer asked for: they go without a timer, but
//! like any other only if what is on them has a place.

use super::Going;
use super::moving::{Mover, Stuck};
use super::order::{self, Values};
use crate::kube::problem::{Keep, RemovalCause};
use crate::kube::world::World;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Machines of an old configuration, the empty ones first: no pod is to move to one of them.
pub(super) fn outdated<'a>(
    world: &mut World<'a>,
    mover: &mut Mover,
    kept: &mut BTreeMap<usize, Keep>,
    go: &mut Going<'a>,
) {
    let mut order = world.order.clone();
    order.sort_by_key(|&machine| world.movable(machine).next().is_some());
    for machine in order {
        let record = world.machine(machine);
        let Some(pool) = record.pool.filter(|_| record.outdated && !kept.contains_key(&machine)) else {
            continue;
        };
        if mover.is_target_of_moves(machine) {
            continue;
        }
        let gone = world.problem.pools[pool].gone;
        let cause = if gone { RemovalCause::PoolGone } else { RemovalCause::Outdated };
        // A minimum is no reason: the pool is filled up again with what is asked for.
        match mover.empty(world, machine) {
            Ok(moves) => {
                go.sizes.take(pool);
                if let Some(keep) = go.force(world, machine, cause, &moves) {
                    kept.insert(machine, keep);
                }
            }
            Err(Stuck::Pod(pod)) => drop(kept.insert(machine, go.due(world, machine, cause, pod))),
            Err(Stuck::Headroom | Stuck::Work) => {}
        }
    }
}

/// More machines than there may be, of a pool, of pools that share a bound, or of all. A pool that is at its minimum
/// keeps it, others go, or what is on its way: unless all together may not have as many as all minimums.
pub(super) fn above<'a>(
    world: &mut World<'a>,
    values: &Values,
    mover: &mut Mover,
    kept: &mut BTreeMap<usize, Keep>,
    go: &mut Going<'a>,
) {
    let mut over = Over::of(world, &go.sizes.all);
    if over.is_nothing() {
        return;
    }
    for machine in order::candidates(world, values, kept, &go.removals) {
        let Some(pool) = world.machine(machine).pool else { continue };
        let Some(cause) = over.cause(world, pool) else { continue };
        let at_minimum = over.minimums_fit && go.sizes.keep(pool).is_some();
        if mover.is_target_of_moves(machine) || at_minimum {
            continue;
        }
        match mover.empty(world, machine) {
            Ok(moves) => {
                go.sizes.take(pool);
                over.take(world, pool);
                if let Some(keep) = go.force(world, machine, cause, &moves) {
                    kept.insert(machine, keep);
                }
            }
            Err(Stuck::Work) => break,
            Err(Stuck::Pod(pod)) => drop(kept.insert(machine, go.due(world, machine, cause, pod))),
            Err(Stuck::Headroom) => {}
        }
    }
}

/// How many machines are too many.
struct Over {
    pools: Vec<u64>,
    groups: Vec<u64>,
    all: u64,
    /// All together may have as many as all minimums.
    minimums_fit: bool,
}

impl Over {
    fn of(world: &World<'_>, sizes: &[u64]) -> Self {
        let problem = world.problem;
        let pools = problem.pools.iter().zip(sizes);
        let pools: Vec<u64> = pools.map(|(pool, &size)| size.saturating_sub(pool.max.into())).collect();
        let mut groups = alloc::vec![0; world.room.groups.len()];
        let mut most = alloc::vec![u64::MAX; groups.len()];
        for (pool, option) in problem.pools.iter().enumerate() {
            let Some(group) = world.room.group(pool) else { continue };
            groups[group] += sizes[pool];
            most[group] = most[group].min(option.group_max.map_or(u64::MAX, u64::from));
        }
        groups.iter_mut().zip(most).for_each(|(size, most)| *size = size.saturating_sub(most));
        let total: u64 = sizes.iter().sum();
        let max = problem.max_machines.unwrap_or(u64::MAX);
        let minimums: u64 = problem.pools.iter().map(|pool| u64::from(pool.min.min(pool.max))).sum();
        Self { pools, groups, all: total.saturating_sub(max), minimums_fit: minimums <= max }
    }

    fn is_nothing(&self) -> bool {
        self.all == 0 && self.pools.iter().chain(&self.groups).all(|&over| over == 0)
    }

    /// What one machine of the pool less would be good for.
    fn cause(&self, world: &World<'_>, pool: usize) -> Option<RemovalCause> {
        let group = world.room.group(pool).map_or(0, |group| self.groups[group]);
        match (self.pools[pool] + group, self.all) {
            (0, 0) => None,
            (0, _) => Some(RemovalCause::MaxTotal),
            _ => Some(RemovalCause::MaxPerPool),
        }
    }

    fn take(&mut self, world: &World<'_>, pool: usize) {
        let one_less = |over: &mut u64| *over = over.saturating_sub(1);
        one_less(&mut self.pools[pool]);
        world.room.group(pool).into_iter().for_each(|group| one_less(&mut self.groups[group]));
        one_less(&mut self.all);
    }
}
