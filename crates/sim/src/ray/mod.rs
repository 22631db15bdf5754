//! A small model of a Ray cluster: nodes that join some seconds after their machine runs, work that the cluster
//! places on them by itself, drains as Ray does them, and the ways in which all this goes wrong.
//!
//! It is a plain value in its own time, like the fake cloud. What it is not: a model of Ray's speed, of its object
//! store, or of its choice among nodes.

mod node;
mod place;
mod trouble;
mod work;

pub use node::{Life, VirtualNode};
pub use trouble::Rejoin;
pub use work::{Kind, Stage, Work};

use ostler_model::{
    CloudId, CloudInstance, CloudPhase, EndCause, Failure, FailureClass, Labels, Millis, Node, NodeId, Pool,
    PoolId, Resources, Shape, Timestamp, WorkloadState,
};
use ostler_workload::{DrainAnswer, DrainCause, DrainRequest, WorkloadError};
use std::collections::BTreeMap;
use trouble::Trouble;

/// How long things take when all goes well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RayHabits {
    /// From a machine that runs to its node.
    pub joins_in: Millis,
    /// From a request to the demand that shows it.
    pub shows_in: Millis,
    /// From an accepted drain of an empty node to its death.
    pub drains_in: Millis,
    /// From the death of a machine until the cluster notices.
    pub notices_in: Millis,
}

impl Default for RayHabits {
    fn default() -> Self {
        Self {
            joins_in: Millis::secs(2),
            shows_in: Millis(300),
            drains_in: Millis(300),
            notices_in: Millis::secs(1),
        }
    }
}

/// A node that died with work on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Killed {
    /// When.
    pub at: Timestamp,
    /// The node.
    pub node: NodeId,
    /// How many pieces of work failed.
    pub work: u64,
    /// Why Ostler ended it; `None`: it was not Ostler.
    pub by_us: Option<EndCause>,
}

/// The cluster.
#[derive(Debug, Clone)]
pub struct VirtualRay {
    /// All that was or will be asked of it.
    pub work: Vec<Work>,
    /// Nodes that died with work on them, oldest first.
    pub killed: Vec<Killed>,
    nodes: BTreeMap<NodeId, VirtualNode>,
    habits: RayHabits,
    pools: BTreeMap<PoolId, (Resources, Labels)>,
    /// Machines that run, with the time at which their node joins (`None`: never).
    met: BTreeMap<CloudId, (PoolId, Option<Timestamp>)>,
    drained_for: BTreeMap<NodeId, EndCause>,
    joined: u64,
    session: u32,
    version: i64,
    trouble: Trouble,
}

/// Dead nodes are shown for this long; Ray keeps the last thousand.
const DEAD_SHOWN_FOR: Millis = Millis::secs(60);

impl VirtualRay {
    /// A cluster with a head that takes no work.
    pub fn new(habits: RayHabits) -> Self {
        let mut ray = Self {
            work: Vec::new(),
            killed: Vec::new(),
            nodes: BTreeMap::new(),
            habits,
            pools: BTreeMap::new(),
            met: BTreeMap::new(),
            drained_for: BTreeMap::new(),
            joined: 0,
            session: 1,
            version: 0,
            trouble: Trouble::default(),
        };
        ray.join(None, None, Timestamp(0));
        ray
    }

    /// Tells what a node of each pool has.
    pub fn set_pools(&mut self, pools: &[Pool]) {
        for pool in pools {
            self.pools.insert(pool.id.clone(), (pool.resources.clone(), pool.labels.clone()));
        }
    }

    /// Its nodes, dead ones too for a while.
    pub fn nodes(&self) -> impl Iterator<Item = &VirtualNode> {
        self.nodes.values()
    }

    /// Nodes of workers that are up, pool by pool.
    pub fn workers(&self, now: Timestamp) -> BTreeMap<PoolId, u64> {
        let mut workers = BTreeMap::new();
        for pool in self.nodes.values().filter(|node| node.is_up(now)).filter_map(|node| node.pool.clone()) {
            *workers.entry(pool).or_insert(0) += 1;
        }
        workers
    }

    /// Requests that run on the node of a machine.
    pub fn running_on(&self, cloud: &CloudId) -> u64 {
        let on_it = self.nodes.values().filter(|node| node.cloud.as_ref() == Some(cloud));
        on_it.map(|node| node.running).sum()
    }

    /// What happened up to `now`, given the machines that exist and why Ostler ended those that it did.
    pub fn advance(
        &mut self,
        now: Timestamp,
        machines: &[CloudInstance],
        ended: &BTreeMap<CloudId, EndCause>,
    ) {
        self.finish_work(now);
        self.lose_machines(now, machines);
        self.meet_machines(now, machines);
        self.join_due(now);
        self.bury(now, ended);
        if self.trouble.is_head_up(now) {
            place::place(&mut self.work, &mut self.nodes, now);
        }
    }

    fn finish_work(&mut self, now: Timestamp) {
        for work in &mut self.work {
            match (&work.kind, &work.stage) {
                (Kind::Floor { .. }, Stage::Waiting) if work.arrives + work.lasts <= now => {
                    work.stage = Stage::Done { at: now };
                }
                (_, Stage::Running { on, until }) if *until <= now => {
                    let (on, at) = (on.clone(), *until);
                    free(&mut self.nodes, &on, work.shape(), at);
                    work.stage = Stage::Done { at };
                }
                _ => {}
            }
        }
    }

    fn lose_machines(&mut self, now: Timestamp, machines: &[CloudInstance]) {
        let runs =
            |cloud: &CloudId| machines.iter().any(|m| m.id == *cloud && m.phase == CloudPhase::Running);
        self.met.retain(|cloud, _| runs(cloud));
        for node in self.nodes.values_mut() {
            let gone = node.cloud.as_ref().is_some_and(|cloud| !runs(cloud));
            if gone && matches!(node.life, Life::Up | Life::Draining { .. }) {
                node.life = Life::Lost { noticed_at: now + self.habits.notices_in };
            }
        }
    }

    fn meet_machines(&mut self, now: Timestamp, machines: &[CloudInstance]) {
        for machine in machines.iter().filter(|machine| machine.phase == CloudPhase::Running) {
            if !self.met.contains_key(&machine.id) {
                let joins_at = (!self.trouble.takes_never_join()).then_some(now + self.habits.joins_in);
                self.met.insert(machine.id.clone(), (machine.pool.clone(), joins_at));
            }
        }
    }

    fn join_due(&mut self, now: Timestamp) {
        let due = |(cloud, (pool, at)): (&CloudId, &(PoolId, Option<Timestamp>))| {
            at.is_some_and(|at| at <= now).then(|| (cloud.clone(), pool.clone()))
        };
        let due: Vec<(CloudId, PoolId)> = self.met.iter().filter_map(due).collect();
        if !self.trouble.is_head_up(now) {
            return;
        }
        for (cloud, pool) in due {
            self.join(Some(cloud.clone()), Some(pool.clone()), now);
            self.met.insert(cloud, (pool, None));
        }
    }

    fn join(&mut self, cloud: Option<CloudId>, pool: Option<PoolId>, now: Timestamp) {
        self.joined += 1;
        let id = NodeId::new(format!("node-{:04}", self.joined));
        let (total, labels) =
            pool.as_ref().and_then(|pool| self.pools.get(pool)).cloned().unwrap_or_default();
        let node = VirtualNode {
            id: id.clone(),
            cloud,
            pool,
            life: Life::Up,
            hidden_until: Timestamp(0),
            idle_since: now,
            running: 0,
            free: total.clone(),
            total,
            labels,
        };
        self.nodes.insert(id, node);
    }

    /// Nodes whose end has come: drained empty, past their deadline, or noticed to be lost.
    fn bury(&mut self, now: Timestamp, ended: &BTreeMap<CloudId, EndCause>) {
        let over = |node: &&VirtualNode| match node.life {
            Life::Draining { since, .. } if node.running == 0 => {
                node.idle_since.max(since) + self.habits.drains_in <= now
            }
            Life::Draining { deadline: Some(deadline), .. } => deadline <= now,
            Life::Lost { noticed_at } => noticed_at <= now,
            _ => false,
        };
        let over: Vec<NodeId> = self.nodes.values().filter(over).map(|node| node.id.clone()).collect();
        for id in over {
            let ended_for = self.nodes[&id].cloud.as_ref().and_then(|cloud| ended.get(cloud)).copied();
            let by_us = ended_for.or_else(|| self.drained_for.get(&id).copied());
            self.die(&id, now, by_us);
        }
        let forgotten =
            |node: &VirtualNode| matches!(node.life, Life::Dead { at } if now.since(at) > DEAD_SHOWN_FOR);
        self.nodes.retain(|_, node| !forgotten(node));
    }

    fn die(&mut self, id: &NodeId, now: Timestamp, by_us: Option<EndCause>) {
        let mut failed = 0;
        for work in self.work.iter_mut().filter(|work| work.on(id) > 0) {
            if let Stage::Running { on, .. } = core::mem::replace(&mut work.stage, Stage::Waiting) {
                free(&mut self.nodes, &on, work.shape(), now);
                failed += 1;
            }
        }
        if failed > 0 {
            self.killed.push(Killed { at: now, node: id.clone(), work: failed, by_us });
        }
        if let Some(node) = self.nodes.get_mut(id) {
            node.life = Life::Dead { at: now };
        }
    }

    /// One look at everything, as `Workload::observe`.
    ///
    /// # Errors
    /// While the head is away, or looks are ordered to fail.
    pub fn observe(&mut self, now: Timestamp) -> Result<WorkloadState, Failure> {
        if !self.trouble.answers(now) {
            let message = "the head does not answer".to_owned();
            return Err(Failure { class: FailureClass::Transient, message });
        }
        self.version += 1;
        let mut nodes: Vec<Node> = self.nodes.values().filter_map(|node| node.shown(now)).collect();
        let skipped = self.trouble.distort(now, &mut nodes);
        Ok(WorkloadState {
            version: self.version,
            session: format!("session-{}", self.session),
            nodes: nodes.into(),
            demand: work::demand(&self.work, now - self.habits.shows_in),
            skipped,
            cluster: None,
        })
    }

    /// Asks it to let a node go, as `Workload::drain`. `cause` is for the books only.
    ///
    /// # Errors
    /// While the head is away, and for a node whose machine is gone.
    pub fn drain(
        &mut self,
        now: Timestamp,
        id: &NodeId,
        request: &DrainRequest,
        cause: EndCause,
    ) -> Result<DrainAnswer, WorkloadError> {
        let away = |what: &str| WorkloadError::new(FailureClass::Transient, "sim.away", what);
        if !self.trouble.answers(now) {
            return Err(away("the head does not answer"));
        }
        let Some(node) = self.nodes.get_mut(id).filter(|node| node.hidden_until <= now) else {
            return Ok(DrainAnswer::Accepted);
        };
        let idle_wanted = matches!(request.cause, DrainCause::Idle { .. });
        match node.life {
            Life::Lost { .. } => Err(away("the node does not answer")),
            Life::Up if idle_wanted && (node.running > 0 || self.trouble.takes_rejected_drain()) => {
                Ok(DrainAnswer::Rejected(format!("node {id} is no longer idle")))
            }
            Life::Up => {
                node.life = Life::Draining { since: now, deadline: request.deadline };
                self.drained_for.insert(id.clone(), cause);
                Ok(DrainAnswer::Accepted)
            }
            Life::Draining { .. } | Life::Dead { .. } => Ok(DrainAnswer::Accepted),
        }
    }
}

fn free(nodes: &mut BTreeMap<NodeId, VirtualNode>, on: &[NodeId], shape: &Shape, at: Timestamp) {
    for id in on {
        if let Some(node) = nodes.get_mut(id) {
            node.give_back(shape, at);
        }
    }
}
