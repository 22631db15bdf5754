//! What a provider promises, method by method.

use crate::error::ProviderError;
use async_trait::async_trait;
use ostler_model::{
    CloudId, CloudInstance, InstanceId, Labels, LaunchToken, Millis, NodeKind, PoolId, Resources, WorkloadId,
};
use std::collections::BTreeMap;
use std::fmt;

/// A place that machines come from.
///
/// All methods may be called at any time, by several callers at once, and from any executor. A caller that waits
/// no longer drops the future: what was begun may still happen, and is found again by [`list`](Self::list) or by
/// the same call made again. A provider keeps nothing in memory that it needs after a crash.
#[async_trait]
pub trait Provider: Send + Sync + fmt::Debug {
    /// What it can do and how long it takes. Constant for the life of the object; touches nothing outside.
    fn capabilities(&self) -> Capabilities;

    /// The pools that it makes machines for, all of them: told before anything else is asked, and again whenever
    /// the configuration changes. Most providers need not know before [`launch`](Self::launch) tells them.
    ///
    /// # Errors
    /// What stands in a pool's template cannot be; what was told before stays.
    fn configure(&self, pools: &[ServedPool]) -> Result<(), ProviderError> {
        let _ = pools;
        Ok(())
    }

    /// All machines of this site that exist, of all workloads and pools.
    ///
    /// Complete or an error: a page that cannot be read fails the call, since a machine that is missing from a
    /// listing counts as gone. One *record* that cannot be understood is named in [`Listing::skipped`] instead.
    /// Holds only what carries all [tags](crate::tags) of this site; a machine is listed with all of its tags or
    /// not at all. Eventually consistent: a launch is seen within [`Capabilities::appears_within`].
    /// Changes nothing. No answer in time says nothing about any machine.
    async fn list(&self) -> Result<Listing, ProviderError>;

    /// Asks for one machine; the answer is its id, and that it runs is seen in [`list`](Self::list).
    ///
    /// Idempotent by `token`: however often, at the same time, and after whatever restart of either side it is
    /// repeated, a token makes one machine, and each accepted call gives the same id. A token whose machine has
    /// ended gives the id of the ended one, at least for as long as the provider remembers it (an hour is usual);
    /// ids are never used again. The machine carries its tags from its first moment.
    /// `Err` means: refused, and nothing was made. The exception is [`FailureClass::Transient`] (and no answer
    /// in time): the machine may or may not exist, and the caller repeats the call with the same token.
    ///
    /// [`FailureClass::Transient`]: ostler_model::FailureClass::Transient
    async fn launch(&self, spec: &LaunchSpec, token: &LaunchToken) -> Result<CloudId, ProviderError>;

    /// Asks for the end of one machine: gracefully if it can be, surely within [`Capabilities::gone_within`].
    ///
    /// `Ok` means accepted; the end is seen in [`list`](Self::list). Idempotent: a machine that is ending, has
    /// ended, or never was, is `Ok`. A machine that is not of this site is left alone and is `Ok` too, as it is
    /// for `list`. An accepted termination survives a restart of this object. No answer in time: call again.
    async fn terminate(&self, id: &CloudId) -> Result<(), ProviderError>;

    /// Where a person finds more about a machine, e.g. its log file; `None` if there is nothing to say.
    /// Answers at once, from what is known.
    fn details(&self, id: &CloudId) -> Option<String> {
        let _ = id;
        None
    }
}

/// What a provider can do, as data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Its machines join the workload by themselves; otherwise somebody must install it on them.
    pub joins_by_itself: bool,
    /// It decides itself which machine ends: `terminate` ends *some* machine of the pool, not always the one named.
    pub chooses_victims: bool,
    /// Each call answers within this time; a caller's deadline should not be shorter.
    pub answers_within: Millis,
    /// An accepted launch is in the listing within this time. If a listing that begins later does not show it, its
    /// machine counts as gone, and is asked for again with another token.
    pub appears_within: Millis,
    /// A terminated machine has left the listing within this time.
    pub gone_within: Millis,
}

/// A pool, as far as the provider of its machines is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedPool {
    /// Whose pool it is.
    pub workload: WorkloadId,
    /// Its name.
    pub pool: PoolId,
    /// How machines of it are made, in the provider's own words; `null` if there is nothing to say.
    pub template: serde_json::Value,
}

/// What machine is wanted, for whom.
#[derive(Clone, PartialEq)]
pub struct LaunchSpec {
    /// Whose machine it will be.
    pub workload: WorkloadId,
    /// The pool that it counts for.
    pub pool: PoolId,
    /// The record that asks for it.
    pub instance: InstanceId,
    /// Which attempt of that record this is, from 1.
    pub attempt: u32,
    /// Head or worker.
    pub kind: NodeKind,
    /// The workload's name of the machine type (Ray: instance type name), for reports.
    pub instance_type: String,
    /// What the machine must offer.
    pub resources: Resources,
    /// Labels that the workload's node must have.
    pub labels: Labels,
    /// The user's tags; those that begin with [`tags::PREFIX`](crate::tags::PREFIX) are refused.
    pub tags: BTreeMap<String, String>,
    /// How this provider makes machines of this pool, in its own words; `null` if there is nothing to say.
    pub template: serde_json::Value,
    /// What programs on the machine must know to join (e.g. `RAY_ADDRESS`). May hold secrets: a provider passes
    /// them on, and never logs or stores them.
    pub environment: BTreeMap<String, String>,
}

impl fmt::Debug for LaunchSpec {
    /// Whose machine it is, and the names alone of the environment: its values may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LaunchSpec")
            .field("workload", &self.workload)
            .field("pool", &self.pool)
            .field("instance", &self.instance)
            .field("attempt", &self.attempt)
            .field("kind", &self.kind)
            .field("resources", &self.resources)
            .field("environment", &self.environment.keys())
            .finish_non_exhaustive()
    }
}

/// What exists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// The machines, by id.
    pub instances: Vec<CloudInstance>,
    /// Records that carry our tags and could not be understood, each with the reason; the others stand.
    pub skipped: Vec<String>,
}
