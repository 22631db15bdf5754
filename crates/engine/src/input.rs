//! All that can wake the engine.

use alloc::string::String;
use alloc::vec::Vec;
use ostler_lifecycle::Instance;
use ostler_model::{
    CloudInstance, EffectReport, Observed, Policy, Pool, ProviderId, Timestamp, Wish, WorkloadId,
    WorkloadState,
};
use ostler_planner::{Memory, Plan};

/// Something that happened.
#[allow(clippy::large_enum_variant, reason = "one at a time, and moved once")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// The configuration was read, for the first time or again. Workloads that are no longer in it are left
    /// alone: their machines stay and nothing is decided for them.
    Configured(Vec<Setup>),
    /// The store answered a [`Load`](crate::Output::Load).
    Loaded {
        /// Whose records.
        workload: WorkloadId,
        /// Their version.
        version: u64,
        /// The records.
        instances: Vec<Instance>,
        /// What the planner remembered.
        memory: Memory,
    },
    /// A workload was looked at.
    Observed {
        /// Which.
        workload: WorkloadId,
        /// What was seen; `at` is when the look began.
        look: Observed<WorkloadState>,
    },
    /// A provider was listed.
    Listed {
        /// Which.
        provider: ProviderId,
        /// What was seen; `at` is when the look began.
        look: Observed<Vec<CloudInstance>>,
    },
    /// A plan is ready.
    Planned {
        /// Whose.
        workload: WorkloadId,
        /// The plan.
        plan: Plan,
    },
    /// Planning failed by a fault in Ostler: nothing is decided until something new is seen.
    PlanFailed {
        /// Whose.
        workload: WorkloadId,
        /// What happened.
        message: String,
    },
    /// The plan is on disk.
    Committed {
        /// Whose.
        workload: WorkloadId,
        /// The new version.
        version: u64,
    },
    /// The plan was not written: somebody else wrote first, or the store has trouble. The records are loaded
    /// again, and everything is decided anew.
    CommitRefused {
        /// Whose.
        workload: WorkloadId,
    },
    /// An effect ended.
    EffectEnded {
        /// Whose.
        workload: WorkloadId,
        /// How.
        report: EffectReport,
    },
    /// Somebody outside asks for a number of workers; answered by a [`Reply`](crate::Output::Reply) once what it
    /// changes is on disk.
    Asked {
        /// Of whom.
        workload: WorkloadId,
        /// What.
        request: Request,
    },
    /// Time passed.
    Tick,
}

/// A wish from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The shell's number for it, never used twice.
    pub id: u64,
    /// What is wished.
    pub wish: Wish,
    /// Nobody waits for the answer any longer; from then on it changes nothing.
    pub give_up_at: Timestamp,
}

/// One workload of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    /// Its name.
    pub workload: WorkloadId,
    /// How it wants to be scaled.
    pub policy: Policy,
    /// Its pools, in order.
    pub pools: Vec<Pool>,
}
