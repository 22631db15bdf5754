//! How a Kubernetes cluster wants its nodes scaled: every knob with its unit and default.

use super::PodSpec;
use crate::id::PoolId;
use crate::quantity::Resources;
use crate::time::Millis;
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize};

/// The knobs of one cluster, beside those that every workload has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KubePolicy {
    /// How one of several pools that would do is chosen.
    pub expander: Expander,
    /// A node may go if it is used strictly less than this; in percent of what it has.
    pub utilization_threshold_percent: u32,
    /// For how long a node must have been unneeded before it goes.
    pub unneeded: Millis,
    /// The same for one that is not ready.
    pub unready: Millis,
    /// After a node came, none goes for this long.
    pub delay_after_add: Millis,
    /// After a node could not be drained, it is let alone for this long.
    pub delay_after_failure: Millis,
    /// A pod is looked at for new nodes once it is this old.
    pub new_pod_delay: Millis,
    /// Remove nodes at all.
    pub scale_down: bool,
    /// Also replace nodes by cheaper ones.
    pub consolidate: bool,
    /// A replacement must save at least this part of what it replaces; in percent.
    pub min_saving_percent: u32,
    /// Which waiting pods stop every removal.
    pub while_pending: WhilePending,
    /// How many drains there may be at once; the tightest that applies counts. None: no bound.
    pub budgets: Vec<DrainBudget>,
    /// Which pods may be moved.
    pub drain: DrainRules,
    /// Pods of these schedulers are ours to bring nodes for.
    pub schedulers: BTreeSet<Arc<str>>,
    /// Pods of a lower priority bring no node and keep none.
    pub expendable_below: i32,
    /// Filters that the scheduler's profile has switched off.
    pub filters_off: BTreeSet<Filter>,
    /// Room that pools keep free.
    pub headroom: Vec<PoolHeadroom>,
    /// Only say what would be done.
    pub shadow: bool,
}

/// How one of several pools that would do is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expander {
    /// The cheapest whole, then the least waste.
    #[default]
    Cost,
    /// The least of CPU and memory left over.
    LeastWaste,
    /// The highest priority of the pool, then the cost.
    Priority,
    /// The most pods on one node.
    MostPods,
}

/// Which waiting pods stop every removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhilePending {
    /// Those that a node that exists, is coming, or can be had could take.
    #[default]
    Reachable,
    /// Every one.
    Strict,
}

/// Which pods may be moved when their node is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DrainRules {
    /// Pods with local storage may be.
    pub evict_local_storage: bool,
    /// Pods that nothing would make again may be.
    pub evict_uncontrolled: bool,
    /// Pods of jobs are left to finish.
    pub let_jobs_finish: bool,
}

/// Why a pod is not moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hindrance {
    /// An annotation forbids it.
    NotSafe,
    /// It is to end by itself.
    MustComplete,
    /// Nothing would make it again.
    Uncontrolled,
    /// It would lose its storage.
    LocalStorage,
    /// A PodDisruptionBudget allows no more.
    Budget,
    /// More than one PodDisruptionBudget covers it: the API server evicts no such pod, whatever they allow.
    Budgets,
}

/// So many nodes may be on their way out at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrainBudget {
    /// How many.
    pub nodes: Share,
    /// Counted for each value of this label on its own (`topology.kubernetes.io/zone`); `None`: over all nodes.
    pub per: Option<Arc<str>>,
    /// Holds back nodes that go for these reasons; none is all. One that lets empty nodes go does not count them.
    pub reasons: BTreeSet<DrainReason>,
    /// Holds at these times only; none is always.
    pub windows: Vec<Window>,
}

/// Why a node goes, as far as budgets tell it apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DrainReason {
    /// Nothing is on it but what belongs to it.
    Empty,
    /// All on it has a place elsewhere, or on cheaper nodes.
    Underused,
    /// Made from an older configuration of its pool.
    Outdated,
    /// There are more nodes than there may be.
    OverMax,
    /// Not ready for too long.
    Unready,
}

/// A number of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Share {
    /// So many.
    Count(u32),
    /// So many of a hundred, rounded up.
    Percent(u32),
}

/// A time of the week, UTC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Days, 0 is Monday; none is every day.
    pub days: BTreeSet<u8>,
    /// From this time of the day.
    pub from: Millis,
    /// For so long.
    pub lasts: Millis,
}

/// `count` machines' worth of free places of this shape on nodes of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolHeadroom {
    /// The pool, or one of its offerings: room on any of them will do.
    pub pool: PoolId,
    /// One place.
    pub shape: Resources,
    /// How many.
    pub count: u32,
}

/// A filter of the scheduler, by the name of its plug-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "each is the plug-in of that name")]
pub enum Filter {
    NodeUnschedulable,
    NodeName,
    TaintToleration,
    NodeAffinity,
    NodePorts,
    NodeResourcesFit,
    VolumeRestrictions,
    NodeVolumeLimits,
    VolumeBinding,
    VolumeZone,
    PodTopologySpread,
    InterPodAffinity,
    NodeDeclaredFeatures,
}

impl Default for KubePolicy {
    /// The defaults that `docs/kubernetes.md` sets beside Cluster Autoscaler's and Karpenter's.
    fn default() -> Self {
        Self {
            expander: Expander::Cost,
            utilization_threshold_percent: 50,
            unneeded: Millis::secs(600),
            unready: Millis::secs(1200),
            delay_after_add: Millis::secs(600),
            delay_after_failure: Millis::secs(180),
            new_pod_delay: Millis(0),
            scale_down: true,
            consolidate: true,
            min_saving_percent: 15,
            while_pending: WhilePending::Reachable,
            budgets: Vec::new(),
            drain: DrainRules { let_jobs_finish: true, ..DrainRules::default() },
            schedulers: ["default-scheduler".into()].into(),
            expendable_below: -10,
            filters_off: BTreeSet::new(),
            headroom: Vec::new(),
            shadow: false,
        }
    }
}

impl KubePolicy {
    /// Brings no node and keeps none: `expendable_below` says so.
    pub fn is_expendable(&self, spec: &PodSpec) -> bool {
        spec.priority < self.expendable_below
    }
}

impl DrainReason {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Empty, Self::Underused, Self::Outdated, Self::OverMax, Self::Unready];

    /// Its name in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Underused => "underused",
            Self::Outdated => "outdated",
            Self::OverMax => "over_max",
            Self::Unready => "unready",
        }
    }
}

impl Filter {
    /// All of them, in the order in which the scheduler asks.
    pub const ALL: [Self; 13] = [
        Self::NodeUnschedulable,
        Self::NodeName,
        Self::TaintToleration,
        Self::NodeAffinity,
        Self::NodePorts,
        Self::NodeResourcesFit,
        Self::VolumeRestrictions,
        Self::NodeVolumeLimits,
        Self::VolumeBinding,
        Self::VolumeZone,
        Self::PodTopologySpread,
        Self::InterPodAffinity,
        Self::NodeDeclaredFeatures,
    ];

    /// The plug-in's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NodeUnschedulable => "NodeUnschedulable",
            Self::NodeName => "NodeName",
            Self::TaintToleration => "TaintToleration",
            Self::NodeAffinity => "NodeAffinity",
            Self::NodePorts => "NodePorts",
            Self::NodeResourcesFit => "NodeResourcesFit",
            Self::VolumeRestrictions => "VolumeRestrictions",
            Self::NodeVolumeLimits => "NodeVolumeLimits",
            Self::VolumeBinding => "VolumeBinding",
            Self::VolumeZone => "VolumeZone",
            Self::PodTopologySpread => "PodTopologySpread",
            Self::InterPodAffinity => "InterPodAffinity",
            Self::NodeDeclaredFeatures => "NodeDeclaredFeatures",
        }
    }
}

impl Hindrance {
    /// The stable code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::NotSafe => "not_safe_to_evict",
            Self::MustComplete => "must_complete",
            Self::Uncontrolled => "no_controller",
            Self::LocalStorage => "local_storage",
            Self::Budget => "budget",
            Self::Budgets => "more_than_one_budget",
        }
    }
}

impl fmt::Display for Hindrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotSafe => "an annotation forbids it",
            Self::MustComplete => "it is to end by itself",
            Self::Uncontrolled => "no controller would make it again",
            Self::LocalStorage => "it would lose its local storage",
            Self::Budget => "its PodDisruptionBudget allows no more",
            Self::Budgets => {
                "more than one PodDisruptionBudget covers it, and the API server evicts no such pod"
            }
        })
    }
}
