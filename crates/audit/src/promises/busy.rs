//! `busy_nodes_stay`

use crate::world::World;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use ostler_lifecycle::{Event, StateName};
use ostler_model::{EndCause, NodeStatus};

/// Drains for idleness of nodes that are at work, and ends of running machines without a drain.
pub(crate) fn judge(world: &World<'_>) -> Vec<String> {
    world.events().filter_map(|(step, event)| broken(world, &step.instance, event)).collect()
}

fn broken(world: &World<'_>, id: &ostler_model::InstanceId, event: &Event) -> Option<String> {
    let before = *world.before.get(id)?;
    let running = before.state().name() == StateName::Running;
    match event {
        Event::DrainRequested { cause, .. } => {
            let allowed = matches!(
                cause,
                EndCause::MaxPerPool | EndCause::MaxTotal | EndCause::Outdated | EndCause::Asked
            );
            let node = before.state().node().and_then(|node| world.nodes.get(node));
            let busy = node.is_some_and(|node| node.status == NodeStatus::Running);
            (busy && !allowed).then(|| format!("{id} is at work and would be drained as {cause}"))
        }
        Event::TerminationRequested { cause } if running && !was_lost(world, id) => {
            Some(format!("{id} runs and would be ended as {cause} without a drain"))
        }
        _ => None,
    }
}

/// Did the plan itself see the node go, before it ended the machine?
fn was_lost(world: &World<'_>, id: &ostler_model::InstanceId) -> bool {
    let seen = |event: &Event| matches!(event, Event::NodeGone { .. } | Event::NodeDraining);
    world.events().any(|(step, event)| step.instance == *id && seen(event))
}
