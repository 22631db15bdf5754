//! A Kubernetes cluster, as far as placement and drains care. Words only: what fits where is `packing::kube`.
//!
//! Pods that are equal to the scheduler share one [`PodSpec`], so that cost grows with what differs. Amounts are
//! as the scheduler counts them: CPU in cores, memory in bytes, everything else in whole units; the effective
//! request of a pod (init and sidecar containers, overhead, pod-level requests) is worked out at the border.

mod node;
mod pod;
mod policy;
mod selector;

pub use node::{KubeNode, NodeTemplate, Taint, TaintEffect};
pub use pod::{
    AffinityTerm, Compare, Eviction, HostPort, Owner, Pod, PodSpec, Protocol, Spread, Toleration, VolumeNeed,
};
pub use policy::{
    DrainBudget, DrainReason, DrainRules, Expander, Filter, Hindrance, KubePolicy, PoolHeadroom, Share,
    WhilePending, Window,
};
pub use selector::{
    Field, LabelOperator, LabelRequirement, LabelSelector, NodeOperator, NodeRequirement, NodeSelector,
    NodeSelectorTerm,
};

use crate::label::Labels;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// The resource under which pods are counted; a node without it takes none (as in Kubernetes).
pub const PODS: &str = "pods";
/// The label that the kubelet gives each node its own value of.
pub const HOSTNAME: &str = "kubernetes.io/hostname";
/// The label of a node's zone.
pub const ZONE: &str = "topology.kubernetes.io/zone";

/// One cluster at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cluster {
    /// Nodes, those that are not ready too.
    pub nodes: Vec<KubeNode>,
    /// What pods ask for, each kind once; pods name it by its place in this list.
    pub specs: Vec<PodSpec>,
    /// Pods that have not ended.
    pub pods: Vec<Pod>,
    /// Labels of namespaces.
    pub namespaces: BTreeMap<Arc<str>, Labels>,
    /// Pods that run on every node they fit on (DaemonSets).
    pub daemons: Vec<Daemon>,
    /// What may be disrupted.
    pub budgets: Vec<Budget>,
    /// Room that is to be kept free (CapacityBuffers).
    pub headroom: Vec<Headroom>,
}

/// A DaemonSet: one such pod on each node whose labels and taints allow it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Daemon {
    /// Namespace and name, for people.
    pub name: Arc<str>,
    /// Its pods, by place in [`Cluster::specs`]; with the tolerations that the DaemonSet controller adds.
    pub spec: u32,
}

/// A PodDisruptionBudget, as its status says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Namespace.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
    /// Pods that it covers; `None` covers none.
    pub selector: Option<LabelSelector>,
    /// Pods that may be evicted just now.
    pub allowed: u32,
}

impl Budget {
    /// Does it cover pods of this spec?
    pub fn covers(&self, spec: &PodSpec) -> bool {
        self.namespace == spec.namespace
            && self.selector.as_ref().is_some_and(|selector| selector.matches(&spec.labels))
    }
}

/// `count` places for pods of this kind are to be kept free.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Headroom {
    /// Namespace and name, for people.
    pub name: Arc<str>,
    /// What would have room, by place in [`Cluster::specs`].
    pub spec: u32,
    /// How many.
    pub count: u32,
}
