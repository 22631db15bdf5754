//! What a machine was made for, and why it ends.

use core::fmt;
use serde::{Deserialize, Serialize};

/// What a new machine is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaunchCause {
    /// The pool's minimum.
    Min,
    /// A floor (Ray: `request_resources`).
    Floor,
    /// A gang.
    Gang,
    /// Waiting requests.
    Demand,
    /// A number of workers that somebody asked for (Polars: `amount`).
    Target,
    /// Room that is to be kept free.
    Headroom,
    /// A cheaper machine in the place of others, which go once it is there.
    Replacement,
}

/// Why a machine ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndCause {
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
    /// Its pool was refused; the demand goes elsewhere.
    PoolRefused,
    /// The workload says that its node is dead.
    NodeDead,
    /// The workload no longer knows its node.
    NodeLost,
    /// The workload drains the node by itself.
    NodeDraining,
    /// Its node never came up.
    NeverJoined,
    /// It could not be prepared.
    InstallFailed,
    /// The provider no longer lists it.
    Vanished,
    /// Another node runs on the same machine now.
    Replaced,
    /// Somebody asked for it.
    Asked,
    /// There are more workers than were asked for.
    Surplus,
    /// It is little used, and all on it has a place elsewhere.
    Underused,
    /// Cheaper machines take its place.
    Consolidated,
    /// It has not been ready for too long.
    Unready,
}

impl LaunchCause {
    /// The stable code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Min => "min",
            Self::Floor => "floor",
            Self::Gang => "gang",
            Self::Demand => "demand",
            Self::Target => "target",
            Self::Headroom => "headroom",
            Self::Replacement => "replacement",
        }
    }
}

impl EndCause {
    /// The stable code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Outdated => "outdated",
            Self::MaxPerPool => "max_per_pool",
            Self::MaxTotal => "max_total",
            Self::Idle => "idle",
            Self::PendingIdle => "pending_idle",
            Self::PoolRefused => "pool_refused",
            Self::NodeDead => "node_dead",
            Self::NodeLost => "node_lost",
            Self::NodeDraining => "node_draining",
            Self::NeverJoined => "never_joined",
            Self::InstallFailed => "install_failed",
            Self::Vanished => "vanished",
            Self::Replaced => "replaced",
            Self::Asked => "asked",
            Self::Surplus => "surplus",
            Self::Underused => "underused",
            Self::Consolidated => "consolidated",
            Self::Unready => "unready",
        }
    }
}

impl fmt::Display for LaunchCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}
impl fmt::Display for EndCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}
