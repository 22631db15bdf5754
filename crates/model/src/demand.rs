//! What a workload asks for. Equal requests are one entry with a count, so cost grows with what differs.

use crate::id::GangId;
use crate::label::Selector;
use crate::quantity::Resources;
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize};

/// Everything that one workload asks for at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Demand {
    /// Independent requests (Ray: tasks and actors).
    pub tasks: Vec<Task>,
    /// Requests that are placed together or not at all (Ray: placement groups).
    pub gangs: Vec<Gang>,
    /// Capacity that must exist whether or not it is used (Ray: `request_resources`).
    pub floors: Vec<Floor>,
}

/// What one request needs of the machine it lands on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Shape {
    /// Amounts that must be free.
    pub resources: Resources,
    /// Acceptable labels in order of preference; the first that can be met counts. No selector: any machine.
    pub selectors: Vec<Selector>,
}

/// `count` equal, independent requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// What each of them needs.
    pub shape: Shape,
    /// How many there are.
    pub count: u64,
}

/// Requests that are placed as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gang {
    /// The workload's name for it.
    pub id: GangId,
    /// How its bundles lie to each other.
    pub strategy: Strategy,
    /// Its parts.
    pub bundles: Vec<Bundle>,
    /// Other sets of parts, in order of preference, to try if `bundles` cannot be placed.
    pub fallbacks: Vec<Vec<Bundle>>,
    /// The workload's own text about it, for people.
    pub details: alloc::string::String,
}

/// `count` equal parts of a gang.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bundle {
    /// What each part needs.
    pub shape: Shape,
    /// How many there are.
    pub count: u64,
}

/// How the bundles of a gang lie to each other (Ray's placement strategies).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// All on one machine.
    StrictPack,
    /// Each on a machine of its own.
    StrictSpread,
    /// As few machines as can be.
    Pack,
    /// Over machines where it costs nothing.
    Spread,
}

/// Capacity that must exist, free or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Floor {
    /// Its parts, each of which must have a place among the totals of machines.
    pub tasks: Vec<Task>,
}

impl Gang {
    /// Number of bundles.
    pub fn size(&self) -> u64 {
        self.bundles.iter().map(|b| b.count).sum()
    }
}

impl fmt::Display for Shape {
    /// `CPU 4, GPU 1 where zone in (a) or anywhere`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.resources)?;
        let named = self.selectors.iter().filter(|s| !s.0.is_empty());
        for (n, selector) in named.enumerate() {
            write!(f, " {} {selector}", if n == 0 { "where" } else { "or" })?;
        }
        Ok(())
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StrictPack => "STRICT_PACK",
            Self::StrictSpread => "STRICT_SPREAD",
            Self::Pack => "PACK",
            Self::Spread => "SPREAD",
        })
    }
}
