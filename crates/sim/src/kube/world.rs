//! One pass after the other.

use super::cloud::Cloud;
use super::cluster::{App, VirtualCluster};
use ostler_lifecycle::{Act, Effect, Instance, StateName, due_effect};
use ostler_model::kube::{KubePolicy, NodeTemplate};
use ostler_model::{
    EffectOutcome, EffectReport, Failure, InstanceId, Labels, Millis, NodeId, Observed, Policy, Pool, PoolId,
    Price, ProviderId, Quantity, Resources, Scoring, Timeouts, Timestamp, WorkloadId,
};
use ostler_planner::{Memory, Plan, Snapshot, plan};
use std::collections::{BTreeMap, BTreeSet};

/// The cluster, its cloud, and Ostler's records.
#[derive(Debug, Clone)]
pub struct KubeWorld {
    /// The moment.
    pub now: Timestamp,
    /// How it is scaled.
    pub policy: Policy,
    /// Its pools.
    pub pools: Vec<Pool>,
    /// Pods, controllers, scheduler.
    pub cluster: VirtualCluster,
    /// Machines.
    pub cloud: Cloud,
    /// Ostler's records.
    pub records: BTreeMap<InstanceId, Instance>,
    /// Ostler's memory.
    pub memory: Memory,
    /// The last plan.
    pub last: Option<Plan>,
    /// What happened, a line each.
    pub log: Vec<String>,
    /// What plans said, a line each.
    pub said: Vec<String>,
    /// The most that all machines together ever cost.
    pub dearest: Price,
    reports: Vec<EffectReport>,
    done: BTreeMap<InstanceId, u32>,
}

const STEP: Millis = Millis::secs(5);

impl KubeWorld {
    /// An empty cluster with patient defaults made quick: what takes ten minutes takes one.
    pub fn new() -> Self {
        let kube = KubePolicy {
            unneeded: Millis::secs(60),
            unready: Millis::secs(120),
            delay_after_add: Millis::secs(30),
            delay_after_failure: Millis::secs(60),
            ..KubePolicy::default()
        };
        let policy = Policy {
            scoring: Scoring::Kubernetes,
            idle_timeout: None,
            upscaling_speed_percent: u32::MAX,
            max_concurrent_launches: 1000,
            launch_backoff: Millis::secs(60),
            launch_backoff_max: Millis::secs(1800),
            drain_grace: Millis::secs(120),
            kube: Some(Box::new(kube)),
            timeouts: Timeouts {
                request: Millis::secs(120),
                allocate: Millis::secs(300),
                ..Timeouts::default()
            },
            ..Policy::default()
        };
        Self {
            now: Timestamp(1_000_000_000),
            policy,
            pools: Vec::new(),
            cluster: VirtualCluster::default(),
            cloud: Cloud::default(),
            records: BTreeMap::new(),
            memory: Memory::default(),
            last: None,
            log: Vec::new(),
            said: Vec::new(),
            dearest: Price::ZERO,
            reports: Vec::new(),
            done: BTreeMap::new(),
        }
    }

    /// The knobs about Kubernetes.
    pub fn kube(&mut self) -> &mut KubePolicy {
        self.policy.kube.as_deref_mut().expect("it is a Kubernetes cluster")
    }

    /// Adds a pool of nodes with `cpu` cores and `memory` GiB that cost `price` thousandths.
    pub fn pool(&mut self, id: &str, cpu: i64, memory: i64, price: u64, max: u32) -> &mut Pool {
        let resources: Resources = [
            ("cpu", Quantity::units(cpu)),
            ("memory", Quantity::units(memory << 30)),
            (ostler_model::kube::PODS, Quantity::units(110)),
        ]
        .into_iter()
        .collect();
        self.pools.push(Pool {
            id: PoolId::new(id),
            workload: workload(),
            provider: provider(),
            resources,
            labels: Labels::new(),
            min: 0,
            max,
            idle_timeout: None,
            priority: 0,
            launch_hash: String::new(),
            instance_type: String::new(),
            node: Some(Box::new(NodeTemplate { price: Price(price * 1000), ..NodeTemplate::default() })),
        });
        self.pools.last_mut().expect("it was just added")
    }

    /// Adds an app, or changes it.
    pub fn app(&mut self, name: &str, app: App) {
        self.cluster.apps.insert(name.into(), app);
    }

    /// Changes how many pods of an app there are to be.
    pub fn scale(&mut self, name: &str, replicas: usize) {
        self.cluster.apps.get_mut(name).expect("the app is there").replicas = replicas;
    }

    /// Lets time pass.
    ///
    /// # Panics
    /// If a plan breaks a promise, or two passes over the same do not agree.
    pub fn run(&mut self, span: Millis) {
        let end = self.now + span;
        while self.now < end {
            self.step();
        }
    }

    /// Lets time pass until something holds.
    ///
    /// # Panics
    /// As [`run`](Self::run), and if it does not hold within `patience`.
    pub fn until(&mut self, what: &str, patience: Millis, holds: impl Fn(&Self) -> bool) {
        let end = self.now + patience;
        while !holds(self) {
            assert!(self.now < end, "{what}: not within {patience}\n{}", self.picture());
            self.step();
        }
    }

    /// Ostler is killed and started again.
    pub fn crash(&mut self) {
        self.done.clear();
        self.reports.clear();
    }

    /// One pass.
    fn step(&mut self) {
        self.now = self.now + STEP;
        let nodes: BTreeSet<NodeId> =
            self.cloud.machines.keys().map(|id| NodeId::new(format!("node-{id}"))).collect();
        let foreign = self.cluster.foreign.iter().map(|node| node.id.clone());
        let nodes: BTreeSet<NodeId> = nodes.into_iter().chain(foreign).collect();
        self.cluster.forget_nodes(&nodes);
        self.cluster.evict(self.now);
        self.cluster.reconcile(self.now);
        let seen = self.cluster.look(self.now, &self.cloud);
        let rests = self.cluster.scheduler_rests_until.is_some_and(|until| self.now < until);
        if let (Some(cluster), Some(policy), false) = (&seen.cluster, &self.policy.kube, rests) {
            self.cluster.schedule(cluster, policy);
        }
        self.cluster.count();
        self.plan();
        self.act();
        let bill = self.bill();
        self.dearest = self.dearest.max(bill);
    }

    /// What all machines cost.
    pub fn bill(&self) -> Price {
        let nodes = self.cloud.machines.values().filter_map(|machine| machine.made_of.node.as_deref());
        nodes.map(|node| node.price).sum()
    }

    fn snapshot(&self) -> Snapshot {
        let state = self.cluster.look(self.now, &self.cloud);
        let machines = self.cloud.machines.values().map(|machine| machine.instance.clone());
        let listing = machines.filter(|machine| !self.cloud.unlisted.contains(&machine.pool)).collect();
        Snapshot {
            now: self.now,
            workload: workload(),
            policy: self.policy.clone(),
            pools: self.pools.clone(),
            state: Some(Observed { at: self.now, result: Ok(state) }),
            listings: [(provider(), Observed { at: self.now, result: Ok(listing) })].into(),
            reports: self.reports.clone(),
            instances: self.records.values().cloned().collect(),
            memory: self.memory.clone(),
        }
    }

    fn plan(&mut self) {
        let snapshot = self.snapshot();
        let planned = plan(&snapshot);
        let findings = ostler_audit::check(&snapshot, &planned);
        assert!(findings.is_empty(), "{findings:?}\n{}", self.picture());
        for step in &planned.steps {
            let event = step.event.as_ref().map_or("made", ostler_lifecycle::Event::code);
            let at = self.now.since(Timestamp(1_000_000_000));
            self.log.push(format!("{at} {} {event}: {}", step.pool, step.reason));
        }
        self.said.extend(planned.notes.iter().map(|note| note.reason.to_string()));
        for record in &planned.changed {
            self.records.insert(record.id().clone(), record.clone());
        }
        for id in &planned.forgotten {
            self.records.remove(id);
        }
        if let Some(memory) = &planned.memory {
            self.memory = memory.clone();
        }
        self.reports.clear();
        self.last = Some(planned);
        let again = plan(&self.snapshot());
        assert!(again.changed.is_empty(), "planning again: {:?}\n{}", again.steps, self.picture());
        let turn = |memory: &Memory| memory.kube.turn.clone();
        assert_eq!(turn(again.memory.as_ref().unwrap_or(&self.memory)), turn(&self.memory), "planning again");
    }

    fn act(&mut self) {
        let due: Vec<Effect> = self.records.values().filter_map(due_effect).collect();
        for effect in due {
            let handed = self.done.get(&effect.instance) == Some(&effect.epoch);
            if handed || effect.not_before > self.now {
                continue;
            }
            self.done.insert(effect.instance.clone(), effect.epoch);
            let outcome = self.carry_out(&effect);
            if outcome != EffectOutcome::Done {
                let (instance, epoch) = (effect.instance, effect.epoch);
                self.reports.push(EffectReport { instance, epoch, at: self.now, outcome });
            }
        }
    }

    fn carry_out(&mut self, effect: &Effect) -> EffectOutcome {
        match &effect.act {
            Act::Launch { token, attempt } => {
                let Some(pool) = self.pools.iter().find(|pool| pool.id == effect.pool) else {
                    return EffectOutcome::Done;
                };
                let record = (&effect.instance, *attempt);
                match self.cloud.launch(self.now, &workload(), pool, record, token) {
                    Ok(()) => EffectOutcome::Launched { listed_by: self.now },
                    Err(class) => EffectOutcome::Failed(Failure { class, message: "refused".to_owned() }),
                }
            }
            Act::Install { .. } => EffectOutcome::Done,
            Act::Drain { node, .. } => {
                // Tainted now, looked at and emptied from the next round on.
                self.cluster.draining.entry(node.clone()).or_insert(self.now + Millis(1));
                EffectOutcome::Done
            }
            Act::Undrain { node } => {
                self.cluster.draining.remove(node);
                EffectOutcome::Done
            }
            Act::Terminate { cloud, .. } => {
                self.cloud.terminate(cloud);
                EffectOutcome::Done
            }
        }
    }

    /// Records in a state.
    pub fn in_state(&self, state: StateName) -> usize {
        self.records.values().filter(|record| record.state().name() == state).count()
    }

    /// Everything, for the message of a failed test.
    pub fn picture(&self) -> String {
        let mut text = format!("pods waiting: {}\n", self.cluster.waiting());
        for record in self.records.values().filter(|record| !record.state().name().is_final()) {
            let node = record.state().node().map(NodeId::as_str).unwrap_or_default();
            let pods = self
                .cluster
                .pods
                .values()
                .filter(|pod| pod.node.as_ref().map(NodeId::as_str) == Some(node) && !node.is_empty());
            let why = self.last.as_ref().and_then(|plan| {
                let found = plan.report.instances.iter().find(|report| report.instance == *record.id())?;
                found.reason.as_ref().map(ToString::to_string)
            });
            text += &format!(
                "{} {} {node} ({} pods) {}\n",
                record.pool(),
                record.state().name(),
                pods.count(),
                why.unwrap_or_default()
            );
        }
        if let Some(plan) = &self.last {
            for left in &plan.report.unplaced {
                text += &format!("{} × {}: {:?}\n", left.count, left.demand, left.why);
            }
        }
        let from = self.log.len().saturating_sub(40);
        text + &self.log[from..].join("\n")
    }
}

impl Default for KubeWorld {
    fn default() -> Self {
        Self::new()
    }
}

fn workload() -> WorkloadId {
    WorkloadId::new("prod")
}

fn provider() -> ProviderId {
    ProviderId::new("cloud")
}
