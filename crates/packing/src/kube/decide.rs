//! The whole decision: growth, then what can be spared.

use super::down;
use super::problem::{Decision, Keep, Launch, Place, PoolOption, Problem, Stage};
use super::unused;
use super::up;
use super::world::World;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use ostler_model::{LaunchCause, Price};

/// Which nodes should exist for these pods. The same for any order of the lists, but for the order of the pools.
///
/// Machines that are coming, or have come and carry nothing yet, are taken first in the order that suits nodes that are
/// there. That need not be the order in which they were bought: a pod that could go to two of them may take the place of
/// one that could not, and a machine would be bought twice. So if more would be launched although some are there, the
/// same is asked as if none were, which gives the machines that were bought; what is there is taken off them. The better
/// answer counts.
pub fn decide(problem: &Problem<'_>) -> Decision {
    let onto = decide_once(problem);
    if !onto.launches.iter().any(|launch| launch.cause == LaunchCause::Demand) {
        return onto;
    }
    let unused = unused::machines(problem);
    if unused.is_empty() {
        return onto;
    }
    let anew = bought_anew(problem, &unused);
    let is_better = cost(problem, &anew) < cost(problem, &onto);
    if is_better && is_within(problem, &anew) && fits_together(problem, &anew) { anew } else { onto }
}

/// Do the bounds over several pools hold? Those of the question were widened by what is unused in any of the pools.
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

/// Decides as if the unused machines were not there, and takes them off what is launched.
fn bought_anew(problem: &Problem<'_>, unused: &[usize]) -> Decision {
    let mut decision = decide_once(&unused::given_up(problem, unused));
    let mut free: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for &n in unused {
        free.entry(problem.machines[n].pool.unwrap_or_default()).or_default().push(n);
    }
    for list in free.values_mut() {
        list.sort_by(|&a, &b| problem.machines[a].name.cmp(&problem.machines[b].name));
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
    keep(problem, unused, &mut decision);
    decision
}

/// Do pods that look at others fit where they were placed, now that the unused machines are there after all?
fn fits_together(problem: &Problem<'_>, decision: &Decision) -> bool {
    let shapes = up::shapes(problem);
    let mut world = World::of(problem, &shapes);
    for launch in &decision.launches {
        (0..launch.count).for_each(|_| {
            world.open(launch.pool, launch.cause);
        });
    }
    let new: BTreeMap<_, _> = world.opened.iter().map(|one| ((one.pool, one.nth), one.node)).collect();
    let mut seats = BTreeSet::new();
    for &(pod, place) in &decision.placed {
        let node = match place {
            Place::Machine(machine) => world.nodes[machine],
            Place::New(pool, nth) => new.get(&(pool, nth)).copied(),
        };
        let Some(node) = node else { return false };
        let spec = problem.cluster.pods[pod].spec;
        world.ledger.place(spec, node);
        if !world.is_plain(spec) {
            seats.insert((spec, node));
        }
    }
    seats.into_iter().all(|(spec, node)| {
        let mark = world.ledger.mark();
        let fits = world.ledger.unplace(spec, node) && world.ledger.fits(spec, node);
        world.ledger.back_to(mark);
        fits
    })
}

/// Why the unused machines stay.
fn keep(problem: &Problem<'_>, unused: &[usize], decision: &mut Decision) {
    decision.kept.retain(|(n, _)| unused.binary_search(n).is_err());
    let places = decision.placed.iter();
    let awaited: BTreeSet<usize> = places
        .filter_map(|&(_, place)| if let Place::Machine(machine) = place { Some(machine) } else { None })
        .collect();
    for &n in unused {
        let keep = match problem.machines[n].stage {
            Stage::Coming => Keep::Coming,
            _ if awaited.contains(&n) => Keep::NeededByPending,
            _ => {
                decision.unneeded.push(n);
                Keep::PendingPods
            }
        };
        decision.kept.push((n, keep));
    }
    decision.kept.sort_by_key(|(n, _)| *n);
    decision.unneeded.sort_unstable();
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
