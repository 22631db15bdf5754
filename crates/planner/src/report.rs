//! The whole picture after a plan, for `status`, `explain`, and the workload.

use crate::draft::{Explained, Serial};
use crate::memory::RefusedWish;
use crate::reason::{HoldReason, Reason};
use crate::snapshot::Snapshot;
use crate::standing::Standing;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use ostler_lifecycle::{Instance, StateName};
use ostler_model::{
    CloudId, Failure, InstanceId, LaunchCause, NodeId, Pool, PoolId, Resources, Scale, Target, Timestamp,
};
use ostler_packing::problem::{Fault, Keep, Unfit};
use ostler_packing::target::Answer;
use serde::{Deserialize, Serialize};

/// What is, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// When it was made.
    pub at: Timestamp,
    /// Why nothing is decided for the workload, if nothing is.
    pub hold: Option<HoldReason>,
    /// Its pools, in the order of the configuration; then those that have left it and still have nodes.
    pub pools: Vec<PoolReport>,
    /// Its records that are not final, oldest first.
    pub instances: Vec<InstanceReport>,
    /// Demand that no pool can take.
    pub unplaced: Vec<DemandReport>,
    /// Records that are wrong.
    pub faults: Vec<Fault>,
    /// What was asked for, of a workload that is scaled to a target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetReport>,
    /// Waiting pods, of a Kubernetes cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<PodsReport>,
    /// What would be done now, of a workload for which nothing may be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub would: Vec<String>,
}

/// Waiting pods, and what becomes of them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PodsReport {
    /// Pods that wait for a node.
    pub waiting: u64,
    /// Those that have a place on a node that is there, is coming, or is launched now.
    pub placed: u64,
    /// Those for which a node is launched now or on its way: unique id, and the pool of the node on which they have
    /// their place; the first few hundred.
    pub bring_nodes: Vec<(String, PoolId)>,
    /// Those that wait for something else than room, or for somebody else: name, and why; the first few hundred.
    pub ignored: Vec<(String, String)>,
}

/// What was asked for last, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetReport {
    /// The wish; `None`: nobody has asked yet.
    pub target: Option<Target>,
    /// What was asked for since and refused.
    pub refused: Option<RefusedWish>,
    /// What is shown outside.
    pub scale: Scale,
    /// Workers that no pool can give just now.
    pub short: u32,
    /// Workers that are too many and may not go.
    pub held: u32,
}

impl TargetReport {
    pub(crate) fn new(standing: &Standing<'_>, answer: &Answer) -> Self {
        Self {
            target: standing.memory.target.clone(),
            refused: standing.memory.refused.clone(),
            scale: standing.scale(),
            short: answer.short,
            held: answer.held,
        }
    }
}

/// One pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolReport {
    /// Its name.
    pub pool: PoolId,
    /// Capacity of each machine.
    pub resources: Resources,
    /// Workers at least.
    pub min: u32,
    /// Workers at most.
    pub max: u32,
    /// Records of it by state, without final ones.
    pub states: BTreeMap<StateName, u32>,
    /// The provider refused it and is not asked again before this time.
    pub backing_off_until: Option<Timestamp>,
    /// What the provider said last, until it gave a machine.
    pub last_refusal: Option<Failure>,
}

/// One record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceReport {
    /// Its id.
    pub instance: InstanceId,
    /// Its pool.
    pub pool: PoolId,
    /// Where it is.
    pub state: StateName,
    /// Since when.
    pub since: Timestamp,
    /// Its machine.
    pub cloud: Option<CloudId>,
    /// Its node.
    pub node: Option<NodeId>,
    /// What it was made for.
    pub launched_for: Option<LaunchCause>,
    /// Why it stays.
    pub kept: Option<Keep>,
    /// What it waits for, or why it goes.
    pub reason: Option<Reason>,
}

/// Demand that no pool can take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DemandReport {
    /// Which list of the workload's demand it is from.
    pub kind: LaunchCause,
    /// Index into that list.
    pub index: usize,
    /// What it asks for, in words.
    pub demand: String,
    /// How many of it.
    pub count: u64,
    /// Why no pool can take it.
    pub why: Vec<(PoolId, Unfit)>,
}

impl Report {
    pub(crate) fn new(snapshot: &Snapshot) -> Self {
        Self {
            at: snapshot.now,
            hold: None,
            pools: snapshot.pools.iter().map(PoolReport::new).collect(),
            instances: Vec::new(),
            unplaced: Vec::new(),
            faults: Vec::new(),
            target: None,
            pods: None,
            would: Vec::new(),
        }
    }

    /// A report of nothing, for plans that only take note of something.
    pub(crate) fn empty(at: Timestamp) -> Self {
        Self {
            at,
            hold: None,
            pools: Vec::new(),
            instances: Vec::new(),
            unplaced: Vec::new(),
            faults: Vec::new(),
            target: None,
            pods: None,
            would: Vec::new(),
        }
    }

    /// Fills in the records as they are after the plan, and the counts of the pools.
    pub(crate) fn fill(
        &mut self,
        instances: &BTreeMap<Serial, Instance>,
        mut explained: BTreeMap<Serial, Explained>,
    ) {
        for (serial, instance) in instances.iter().filter(|(_, i)| !i.state().name().is_final()) {
            if let Some(pool) = self.pools.iter_mut().find(|p| p.pool == *instance.pool()) {
                *pool.states.entry(instance.state().name()).or_insert(0) += 1;
            }
            let Explained { kept, reason } = explained.remove(serial).unwrap_or_default();
            let ending = instance.state().end_cause().map(|cause| Reason::Removed { cause });
            self.instances.push(InstanceReport {
                kept: if ending.is_some() { None } else { kept },
                reason: reason.or(ending),
                ..describe(instance)
            });
        }
    }
}

impl PoolReport {
    pub(crate) fn new(pool: &Pool) -> Self {
        Self {
            pool: pool.id.clone(),
            resources: pool.resources.clone(),
            min: pool.min,
            max: pool.max,
            states: BTreeMap::new(),
            backing_off_until: None,
            last_refusal: None,
        }
    }
}

fn describe(instance: &Instance) -> InstanceReport {
    InstanceReport {
        instance: instance.id().clone(),
        pool: instance.pool().clone(),
        state: instance.state().name(),
        since: instance.since(),
        cloud: instance.state().cloud().cloned(),
        node: instance.state().node().cloned(),
        launched_for: instance.launched_for(),
        kept: None,
        reason: None,
    }
}
