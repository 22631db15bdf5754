//! What was decided, and what is remembered for the next time.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::input::State;

/// What to launch and what to end, and what stays without a place. Indices are into the lists of the
/// [`Input`](super::Input).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decision {
    /// In the order of Ray's launch requests: one for each pool.
    pub launches: Vec<Launch>,
    /// In the order of Ray's termination requests.
    pub terminations: Vec<Termination>,
    /// Requests that no node took.
    pub infeasible_requests: Vec<Unplaced>,
    /// Gangs that were not placed, in the order in which they were tried.
    pub infeasible_gangs: Vec<usize>,
    /// The cluster cannot be made to hold the constraint; nothing was launched for it.
    pub infeasible_constraint: bool,
    /// Which node took what, in the order of choice.
    pub placed: Vec<Placed>,
    /// Records on which Ray raises an error. They were left out, the decision is about the rest.
    pub faults: Vec<Fault>,
}

/// New nodes of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// Index of the pool.
    pub pool: usize,
    /// How many.
    pub count: u64,
}

/// The end of one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Termination {
    /// Index of the instance; `None` where Ray ends a node that it was only about to launch.
    pub instance: Option<usize>,
    /// Why.
    pub cause: Cause,
    /// Its state; `None` for a node that was only about to be launched.
    pub state: Option<State>,
}

/// Why a node ends, with what Ray tells about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// `IDLE`: nothing needed it for longer than the timeout.
    Idle {
        /// For how long, milliseconds.
        idle_ms: i64,
    },
    /// `MAX_NUM_NODE_PER_TYPE`: its pool has more nodes than it may.
    MaxNodesPerPool {
        /// Nodes at most of this pool, the head included.
        max: u64,
    },
    /// `MAX_NUM_NODES`: there are more nodes than there may be.
    MaxNodes {
        /// Nodes at most, the head included.
        max: u64,
    },
    /// `OUTDATED`: launched with another configuration, or of a pool that is gone.
    Outdated,
}

/// Some of a group of equal requests that no node took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unplaced {
    /// Index of the request.
    pub request: usize,
    /// How many of it.
    pub count: u64,
}

/// Requests that a node took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// The node.
    pub node: NodeRef,
    /// What it took.
    pub demand: Demand,
    /// How many of it.
    pub count: u64,
}

/// A node that exists, or one that the decision launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeRef {
    /// Index of the instance.
    Instance(usize),
    /// A number of its own, and the index of its pool.
    New(usize, usize),
}

/// A piece of demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Demand {
    /// Index of the request.
    Request(usize),
    /// Index of the gang; bundles that have to be together count as one.
    Gang(usize),
    /// Index of the request within the constraint.
    Constraint(usize),
}

/// A record on which Ray raises an error, so that its whole round is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Which one: left out, and all else decided as if it were not there.
    pub record: Record,
    /// What is wrong with it.
    pub code: FaultCode,
}

/// A record of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Record {
    /// Index of the pool.
    Pool(usize),
    /// Index of the instance.
    Instance(usize),
    /// A request, a gang or a part of the constraint.
    Demand(Demand),
}

/// What is wrong with a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultCode {
    /// `min_workers` is above `max_workers`.
    MinAboveMax,
    /// A node runs whose pool the configuration does not have.
    PoolUnknown,
    /// A node has more free than it has, or less than nothing.
    UsedOutOfRange,
    /// An amount is negative or not a number.
    AmountInvalid,
    /// A bundle of a gang has more than one placement constraint.
    ConstraintsTooMany,
    /// A node would carry one label with two values.
    LabelConflict,
}

impl FaultCode {
    /// The stable code for people and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MinAboveMax => "RAY-MIN-ABOVE-MAX",
            Self::PoolUnknown => "RAY-POOL-UNKNOWN",
            Self::UsedOutOfRange => "RAY-USED-OUT-OF-RANGE",
            Self::AmountInvalid => "RAY-AMOUNT-INVALID",
            Self::ConstraintsTooMany => "RAY-CONSTRAINTS-TOO-MANY",
            Self::LabelConflict => "RAY-LABEL-CONFLICT",
        }
    }
}

impl fmt::Display for FaultCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What the scheduler remembers between decisions: since when nodes on their way have not been needed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Memory {
    /// By pool: entry `k` is since when (seconds, clock of [`PendingIdle`](super::PendingIdle)) more than `k` of its
    /// nodes on their way have not been needed without a break.
    pub unneeded_since_s: BTreeMap<String, Vec<f64>>,
}
