//! Nodes, and what a node of a pool will be like.

use crate::id::NodeId;
use crate::label::Labels;
use crate::price::Price;
use crate::quantity::Resources;
use crate::time::Timestamp;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize};

/// A node as the scheduler sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KubeNode {
    /// Its name.
    pub id: NodeId,
    /// Its labels.
    pub labels: Labels,
    /// Its taints, ours for a drain left out.
    pub taints: Vec<Taint>,
    /// Cordoned (`spec.unschedulable`), by whomever.
    pub unschedulable: bool,
    /// What pods may use, [`super::PODS`] among it; empty if the node says nothing.
    pub allocatable: Resources,
    /// Volumes that can be attached, by the driver's name; a driver that is absent has no limit that is known.
    pub attach_limits: BTreeMap<Arc<str>, u32>,
    /// What the node declares that it can do (`status.declaredFeatures`).
    pub features: BTreeSet<Arc<str>>,
    /// Does its kubelet say that it is ready? It may still have taints of its start.
    pub ready: bool,
    /// When it became or ceased to be ready.
    pub ready_since: Timestamp,
    /// When it was made.
    pub created_at: Timestamp,
    /// Tainted by us for a drain.
    pub draining: bool,
    /// Not to be removed, in the words of whoever said so (an annotation).
    pub held: Option<Arc<str>>,
}

/// A mark of a node that keeps pods away which do not tolerate it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Taint {
    /// Key.
    pub key: Arc<str>,
    /// Value, empty if none.
    pub value: Arc<str>,
    /// What it does.
    pub effect: TaintEffect,
}

/// What a taint does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaintEffect {
    /// Keeps new pods away.
    NoSchedule,
    /// The scheduler would rather not; no filter.
    PreferNoSchedule,
    /// Keeps new pods away and evicts those that are there.
    NoExecute,
}

/// What each node of a pool is like beside its resources and labels, and what it costs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NodeTemplate {
    /// Taints that stay.
    pub taints: Vec<Taint>,
    /// Taints that the node starts with and loses before it takes pods.
    pub startup_taints: Vec<Taint>,
    /// Volumes that can be attached, by the driver's name.
    pub attach_limits: BTreeMap<Arc<str>, u32>,
    /// What one costs.
    pub price: Price,
    /// Pools of the same name here are one to the user: several offerings behind common bounds.
    pub group: Option<Arc<str>>,
    /// Nodes of the group at most; `None` is no bound beside those of its pools.
    pub group_max: Option<u32>,
}

impl fmt::Display for Taint {
    /// `dedicated=special:NoSchedule`, as kubectl.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key)?;
        if !self.value.is_empty() {
            write!(f, "={}", self.value)?;
        }
        write!(f, ":{:?}", self.effect)
    }
}
