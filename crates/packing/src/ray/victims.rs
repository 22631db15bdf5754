//! Who goes when there are too many: what does not exist yet first, what works last, the head never.

use super::bounds::{Standing, is_free_to_go};
use super::score::share;
use super::world::World;
use crate::problem::Phase;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// Candidates, the first to go in front.
pub(super) fn ranked(world: &World<'_>, candidates: &[usize], raw: bool) -> Vec<usize> {
    let mut out: Vec<usize> = candidates.to_vec();
    if raw {
        // Ray's ties: the order of its list, in which nodes are grouped by type.
        let mut group: BTreeMap<Option<usize>, usize> = BTreeMap::new();
        for &n in candidates {
            let next = group.len();
            group.entry(world.pool_of[n]).or_insert(next);
        }
        out.sort_by_cached_key(|&n| {
            (is_running(world, n), Reverse(idle(world, n)), used(world, n), group[&world.pool_of[n]])
        });
    } else {
        out.sort_by_cached_key(|&n| {
            (is_busy(world, n), step(world, n), Reverse(idle(world, n)), used(world, n))
        });
    }
    out.retain(|&n| is_free_to_go(world, n));
    out
}

/// The first `over` of them. A machine at work is spared while one that is not can go, and of those first the
/// ones whose pool is above its minimum.
pub(super) fn choose(
    world: &World<'_>,
    standing: &Standing,
    ranked: &[usize],
    over: u64,
    raw: bool,
) -> Vec<usize> {
    let over = usize::try_from(over).unwrap_or(usize::MAX);
    if raw {
        return ranked.iter().copied().take(over).collect();
    }
    let mut out: Vec<usize> = Vec::new();
    let mut have: Vec<u64> = (0..world.problem.pools.len()).map(|p| standing.count(world, Some(p))).collect();
    for (busy, keep_minimum) in [(false, true), (false, false), (true, true), (true, false)] {
        for &n in ranked.iter().filter(|&&n| is_busy(world, n) == busy) {
            let pool = world.pool_of[n];
            let min = |p: usize| u64::from(world.problem.pools[p].pool.min);
            let spare = pool.is_none_or(|p| have[p] > min(p));
            if out.len() < over && !out.contains(&n) && (spare || !keep_minimum) {
                out.push(n);
                pool.into_iter().for_each(|p| have[p] = have[p].saturating_sub(1));
            }
        }
    }
    out
}

fn is_running(world: &World<'_>, n: usize) -> bool {
    world.problem.machines[n].phase == Phase::Running
}

/// Something runs on it.
pub(super) fn is_busy(world: &World<'_>, n: usize) -> bool {
    world.problem.machines[n].up.as_ref().is_some_and(|up| up.busy)
}

fn step(world: &World<'_>, n: usize) -> Phase {
    world.problem.machines[n].phase
}

fn idle(world: &World<'_>, n: usize) -> u64 {
    world.problem.machines[n].up.as_ref().map_or(0, |up| up.idle.0)
}

/// The mean share of what is used, over everything that the machine has.
fn used(world: &World<'_>, n: usize) -> i128 {
    let Some(up) = &world.problem.machines[n].up else { return 0 };
    let shares = up.total.iter().filter(|(_, total)| total.as_ten_thousandths() > 0).map(|(name, total)| {
        let free = up.available.get(name).min(total);
        share((total - free).as_ten_thousandths(), total.as_ten_thousandths())
    });
    let (sum, count) = shares.fold((0, 0), |(sum, count), share| (sum + share, count + 1));
    if count == 0 { 0 } else { sum / count }
}
