//! New machines for pods that look at other pods, ports or volumes: one machine after the other, each judged
//! by all filters beside those that are there and those that were just opened.

use super::lot::Lot;
use super::probe::Probes;
use super::there::{has_room, seek};
use crate::kube::world::World;
use alloc::vec::Vec;
use core::cmp::Ordering;
use ostler_model::LaunchCause;
use ostler_model::kube::{Expander, HOSTNAME, PodSpec};

/// Opens machines until the lot has its places, or no new machine would take one.
///
/// Pods that must lie evenly are placed once more when all machines are there: the scheduler will see them
/// all, and the first pods were placed before the last machine was thought of.
pub(super) fn open(world: &mut World<'_>, probes: &mut Probes, lot: &mut Lot, cause: LaunchCause) {
    let even = world.ledger.spec(lot.spec).is_some_and(|spec| !spec.spread.is_empty());
    if !even {
        return one_by_one(world, probes, lot, cause);
    }
    let moment = world.mark();
    let before = lot.clone();
    let first = world.opened.len();
    one_by_one(world, probes, lot, cause);
    let pools: Vec<usize> = world.opened[first..].iter().map(|opened| opened.pool).collect();
    if pools.is_empty() {
        return;
    }
    world.back_to(moment);
    let again = world.mark();
    let mut level = before.clone();
    for &pool in &pools {
        world.open(pool, cause);
    }
    let opened: Vec<_> = world.opened.iter().map(|opened| opened.node).collect();
    seek(world, &mut level, &opened);
    if level.left() <= lot.left() {
        *lot = level;
        return;
    }
    world.back_to(again);
    *lot = before;
    one_by_one(world, probes, lot, cause);
}

fn one_by_one(world: &mut World<'_>, probes: &mut Probes, lot: &mut Lot, cause: LaunchCause) {
    // What was opened for others first, then only the newest: the older ones have said no.
    let opened: Vec<_> = world.opened.iter().map(|opened| opened.node).collect();
    seek(world, lot, &opened);
    let suits: Vec<usize> = probes.suits(world, lot.spec).iter().collect();
    let suits: Vec<usize> = suits
        .into_iter()
        .filter(|&pool| lot.only.is_none_or(|only| only == pool))
        .filter(|&pool| !world.problem.pools[pool].closed)
        .filter(|&pool| has_room(world.ledger.request(lot.spec), &probes.free[pool]))
        .collect();
    while lot.left() > 0 {
        let mut order: Vec<(usize, u64)> = suits
            .iter()
            .filter(|&&pool| world.room.of_pool(pool) > 0)
            .map(|&pool| (pool, one_holds(world, probes, lot, pool)))
            .collect();
        order.sort_by(|&a, &b| compare(world, probes, lot, a, b));
        let took = order.into_iter().any(|(pool, _)| {
            let moment = world.mark();
            let node = world.open(pool, cause);
            if world.ledger.fits(lot.spec, node) {
                lot.seat(world, node, 1);
                return true;
            }
            world.back_to(moment);
            false
        });
        if !took {
            break;
        }
        // Pods that must lie evenly may now fit on older ones too.
        let spread = world.ledger.spec(lot.spec).is_some_and(|spec| !spec.spread.is_empty());
        let first = if spread { 0 } else { world.opened.len() - 1 };
        let opened: Vec<_> = world.opened[first..].iter().map(|opened| opened.node).collect();
        seek(world, lot, &opened);
    }
}

/// How many of the lot a machine of the pool would hold: by its size, unless one keeps the others away.
fn one_holds(world: &World<'_>, probes: &Probes, lot: &Lot, pool: usize) -> u64 {
    let ask = world.ledger.request(lot.spec);
    let by_size = ask.iter().zip(&probes.free[pool]).filter(|(ask, _)| **ask > 0);
    let by_size = by_size.map(|(&ask, &free)| (free / ask).unsigned_abs()).min().unwrap_or(1);
    let of_its_like = world.ledger.spec(lot.spec).map_or(u64::MAX, most_on_a_host);
    by_size.min(of_its_like).min(lot.left()).max(1)
}

/// How many pods of one spec a host takes, by their ports, and by what they say about each other.
fn most_on_a_host(spec: &PodSpec) -> u64 {
    let like = |selector: &Option<ostler_model::kube::LabelSelector>| {
        selector.as_ref().is_some_and(|selector| selector.matches(&spec.labels))
    };
    let apart = spec.anti_affinity.iter().any(|term| &*term.topology == HOSTNAME && like(&term.selector));
    if apart || !spec.ports.is_empty() {
        return 1;
    }
    let even = spec.spread.iter().filter(|rule| &*rule.topology == HOSTNAME && like(&rule.selector));
    even.map(|rule| u64::from(rule.max_skew.max(1))).min().unwrap_or(u64::MAX)
}

/// The better pool for the next machine first.
fn compare(world: &World<'_>, probes: &Probes, lot: &Lot, a: (usize, u64), b: (usize, u64)) -> Ordering {
    let pools = &world.problem.pools;
    let (one, other) = (&pools[a.0], &pools[b.0]);
    let expander = world.problem.policy.expander;
    let cost = || {
        let (one, other) = (u128::from(one.price.0), u128::from(other.price.0));
        (one * u128::from(b.1)).cmp(&(other * u128::from(a.1)))
    };
    let waste = || waste(world, probes, lot, a).cmp(&waste(world, probes, lot, b));
    let chosen = match expander {
        Expander::Cost => cost().then_with(waste),
        Expander::LeastWaste => waste().then_with(cost),
        Expander::Priority => other.priority.cmp(&one.priority).then_with(cost).then_with(waste),
        Expander::MostPods => b.1.cmp(&a.1).then_with(cost),
    };
    one.doubtful
        .cmp(&other.doubtful)
        .then(chosen)
        .then_with(|| world.size_of(a.0).cmp(&world.size_of(b.0)))
        .then(a.0.cmp(&b.0))
}

/// What would be left of CPU and memory on a machine that holds so many, in 2^-20 of it.
fn waste(world: &World<'_>, probes: &Probes, lot: &Lot, (pool, count): (usize, u64)) -> i128 {
    let ask = world.ledger.request(lot.spec);
    let left = |(&ask, &free): (&i64, &i64)| {
        let left = i128::from(free) - i128::from(ask) * i128::from(count);
        (left.max(0) << 20) / i128::from(free.max(1))
    };
    ask.iter().zip(&probes.free[pool]).take(2).map(left).sum()
}
