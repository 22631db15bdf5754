//! The whole decision: growth, then what can be spared.

use super::down;
use super::problem::{Decision, Keep, Launch, Place, PoolOption, Problem, Stage};
use super::up;
use super::world::World;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use ostler_model::Price;

/// Which nodes should exist for these pods. The same for any order of the lists, but for the order of the pools.
///
/// Machines that are coming are taken first in the order that suits nodes that are there. That need not be the order
/// in which they were bought: a pod that could go to two of them may take the place of one that could not, and a
/// machine would be bought twice. So if more would be launched although some are coming, the same is asked as if none
/// were coming, which gives the machines that were bought; what is coming is taken off them. The better answer counts.
pub fn decide(problem: &Problem<'_>) -> Decision {
    let onto = decide_once(problem);
    let coming =
        problem.machines.iter().any(|machine| machine.stage == Stage::Coming && machine.pool.is_some());
    if !coming || onto.launches.is_empty() {
        return onto;
    }
    let anew = bought_anew(problem);
    if cost(problem, &anew) < cost(problem, &onto) && is_within(problem, &anew) { anew } else { onto }
}

/// Do the bounds over several pools hold? Asked as if nothing were coming, they know nothing of what is coming and
/// would not be used.
fn is_within(problem: &Problem<'_>, decision: &Decision) -> bool {
    let mut counts = alloc::vec![0_u64; problem.pools.len()];
    problem.machines.iter().filter_map(|machine| machine.pool).for_each(|pool| counts[pool] += 1);
    decision.launches.iter().for_each(|launch| counts[launch.pool] += launch.count);
    let group = |of: &PoolOption| -> u64 {
        let of = problem.pools.iter().zip(&counts).filter(|(pool, _)| pool.group == of.group);
        of.map(|(_, count)| count).sum()
    };
    let in_group = |pool: &PoolOption| {
        pool.group.is_none() || pool.group_max.is_none_or(|max| group(pool) <= u64::from(max))
    };
    problem.max_machines.is_none_or(|max| counts.iter().sum::<u64>() <= max)
        && problem.pools.iter().all(in_group)
}

/// Pods without a place, the price of what is launched, and how much that is.
fn cost(problem: &Problem<'_>, decision: &Decision) -> (u64, Price, u64) {
    let left = decision.unplaced.iter().map(|left| left.count).sum();
    let price = decision.launches.iter().map(|launch| problem.pools[launch.pool].price.times(launch.count));
    (left, price.sum(), decision.launches.iter().map(|launch| launch.count).sum())
}

/// Decides as if nothing were coming, and takes what is coming off what is launched.
fn bought_anew(problem: &Problem<'_>) -> Decision {
    let is_coming = |n: &usize| {
        let machine = &problem.machines[*n];
        machine.stage == Stage::Coming && machine.pool.is_some()
    };
    let (coming, rest): (Vec<usize>, Vec<usize>) = (0..problem.machines.len()).partition(is_coming);
    let machines = rest.iter().map(|&n| problem.machines[n].clone()).collect();
    let mut decision = decide_once(&Problem { machines, ..problem.clone() });
    renumber(&mut decision, &rest);
    let mut free: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for &n in &coming {
        free.entry(problem.machines[n].pool.unwrap_or_default()).or_default().push(n);
    }
    let mut used: BTreeMap<usize, u64> = free.iter().map(|(pool, list)| (*pool, list.len() as u64)).collect();
    for launch in &mut decision.launches {
        let used = used.entry(launch.pool).or_default();
        let taken = launch.count.min(*used);
        launch.count -= taken;
        *used -= taken;
    }
    decision.launches.retain(|launch| launch.count > 0);
    for (_, place) in &mut decision.placed {
        let Place::New(pool, nth) = *place else { continue };
        let there = free.get(&pool).map_or(&[][..], Vec::as_slice);
        *place = match there.get(nth) {
            Some(&machine) => Place::Machine(machine),
            None => Place::New(pool, nth - there.len()),
        };
    }
    decision.placed.sort_unstable();
    decision.kept.extend(coming.into_iter().map(|n| (n, Keep::Coming)));
    decision.kept.sort_by_key(|(n, _)| *n);
    decision
}

/// Puts the places of the whole list in for those of the shorter one.
fn renumber(decision: &mut Decision, rest: &[usize]) {
    decision.removals.iter_mut().for_each(|removal| removal.machine = rest[removal.machine]);
    decision.stays.iter_mut().for_each(|n| *n = rest[*n]);
    decision.unneeded.iter_mut().for_each(|n| *n = rest[*n]);
    decision.kept.iter_mut().for_each(|(n, _)| *n = rest[*n]);
    decision.moved.iter_mut().for_each(|(_, n)| *n = rest[*n]);
    decision.replacements.iter_mut().flat_map(|one| &mut one.old).for_each(|n| *n = rest[*n]);
    for (_, place) in &mut decision.placed {
        if let Place::Machine(n) = place {
            *n = rest[*n];
        }
    }
}

fn decide_once(problem: &Problem<'_>) -> Decision {
    let shapes = up::shapes(problem);
    let waiting = up::waiting(problem);
    let mut world = World::of(problem, &shapes);
    let grown = up::grow(&mut world, &waiting);
    let mut launches: BTreeMap<_, u64> = BTreeMap::new();
    for opened in &world.opened {
        *launches.entry((opened.pool, opened.cause)).or_default() += 1;
    }
    let mut decision = Decision {
        launches: launches.into_iter().map(|((pool, cause), count)| Launch { pool, count, cause }).collect(),
        stays: grown.stays.clone(),
        placed: core::mem::take(&mut world.placed),
        unplaced: grown.unplaced.clone(),
        headroom_short: grown.headroom_short.clone(),
        ..Decision::default()
    };
    decision.placed.sort_unstable();
    down::shrink(&mut world, &waiting, &grown, &mut decision);
    decision
}
