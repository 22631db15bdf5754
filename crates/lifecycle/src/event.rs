//! What can happen to an instance: facts in the past tense, each with one sentence.

use alloc::string::String;
use core::fmt;
use ostler_model::{CloudId, EndCause, Failure, NodeId, Timestamp};
use serde::{Deserialize, Serialize};

/// A fact about one instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Event {
    /// The turn of a queued instance came: the provider is to be asked, with a new attempt number.
    LaunchRequested {
        /// The pool's launch hash at that time.
        launch_hash: String,
    },
    /// The provider did not answer in time: back to the queue.
    LaunchRequeued,
    /// Nothing needs the queued instance any longer.
    Withdrawn {
        /// Why not.
        cause: EndCause,
    },
    /// The provider lists a machine for it.
    Allocated {
        /// The machine.
        cloud: CloudId,
    },
    /// The provider refused.
    LaunchFailed {
        /// What it said.
        failure: Failure,
    },
    /// The machine's node did not come up in time.
    AllocationTimedOut,
    /// Preparing the machine began.
    InstallStarted,
    /// The machine could not be prepared.
    InstallFailed {
        /// What went wrong.
        failure: Failure,
    },
    /// The workload's node on the machine is up.
    NodeUp {
        /// The node.
        node: NodeId,
    },
    /// The workload is to be asked to let the node go.
    DrainRequested {
        /// Why.
        cause: EndCause,
        /// By when its work should have left.
        deadline: Option<Timestamp>,
    },
    /// The workload refused to let the node go, did nothing about it in time, or took its drain back: it goes on
    /// working.
    DrainCancelled,
    /// The workload says that the node takes no more work.
    NodeDraining,
    /// The node is wanted again: the workload is to be asked to take the drain back.
    UndrainRequested,
    /// The workload's node is gone.
    NodeGone {
        /// How it went.
        cause: EndCause,
    },
    /// The machine is to be ended.
    TerminationRequested {
        /// Why; what the record already says comes first.
        cause: EndCause,
    },
    /// The provider did not end the machine.
    TerminationFailed {
        /// What it said.
        failure: Failure,
    },
    /// The provider no longer lists the machine, or another record owns it.
    MachineGone {
        /// Why; what the record already says comes first.
        cause: EndCause,
    },
}

impl Event {
    /// The stable spelling, as in journals.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::LaunchRequested { .. } => "launch_requested",
            Self::LaunchRequeued => "launch_requeued",
            Self::Withdrawn { .. } => "withdrawn",
            Self::Allocated { .. } => "allocated",
            Self::LaunchFailed { .. } => "launch_failed",
            Self::AllocationTimedOut => "allocation_timed_out",
            Self::InstallStarted => "install_started",
            Self::InstallFailed { .. } => "install_failed",
            Self::NodeUp { .. } => "node_up",
            Self::DrainRequested { .. } => "drain_requested",
            Self::DrainCancelled => "drain_cancelled",
            Self::NodeDraining => "node_draining",
            Self::UndrainRequested => "undrain_requested",
            Self::NodeGone { .. } => "node_gone",
            Self::TerminationRequested { .. } => "termination_requested",
            Self::TerminationFailed { .. } => "termination_failed",
            Self::MachineGone { .. } => "machine_gone",
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}
