//! What a workload is told of the plan, for its own users to see.

use ostler_model::{Demand, InstanceId, NodeId, PoolId, Timestamp};
use std::sync::Arc;

/// The plan in the words of the workload's users.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Published {
    /// [`ostler_model::WorkloadState::version`] of the look that the plan was made from.
    pub workload_version: i64,
    /// Rises with everything that is told, over restarts too (milliseconds of the clock will do).
    pub generation: u64,
    /// Machines that the provider was asked for.
    pub pending_launches: Vec<PendingLaunch>,
    /// Machines that exist and whose nodes are not up yet.
    pub pending_instances: Vec<PendingInstance>,
    /// Launches that failed of late.
    pub failed_launches: Vec<FailedLaunch>,
    /// Demand that no machine of the configuration can ever meet.
    pub infeasible: Demand,
    /// What happened since the last publication, oldest first.
    pub events: Vec<Event>,
    /// What is planned for pods that wait, for those workloads that have pods. As long as it is so it is told each
    /// time; the workload shows it once.
    pub pods: Vec<PodNotice>,
    /// What is planned for nodes, likewise.
    pub nodes: Vec<NodeNotice>,
    /// The whole status as text, for people; empty: nothing to say.
    pub status: String,
}

/// What is planned for a pod that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodNotice {
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// Its unique id.
    pub uid: Arc<str>,
    /// What.
    pub news: PodNews,
    /// The same for people, e.g. with the reason of each pool.
    pub text: String,
}

/// What is planned for a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodNews {
    /// Nodes come for it.
    TriggeredScaleUp,
    /// None does.
    NotTriggerScaleUp,
}

/// What is planned for a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeNotice {
    /// The node.
    pub node: NodeId,
    /// What.
    pub news: NodeNews,
    /// The same for people.
    pub text: String,
}

/// What is planned for a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeNews {
    /// It is being removed.
    ScaleDown,
    /// It was to be removed, and stays.
    ScaleDownFailed,
}

/// `count` machines of a pool that the provider was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingLaunch {
    /// The pool.
    pub pool: PoolId,
    /// The provider's machine type.
    pub instance_type: String,
    /// How many.
    pub count: u32,
    /// Since when.
    pub since: Timestamp,
}

/// A machine that exists and whose node is not up yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingInstance {
    /// Our record of it.
    pub instance: InstanceId,
    /// The pool.
    pub pool: PoolId,
    /// The provider's machine type.
    pub instance_type: String,
    /// Its address, empty if there is none yet.
    pub address: String,
    /// What is being waited for, for people.
    pub details: String,
}

/// `count` launches of a pool that failed alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedLaunch {
    /// The pool.
    pub pool: PoolId,
    /// The provider's machine type.
    pub instance_type: String,
    /// How many.
    pub count: u32,
    /// Why, for people.
    pub reason: String,
    /// When the first was asked for.
    pub started: Timestamp,
    /// When the last failed.
    pub failed: Timestamp,
}

/// Something that happened, for the workload's log and for its users' screens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Timestamp,
    /// How much it matters.
    pub severity: Severity,
    /// One line.
    pub text: String,
}

/// How much an [`Event`] matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Part of normal work.
    Info,
    /// Somebody should look.
    Warning,
    /// Something does not work.
    Error,
}
