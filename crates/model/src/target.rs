//! A target: how many workers somebody outside wants, and which of them are to stay or to go.

use crate::id::InstanceId;
use crate::time::Timestamp;
use alloc::collections::BTreeSet;
use serde::{Deserialize, Serialize};

/// What is asked for (Polars: `scale_to`). Workers go by the name that they were started with, which is the id of
/// the record that asked for the machine; a name is never used twice.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Wish {
    /// Workers in all, not a difference.
    pub amount: u32,
    /// Workers that must not be removed.
    pub keep: BTreeSet<InstanceId>,
    /// Workers that go first, and are replaced if the amount needs it. One that is in `keep`, too, is kept.
    pub delete: BTreeSet<InstanceId>,
}

/// A wish that was accepted. It holds until the next one, over restarts too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// What was asked for, as it was asked: bounds may change, so they are applied when it is used.
    pub wish: Wish,
    /// How many were accepted before it; rises by one with each that differs from the last.
    pub seq: u64,
    /// When it was accepted.
    pub accepted_at: Timestamp,
}

/// What a workload with a target is shown of itself (Polars: `scale_config`). `min` is never above `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Scale {
    /// Workers that are aimed for.
    pub desired: u32,
    /// Workers that are up and ready, and not on their way out.
    pub available: u32,
    /// The fewest that there may be.
    pub min: u32,
    /// The most that there may be.
    pub max: u32,
}
