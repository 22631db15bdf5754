//! The question that placement answers for Kubernetes nodes, and its answer.

use crate::problem::Unfit;
use alloc::sync::Arc;
use alloc::vec::Vec;
use ostler_model::kube::{Cluster, Hindrance, KubeNode, KubePolicy};
use ostler_model::{LaunchCause, PoolId, Price, Timestamp};
use serde::{Deserialize, Serialize};

/// Which nodes should exist for these pods, given those that do?
#[derive(Debug, Clone)]
pub struct Problem<'a> {
    /// The moment.
    pub now: Timestamp,
    /// Pods and nodes.
    pub cluster: &'a Cluster,
    /// The knobs.
    pub policy: &'a KubePolicy,
    /// Pools in the order of the configuration, which decides ties.
    pub pools: Vec<PoolOption>,
    /// What exists or is on its way, oldest first; nodes that are not ours too.
    pub machines: Vec<Machine>,
    /// Machines at most over all pools; `None` is no limit.
    pub max_machines: Option<u64>,
    /// Removals wait until then for a node that came, or could not be drained, of late.
    pub quiet_until: Option<Timestamp>,
    /// Looks at nodes that shrinking may take: [`WORK`].
    pub work: u64,
    /// Where it begins among the machines of a cluster that is too large for one plan: the last [`Decision::turn`].
    pub turn: Turn,
}

/// Looks at nodes in one plan: about a second of them at the most.
pub const WORK: u64 = 60_000_000;

/// The first machine, by name, that a plan could not look at, and that the next plan begins with; `None` if it looked
/// at all. So each has its turn, however many there are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Turn {
    /// Of those that could be emptied.
    pub empty: Option<Arc<str>>,
    /// Of those that a cheaper machine could replace.
    pub replace: Option<Arc<str>>,
}

/// A pool as an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolOption {
    /// The pool.
    pub id: PoolId,
    /// What a new node of it is like once it takes pods: its real allocatable if one was ever seen. The label
    /// of the host's name is added for each node apart.
    pub template: KubeNode,
    /// What one costs.
    pub price: Price,
    /// Nodes that exist at least.
    pub min: u32,
    /// Nodes that exist at most, those on their way included.
    pub max: u32,
    /// For the expander `priority`: the higher first.
    pub priority: i32,
    /// Pools of the same group share `group_max`.
    pub group: Option<Arc<str>>,
    /// Nodes of the group at most.
    pub group_max: Option<u32>,
    /// Refused a moment ago, or not to be seen: nothing of it is launched in this plan.
    pub closed: bool,
    /// Its machines did not come up of late: taken after every other pool that would do.
    pub doubtful: bool,
    /// It has left the configuration: all that it has goes, and nothing of it comes.
    pub gone: bool,
}

/// A node, or a machine that will be one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// The node's name, or the record's id if there is no node yet.
    pub name: Arc<str>,
    /// Its pool, by place in [`Problem::pools`]; `None` if it is not ours.
    pub pool: Option<usize>,
    /// How far it is.
    pub stage: Stage,
    /// Its node, by place in [`Cluster::nodes`]; a machine that is coming may have one that is not ready.
    pub node: Option<usize>,
    /// What it costs.
    pub price: Price,
    /// Made in a way that the configuration no longer asks for.
    pub outdated: bool,
    /// Not to be removed whatever is found: not ours, just joined, let alone after a drain that failed, held.
    pub keep: Option<Keep>,
    /// Since when nothing has needed it.
    pub unneeded_since: Option<Timestamp>,
    /// Launched as a replacement of others that have not gone yet: it is not judged unneeded.
    pub replaces: bool,
    /// Others were launched in its place: it goes before any other, and only to it do they give their room.
    pub replaced: bool,
    /// Its end has been asked for, for this reason, and can still be taken back.
    pub leaving_for: Option<RemovalCause>,
}

/// How far a machine is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Asked for or booting, not overdue: it will be a node like its pool's template.
    Coming,
    /// Its node is up. One that has ceased to be ready is up too, and takes no pods.
    Up,
    /// Tainted, its pods are leaving: it takes none, and what is on it needs a place elsewhere.
    Leaving,
    /// Gone for placement: nothing of it counts, except its room under the bounds.
    Ending,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    /// New machines; counts above zero, at most one entry for each pool and cause.
    pub launches: Vec<Launch>,
    /// Machines to drain and end, in the order in which to begin.
    pub removals: Vec<Removal>,
    /// Machines in [`Stage::Leaving`] that are to stay after all: what is on them has no place any more, or
    /// the room is wanted.
    pub stays: Vec<usize>,
    /// Cheaper machines to launch now; those that they replace go in a later plan, once these are up.
    pub replacements: Vec<Replacement>,
    /// Machines that nothing needs, whether or not they may go yet: since when is remembered by whoever asks.
    pub unneeded: Vec<usize>,
    /// Why each machine of the problem stays, by place; absent for those that go.
    pub kept: Vec<(usize, Keep)>,
    /// Where waiting pods would go, by place in [`Cluster::pods`].
    pub placed: Vec<(usize, Place)>,
    /// Where the pods of the machines that go have a place: each by place in [`Cluster::pods`], and the
    /// machine. The scheduler may choose others; these show that there is room for all.
    pub moved: Vec<(usize, usize)>,
    /// Waiting pods without a place, equal ones together.
    pub unplaced: Vec<Unplaced>,
    /// Where the next plan begins.
    pub turn: Turn,
    /// Headroom that no pool can give, by place in [`Cluster::headroom`] and then in the policy's; how many
    /// places.
    pub headroom_short: Vec<(usize, u32)>,
}

/// `count` new machines of one pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Place in [`Problem::pools`].
    pub pool: usize,
    /// How many.
    pub count: u64,
    /// What for.
    pub cause: LaunchCause,
}

/// A machine to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// Place in [`Problem::machines`].
    pub machine: usize,
    /// Why.
    pub cause: RemovalCause,
}

/// Why a machine is to be ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RemovalCause {
    /// Nothing but what belongs to the node is on it.
    Empty,
    /// Little used, and all on it has a place elsewhere.
    Underused,
    /// Cheaper machines take its place.
    Consolidated,
    /// Not ready for too long.
    Unready,
    /// Its pool has more machines than it may.
    MaxPerPool,
    /// All pools together have more machines than they may.
    MaxTotal,
    /// Made in a way that the configuration no longer asks for.
    Outdated,
    /// Its pool is not configured any more.
    PoolGone,
    /// On its way, and nothing needs it any longer.
    Unneeded,
}

/// Machines to launch in the place of dearer ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// Those that will go, by place in [`Problem::machines`].
    pub old: Vec<usize>,
    /// Those that come: place in [`Problem::pools`], and how many.
    pub new: Vec<(usize, u64)>,
}

/// Where a waiting pod would go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// On a machine that exists or is on its way, by place in [`Problem::machines`].
    Machine(usize),
    /// On a new one: its pool, and which of the new ones of that pool.
    New(usize, usize),
}

/// Waiting pods that found no place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unplaced {
    /// What they ask for, by place in [`Cluster::specs`].
    pub spec: u32,
    /// How many.
    pub count: u64,
    /// Why no new node of each pool would do, in the order of the configuration.
    pub why: Vec<(PoolId, Unfit)>,
}

/// Why a machine stays.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// Not ours.
    NotOurs,
    /// On its way.
    Coming,
    /// Already on its way out.
    Leaving,
    /// Waiting pods have their place here.
    NeededByPending,
    /// Room that is to be kept free is here.
    Headroom,
    /// Its pool would fall below its minimum.
    Min,
    /// It is used more than the threshold, and nothing cheaper would do.
    Used {
        /// How much, in percent.
        percent: u32,
    },
    /// A pod on it has no place elsewhere.
    NoPlace {
        /// The pod.
        pod: Arc<str>,
    },
    /// It is due to go, and a pod on it has no place elsewhere.
    Due {
        /// Why it is to go.
        cause: RemovalCause,
        /// The pod.
        pod: Arc<str>,
    },
    /// A pod on it may not be moved.
    Blocked {
        /// The pod.
        pod: Arc<str>,
        /// Why not.
        by: Hindrance,
    },
    /// Unneeded, but not for long enough.
    NotLongEnough,
    /// A node came or could not be drained a short while ago.
    Quiet,
    /// A pod waits that a node could take.
    PendingPods,
    /// So many drains as may be are under way.
    DrainBudget,
    /// An annotation says that it stays.
    Held,
    /// It could not be drained of late.
    DrainFailed,
    /// Its provider or pool cannot be seen.
    Unseen,
    /// Removing nodes is switched off.
    Off,
    /// It replaces others that have not gone yet.
    Replacing,
    /// It goes once the machine is up that takes what is on it.
    ReplacementComing,
    /// The work that one plan may be was used up before it was its turn; a later plan looks at it.
    NotLookedAt,
    /// Something on it cannot be judged, in these words.
    CannotJudge {
        /// What.
        what: Arc<str>,
    },
}
