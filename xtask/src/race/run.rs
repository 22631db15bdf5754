//! Decides, and applies what was decided until nothing more is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ostler_model::kube::{HOSTNAME, KubePolicy};
use ostler_model::{Millis, Timestamp};
use ostler_packing::kube::decide;
use ostler_packing::kube::problem::{Decision, Machine, Place, Problem, Stage, Turn, WORK};

use super::Plan;
use super::load::Scenario;

/// Decisions at most; a plan that has not come to rest by then is one that moves in circles.
const DECISIONS: u32 = 100;

/// What came out.
pub(super) struct Outcome {
    /// Of the planning alone, from the problem in memory.
    pub(super) seconds: f64,
    pub(super) decisions: u32,
    /// Of the new machines, millionths.
    pub(super) price: u64,
    /// Of all machines before and after.
    pub(super) before: u64,
    pub(super) after: u64,
    /// Pods without a place.
    pub(super) left: usize,
    pub(super) plan: Plan,
}

/// The world of one race while it goes on: nodes of the file, then new ones.
struct Course {
    scenario: Scenario,
    machines: Vec<Machine>,
    /// The node of each machine among all that ever were.
    ids: Vec<usize>,
    next: usize,
    new_nodes: Vec<usize>,
    removed: Vec<usize>,
    /// New machines, by id, and those that they replace.
    replaces: BTreeMap<usize, Vec<usize>>,
}

pub(super) fn run(scenario: &Scenario) -> Outcome {
    let policy = KubePolicy {
        scale_down: scenario.shrinks,
        unneeded: Millis(0),
        delay_after_add: Millis(0),
        ..KubePolicy::default()
    };
    let mut course = Course::of(scenario);
    let before = course.price();
    let mut took = Duration::ZERO;
    let mut decisions = 0;
    let mut turn = Turn::default();
    loop {
        let problem = Problem {
            now: Timestamp(1_000_000),
            cluster: &course.scenario.cluster,
            policy: &policy,
            pools: course.scenario.pools.clone(),
            machines: course.machines.clone(),
            max_machines: None,
            quiet_until: None,
            work: WORK,
            turn,
        };
        let start = Instant::now();
        let decision = decide(&problem);
        took += start.elapsed();
        drop(problem);
        decisions += 1;
        let quiet = decision.launches.is_empty()
            && decision.removals.is_empty()
            && decision.replacements.is_empty()
            && decision.placed.is_empty();
        if quiet || decisions == DECISIONS {
            break;
        }
        course.apply(&decision);
        turn = decision.turn;
        if !scenario.shrinks {
            break;
        }
    }
    course.outcome(before, took, decisions)
}

impl Course {
    fn of(scenario: &Scenario) -> Self {
        let machine = |(n, &pool): (usize, &usize)| Machine {
            name: scenario.cluster.nodes[n].id.as_str().into(),
            pool: Some(pool),
            stage: Stage::Up,
            node: Some(n),
            price: scenario.pools[pool].price,
            outdated: false,
            keep: None,
            unneeded_since: None,
            replaces: false,
            replaced: false,
            leaving_for: None,
        };
        let count = scenario.pool_of.len();
        Self {
            machines: scenario.pool_of.iter().enumerate().map(machine).collect(),
            ids: (0..count).collect(),
            next: count,
            new_nodes: Vec::new(),
            removed: Vec::new(),
            replaces: BTreeMap::new(),
            scenario: Scenario {
                name: scenario.name.clone(),
                shrinks: scenario.shrinks,
                pools: scenario.pools.clone(),
                cluster: scenario.cluster.clone(),
                pool_of: scenario.pool_of.clone(),
                templates: scenario.templates.clone(),
            },
        }
    }

    fn price(&self) -> u64 {
        self.machines.iter().map(|machine| machine.price.0).sum()
    }

    /// Brings the new machines up, moves the pods, and takes away what is removed.
    fn apply(&mut self, decision: &Decision) {
        let mut new: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        let mut of_pool: BTreeMap<usize, usize> = BTreeMap::new();
        for launch in &decision.launches {
            for _ in 0..launch.count {
                let nth = of_pool.entry(launch.pool).or_default();
                let key = (launch.pool, *nth);
                *nth += 1;
                new.insert(key, self.bring(launch.pool, Vec::new()));
            }
        }
        for &(pod, place) in &decision.placed {
            let machine = match place {
                Place::Machine(machine) => machine,
                Place::New(pool, nth) => new[&(pool, nth)],
            };
            self.put(pod, machine);
        }
        for &(pod, machine) in &decision.moved {
            self.put(pod, machine);
        }
        for replacement in &decision.replacements {
            let old: Vec<usize> = replacement.old.iter().map(|&machine| self.ids[machine]).collect();
            for &(pool, count) in &replacement.new {
                for _ in 0..count {
                    self.bring(pool, old.clone());
                }
            }
        }
        let gone: BTreeSet<usize> = decision.removals.iter().map(|removal| removal.machine).collect();
        self.take_away(&gone);
    }

    fn bring(&mut self, pool: usize, old: Vec<usize>) -> usize {
        let name: Arc<str> = format!("new-{:06}", self.new_nodes.len()).into();
        let mut node = self.scenario.templates[pool].clone();
        node.id = (*name).into();
        node.labels.insert(HOSTNAME.into(), name.clone());
        self.scenario.cluster.nodes.push(node);
        self.machines.push(Machine {
            name,
            pool: Some(pool),
            stage: Stage::Up,
            node: Some(self.scenario.cluster.nodes.len() - 1),
            price: self.scenario.pools[pool].price,
            outdated: false,
            keep: None,
            unneeded_since: None,
            replaces: !old.is_empty(),
            replaced: false,
            leaving_for: None,
        });
        self.ids.push(self.next);
        self.replaces.insert(self.next, old);
        self.next += 1;
        self.new_nodes.push(pool);
        self.machines.len() - 1
    }

    fn put(&mut self, pod: usize, machine: usize) {
        let node = self.machines[machine].node.expect("a machine that takes a pod has a node");
        let id = self.scenario.cluster.nodes[node].id.clone();
        self.scenario.cluster.pods[pod].node = Some(id);
    }

    fn take_away(&mut self, gone: &BTreeSet<usize>) {
        let mut keep = gone.iter().map(|&machine| self.ids[machine]).collect::<Vec<_>>();
        self.removed.append(&mut keep);
        let stays = |n: usize| !gone.contains(&n);
        let nodes = std::mem::take(&mut self.scenario.cluster.nodes);
        let machines = std::mem::take(&mut self.machines);
        let ids = std::mem::take(&mut self.ids);
        let there: BTreeSet<usize> = (0..ids.len()).filter(|&n| stays(n)).map(|n| ids[n]).collect();
        for (n, mut machine) in machines.into_iter().enumerate().filter(|(n, _)| stays(*n)) {
            let node = machine.node.expect("every machine of a race has a node");
            machine.node = Some(self.scenario.cluster.nodes.len());
            self.scenario.cluster.nodes.push(nodes[node].clone());
            let old = self.replaces.get(&ids[n]);
            machine.replaces = old.is_some_and(|old| old.iter().any(|one| there.contains(one)));
            machine.replaced = self.replaces.values().any(|old| old.contains(&ids[n]));
            self.machines.push(machine);
            self.ids.push(ids[n]);
        }
    }

    fn outcome(self, before: u64, took: Duration, decisions: u32) -> Outcome {
        let by_name: BTreeMap<&str, usize> =
            self.machines.iter().zip(&self.ids).map(|(machine, &id)| (&*machine.name, id)).collect();
        let place = |pod: &ostler_model::kube::Pod| {
            let id = pod.node.as_ref().and_then(|node| by_name.get(node.as_str()));
            id.map_or(-1, |&id| id as i64)
        };
        let pods: Vec<i64> = self.scenario.cluster.pods.iter().map(place).collect();
        Outcome {
            seconds: took.as_secs_f64(),
            decisions,
            price: self.new_nodes.iter().map(|&pool| self.scenario.pools[pool].price.0).sum(),
            before,
            after: self.price(),
            left: pods.iter().filter(|&&node| node < 0).count(),
            plan: Plan {
                scenario: self.scenario.name.clone(),
                new_nodes: self.new_nodes,
                removed: self.removed,
                pods,
            },
        }
    }
}
