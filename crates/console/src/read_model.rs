//! What the console reads. The daemon's board implements it.

use ostler_model::Timestamp;
use ostler_wire::Status;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Debug;

/// Where the console finds what it serves.
pub trait ReadModel: Send + Sync + Debug {
    /// Everything, as it is now.
    fn status(&self) -> Status;

    /// What has been counted since the start.
    fn counters(&self) -> Counters;

    /// `Ok` once every workload and provider has been looked at and the store is ours; else what is missing.
    fn ready(&self) -> Result<(), String>;

    /// `Ok` as long as the loop turns; else since when it does not. A model that is answered by the loop itself has
    /// nothing to add to the default.
    fn alive(&self) -> Result<(), String> {
        Ok(())
    }

    /// What was decided lately, newest first, at most a hundred. A model that keeps none has none.
    fn recent(&self) -> Vec<JournalLine> {
        Vec::new()
    }
}

/// One line of the journal, for people and for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalLine {
    /// Its number in the store; 0 if it is not stored.
    pub seq: u64,
    /// When it was decided.
    pub at: Timestamp,
    /// The workload that it is about.
    pub workload: String,
    /// What it is about: `instance:i-1`, `pool:cpu` …
    pub subject: String,
    /// Stable code of the event or reason.
    pub code: String,
    /// In words.
    pub message: String,
}

/// Counted since the start. Only ever grows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Counters {
    /// Passes that were planned.
    pub passes: u64,
    /// Passes whose plan was dropped or failed: each is a fault in Ostler.
    pub passes_failed: u64,
    /// Plans that changed something and were committed.
    pub commits: u64,
    /// Commits that were refused.
    pub commits_refused: u64,
    /// Seconds spent in planning.
    pub plan_seconds: f64,
    /// Looks at workloads and providers that failed.
    pub looks_failed: u64,
    /// Launches, by workload and pool.
    pub launches: BTreeMap<(String, String), LaunchCount>,
    /// Removals, by workload, pool and cause (the code of the cause).
    pub removals: BTreeMap<(String, String, String), u64>,
    /// Drains that the workload refused, by workload.
    pub drains_rejected: BTreeMap<String, u64>,
}

/// What became of launches.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LaunchCount {
    /// Handed to the provider.
    pub requested: u64,
    /// Refused by it.
    pub refused: u64,
    /// Whose machines came.
    pub allocated: u64,
    /// Whose nodes came up.
    pub joined: u64,
    /// Seconds from the hand-over to the node, over all that joined.
    pub join_seconds: f64,
}
