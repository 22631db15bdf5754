//! A machine as the workload sees it.

use crate::id::{CloudId, NodeId, PoolId};
use crate::label::Labels;
use crate::quantity::Resources;
use crate::time::Millis;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// One member of the workload's cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The workload's id.
    pub id: NodeId,
    /// The provider's id of the machine under it, if the node knows it.
    pub cloud: Option<CloudId>,
    /// The pool that it says it belongs to.
    pub pool: Option<PoolId>,
    /// Is this the node that runs the workload's control plane? It is never removed.
    pub head: bool,
    /// What it is doing.
    pub status: NodeStatus,
    /// How long nothing has run on it; zero unless idle.
    pub idle: Millis,
    /// Capacity.
    pub total: Resources,
    /// What of the capacity is free; a name that is absent is used up.
    pub available: Resources,
    /// Labels of the node, those that come and go with placements laid over the fixed ones.
    pub labels: Labels,
    /// Address, for people.
    pub address: String,
    /// The provider's machine type, for people.
    pub instance_type: String,
    /// Why it is not idle, in the workload's words.
    pub activity: Vec<String>,
}

/// What a node is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeStatus {
    /// At work.
    Running,
    /// Up, with nothing to do.
    Idle,
    /// Known to the workload, and not able to take work: it has just started, or has lost touch. The record of its
    /// machine stays as it is.
    NotReady,
    /// Takes no more work and will go away.
    Draining,
    /// Takes no more work, and all of it has left: its machine may end.
    Drained,
    /// Gone.
    Dead,
    /// Something that we do not know; carried so that it can be reported.
    Unknown(i32),
}

impl NodeStatus {
    /// Up and taking work?
    pub const fn is_up(self) -> bool {
        matches!(self, Self::Running | Self::Idle)
    }
}
