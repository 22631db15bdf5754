//! What runs on the virtual cluster: tasks, gangs, and standing requests.

use ostler_model::{Bundle, Demand, Floor, Gang, GangId, Millis, NodeId, Shape, Strategy, Task, Timestamp};
use std::collections::BTreeMap;

/// One piece of work. A task that fails, because its node goes, is tried again from the start.
#[derive(Debug, Clone)]
pub struct Work {
    /// When somebody asks for it.
    pub arrives: Timestamp,
    /// How long it runs, or stands.
    pub lasts: Millis,
    /// What it is.
    pub kind: Kind,
    /// How far it is.
    pub stage: Stage,
    /// When it first began to run.
    pub started: Option<Timestamp>,
}

/// What a piece of work is.
#[derive(Debug, Clone)]
pub enum Kind {
    /// A task or an actor: one request.
    Task(Shape),
    /// A placement group of equal bundles.
    Gang {
        /// How they lie to each other.
        strategy: Strategy,
        /// What each asks for.
        shape: Shape,
        /// How many they are.
        count: u64,
    },
    /// Capacity that should exist, used or not (`request_resources`).
    Floor {
        /// What each part asks for.
        shape: Shape,
        /// How many they are.
        count: u64,
    },
}

/// How far a piece of work is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// Not begun, or to be begun again.
    Waiting,
    /// On these nodes, one for each request, until this time.
    Running {
        /// The nodes.
        on: Vec<NodeId>,
        /// The end.
        until: Timestamp,
    },
    /// Over.
    Done {
        /// Since when.
        at: Timestamp,
    },
}

impl Work {
    /// Work that is asked for at `arrives`.
    pub const fn new(arrives: Timestamp, lasts: Millis, kind: Kind) -> Self {
        Self { arrives, lasts, kind, stage: Stage::Waiting, started: None }
    }

    /// What each of its requests asks for.
    pub const fn shape(&self) -> &Shape {
        match &self.kind {
            Kind::Task(shape) | Kind::Gang { shape, .. } | Kind::Floor { shape, .. } => shape,
        }
    }

    /// Is it over?
    pub const fn is_done(&self) -> bool {
        matches!(self.stage, Stage::Done { .. })
    }

    /// Has it been asked for, and does it not run yet?
    pub fn waits(&self, now: Timestamp) -> bool {
        self.arrives <= now && self.stage == Stage::Waiting
    }

    /// How many of its requests run on this node.
    pub fn on(&self, node: &NodeId) -> u64 {
        match &self.stage {
            Stage::Running { on, .. } => on.iter().filter(|id| *id == node).count() as u64,
            _ => 0,
        }
    }
}

/// What the cluster says that it lacks: work that waits, equal requests as one entry.
pub(super) fn demand(work: &[Work], asked_before: Timestamp) -> Demand {
    let mut tasks: BTreeMap<&Shape, u64> = BTreeMap::new();
    let (mut gangs, mut floors) = (Vec::new(), Vec::new());
    for (n, work) in work.iter().enumerate().filter(|(_, work)| work.waits(asked_before)) {
        match &work.kind {
            Kind::Task(shape) => *tasks.entry(shape).or_insert(0) += 1,
            Kind::Gang { strategy, shape, count } => gangs.push(Gang {
                id: GangId::new(format!("gang-{n}")),
                strategy: *strategy,
                bundles: vec![Bundle { shape: shape.clone(), count: *count }],
                fallbacks: Vec::new(),
                details: String::new(),
            }),
            Kind::Floor { shape, count } => {
                floors.push(Floor { tasks: vec![Task { shape: shape.clone(), count: *count }] });
            }
        }
    }
    let tasks = tasks.into_iter().map(|(shape, count)| Task { shape: shape.clone(), count }).collect();
    Demand { tasks, gangs, floors }
}
