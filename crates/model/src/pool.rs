//! Machines of one kind, with bounds.

use crate::id::{PoolId, ProviderId, WorkloadId};
use crate::kube::NodeTemplate;
use crate::label::Labels;
use crate::quantity::Resources;
use crate::time::Millis;
use alloc::boxed::Box;
use alloc::string::String;
use serde::{Deserialize, Serialize};

/// One kind of machine that a workload may have (Ray: node type, worker group).
///
/// How the provider makes such a machine is not in here: planning never looks at it, and the shell finds it in
/// the configuration by the pool's id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    /// Its name, unique within the workload.
    pub id: PoolId,
    /// Whose it is.
    pub workload: WorkloadId,
    /// Where its machines come from.
    pub provider: ProviderId,
    /// Capacity of each machine.
    pub resources: Resources,
    /// Labels of each machine.
    pub labels: Labels,
    /// Workers that exist at least.
    pub min: u32,
    /// Workers that exist at most. The head is not a worker and does not count.
    pub max: u32,
    /// Overrides the workload's idle timeout.
    pub idle_timeout: Option<Millis>,
    /// Among options of equal fit and availability the higher priority wins.
    pub priority: i32,
    /// Changes when the way that a machine is made changes; a machine of another hash is outdated.
    pub launch_hash: String,
    /// The provider's machine type, for reports to the workload.
    pub instance_type: String,
    /// What the scheduler and the bill see of its nodes, if they are nodes of a Kubernetes cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Box<NodeTemplate>>,
}

/// Is a machine the workload's head or one of its workers?
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// Runs the workload's control plane; never removed by us.
    Head,
    /// Everything else.
    #[default]
    Worker,
}
