//! Machines that are too many, or made in a way that is no longer asked for: they go without a timer, but
//! like any other only if what is on them has a place.

use super::Going;
use super::moving::{Mover, Stuck};
use super::order::{self, Values};
use crate::kube::problem::{Keep, RemovalCause, Stage};
use crate::kube::world::World;
use alloc::collections::BTreeMap;

/// Machines of an old configuration.
pub(super) fn outdated<'a>(
    world: &mut World<'a>,
    mover: &mut Mover,
    kept: &mut BTreeMap<usize, Keep>,
    go: &mut Going<'a>,
) {
    for machine in world.order.clone() {
        let record = world.machine(machine);
        let Some(pool) = record.pool.filter(|_| record.outdated && !kept.contains_key(&machine)) else {
            continue;
        };
        if mover.is_target_of_moves(machine) {
            continue;
        }
        // A minimum is no reason: the pool is filled up again with what is asked for.
        if let Ok(moves) = mover.empty(world, machine) {
            let coming = moves.iter().any(|&(_, target)| world.machine(target).stage == Stage::Coming);
            let keep = if coming {
                Some(Keep::ReplacementComing)
            } else {
                go.force(world, machine, RemovalCause::Outdated, &moves)
            };
            go.sizes.take(pool);
            if let Some(keep) = keep {
                kept.insert(machine, keep);
            }
        }
    }
}

/// More machines than there may be, of a pool or of all.
pub(super) fn above<'a>(
    world: &mut World<'a>,
    values: &Values,
    mover: &mut Mover,
    kept: &mut BTreeMap<usize, Keep>,
    go: &mut Going<'a>,
) {
    let pools = &world.problem.pools;
    let mut over: alloc::vec::Vec<u64> =
        pools.iter().enumerate().map(|(n, pool)| go.sizes.all[n].saturating_sub(pool.max.into())).collect();
    let total: u64 = go.sizes.all.iter().sum();
    let mut over_all = world.problem.max_machines.map_or(0, |max| total.saturating_sub(max));
    if over_all == 0 && over.iter().all(|&over| over == 0) {
        return;
    }
    for machine in order::candidates(world, values, kept, &go.removals) {
        let Some(pool) = world.machine(machine).pool else { continue };
        if (over[pool] == 0 && over_all == 0) || mover.is_target_of_moves(machine) {
            continue;
        }
        let cause = if over[pool] > 0 { RemovalCause::MaxPerPool } else { RemovalCause::MaxTotal };
        match mover.empty(world, machine) {
            Ok(moves) => {
                go.sizes.take(pool);
                over[pool] = over[pool].saturating_sub(1);
                over_all = over_all.saturating_sub(1);
                if let Some(keep) = go.force(world, machine, cause, &moves) {
                    kept.insert(machine, keep);
                }
            }
            Err(Stuck::Work) => break,
            Err(Stuck::Pod(_) | Stuck::Headroom) => {}
        }
    }
}
