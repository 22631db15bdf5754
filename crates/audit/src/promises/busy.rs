//! `busy_nodes_stay`

use crate::world::World;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use ostler_lifecycle::{Event, State};
use ostler_model::{EndCause, InstanceId, NodeStatus, Scoring};

/// Drains for idleness of nodes that are at work, and ends of machines whose node is still there.
pub(crate) fn judge(world: &World<'_>) -> Vec<String> {
    world.moves().filter_map(|(step, event, from)| broken(world, &step.instance, event, from)).collect()
}

fn broken(world: &World<'_>, id: &InstanceId, event: &Event, from: &State) -> Option<String> {
    match (event, from) {
        (Event::DrainRequested { cause, .. }, State::Running { node, .. }) => {
            let allowed = matches!(
                cause,
                EndCause::MaxPerPool | EndCause::MaxTotal | EndCause::Outdated | EndCause::Asked
            ) || by_moving(*cause);
            let busy = world.nodes.get(node).is_some_and(|node| node.status == NodeStatus::Running);
            (busy && !allowed).then(|| format!("{id} is at work and would be drained as {cause}"))
        }
        // Who asks for a number of workers has said which of them may go: there is nothing to drain.
        (Event::TerminationRequested { .. }, State::Running { .. }) if is_by_number(world) => None,
        // Only a node that was seen to go lets its machine go.
        (Event::TerminationRequested { cause }, State::Running { .. } | State::Draining { .. }) => {
            Some(format!("{id} runs and would be ended as {cause} without a drain"))
        }
        _ => None,
    }
}

/// Kubernetes nodes are emptied: what is on them moves, and has a place to go to.
const fn by_moving(cause: EndCause) -> bool {
    matches!(cause, EndCause::Underused | EndCause::Consolidated | EndCause::Unready)
}

fn is_by_number(world: &World<'_>) -> bool {
    world.snapshot.policy.scoring == Scoring::Target
}
