//! A machine as its provider lists it.

use crate::id::{CloudId, InstanceId, PoolId, WorkloadId};
use crate::pool::NodeKind;
use crate::time::Timestamp;
use alloc::string::String;
use serde::{Deserialize, Serialize};

/// One machine that carries our tags.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloudInstance {
    /// The provider's id.
    pub id: CloudId,
    /// The workload whose machine it is (a tag).
    pub workload: WorkloadId,
    /// The pool that it was launched for (a tag).
    pub pool: PoolId,
    /// The record that asked for it and the attempt of it (tags). `None`: not launched by Ostler, e.g. a head
    /// node that a person started.
    pub launched_for: Option<(InstanceId, u32)>,
    /// Head or worker.
    pub kind: NodeKind,
    /// How far it is.
    pub phase: CloudPhase,
    /// When the provider made it, if it says so.
    pub created_at: Option<Timestamp>,
    /// Address, for people.
    pub address: String,
}

/// How far a machine is, to its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CloudPhase {
    /// Accepted, not up yet.
    Pending,
    /// Up.
    Running,
    /// Going away.
    Stopping,
}
