//! What the planner remembers from plan to plan. It is committed with the plan, so a restart changes nothing.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use ostler_model::{
    Failure, InstanceId, Labels, Millis, NodeId, Policy, Pool, PoolId, Resources, Target, Timestamp,
};
use ostler_packing::kube::problem::Turn;
use serde::{Deserialize, Serialize};

/// The planner's memory of one workload.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Memory {
    /// Makes ids of this store unlike those of a store that was lost. Set once, at random, by the shell.
    pub seed: u64,
    /// Serial number of the last record made.
    pub serial: u64,
    /// The life of the workload that was seen last.
    pub session: String,
    /// What happened to each pool.
    pub pools: BTreeMap<PoolId, PoolMemory>,
    /// Since when the workload does not list the node of a record.
    pub missing_since: BTreeMap<InstanceId, Timestamp>,
    /// What has been reported and still holds: it is said once.
    pub reported: BTreeSet<String>,
    /// What was asked for last and accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// What was asked for since and refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<RefusedWish>,
    /// About the nodes of a Kubernetes cluster.
    #[serde(default, skip_serializing_if = "KubeMemory::is_empty")]
    pub kube: KubeMemory,
}

/// What must be remembered of the nodes of a Kubernetes cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct KubeMemory {
    /// Since when nothing has needed a node.
    pub unneeded_since: BTreeMap<NodeId, Timestamp>,
    /// When a node could not be drained.
    pub drain_failed: BTreeMap<NodeId, Timestamp>,
    /// What nodes of a pool turned out to be like.
    pub learned: BTreeMap<PoolId, Learned>,
    /// Pools that have machines, as they were configured last: these outlive their pool's place in the configuration.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pools: BTreeMap<PoolId, Pool>,
    /// Replacements under way.
    pub replacing: Vec<Replacing>,
    /// Where plans begin that have more nodes than they can look at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TakenTurn>,
}

/// A turn that a plan took. Another plan of the same moment is the same, so it begins where that one began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenTurn {
    /// When.
    pub at: Timestamp,
    /// Where it began.
    pub from: Turn,
    /// Where a later one begins.
    pub next: Turn,
}

/// What nodes of a pool turned out to be like.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Learned {
    /// What they usually let pods use.
    pub allocatable: Resources,
    /// Labels that all of them have, beside their own names.
    pub labels: Labels,
    /// How they were made.
    #[serde(default)]
    pub launch_hash: String,
    /// What was declared of them.
    #[serde(default)]
    pub declared: Resources,
}

/// Machines launched in the place of others, which go once these are up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replacing {
    /// Nodes that go.
    pub old: BTreeSet<NodeId>,
    /// Records of those that come.
    pub new: BTreeSet<InstanceId>,
    /// When it was decided.
    pub since: Timestamp,
}

impl KubeMemory {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A wish that was refused: workers of a pool would have had to go whose provider cannot spare the protected ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedWish {
    /// When.
    pub at: Timestamp,
    /// How many workers were asked for.
    pub amount: u32,
    /// How many were protected.
    pub kept: usize,
    /// The pool.
    pub pool: PoolId,
}

impl RefusedWish {
    /// The same but for its time?
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        Self { at: self.at, ..other.clone() } == *self
    }
}

/// What happened to one pool.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PoolMemory {
    /// The provider's last refusal to launch, until a machine came.
    pub refusal: Option<Refusal>,
    /// When an instance last timed out in Allocated, until a node came up.
    pub timed_out_at: Option<Timestamp>,
    /// Since when nothing has needed the instances on their way.
    pub pending_unneeded_since: Option<Timestamp>,
}

/// A provider's refusal to launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// When.
    pub at: Timestamp,
    /// How many in a row.
    pub in_a_row: u32,
    /// What it said.
    pub failure: Failure,
}

impl Refusal {
    /// When the pool may be asked again.
    pub fn until(&self, policy: &Policy) -> Timestamp {
        let doublings = self.in_a_row.saturating_sub(1).min(20);
        let wait = policy.launch_backoff.0.saturating_mul(1 << doublings);
        self.at + Millis(wait).min(policy.launch_backoff_max)
    }
}

impl Memory {
    /// The next record's serial number and id. Ids carry the seed, so that a machine of a lost store is never
    /// taken for one of this store's.
    pub(crate) fn next_id(&mut self) -> (u64, InstanceId) {
        self.serial += 1;
        (self.serial, InstanceId::new(alloc::format!("i-{:08x}-{}", self.seed as u32, self.serial)))
    }

    /// Is the pool not to be asked just now? Until when?
    pub(crate) fn backing_off(&self, pool: &PoolId, policy: &Policy, now: Timestamp) -> Option<Timestamp> {
        let until = self.pools.get(pool)?.refusal.as_ref()?.until(policy);
        (now < until).then_some(until)
    }
}
