//! Records that do not move on. The rules and defaults are Ray 2.60.0's; strictly longer is overdue.

use crate::draft::{Draft, Serial};
use crate::plan::{Severity, Subject};
use crate::reason::Reason;
use ostler_lifecycle::{Event, StateName, due_effect};
use ostler_model::kube::Pod;
use ostler_model::{Failure, FailureClass, Millis, Node, NodeStatus, Timeouts};

/// Helps each overdue record along.
pub(crate) fn overdue(draft: &mut Draft<'_>) {
    let timeouts = draft.snapshot.policy.timeouts.clone();
    for serial in draft.serials(|i| !i.state().name().is_final()) {
        let instance = &draft.instances[&serial];
        // Whatever the listing would have shown, a provider that cannot be listed did not get to show it.
        let judged_by_listing =
            matches!(instance.state().name(), StateName::Requested | StateName::Terminating);
        if judged_by_listing && !draft.is_seen(instance.pool()) {
            continue;
        }
        // What waits for its turn to be asked again has not been asked yet.
        let asked_at = due_effect(instance).map_or(instance.since(), |effect| effect.not_before);
        let mut after = draft.snapshot.now.since(asked_at);
        // A node may have come up since the last look, and have work.
        if draft.snapshot.policy.kube.is_some() && instance.state().name() == StateName::Allocated {
            after = draft.snapshot.seen().map_or(Millis(0), |(_, seen_at)| seen_at.since(asked_at));
        }
        help(draft, serial, after, &timeouts);
    }
}

fn help(draft: &mut Draft<'_>, serial: Serial, after: Millis, timeouts: &Timeouts) {
    match draft.instances[&serial].state().name() {
        StateName::Requested if after > timeouts.request => ask_again(draft, serial, after, timeouts),
        StateName::Allocated if after > timeouts.allocate && draft.is_protected(serial) => {
            let id = draft.instances[&serial].id().clone();
            draft.note(Subject::Instance(id), Severity::Warning, Reason::KeptUnready { after });
        }
        StateName::Allocated
            if after > timeouts.allocate
                && let Some(node) = takes_pods(draft, serial) =>
        {
            stay_as_it_is(draft, serial, node, after);
        }
        // A node whose status we do not know is there, and may be at work.
        StateName::Allocated if after > timeouts.allocate && !has_odd_node(draft, serial) => {
            let pool = draft.instances[&serial].pool().clone();
            draft.memory.pools.entry(pool).or_default().timed_out_at = Some(draft.snapshot.now);
            draft.apply(serial, Event::AllocationTimedOut, Reason::NodeNeverJoined { after });
        }
        StateName::Installing if after > timeouts.install => {
            let failure = overdue_failure("preparing the machine", after);
            draft.apply(serial, Event::InstallFailed { failure }, Reason::InstallOverdue { after });
        }
        StateName::DrainRequested if after > timeouts.drain_request => {
            draft.apply(serial, Event::DrainCancelled, Reason::DrainOverdue { after });
        }
        StateName::Terminating if after > timeouts.terminate => {
            let failure = overdue_failure("ending the machine", after);
            draft.apply(serial, Event::TerminationFailed { failure }, Reason::TerminationOverdue { after });
        }
        _ => {}
    }
}

/// The node on its machine, if pods are at work on it: the scheduler took it for good before we did.
fn takes_pods<'a>(draft: &Draft<'a>, serial: Serial) -> Option<&'a Node> {
    let cloud = draft.instances.get(&serial)?.state().cloud()?;
    let (state, _) = draft.snapshot.seen()?;
    let node = state.nodes.iter().find(|node| node.cloud.as_ref() == Some(cloud))?;
    let mut pods = state.cluster.as_ref()?.pods.iter();
    let works = |pod: &Pod| pod.node.as_ref() == Some(&node.id) && pod.is_movable();
    pods.any(works).then_some(node)
}

/// Whatever it lacks of what its pool promises, it is not ended under its pods: it is taken as it is, and its pool last.
fn stay_as_it_is(draft: &mut Draft<'_>, serial: Serial, node: &Node, after: Millis) {
    let (id, pool) = (draft.instances[&serial].id().clone(), draft.instances[&serial].pool().clone());
    if matches!(node.status, NodeStatus::Running | NodeStatus::Idle) {
        super::nodes::joined(draft, serial, node);
    } else {
        draft.note(Subject::Instance(id), Severity::Warning, Reason::KeptUnready { after });
    }
    draft.memory.pools.entry(pool).or_default().timed_out_at = Some(draft.snapshot.now);
}

fn has_odd_node(draft: &Draft<'_>, serial: Serial) -> bool {
    let cloud = draft.instances[&serial].state().cloud();
    let odd = |node: &Node| node.cloud.as_ref() == cloud && draft.is_odd(&node.id);
    !draft.odd.is_empty() && draft.snapshot.seen().is_some_and(|(state, _)| state.nodes.iter().any(odd))
}

/// A machine that comes late from the old attempt is claimed or adopted, see `machines`.
fn ask_again(draft: &mut Draft<'_>, serial: Serial, after: Millis, timeouts: &Timeouts) {
    let attempt = draft.instances[&serial].attempt();
    if attempt <= timeouts.request_retries {
        draft.apply(serial, Event::LaunchRequeued, Reason::LaunchUnanswered { after, attempt });
    } else {
        let failure = overdue_failure("the launch", after);
        draft.apply(serial, Event::LaunchFailed { failure }, Reason::LaunchGivenUp { attempts: attempt });
    }
}

fn overdue_failure(what: &str, after: Millis) -> Failure {
    Failure { class: FailureClass::Transient, message: alloc::format!("{what} was not done after {after}") }
}
