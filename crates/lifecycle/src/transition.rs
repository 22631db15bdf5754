//! The table: which event moves which state where. Everything that is not written here is illegal.

use crate::event::Event;
use crate::instance::{Entered, HISTORY_MAX, Instance};
use crate::state::{State, StateName};
use core::fmt;
use ostler_model::{EndCause, InstanceId, Timestamp};

/// An event that cannot happen in this state. The record is unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IllegalTransition {
    /// The record.
    pub instance: InstanceId,
    /// Where it is.
    pub from: StateName,
    /// What was said to have happened.
    pub event: &'static str,
}

impl fmt::Display for IllegalTransition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "instance {} cannot go on from {} by {}", self.instance, self.from, self.event)
    }
}
impl core::error::Error for IllegalTransition {}

impl Instance {
    /// Applies one event: the only way a state changes.
    ///
    /// # Errors
    /// [`IllegalTransition`] if the table has no such edge; the record is then unchanged.
    pub fn transition(&mut self, event: &Event, now: Timestamp) -> Result<(), IllegalTransition> {
        let Some(next) = next(&self.state, event) else {
            return Err(IllegalTransition {
                instance: self.id.clone(),
                from: self.state.name(),
                event: event.code(),
            });
        };
        if let Event::LaunchRequested { launch_hash } = event {
            self.attempt += 1;
            self.launch_hash.clone_from(launch_hash);
        }
        self.state = next;
        self.epoch += 1;
        // A clock that was set back must not make a later state look older than an earlier one.
        self.since = now.max(self.since);
        if self.history.len() == HISTORY_MAX {
            self.history.remove(0);
        }
        self.history.push(Entered { state: self.state.name(), at: self.since });
        Ok(())
    }
}

/// The state after an event, `None` if it cannot happen.
fn next(state: &State, event: &Event) -> Option<State> {
    use Event as E;
    use State as S;
    Some(match (event, state) {
        // A queued instance's turn came.
        (E::LaunchRequested { .. }, S::Queued) => S::Requested,
        // The request was not answered in time, and is made again later.
        (E::LaunchRequeued, S::Requested) => S::Queued,
        // Nobody needs it, and the provider has not been asked.
        (E::Withdrawn { cause }, S::Queued) => S::Terminated { cloud: None, cause: *cause },
        // The machine that was asked for is there.
        (E::Allocated { cloud }, S::Requested) => S::Allocated { cloud: cloud.clone() },
        // The provider said no; a new record will be made if the need stays.
        (E::LaunchFailed { failure }, S::Requested) => S::AllocationFailed { failure: failure.clone() },
        // The machine is there, and its node never came up.
        (E::AllocationTimedOut, S::Allocated { cloud }) => S::AllocationTimedOut { cloud: cloud.clone() },
        // The machine is up and gets its software.
        (E::InstallStarted, S::Allocated { cloud }) => S::Installing { cloud: cloud.clone() },
        // The software could not be put on it.
        (E::InstallFailed { failure }, S::Installing { cloud }) => {
            S::InstallFailed { cloud: cloud.clone(), failure: failure.clone() }
        }
        // The workload sees the node.
        (E::NodeUp { node }, S::Allocated { cloud } | S::Installing { cloud }) => {
            S::Running { cloud: cloud.clone(), node: node.clone() }
        }
        // It should go; the workload decides whether it may.
        (E::DrainRequested { cause, deadline }, S::Running { cloud, node }) => {
            S::DrainRequested { cloud: cloud.clone(), node: node.clone(), cause: *cause, deadline: *deadline }
        }
        // The workload said no, or did nothing: it works on.
        (E::DrainCancelled, S::DrainRequested { cloud, node, .. }) => {
            S::Running { cloud: cloud.clone(), node: node.clone() }
        }
        // The workload took the drain back, on our wish or because something on the node cannot leave.
        (
            E::DrainCancelled,
            S::Draining { cloud, node: Some(node), .. } | S::UndrainRequested { cloud, node },
        ) => S::Running { cloud: cloud.clone(), node: node.clone() },
        // It is wanted again, or carries a mark of a drain that nobody wants; and asked once more if that failed.
        (
            E::UndrainRequested,
            S::Running { cloud, node }
            | S::DrainRequested { cloud, node, .. }
            | S::Draining { cloud, node: Some(node), .. }
            | S::UndrainRequested { cloud, node },
        ) => S::UndrainRequested { cloud: cloud.clone(), node: node.clone() },
        // The workload lets it go, on our wish or by itself.
        (
            E::NodeDraining,
            S::Allocated { cloud } | S::Running { cloud, .. } | S::DrainRequested { cloud, .. },
        ) => S::Draining {
            cloud: cloud.clone(),
            node: state.node().cloned(),
            cause: state.end_cause().unwrap_or(EndCause::NodeDraining),
        },
        // The node is gone, the machine is left over.
        (
            E::NodeGone { cause },
            S::Allocated { cloud }
            | S::Installing { cloud }
            | S::Running { cloud, .. }
            | S::DrainRequested { cloud, .. }
            | S::Draining { cloud, .. }
            | S::UndrainRequested { cloud, .. },
        ) => S::Drained { cloud: cloud.clone(), cause: state.end_cause().unwrap_or(*cause) },
        // The machine is not wanted any more, and nothing on it has to be waited for.
        (
            E::TerminationRequested { cause },
            S::Allocated { cloud }
            | S::Installing { cloud }
            | S::Running { cloud, .. }
            | S::Draining { cloud, .. }
            | S::Drained { cloud, .. }
            | S::AllocationTimedOut { cloud }
            | S::InstallFailed { cloud, .. }
            | S::TerminationFailed { cloud, .. },
        ) => S::Terminating { cloud: cloud.clone(), cause: state.end_cause().unwrap_or(*cause) },
        // The provider did not do it; it will be asked again.
        (E::TerminationFailed { failure }, S::Terminating { cloud, cause }) => {
            S::TerminationFailed { cloud: cloud.clone(), cause: *cause, failure: failure.clone() }
        }
        // The machine is no longer listed, wherever we were with it.
        (
            E::MachineGone { cause },
            S::Allocated { cloud }
            | S::Installing { cloud }
            | S::Running { cloud, .. }
            | S::DrainRequested { cloud, .. }
            | S::Draining { cloud, .. }
            | S::UndrainRequested { cloud, .. }
            | S::Drained { cloud, .. }
            | S::Terminating { cloud, .. }
            | S::AllocationTimedOut { cloud }
            | S::InstallFailed { cloud, .. }
            | S::TerminationFailed { cloud, .. },
        ) => S::Terminated { cloud: Some(cloud.clone()), cause: state.end_cause().unwrap_or(*cause) },
        _ => return None,
    })
}
