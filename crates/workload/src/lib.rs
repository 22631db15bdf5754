//! The contract with a **workload**: one thing that asks for capacity (a Ray cluster, a Kubernetes cluster,
//! a Polars scheduler).
//!
//! A workload never sees a provider and holds no policy. It is looked at ([`Workload::observe`]), asked to
//! let a node go ([`Workload::drain`]), and told what is planned ([`Workload::publish`]).
//! What an implementation must keep is written at each method and, as code, in [`conformance`].

#[cfg(feature = "conformance")]
pub mod conformance;
mod door;
mod drain;
mod error;
pub mod fake;
mod publish;

pub use door::{Asked, Door, Inbox, Outcome};
pub use drain::{DrainAnswer, DrainCause, DrainRequest};
pub use error::WorkloadError;
pub use publish::{
    Event, FailedLaunch, NodeNews, NodeNotice, PendingInstance, PendingLaunch, PodNews, PodNotice, Published,
    Severity,
};

use async_trait::async_trait;
use ostler_model::{CloudInstance, NodeId, ProviderId, WorkloadState};
use std::fmt::Debug;

/// One thing that asks for capacity.
///
/// Every method may be called at any time, by several tasks at once, and may be dropped half-way (the caller
/// holds the deadline): the next call must work as if the dropped one had never been answered. An
/// implementation keeps no more in memory than its connection and what makes the next call cheaper; whatever
/// it forgets in a crash it must be able to do without.
#[async_trait]
pub trait Workload: Send + Sync + Debug {
    /// What this workload can do beside the obligatory; does not change while the process lives.
    fn capabilities(&self) -> Capabilities;

    /// One look at everything: nodes and demand of one moment.
    ///
    /// Reads only. A record that cannot be understood is left out and named in `skipped`; it never fails the
    /// look. Eventually consistent: what a drain has changed may take a few looks to show. If the workload
    /// never answers, neither does this: give it a deadline.
    async fn observe(&self) -> Result<WorkloadState, WorkloadError>;

    /// Asks the workload to let a node go.
    ///
    /// Idempotent: a node that is draining already, is gone, or was never known is `Accepted`.
    /// [`DrainAnswer::Rejected`] is the workload's own no (the node is in use again), after which the node
    /// goes on working; an `Err` says nothing about the node, and the request may be repeated.
    async fn drain(&self, node: &NodeId, request: &DrainRequest) -> Result<DrainAnswer, WorkloadError>;

    /// Takes a drain back. Only for workloads with [`Capabilities::undrain`]; idempotent, unknown nodes are fine.
    async fn undrain(&self, node: &NodeId) -> Result<(), WorkloadError> {
        Err(WorkloadError::unsupported(format!("a drain of node {node} cannot be taken back")))
    }

    /// Tells the workload what is planned, for its own users to see. Replaces what was told before, except for
    /// the events, which are added.
    ///
    /// What is told may be lost with the workload's memory, and nothing depends on it: the caller tells it
    /// again in the next pass. A generation below one that was told already is ignored. After an `Err` the
    /// state was perhaps told; events of a failed call may be given again and then show twice.
    async fn publish(&self, status: &Published) -> Result<(), WorkloadError>;

    /// Tells what one provider lists of this workload's machines, after each look; `None`: the look failed, and
    /// what was told before stands. For workloads that must go and see themselves which of their machines are
    /// ready; the others need not listen. Answers at once.
    fn machines(&self, provider: &ProviderId, listed: Option<&[CloudInstance]>) {
        let _ = (provider, listed);
    }

    /// Where requests from outside come in, if there are any.
    fn door(&self) -> Option<&Door> {
        None
    }
}

/// What a workload can do beside the obligatory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities {
    /// A drain can be taken back.
    pub undrain: bool,
    /// An idle drain is refused when the node is in use again, so that none is lost to a race.
    pub rejects_busy_drain: bool,
    /// A drain for another cause than idleness waits for the work on the node until its deadline.
    pub waits_for_deadline: bool,
}
