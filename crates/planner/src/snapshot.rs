//! All that a plan depends on.

use crate::memory::Memory;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use ostler_lifecycle::Instance;
use ostler_model::{
    CloudInstance, EffectReport, Observed, Policy, Pool, ProviderId, Timestamp, WorkloadId, WorkloadState,
};
use serde::{Deserialize, Serialize};

/// One workload at one moment: the freshest looks at it and at its providers, our records, and the policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The moment.
    pub now: Timestamp,
    /// Whose snapshot it is.
    pub workload: WorkloadId,
    /// How it wants to be scaled.
    pub policy: Policy,
    /// Its pools, in the order of the configuration, which decides ties.
    pub pools: Vec<Pool>,
    /// What it said of itself, at the start of the newest look; `None` before the first.
    pub state: Option<Observed<WorkloadState>>,
    /// What each provider lists of it, at the start of the newest look; absent before the first.
    pub listings: BTreeMap<ProviderId, Observed<Vec<CloudInstance>>>,
    /// How effects ended since the last plan that was committed, and which launches were accepted whose records
    /// still wait for their machine.
    pub reports: Vec<EffectReport>,
    /// Our records, final ones too as long as they are kept.
    pub instances: Vec<Instance>,
    /// What the planner remembers from plan to plan.
    pub memory: Memory,
}

impl Snapshot {
    /// The workload's state, if the newest look saw it.
    pub(crate) fn seen(&self) -> Option<(&WorkloadState, Timestamp)> {
        let observed = self.state.as_ref()?;
        observed.result.as_ref().ok().map(|state| (state, observed.at))
    }
}
