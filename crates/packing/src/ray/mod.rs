//! Ray's documented scoring with its oddities repaired.
//!
//! Steps, each of which sees what the earlier ones placed: outdated machines, minimums and maximums of the pools,
//! the maximum over all, floors (against whole machines), gangs and single requests (against what is free, then
//! on new machines), idle machines. Placing is greedy by a score ([`score`]); several ways of it are tried and the
//! best is taken ([`choose`]). Where this differs from Ray 2.60.0, and why, is in `docs/ray-differences.md`.
//!
//! Equal machines and equal requests are one entry with a count, and no float decides.
#![deny(clippy::float_arithmetic)]

mod book;
mod bounds;
mod choose;
mod explain;
mod faults;
mod fit;
mod gang;
mod idle;
mod labels;
mod ledger;
mod mark;
mod names;
mod order;
mod pass;
mod plan;
mod race;
mod request;
mod score;
#[cfg(test)]
mod tests;
mod variant;
mod victims;
mod world;

use crate::problem::{Decision, Launch, Problem};

/// Answers a problem. Total and deterministic; the order of the input decides only between requests and gangs
/// that are equal in all that their order depends on.
pub fn decide(problem: &Problem) -> Decision {
    let mut world = world::World::of(problem);
    let (plan, idle) = settle(&mut world);
    let mut decision = Decision::default();
    for (&(pool, cause), &count) in plan.launches.iter().filter(|(_, count)| **count > 0) {
        decision.launches.push(Launch { pool, count, cause });
    }
    decision.removals.extend_from_slice(&plan.standing.removals);
    decision.removals.append(&mut world.released);
    decision.faults = faults::faults(&world, &plan.standing);
    explain::unplaced(&world, &plan, &mut decision);
    decision.kept = idle.kept;
    decision.pending_unneeded = idle.pending_unneeded;
    decision
}

/// An idle machine that goes leaves its room to others, in this same decision: so it is made again without them,
/// until none goes. Each round but the last lets at least one machine go.
fn settle(world: &mut world::World<'_>) -> (plan::Plan, idle::Idle) {
    loop {
        let plan = choose::best(world);
        let mut idle = idle::idle(world, &plan);
        if idle.removals.is_empty() {
            return (plan, idle);
        }
        world.released.append(&mut idle.removals);
    }
}
