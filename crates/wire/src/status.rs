//! The status document: what the API serves and the command line prints.

use ostler_model::{Demand, Failure, Node, ProviderId, Timestamp, WorkloadId};
use ostler_planner::Report;
use serde::{Deserialize, Serialize};

/// Everything about a running Ostler that people ask for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Status {
    /// The number of this document's format.
    pub format: u32,
    /// The version of Ostler.
    pub ostler: String,
    /// When it was started.
    pub started_at: Timestamp,
    /// Now.
    pub at: Timestamp,
    /// Its workloads, by name.
    pub workloads: Vec<WorkloadStatus>,
    /// Its providers, by name.
    pub providers: Vec<ProviderStatus>,
}

/// One workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkloadStatus {
    /// Its name.
    pub workload: WorkloadId,
    /// What kind of workload it is.
    pub kind: String,
    /// When the newest look at it began.
    pub observed_at: Option<Timestamp>,
    /// Why the newest look saw nothing.
    pub failure: Option<Failure>,
    /// Which life of the workload it is.
    pub session: String,
    /// Its nodes at the newest look that saw them.
    pub nodes: Vec<NodeStatusLine>,
    /// What it asked for at that look.
    pub demand: Demand,
    /// The newest plan's picture.
    pub report: Option<Report>,
}

/// A node with where a person finds more about its machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeStatusLine {
    /// The node as the workload lists it.
    #[serde(flatten)]
    pub node: Node,
    /// What the provider says about where to look, e.g. a log file.
    pub details: Option<String>,
}

/// One provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderStatus {
    /// Its name.
    pub provider: ProviderId,
    /// When the newest listing began.
    pub listed_at: Option<Timestamp>,
    /// Why the newest listing failed.
    pub failure: Option<Failure>,
    /// Machines of ours that it lists.
    pub machines: usize,
}

impl Status {
    /// The format that this version writes and reads.
    pub const FORMAT: u32 = 1;
}
