//! What we decide. [`plan`] turns one immutable [`Snapshot`] into one [`Plan`]: total (no error, no panic),
//! deterministic, and independent of the order of its input. Trouble is part of the [`Report`].
//!
//! The steps stand in [`steps`], one file each, in the order in which they run.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod desk;
mod draft;
mod memory;
mod plan;
mod reason;
mod report;
mod snapshot;
mod standing;
mod steps;
mod stillborn;

pub use desk::{Refusal as WishRefusal, Verdict};
pub use memory::{KubeMemory, Learned, Memory, PoolMemory, Refusal, RefusedWish, Replacing, TakenTurn};
pub use ostler_packing::kube::problem::Keep as NodeStays;
pub use plan::{Note, Plan, Severity, Step, Subject, plan};
pub use reason::{HoldReason, REASONS, Reason, ReasonDoc};
pub use report::{DemandReport, InstanceReport, PodsReport, PoolReport, Report, TargetReport};
pub use snapshot::Snapshot;
pub use standing::{Listings, Standing};
