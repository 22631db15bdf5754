//! The plan, and the list of steps that make it.

use crate::draft::Draft;
use crate::memory::{KubeMemory, Memory};
use crate::reason::Reason;
use crate::report::Report;
use crate::snapshot::Snapshot;
use crate::steps;
use alloc::string::String;
use alloc::vec::Vec;
use ostler_lifecycle::{Event, Instance};
use ostler_model::{InstanceId, NodeId, PoolId, ProviderId, Scoring};
use serde::{Deserialize, Serialize};

/// What should happen, all of it or nothing.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Facts and decisions, in order; each is legal after those before it.
    pub steps: Vec<Step>,
    /// Records as they are after the steps, those that changed and new ones.
    pub changed: Vec<Instance>,
    /// Final records that have been kept for long enough.
    pub forgotten: Vec<InstanceId>,
    /// What to remember, if it changed.
    pub memory: Option<Memory>,
    /// What is worth saying, once each.
    pub notes: Vec<Note>,
    /// The whole picture, for people and for the workload.
    pub report: Report,
}

impl Plan {
    /// Is there nothing to commit?
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.forgotten.is_empty() && self.memory.is_none()
    }

    /// Does it change nothing, or no more than with which nodes the next plan begins?
    pub fn is_quiet(&self, before: &Memory) -> bool {
        let is_as_before = |after: &Memory| {
            let kube = KubeMemory { turn: before.kube.turn.clone(), ..after.kube.clone() };
            Memory { kube, ..after.clone() } == *before
        };
        self.changed.is_empty() && self.forgotten.is_empty() && self.memory.as_ref().is_none_or(is_as_before)
    }
}

/// One change of one record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The record.
    pub instance: InstanceId,
    /// Its pool.
    pub pool: PoolId,
    /// What happened to it; `None`: it was made.
    pub event: Option<Event>,
    /// Why.
    pub reason: Reason,
}

/// Something worth saying that changes no record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// What it is about.
    pub subject: Subject,
    /// How bad it is.
    pub severity: Severity,
    /// What it is.
    pub reason: Reason,
}

/// What a note is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// The workload as a whole.
    Workload,
    /// One provider.
    Provider(ProviderId),
    /// One pool.
    Pool(PoolId),
    /// One record.
    Instance(InstanceId),
    /// One node.
    Node(NodeId),
    /// A piece of demand, in words.
    Demand(String),
    /// A record of an observation, in words.
    Record(String),
}

/// How bad a note is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Good to know.
    Info,
    /// Somebody should look when there is time.
    Warning,
    /// Something does not work.
    Error,
}

/// Plans one workload. Total and deterministic: the same snapshot in any order of its lists gives the same
/// plan, and planning what has been planned and applied gives an empty one.
///
/// A workload that cannot be observed gets an empty plan; a provider that cannot be listed holds its pools.
pub fn plan(snapshot: &Snapshot) -> Plan {
    let mut draft = Draft::new(snapshot);
    let Some((state, seen_at)) = snapshot.seen() else {
        return draft.unobserved();
    };
    // The order is that of the specification: first what was seen, then what follows from it.
    steps::session(&mut draft, state);
    steps::machines(&mut draft, state);
    steps::nodes(&mut draft, state, seen_at);
    steps::outcomes(&mut draft);
    steps::overdue(&mut draft);
    match snapshot.policy.scoring {
        Scoring::Ray | Scoring::RayExact => steps::scale(&mut draft, state, seen_at),
        Scoring::Target => steps::target(&mut draft),
        Scoring::Kubernetes => steps::kube(&mut draft, state, seen_at),
    }
    steps::terminate(&mut draft);
    steps::launch(&mut draft);
    steps::install(&mut draft);
    steps::say(&mut draft);
    steps::forget(&mut draft);
    if snapshot.policy.is_shadow() {
        return draft.only_say();
    }
    draft.finish()
}
