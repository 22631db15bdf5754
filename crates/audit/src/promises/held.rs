//! `held_is_held`

use crate::world::World;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use ostler_lifecycle::Event;
use ostler_planner::{Reason, Step};

/// Decisions of our own (launches, drains, ends) that a failed look should have held back. What follows from
/// something that was seen, such as a dead node, may go on; where the workload was not seen, nothing was.
pub(crate) fn judge(world: &World<'_>) -> Vec<String> {
    let head_up = world.nodes.values().any(|node| node.head && node.status.is_up());
    let no_head = world.snapshot.policy.head_pool.is_some() && !head_up;
    let unseen = world.state.is_none();
    let decisions = world.plan.steps.iter().filter(|step| unseen || is_ours(step));
    decisions
        .filter_map(|step| {
            if unseen {
                Some(format!("{}: the workload was not seen", step.instance))
            } else if no_head {
                Some(format!("{}: the workload has no head", step.instance))
            } else if needs_provider(step) && !is_seen(world, step) {
                Some(format!("{}: the provider of pool {} was not seen", step.instance, step.pool))
            } else {
                None
            }
        })
        .collect()
}

fn is_ours(step: &Step) -> bool {
    match &step.event {
        None => matches!(step.reason, Reason::Wanted { .. }),
        Some(Event::TerminationRequested { .. }) => matches!(step.reason, Reason::Removed { .. }),
        Some(event) => matches!(event, Event::LaunchRequested { .. } | Event::DrainRequested { .. }),
    }
}

fn needs_provider(step: &Step) -> bool {
    step.event.is_some()
}

fn is_seen(world: &World<'_>, step: &Step) -> bool {
    let listings = &world.snapshot.listings;
    match world.pool(&step.pool) {
        Some(pool) => listings.get(&pool.provider).is_some_and(|observed| observed.result.is_ok()),
        None => listings.values().any(|observed| observed.result.is_ok()),
    }
}
