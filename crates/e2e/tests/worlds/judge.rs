//! What Ostler makes of the same objects: the look is mapped as a watch maps it, a problem is made, and decided.

use crate::cluster::{Look, Name, name_of, node_of};
use crate::random::{NODES_MAX, POOL, World};
use kube::ResourceExt;
use ostler_model::kube::{Cluster, HOSTNAME, KubeNode, KubePolicy};
use ostler_model::{Price, Timestamp};
use ostler_packing::kube::decide;
use ostler_packing::kube::problem::{Decision, Keep, Machine, Place, PoolOption, Problem, Stage, Turn, WORK};
use ostler_packing::problem::Unfit;
use ostler_workload_kubernetes::map::{self, Facts, Named, Release};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The answer, in names.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// Nodes to make, by pool.
    pub(crate) launches: BTreeMap<usize, u64>,
    /// Pods that have a place, and where.
    pub(crate) placed: BTreeMap<Name, String>,
    /// Pods that have none, and why, pool by pool.
    pub(crate) unplaced: BTreeMap<Name, Vec<Unfit>>,
}

/// Asks, and checks what must hold for every answer.
pub(crate) fn judge(world: &World, look: &Look) -> Answer {
    let cluster = mapped(look);
    let policy = KubePolicy { scale_down: false, ..KubePolicy::default() };
    let machines = machines(world, &cluster);
    let problem = Problem {
        now: now(),
        cluster: &cluster,
        policy: &policy,
        pools: world.pools.iter().map(option).collect(),
        machines,
        max_machines: Some(NODES_MAX),
        quiet_until: None,
        work: WORK,
        turn: Turn::default(),
    };
    let decision = decide(&problem);
    let answer = named(&problem, &decision);
    laws(&problem, &decision, &answer, look);
    answer
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock");
    Timestamp(since.as_millis() as u64)
}

fn mapped(look: &Look) -> Cluster {
    let facts = Facts {
        pods: read(&look.pods, |pod| {
            map::pod(pod, Release::NEWEST).map(|pod| pod.expect("it has not ended"))
        }),
        nodes: read(&look.nodes, map::node),
        namespaces: read(&look.namespaces, map::namespace),
        ..Facts::default()
    };
    let state = map::workload_state(&facts, &BTreeMap::new(), now());
    assert_eq!(state.skipped, [""; 0], "every object can be read");
    Arc::unwrap_or_clone(state.cluster.expect("a cluster"))
}

fn read<O, T>(objects: &[O], read: impl Fn(Value) -> Result<T, String>) -> Named<T>
where
    O: Serialize + ResourceExt,
{
    let mut all = Named::default();
    for object in objects {
        let key = (object.namespace().unwrap_or_default().into(), object.name_any().into());
        match read(serde_json::to_value(object).expect("JSON")) {
            Ok(facts) => drop(all.good.insert(key, Arc::new(facts))),
            Err(why) => drop(all.bad.insert(key, (why.into(), None))),
        }
    }
    all
}

/// The template is what a node of the pool is to the map, but for its name.
fn option(pool: &crate::random::Pool) -> PoolOption {
    let mut node: KubeNode = map::node(pool.node(&pool.name)).expect("a node").node;
    node.labels.remove(HOSTNAME);
    PoolOption {
        id: pool.name.as_str().into(),
        template: node,
        price: Price(pool.price),
        min: 0,
        max: pool.max,
        priority: 0,
        group: pool.group_max.map(|_| "together".into()),
        group_max: pool.group_max,
        closed: false,
        doubtful: false,
        gone: false,
    }
}

fn machines(world: &World, cluster: &Cluster) -> Vec<Machine> {
    let machine = |(n, node): (usize, &KubeNode)| {
        let label = node.labels.get(POOL);
        let pool = world.pools.iter().position(|pool| label.is_some_and(|label| **label == *pool.name));
        Machine {
            name: node.id.as_str().into(),
            pool,
            stage: Stage::Up,
            node: Some(n),
            price: Price(pool.map_or(0, |pool| world.pools[pool].price)),
            outdated: false,
            keep: pool.is_none().then_some(Keep::NotOurs),
            unneeded_since: None,
            replaces: false,
            replaced: false,
            leaving_for: None,
        }
    };
    let mut machines: Vec<Machine> = cluster.nodes.iter().enumerate().map(machine).collect();
    machines.sort_by_key(|machine| machine.node.map(|n| (cluster.nodes[n].created_at, machine.name.clone())));
    machines
}

fn named(problem: &Problem<'_>, decision: &Decision) -> Answer {
    let cluster = problem.cluster;
    let name = |n: usize| {
        let pod = &cluster.pods[n];
        (cluster.specs[pod.spec as usize].namespace.to_string(), pod.name.to_string())
    };
    let mut answer = Answer::default();
    for launch in &decision.launches {
        *answer.launches.entry(launch.pool).or_default() += launch.count;
    }
    for (pod, place) in &decision.placed {
        let at = match place {
            Place::Machine(n) => problem.machines[*n].name.to_string(),
            Place::New(pool, nth) => format!("new {} {nth}", problem.pools[*pool].id.as_str()),
        };
        let before = answer.placed.insert(name(*pod), at);
        assert_eq!(before, None, "a pod has one place");
    }
    let why: BTreeMap<u32, Vec<Unfit>> = decision
        .unplaced
        .iter()
        .map(|one| (one.spec, one.why.iter().map(|(_, unfit)| unfit.clone()).collect()))
        .collect();
    for (n, pod) in cluster.pods.iter().enumerate() {
        if pod.node.is_none() && !answer.placed.contains_key(&name(n)) {
            let why = why.get(&pod.spec).unwrap_or_else(|| panic!("{:?} is in neither list", name(n)));
            answer.unplaced.insert(name(n), why.clone());
        }
    }
    answer
}

fn laws(problem: &Problem<'_>, decision: &Decision, answer: &Answer, look: &Look) {
    let mut count: Vec<u64> = vec![0; problem.pools.len()];
    problem.machines.iter().filter_map(|machine| machine.pool).for_each(|pool| count[pool] += 1);
    let before: u64 = count.iter().sum();
    answer.launches.iter().for_each(|(pool, more)| count[*pool] += more);
    for (option, count) in problem.pools.iter().zip(&count) {
        assert!(*count <= u64::from(option.max), "{option:?} is over its bound: {count}");
    }
    let after: u64 = count.iter().sum();
    assert!(after == before || after <= NODES_MAX, "{after} machines");
    let grouped = problem.pools.iter().zip(&count).filter(|(option, _)| option.group.is_some());
    let grouped: u64 = grouped.map(|(_, count)| count).sum();
    let bound = problem.pools.iter().filter_map(|option| option.group_max).min();
    assert!(bound.is_none_or(|max| grouped <= u64::from(max) || after == before), "{grouped} in the group");
    for (_, place) in &decision.placed {
        if let Place::New(pool, nth) = place {
            let made = answer.launches.get(pool).copied().unwrap_or_default();
            assert!((*nth as u64) < made, "a place on a machine that is not launched");
        }
    }
    let waiting: BTreeSet<Name> =
        look.pods.iter().filter(|pod| node_of(pod).is_none()).map(name_of).collect();
    let told: BTreeSet<Name> = answer.placed.keys().chain(answer.unplaced.keys()).cloned().collect();
    assert!(waiting.is_subset(&told), "pods without an answer");
    let left: u64 = decision.unplaced.iter().map(|one| one.count).sum();
    let nowhere = answer.unplaced.len() as u64;
    assert!(left >= nowhere, "{nowhere} pods have no place, and {left} are counted");
    assert!(decision.removals.is_empty() && decision.replacements.is_empty(), "nothing is removed");
}
