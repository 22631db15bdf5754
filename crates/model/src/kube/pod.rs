//! Pods: what they ask for, where they are, and whether they may be moved.

use super::policy::{DrainRules, Hindrance};
use super::selector::{LabelSelector, NodeSelector};
use crate::id::NodeId;
use crate::label::Labels;
use crate::quantity::Resources;
use crate::time::{Millis, Timestamp};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// All that the scheduler's filters look at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct PodSpec {
    /// Its namespace; affinity is by namespace.
    pub namespace: Arc<str>,
    /// Its labels; affinity, spread and budgets go by them.
    pub labels: Labels,
    /// The effective request, [`super::PODS`] of one among it.
    pub requests: Resources,
    /// Labels that the node must have (`spec.nodeSelector`).
    pub node_selector: BTreeMap<Arc<str>, Arc<str>>,
    /// Required node affinity; `None` is none.
    pub node_affinity: Option<NodeSelector>,
    /// Taints that it bears.
    pub tolerations: Vec<Toleration>,
    /// Ports of the host that it takes.
    pub ports: Vec<HostPort>,
    /// Must run where such pods are.
    pub affinity: Vec<AffinityTerm>,
    /// Must not run where such pods are, nor they where it is.
    pub anti_affinity: Vec<AffinityTerm>,
    /// Must not run where such pods are, but they may come to where it is: what some schedulers make of terms of
    /// `anti_affinity` when they place the pod.
    #[serde(default)]
    pub avoids: Vec<AffinityTerm>,
    /// How evenly its like must lie (`DoNotSchedule` only; the others filter nothing).
    pub spread: Vec<Spread>,
    /// Volumes that it needs.
    pub volumes: Vec<VolumeNeed>,
    /// What the node must declare.
    pub features: BTreeSet<Arc<str>>,
    /// Priority; a pod of a higher one may take the place of one of a lower.
    pub priority: i32,
    /// Takes nobody's place (`preemptionPolicy: Never`).
    pub never_preempts: bool,
    /// Who places it (`spec.schedulerName`).
    pub scheduler: Arc<str>,
    /// Why nobody here can say where it fits (device claims, an unknown operator); it is reported, never guessed.
    pub unjudged: Option<Arc<str>>,
}

/// Taints that a pod bears.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Toleration {
    /// Key; `None` is every key (then without a value).
    pub key: Option<Arc<str>>,
    /// The taint's value must be this; `None` is any (`Exists`).
    pub value: Option<Arc<str>>,
    /// Effect; `None` is every effect.
    pub effect: Option<super::TaintEffect>,
    /// The taint's value must be a whole number `Greater` or `Less` than `value` (operators `Gt` and `Lt`).
    pub compare: Option<Compare>,
}

/// How a toleration compares numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compare {
    /// The taint's value is above.
    Greater,
    /// The taint's value is below.
    Less,
}

/// A port of the host.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HostPort {
    /// The address; `0.0.0.0` or empty is all of them.
    pub address: Arc<str>,
    /// Protocol.
    pub protocol: Protocol,
    /// Port, above zero.
    pub port: u16,
}

/// A protocol of a [`HostPort`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// SCTP.
    Sctp,
}

/// Pods that are meant by an affinity, and what counts as the same place.
///
/// `matchLabelKeys` and `mismatchLabelKeys` are part of `selector` already: the API server merges them when the pod
/// is made, and the rim does it for pods of templates.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AffinityTerm {
    /// Pods with these labels; `None` is none.
    pub selector: Option<LabelSelector>,
    /// In these namespaces (the pod's own if neither is given: the rim puts it in).
    pub namespaces: BTreeSet<Arc<str>>,
    /// And in those with such labels; `None` is none beside.
    pub namespace_selector: Option<LabelSelector>,
    /// Nodes with the same value of this label are one place.
    pub topology: Arc<str>,
}

/// How evenly a pod's like must lie over places.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Spread {
    /// Nodes with the same value of this label are one place.
    pub topology: Arc<str>,
    /// A place may have so many more than the one with the fewest.
    pub max_skew: u32,
    /// With fewer places than this the fewest is taken as none; zero is no such rule.
    pub min_domains: u32,
    /// The like: pods of the same namespace with these labels; `None` is none. `matchLabelKeys` are in it.
    pub selector: Option<LabelSelector>,
    /// Only nodes that the pod's node selector and affinity allow count (`nodeAffinityPolicy: Honor`, the default).
    pub honor_affinity: bool,
    /// Only nodes whose taints the pod bears count (`nodeTaintsPolicy: Honor`).
    pub honor_taints: bool,
}

/// A volume that a pod needs, as far as it says where the pod may be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VolumeNeed {
    /// It exists: the node must be one of these (`None`: any), and takes one of the driver's places.
    Bound {
        /// Which volume it is, so that pods that share it count once on a node.
        volume: Arc<str>,
        /// The driver that attaches it; empty if it is not attached.
        driver: Arc<str>,
        /// Where it can be reached; `None` is everywhere.
        nodes: Option<NodeSelector>,
        /// Only one pod may use it (`ReadWriteOncePod`).
        exclusive: bool,
    },
    /// It will be made where the pod is placed (`WaitForFirstConsumer`).
    Unbound {
        /// The claim, so that it counts once.
        claim: Arc<str>,
        /// The driver that will attach it; empty if that is not known.
        driver: Arc<str>,
        /// Where it can be made (`allowedTopologies`); `None` is everywhere.
        nodes: Option<NodeSelector>,
        /// Only one pod may use it (`ReadWriteOncePod`).
        exclusive: bool,
    },
    /// Its labels say in which zone or region it is; a second need of a volume that is bound.
    Zone {
        /// The volume, for people.
        volume: Arc<str>,
        /// Where it can be reached.
        nodes: NodeSelector,
    },
    /// The pod cannot be placed before somebody acts: a claim that is missing, unbound with immediate binding, or
    /// without a class.
    Missing {
        /// What is missing, for people.
        what: Arc<str>,
    },
}

/// One pod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pod {
    /// Its name; its namespace is in its spec.
    pub name: Arc<str>,
    /// Its unique id.
    pub uid: Arc<str>,
    /// What it asks for, by place in [`super::Cluster::specs`].
    pub spec: u32,
    /// Where it is, or is bound to.
    pub node: Option<NodeId>,
    /// Where the scheduler means to put it once others have left (`status.nominatedNodeName`).
    pub nominated: Option<NodeId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// It is being deleted: its place is taken until it is gone, and it is no demand.
    pub terminating: bool,
    /// It waits, and not for want of room, in these words (a scheduling gate, a quota): it brings no node.
    pub ignored: Option<Arc<str>>,
    /// What controls it.
    pub owner: Option<Arc<Owner>>,
    /// What speaks for and against moving it.
    pub eviction: Eviction,
}

/// The controller of a pod.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Owner {
    /// `ReplicaSet`, `StatefulSet`, `DaemonSet`, `Job`, `Node` (a mirror pod) …
    pub kind: Arc<str>,
    /// Name.
    pub name: Arc<str>,
    /// Unique id.
    pub uid: Arc<str>,
}

/// What speaks for and against moving a pod: facts, which [`Pod::hindrance`] weighs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Eviction {
    /// It has storage that is lost with it (`emptyDir` not in memory, `hostPath`).
    pub local_storage: bool,
    /// Said by annotation: `Some(true)` move it whatever else, `Some(false)` never move it.
    pub safe: Option<bool>,
    /// Never move it before this time (`do-not-disrupt` with a duration).
    pub not_before: Option<Timestamp>,
    /// Wait until it ends by itself (`safe-to-evict: on-completion`).
    pub on_completion: bool,
    /// How long it may take to stop.
    pub grace: Millis,
}

impl Pod {
    /// It has no node and wants one.
    pub fn waits(&self) -> bool {
        self.node.is_none() && !self.terminating
    }

    /// Belongs to its node and goes with it: a mirror pod or one of a DaemonSet.
    pub fn is_of_node(&self) -> bool {
        self.owner.as_ref().is_some_and(|owner| matches!(&*owner.kind, "DaemonSet" | "Node"))
    }

    /// Does it stay until it is moved: it neither belongs to its node nor is leaving?
    pub fn is_movable(&self) -> bool {
        !self.is_of_node() && !self.terminating
    }

    /// What keeps this pod where it is, `None` if it may be evicted.
    pub fn hindrance(&self, rules: &DrainRules, now: Timestamp) -> Option<Hindrance> {
        if !self.is_movable() {
            return None;
        }
        let kind = self.owner.as_ref().map(|owner| &*owner.kind);
        match &self.eviction {
            Eviction { safe: Some(false), .. } => Some(Hindrance::NotSafe),
            Eviction { not_before: Some(until), .. } if now < *until => Some(Hindrance::NotSafe),
            Eviction { on_completion: true, .. } => Some(Hindrance::MustComplete),
            Eviction { safe: Some(true), .. } => None,
            _ if kind.is_none() && !rules.evict_uncontrolled => Some(Hindrance::Uncontrolled),
            _ if kind == Some("Job") && rules.let_jobs_finish => Some(Hindrance::MustComplete),
            Eviction { local_storage: true, .. } if !rules.evict_local_storage => {
                Some(Hindrance::LocalStorage)
            }
            _ => None,
        }
    }
}
