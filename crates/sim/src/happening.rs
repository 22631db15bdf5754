//! What happens to the world in the course of a scenario, beside the work that is asked of it.

use crate::ray::Rejoin;
use ostler_model::{FailureClass, Millis, PoolId, ProviderId};
use ostler_provider::fake::Fault;

/// Something that happens at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// A provider refuses new machines of a pool for a while.
    Refuse {
        /// The pool.
        pool: PoolId,
        /// With this class.
        class: FailureClass,
        /// For how long.
        lasts: Millis,
    },
    /// The next calls of a cloud meet trouble.
    Fault(ProviderId, Fault),
    /// A provider cannot be listed for a while.
    Unlisted(ProviderId, Millis),
    /// The oldest running machine of a pool dies.
    Kill(PoolId),
    /// The head is replaced.
    ReplaceHead {
        /// The time without a head.
        down: Millis,
        /// What becomes of the nodes.
        rejoin: Rejoin,
    },
    /// The next machines never become nodes.
    NeverJoin(u32),
    /// The next drains of idle nodes are refused.
    RejectDrains(u32),
    /// The cluster does not answer for a while.
    Silence(Millis),
    /// A node shows an unknown status for a while.
    UnknownStatus(Millis),
    /// A node shows absurd amounts, and a record cannot be read, for a while.
    BadRecords(Millis),
    /// The configuration is read again with other bounds of a pool.
    Bounds {
        /// The pool.
        pool: PoolId,
        /// Its new minimum.
        min: u32,
        /// Its new maximum.
        max: u32,
    },
    /// The configuration is read again, and machines of the pool are now made in another way.
    Relaunch(PoolId),
    /// The configuration is read again without the pool.
    Drop(PoolId),
    /// The next commits fail, after or before they were written.
    CommitFails {
        /// How many.
        times: u32,
        /// Are they written all the same?
        written: bool,
    },
    /// Ostler is killed.
    Crash,
}

/// Where Ostler is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CrashPoint {
    /// At this output of the engine, counted from 1 over all lives.
    pub output: u64,
    /// How.
    pub mode: CrashMode,
}

/// What becomes of calls that were under way when Ostler is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CrashMode {
    /// The output is not carried out, and nothing under way arrives.
    Before,
    /// The output is carried out, its answer is lost, and nothing else under way arrives.
    Done,
    /// The output and everything under way arrive in their time; the answers are lost.
    Ghosts,
}

impl CrashMode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Before, Self::Done, Self::Ghosts];

    /// Its name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::Done => "done",
            Self::Ghosts => "ghosts",
        }
    }
}
