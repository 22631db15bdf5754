//! What was seen. A failed look is an observation too, with its reason.

use crate::demand::Demand;
use crate::id::InstanceId;
use crate::kube::Cluster;
use crate::node::Node;
use crate::time::Timestamp;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize};

/// The newest look at one source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observed<T> {
    /// When the look began: what happened later may not show in it.
    pub at: Timestamp,
    /// What was seen, or why nothing was.
    pub result: Result<T, Failure>,
}

/// What a workload says of itself at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkloadState {
    /// The workload's own version of this state, to be echoed in reports. Two looks of one session with the same
    /// version, other than zero, show the same but for how long nodes have been idle.
    pub version: i64,
    /// Which life of the workload this is (Ray: session name); a change means that the head was replaced.
    pub session: String,
    /// Its nodes, dead ones too as long as the workload lists them. Shared, since they never change after the look.
    pub nodes: Arc<Vec<Node>>,
    /// What it asks for.
    pub demand: Demand,
    /// Records that could not be understood; the rest of the state stands.
    pub skipped: Vec<String>,
    /// The pods and what the scheduler knows of the nodes, if this is a Kubernetes cluster. Shared, since it is
    /// large and never changes after the look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Arc<Cluster>>,
}

/// Why something could not be done or seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What kind of trouble it is, which decides what to do next.
    pub class: FailureClass,
    /// For people; holds no secrets.
    pub message: String,
}

/// What kind of trouble an outside system is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// May pass by itself: a lost connection, a timeout.
    Transient,
    /// Asked too often.
    Throttled,
    /// The provider has no such machine just now; try another kind.
    OutOfCapacity,
    /// A limit of the account is reached.
    Quota,
    /// Not allowed, or not who we say we are.
    Denied,
    /// Will not work until somebody changes something.
    Permanent,
}

/// How an effect ended, for the next plan to see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectReport {
    /// The record whose state called for the effect.
    pub instance: InstanceId,
    /// The number of the record's transition that called for it: a report about an older one is stale.
    pub epoch: u32,
    /// When it ended.
    pub at: Timestamp,
    /// How it ended.
    pub outcome: EffectOutcome,
}

/// How an effect ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectOutcome {
    /// Accepted by the other side; what comes of it will be observed.
    Done,
    /// The provider accepted the launch.
    Launched {
        /// A listing that began later shows the machine, or there is none.
        listed_by: Timestamp,
    },
    /// The workload refused to drain the node, since it is in use again.
    DrainRejected(String),
    /// It could not be done.
    Failed(Failure),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.class)
    }
}

impl FailureClass {
    /// The stable code that people and dashboards see.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Throttled => "throttled",
            Self::OutOfCapacity => "out_of_capacity",
            Self::Quota => "quota",
            Self::Denied => "denied",
            Self::Permanent => "permanent",
        }
    }
}

impl fmt::Display for FailureClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}
