//! All that the engine asks for.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use ostler_audit::Finding;
use ostler_lifecycle::Effect;
use ostler_model::{ProviderId, Timestamp, WorkloadId};
use ostler_planner::{Plan, Snapshot, WishRefusal};

/// Something to do. The shell does them in order; each ends in an [`Input`](crate::Input), except where noted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Read the records of a workload, again and again until it works.
    Load {
        /// Which.
        workload: WorkloadId,
    },
    /// Plan this, on any thread.
    Plan {
        /// The question.
        snapshot: Arc<Snapshot>,
    },
    /// Write this plan, all of it or nothing, if the records still have this version.
    Commit {
        /// Whose.
        workload: WorkloadId,
        /// The version that it was planned from.
        expected_version: u64,
        /// What to write.
        plan: Arc<Plan>,
    },
    /// Do this; it is committed. Doing it twice does it once.
    Run {
        /// Whose.
        workload: WorkloadId,
        /// What.
        effect: Effect,
    },
    /// Tell the workload and people. Nothing comes back.
    Publish {
        /// Whose.
        workload: WorkloadId,
        /// What was decided (empty of steps if nothing had to be), and the whole picture.
        plan: Arc<Plan>,
    },
    /// Answer a request: what it changes is on disk, or nothing has changed. Nothing comes back.
    Reply {
        /// The request's number.
        id: u64,
        /// Accepted, or why not.
        answer: Result<(), Declined>,
    },
    /// Look at this sooner than planned: something about it has just changed.
    Look(Source),
    /// Give a [`Tick`](crate::Input::Tick) at this time.
    WakeAt(Timestamp),
    /// Somebody should know. Nothing comes back.
    Alarm(Alarm),
}

/// Why a request is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Declined {
    /// It cannot be done as it is.
    Refused(WishRefusal),
    /// It could not be written in time, or there is no such workload any longer. Ask again.
    Unavailable,
    /// Too many wait already. Ask again later.
    Overloaded,
}

/// Something that is looked at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// A workload.
    Workload(WorkloadId),
    /// A provider.
    Provider(ProviderId),
}

/// A fault in Ostler itself, which cost one pass of one workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Alarm {
    /// The plan would have broken promises and was dropped.
    PlanDropped {
        /// Whose.
        workload: WorkloadId,
        /// Which promises, and how.
        findings: Vec<Finding>,
    },
    /// Planning failed.
    PlanFailed {
        /// Whose.
        workload: WorkloadId,
        /// What happened.
        message: String,
    },
}
