//! Letting a node go, and what the workload says to it.

use ostler_model::{Millis, Timestamp};

/// Why and how a node is to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrainRequest {
    /// Why.
    pub cause: DrainCause,
    /// The same for people; the workload may show it.
    pub message: String,
    /// When the machine will be taken away, drained or not; `None`: when the workload is done with it.
    pub deadline: Option<Timestamp>,
}

/// Why a node is to go; it decides whether the workload may say no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrainCause {
    /// Nothing has run on it for this long. The workload says no if that is no longer so.
    Idle {
        /// For how long.
        unused: Millis,
    },
    /// It must go whether or not it is in use (bounds, an outdated configuration, a wish).
    Preemption,
}

/// What the workload says to a drain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DrainAnswer {
    /// The node takes no more work and will go.
    Accepted,
    /// The node stays at work, for this reason (the workload's words).
    Rejected(String),
}
