//! The states, each with the data that is valid only in it.

use core::fmt;
use ostler_model::{CloudId, EndCause, Failure, NodeId, Timestamp};
use serde::{Deserialize, Serialize};

/// Where an instance is in its life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "name")]
pub enum State {
    /// We decided to have it; the provider has not been asked.
    Queued,
    /// The provider has been asked.
    Requested,
    /// It exists; the workload does not see it yet.
    Allocated {
        /// The machine.
        cloud: CloudId,
    },
    /// It is being prepared.
    Installing {
        /// The machine.
        cloud: CloudId,
    },
    /// The workload's node on it is up.
    Running {
        /// The machine.
        cloud: CloudId,
        /// The node.
        node: NodeId,
    },
    /// The workload is asked to let the node go.
    DrainRequested {
        /// The machine.
        cloud: CloudId,
        /// The node.
        node: NodeId,
        /// Why it should go.
        cause: EndCause,
        /// By when its work should have left; `None` leaves it to the workload.
        deadline: Option<Timestamp>,
    },
    /// The node takes no more work.
    Draining {
        /// The machine.
        cloud: CloudId,
        /// The node, if it ever came up.
        node: Option<NodeId>,
        /// Why it goes.
        cause: EndCause,
    },
    /// The workload is asked to take the drain back: the node is wanted again.
    UndrainRequested {
        /// The machine.
        cloud: CloudId,
        /// The node.
        node: NodeId,
    },
    /// The node is gone, the machine is still there.
    Drained {
        /// The machine.
        cloud: CloudId,
        /// Why it went.
        cause: EndCause,
    },
    /// The provider is asked to end the machine.
    Terminating {
        /// The machine.
        cloud: CloudId,
        /// Why it ends.
        cause: EndCause,
    },
    /// It is no more.
    Terminated {
        /// The machine, if there ever was one.
        cloud: Option<CloudId>,
        /// Why it ended.
        cause: EndCause,
    },
    /// The provider refused to make it.
    AllocationFailed {
        /// What it said.
        failure: Failure,
    },
    /// It was made, and its node never came up.
    AllocationTimedOut {
        /// The machine.
        cloud: CloudId,
    },
    /// It could not be prepared.
    InstallFailed {
        /// The machine.
        cloud: CloudId,
        /// What went wrong.
        failure: Failure,
    },
    /// The provider did not end it.
    TerminationFailed {
        /// The machine.
        cloud: CloudId,
        /// Why it should end.
        cause: EndCause,
        /// What the provider said.
        failure: Failure,
    },
}

/// A state without its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "each is described at the variant of `State` with the same name")]
pub enum StateName {
    Queued,
    Requested,
    Allocated,
    Installing,
    Running,
    DrainRequested,
    Draining,
    UndrainRequested,
    Drained,
    Terminating,
    Terminated,
    AllocationFailed,
    AllocationTimedOut,
    InstallFailed,
    TerminationFailed,
}

impl StateName {
    /// All of them, in the order of a life.
    pub const ALL: [Self; 15] = [
        Self::Queued,
        Self::Requested,
        Self::Allocated,
        Self::Installing,
        Self::Running,
        Self::DrainRequested,
        Self::Draining,
        Self::UndrainRequested,
        Self::Drained,
        Self::Terminating,
        Self::Terminated,
        Self::AllocationFailed,
        Self::AllocationTimedOut,
        Self::InstallFailed,
        Self::TerminationFailed,
    ];

    /// Nothing ever happens to it again.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Terminated | Self::AllocationFailed)
    }

    /// The stable spelling, as in journals and `status`.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Requested => "requested",
            Self::Allocated => "allocated",
            Self::Installing => "installing",
            Self::Running => "running",
            Self::DrainRequested => "drain_requested",
            Self::Draining => "draining",
            Self::UndrainRequested => "undrain_requested",
            Self::Drained => "drained",
            Self::Terminating => "terminating",
            Self::Terminated => "terminated",
            Self::AllocationFailed => "allocation_failed",
            Self::AllocationTimedOut => "allocation_timed_out",
            Self::InstallFailed => "install_failed",
            Self::TerminationFailed => "termination_failed",
        }
    }

    /// What Ray calls it, or what is nearest: a drain is never taken back there.
    pub const fn ray(self) -> &'static str {
        match self {
            Self::Queued => "QUEUED",
            Self::Requested => "REQUESTED",
            Self::Allocated => "ALLOCATED",
            Self::Installing => "RAY_INSTALLING",
            Self::Running => "RAY_RUNNING",
            Self::DrainRequested => "RAY_STOP_REQUESTED",
            Self::Draining | Self::UndrainRequested => "RAY_STOPPING",
            Self::Drained => "RAY_STOPPED",
            Self::Terminating => "TERMINATING",
            Self::Terminated => "TERMINATED",
            Self::AllocationFailed => "ALLOCATION_FAILED",
            Self::AllocationTimedOut => "ALLOCATION_TIMEOUT",
            Self::InstallFailed => "RAY_INSTALL_FAILED",
            Self::TerminationFailed => "TERMINATION_FAILED",
        }
    }
}

impl fmt::Display for StateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
    }
}

impl State {
    /// Which state it is.
    pub const fn name(&self) -> StateName {
        match self {
            Self::Queued => StateName::Queued,
            Self::Requested => StateName::Requested,
            Self::Allocated { .. } => StateName::Allocated,
            Self::Installing { .. } => StateName::Installing,
            Self::Running { .. } => StateName::Running,
            Self::DrainRequested { .. } => StateName::DrainRequested,
            Self::Draining { .. } => StateName::Draining,
            Self::UndrainRequested { .. } => StateName::UndrainRequested,
            Self::Drained { .. } => StateName::Drained,
            Self::Terminating { .. } => StateName::Terminating,
            Self::Terminated { .. } => StateName::Terminated,
            Self::AllocationFailed { .. } => StateName::AllocationFailed,
            Self::AllocationTimedOut { .. } => StateName::AllocationTimedOut,
            Self::InstallFailed { .. } => StateName::InstallFailed,
            Self::TerminationFailed { .. } => StateName::TerminationFailed,
        }
    }

    /// The machine, while there is one.
    pub const fn cloud(&self) -> Option<&CloudId> {
        match self {
            Self::Allocated { cloud }
            | Self::Installing { cloud }
            | Self::Running { cloud, .. }
            | Self::DrainRequested { cloud, .. }
            | Self::Draining { cloud, .. }
            | Self::UndrainRequested { cloud, .. }
            | Self::Drained { cloud, .. }
            | Self::Terminating { cloud, .. }
            | Self::AllocationTimedOut { cloud }
            | Self::InstallFailed { cloud, .. }
            | Self::TerminationFailed { cloud, .. } => Some(cloud),
            Self::Queued | Self::Requested | Self::Terminated { .. } | Self::AllocationFailed { .. } => None,
        }
    }

    /// The workload's node, while it matters.
    pub const fn node(&self) -> Option<&NodeId> {
        match self {
            Self::Running { node, .. }
            | Self::DrainRequested { node, .. }
            | Self::UndrainRequested { node, .. } => Some(node),
            Self::Draining { node, .. } => node.as_ref(),
            _ => None,
        }
    }

    /// Why it ends, once that is settled.
    pub const fn end_cause(&self) -> Option<EndCause> {
        match self {
            Self::DrainRequested { cause, .. }
            | Self::Draining { cause, .. }
            | Self::Drained { cause, .. }
            | Self::Terminating { cause, .. }
            | Self::Terminated { cause, .. }
            | Self::TerminationFailed { cause, .. } => Some(*cause),
            Self::AllocationTimedOut { .. } => Some(EndCause::NeverJoined),
            Self::InstallFailed { .. } => Some(EndCause::InstallFailed),
            _ => None,
        }
    }
}
