//! The question that placement answers, and its answer. The planner asks it, a scoring policy answers it.

use alloc::string::String;
use alloc::vec::Vec;
use ostler_model::{
    Floor, Gang, InstanceId, Labels, Millis, NodeId, NodeKind, Pool, PoolId, Quantity, Resources, Task,
};
use serde::{Deserialize, Serialize};

pub use ostler_model::LaunchCause;

/// Which machines should exist for this demand, given those that do?
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Problem {
    /// Pools in the order of the configuration, which decides ties.
    pub pools: Vec<PoolOption>,
    /// The pool of the head. Its bound leaves room for the head itself.
    pub head_pool: Option<PoolId>,
    /// Machines at most over all pools, the head included; `None` is no limit.
    pub max_machines: Option<u64>,
    /// What exists or is on its way, oldest first.
    pub machines: Vec<Machine>,
    /// Independent requests.
    pub tasks: Vec<Task>,
    /// Requests placed as a whole.
    pub gangs: Vec<Gang>,
    /// Capacity that must exist, free or not.
    pub floors: Vec<Floor>,
    /// A machine idle for strictly longer goes; `None` is never. A pool's own timeout overrides it.
    pub idle_timeout: Option<Millis>,
    /// A machine on its way that nothing has needed for strictly longer is withdrawn.
    pub pending_idle_timeout: Option<Millis>,
    /// Remove machines that are `outdated`.
    pub replace_outdated: bool,
    /// Take machines with GPUs last for demand that asks for none.
    pub conserve_gpu: bool,
}

/// A pool as an option: its shape and bounds, and how likely it is to be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolOption {
    /// The pool.
    pub pool: Pool,
    /// How long ago the pool last failed us matters to its availability: 1 is "never failed", 0 "just now".
    pub availability: Quantity,
    /// The same after a time-out, recovering over [`ostler_model::Policy::availability_recovery`].
    pub recoverable: Quantity,
    /// Refused just now: launch nothing of it in this plan.
    pub backing_off: bool,
    /// For how long nothing has needed this pool's machines on their way (`None`: they are needed).
    pub pending_unneeded: Option<Millis>,
}

/// A machine that exists or is on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Our record of it.
    pub instance: InstanceId,
    /// Its pool, which the configuration may no longer have.
    pub pool: PoolId,
    /// Head or worker.
    pub kind: NodeKind,
    /// How far it is.
    pub phase: Phase,
    /// Made in a way that the configuration no longer asks for.
    pub outdated: bool,
    /// Must not be removed by anybody's wish (protected, held, or unknown to us).
    pub keep: bool,
    /// What it has, once it is up.
    pub up: Option<Up>,
}

/// How far a machine is, as far as placement cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// We mean to ask for it.
    Queued,
    /// Asked for.
    Requested,
    /// Exists, the workload does not see it yet.
    Allocated,
    /// Being prepared.
    Installing,
    /// At work.
    Running,
    /// We asked the workload to let it go.
    DrainRequested,
    /// Beyond that: it exists, and takes no demand.
    Leaving,
}

impl Phase {
    /// Will become capacity by itself.
    pub const fn is_coming(self) -> bool {
        matches!(self, Self::Queued | Self::Requested | Self::Allocated | Self::Installing)
    }
}

/// A machine that the workload sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Up {
    /// The workload's id.
    pub node: NodeId,
    /// Capacity.
    pub total: Resources,
    /// What of it is free.
    pub available: Resources,
    /// Labels.
    pub labels: Labels,
    /// How long nothing has run on it; zero unless idle.
    pub idle: Millis,
    /// The workload says that it is at work.
    pub busy: bool,
}

/// The answer: what to launch, what to remove, what cannot be placed, and who needs what.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    /// New machines, pool by pool in the order of the configuration; counts above zero.
    pub launches: Vec<Launch>,
    /// Machines to end, each at most once.
    pub removals: Vec<Removal>,
    /// Independent requests that found no place, by index into `tasks`.
    pub unplaced_tasks: Vec<Unplaced>,
    /// Gangs that found no place, by index into `gangs`.
    pub unplaced_gangs: Vec<Unplaced>,
    /// Floors that cannot be met, by index into `floors`.
    pub unmet_floors: Vec<Unplaced>,
    /// Why each machine of the problem stays, by index into `machines`; absent for those that go.
    pub kept: Vec<(usize, Keep)>,
    /// Pools whose machines on their way nothing needs, for the planner to remember since when.
    pub pending_unneeded: Vec<PoolId>,
    /// Records that had to be left aside, each with what is wrong with it.
    pub faults: Vec<Fault>,
}

/// `count` new machines of one pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Index into [`Problem::pools`].
    pub pool: usize,
    /// How many, by what they are for.
    pub count: u64,
    /// What they are for.
    pub cause: LaunchCause,
}

/// A machine to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// Index into [`Problem::machines`].
    pub machine: usize,
    /// Why.
    pub cause: RemovalCause,
}

/// Why a machine is to be ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RemovalCause {
    /// Made in a way that the configuration no longer asks for.
    Outdated,
    /// Its pool has more machines than it may.
    MaxPerPool,
    /// All pools together have more machines than they may.
    MaxTotal,
    /// Idle for longer than the timeout, and nothing needs it.
    Idle,
    /// On its way, and nothing needs it any longer.
    PendingIdle,
}

/// Demand that found no place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unplaced {
    /// Index into the list of the problem.
    pub index: usize,
    /// How many of it (1 for gangs and floors).
    pub count: u64,
    /// Why no pool could help, pool by pool in the order of the configuration.
    pub why: Vec<(PoolId, Unfit)>,
}

/// Why a shape does not fit on a machine, or a pool may not give one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unfit {
    /// Asks for more of a resource than a whole machine has.
    TooLarge {
        /// The resource.
        resource: String,
        /// What is asked for.
        asked: Quantity,
        /// What an empty machine of the pool has.
        has: Quantity,
    },
    /// A whole machine would do, were it not for what its DaemonSets take.
    TakenByDaemons {
        /// The resource.
        resource: String,
        /// What is asked for.
        asked: Quantity,
        /// What an empty machine of the pool has.
        has: Quantity,
        /// What their pods take of it.
        taken: Quantity,
        /// Which, those that take the most first.
        daemons: String,
    },
    /// None of the acceptable labels are on the pool's machines.
    Labels,
    /// The pool is at its maximum.
    PoolAtMax {
        /// The maximum.
        max: u32,
    },
    /// All pools together are at the maximum.
    TotalAtMax {
        /// The maximum, the head included.
        max: u64,
    },
    /// The provider refused a moment ago.
    BackingOff,
    /// Its parts fit one by one, but not as the strategy wants them.
    Strategy,
    /// The head's pool gives no workers.
    HeadPool,
    /// The pools of its group together are at the maximum.
    GroupAtMax {
        /// The maximum.
        max: u32,
    },
    /// Not enough of a resource is free.
    NoRoom {
        /// The resource.
        resource: String,
        /// What is asked for.
        asked: Quantity,
        /// What is free, below zero if more is taken than there is.
        free: Quantity,
    },
    /// The node is cordoned.
    Unschedulable,
    /// The node has a taint that the pod does not bear.
    Taint {
        /// The taint, as kubectl writes it.
        taint: String,
    },
    /// The node is not what the pod's node selector or required node affinity asks for.
    NodeSelector {
        /// A label that is asked for and that the node does not have so; empty if there is no single one.
        label: String,
    },
    /// A port of the host is taken.
    Port {
        /// The port.
        port: u16,
    },
    /// No pod of those that it must be with is in the node's place.
    Affinity {
        /// The label of the place.
        topology: String,
    },
    /// A pod that it must not be with is in the node's place, or one there must not be with it.
    AntiAffinity {
        /// The label of the place.
        topology: String,
    },
    /// Its like would lie too unevenly.
    Spread {
        /// The label of the place.
        topology: String,
    },
    /// A volume cannot be reached from the node.
    VolumePlace {
        /// The volume or claim.
        volume: String,
    },
    /// The node has as many volumes attached as it can.
    VolumeLimit {
        /// The driver.
        driver: String,
    },
    /// A volume is in use by a pod that does not share it.
    VolumeInUse {
        /// The volume.
        volume: String,
    },
    /// A claim of the pod is not what it could be placed with.
    VolumeMissing {
        /// What is missing.
        what: String,
    },
    /// The node does not declare something that the pod needs.
    Feature {
        /// What.
        feature: String,
    },
    /// Nobody here can say whether it fits.
    CannotJudge {
        /// Because of this.
        what: String,
    },
}

/// Why a machine stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// It is the head.
    Head,
    /// Something runs on it.
    Busy,
    /// Waiting demand has its place here.
    NeededByDemand,
    /// A floor has its place here.
    NeededByFloor,
    /// Its pool would fall below its minimum.
    Min,
    /// Idle, but not for long enough.
    NotIdleLongEnough,
    /// No idle timeout is set.
    NoTimeout,
    /// On its way.
    Coming,
    /// Protected, held, or not to be judged.
    Protected,
    /// Whoever asked for a number of workers wants this one kept.
    Kept,
    /// It counts for the number that is aimed for.
    Counted,
    /// Already on its way out.
    Leaving,
}

/// A record that had to be left aside; everything else was decided without it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Which record: an instance, a node, a pool.
    pub record: String,
    /// What is wrong with it.
    pub kind: FaultKind,
}

/// What is wrong with a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// Its pool is no longer in the configuration.
    UnknownPool,
    /// More is free than there is; taken as it is reported.
    AvailableAboveTotal,
    /// An amount below zero; counted as zero.
    NegativeAmount,
    /// The record says running, the workload has no such node.
    NoNode,
    /// The minimums of the pools together are above the maximum over all pools.
    MinAboveMax,
    /// A gang without bundles, or a request of zero count.
    Empty,
    /// Asks for what cannot be at once: one label with two values, or two placement strategies.
    Contradiction,
}
