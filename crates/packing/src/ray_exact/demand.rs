//! What the workload asks for: the constraint, then gangs, then plain requests.

use alloc::vec::Vec;

use super::catalog::{Ordered, Run};
use super::contest::{Outcome, contest};
use super::decision::{Decision, Demand, Fault, Unplaced};
use super::world::{Source, World};

/// Places all demand; a constraint or gang that does not fit as a whole leaves no trace.
pub(super) fn place(
    world: &mut World<'_, '_>,
    demand: &Ordered,
    decision: &mut Decision,
) -> Result<(), Vec<Fault>> {
    decision.infeasible_constraint = !place_whole(world, &demand.constraint, Source::Constraint)?;
    for (gang, bundles) in &demand.gangs {
        if !place_whole(world, bundles, Source::Demand)? {
            decision.infeasible_gangs.push(*gang);
        }
    }
    let outcome = contest(world, &demand.requests, Source::Demand)?;
    decision.infeasible_requests = unplaced(&demand.requests, &outcome.left);
    keep(world, outcome);
    Ok(())
}

fn place_whole(world: &mut World<'_, '_>, runs: &[Run], source: Source) -> Result<bool, Vec<Fault>> {
    if runs.is_empty() {
        return Ok(true);
    }
    let outcome = contest(world, runs, source)?;
    let whole = outcome.left.iter().all(|&left| left == 0);
    if whole {
        keep(world, outcome);
    }
    Ok(whole)
}

fn keep(world: &mut World<'_, '_>, outcome: Outcome) {
    world.list = outcome.list;
    for (slot, demand, count) in outcome.placed {
        world.note(slot, demand, count);
    }
}

fn unplaced(runs: &[Run], left: &[u64]) -> Vec<Unplaced> {
    let mut unplaced = Vec::new();
    for (run, &left) in runs.iter().zip(left) {
        for (demand, count) in run.last(left) {
            if let Demand::Request(request) = demand {
                unplaced.push(Unplaced { request, count });
            }
        }
    }
    unplaced
}
