//! Why demand found no place, pool by pool.

use super::bounds::limit;
use super::plan::Plan;
use super::world::World;
use crate::problem::{Decision, Unfit, Unplaced};
use alloc::string::ToString;
use alloc::vec::Vec;
use ostler_model::{PoolId, Quantity};

/// Reports everything that is left.
pub(super) fn unplaced(world: &World<'_>, plan: &Plan, decision: &mut Decision) {
    for (index, &count) in plan.tasks_left.iter().enumerate().filter(|(_, count)| **count > 0) {
        let why = pools(world, plan, world.tasks[index]);
        decision.unplaced_tasks.push(Unplaced { index, count, why });
    }
    for (index, _) in plan.gangs_left.iter().enumerate().filter(|(_, left)| **left) {
        decision.unplaced_gangs.push(Unplaced { index, count: 1, why: gang(world, plan, index) });
    }
    for (index, missing) in plan.floors_left.iter().enumerate() {
        let Some((request, _)) = missing else { continue };
        decision.unmet_floors.push(Unplaced { index, count: 1, why: pools(world, plan, *request) });
    }
}

fn pools(world: &World<'_>, plan: &Plan, request: usize) -> Vec<(PoolId, Unfit)> {
    let all = world.problem.pools.iter().enumerate();
    all.map(|(pool, option)| (option.pool.id.clone(), unfit(world, plan, pool, request))).collect()
}

/// The first part of the gang that a pool cannot take; if it can take each, they do not go together.
fn gang(world: &World<'_>, plan: &Plan, gang: usize) -> Vec<(PoolId, Unfit)> {
    let parts: Vec<usize> =
        world.gangs[gang].first().into_iter().flat_map(|set| &set.parts).map(|p| p.0).collect();
    let of_pool = |pool: usize| {
        let mut reasons = parts.iter().map(|&part| unfit(world, plan, pool, part));
        reasons.find(|why| *why != Unfit::Strategy).unwrap_or(Unfit::Strategy)
    };
    let all = world.problem.pools.iter().enumerate();
    all.map(|(pool, option)| (option.pool.id.clone(), of_pool(pool))).collect()
}

/// `Strategy` if nothing speaks against one more machine of this pool.
fn unfit(world: &World<'_>, plan: &Plan, pool: usize, request: usize) -> Unfit {
    let problem = world.problem;
    let option = &problem.pools[pool];
    if world.head_pool() == Some(pool) && option.pool.max == 0 {
        return Unfit::HeadPool;
    }
    let (spec, wanted) = (&world.fresh[pool], &world.requests.all[request]);
    if let Some(&(r, amount)) = wanted.need.iter().find(|(r, amount)| spec.total[*r] < *amount) {
        return Unfit::TooLarge {
            resource: world.names.name(r).to_string(),
            asked: Quantity::ten_thousandths(amount),
            has: Quantity::ten_thousandths(spec.total[r]),
        };
    }
    if world.rank(request, spec.class).is_none() {
        return Unfit::Labels;
    }
    if option.backing_off {
        return Unfit::BackingOff;
    }
    if plan.ledger.room[pool] == 0 || limit(world, pool) == 0 {
        return Unfit::PoolAtMax { max: option.pool.max };
    }
    match problem.max_machines {
        Some(max) if plan.ledger.total_room == 0 => Unfit::TotalAtMax { max },
        _ => Unfit::Strategy,
    }
}
