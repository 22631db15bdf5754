//! Gangs: placed as a whole or not at all, the most constrained and largest first, versions in order.

use super::fit::{Ask, Item};
use super::order::{self, Order};
use super::pass::Placed;
use super::plan::{Need, Run};
use super::world::BundleSet;
use crate::problem::LaunchCause;
use alloc::vec::Vec;
use core::cmp::Reverse;
use ostler_model::{Gang, Strategy};

/// Places every gang that can be placed.
pub(super) fn place_all(run: &mut Run<'_, '_>) {
    let gangs = &run.world.problem.gangs;
    let mut queue: Vec<usize> = (0..gangs.len()).collect();
    if run.variant.order == Order::Raw {
        queue.sort_by_key(|&n| Reverse(rank(&gangs[n])));
    } else {
        queue.sort_by(|&a, &b| {
            rank(&gangs[b]).cmp(&rank(&gangs[a])).then_with(|| gangs[a].id.cmp(&gangs[b].id))
        });
    }
    for n in queue {
        run.plan.gangs_left[n] = !place_one(run, n);
    }
}

/// Number of constraints, number of bundles.
fn rank(gang: &Gang) -> (u64, u64) {
    let strict = matches!(gang.strategy, Strategy::StrictPack | Strategy::StrictSpread);
    (if strict { gang.size() } else { 0 }, gang.size())
}

fn place_one(run: &mut Run<'_, '_>, gang: usize) -> bool {
    let versions = if run.variant.all_or_nothing { 1 } else { usize::MAX };
    let world = run.world;
    world.gangs[gang].iter().take(versions).any(|set| place_version(run, gang, set))
}

fn place_version(run: &mut Run<'_, '_>, gang: usize, set: &BundleSet) -> bool {
    let strategy = run.world.problem.gangs[gang].strategy;
    if let Some(whole) = set.whole.filter(|_| !run.variant.all_or_nothing)
        && settle(run, ask(run, &[(whole, 1)], None), true)
    {
        return true;
    }
    let apart = Some(gang);
    match strategy {
        Strategy::StrictSpread => settle(run, ask(run, &set.parts, apart), true),
        Strategy::Spread if run.variant.spread && settle(run, ask(run, &set.parts, apart), false) => true,
        _ => settle(run, ask(run, &set.parts, None), true),
    }
}

fn ask(run: &Run<'_, '_>, parts: &[(usize, u64)], apart: Option<usize>) -> Ask {
    let items: Vec<Item> = order::sorted(run.world, parts.iter().copied(), run.variant.order);
    Ask::of(run.world, items, apart)
}

/// Books it if all of it finds a place.
fn settle(run: &mut Run<'_, '_>, mut ask: Ask, launch: bool) -> bool {
    let placed: Placed = run.attempt(&mut ask, launch);
    let done = ask.is_done();
    if done {
        run.commit(&ask, &placed, LaunchCause::Gang, Need::Demand);
    }
    done
}
