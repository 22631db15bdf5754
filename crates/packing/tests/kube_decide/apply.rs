//! A decision as text, and the world after it.

use super::world::{NOW, World};
use ostler_model::kube::{Eviction, HOSTNAME, Owner, Pod};
use ostler_model::{LaunchCause, NodeId};
use ostler_packing::kube::ledger::Ledger;
use ostler_packing::kube::problem::{Decision, Machine, Place, Stage};
use ostler_packing::problem::Unfit;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// What was decided, line by line.
pub(crate) fn text(world: &World, decision: &Decision) -> String {
    let name = |machine: usize| &*world.machines[machine].name;
    let pool = |pool: usize| world.pools[pool].id.as_str();
    let mut out = String::new();
    for launch in &decision.launches {
        let cause = word(&launch.cause);
        writeln!(out, "launch {} x{} for {cause}", pool(launch.pool), launch.count).unwrap();
    }
    for replacement in &decision.replacements {
        let old: Vec<&str> = replacement.old.iter().map(|&machine| name(machine)).collect();
        let new: Vec<String> =
            replacement.new.iter().map(|&(of, count)| format!("{} x{count}", pool(of))).collect();
        writeln!(out, "replace {} by {}", old.join(" "), new.join(" ")).unwrap();
    }
    for removal in &decision.removals {
        writeln!(out, "remove {} as {}", name(removal.machine), word(&removal.cause)).unwrap();
    }
    for &machine in &decision.stays {
        writeln!(out, "{} is to stay", name(machine)).unwrap();
    }
    let leaves: BTreeSet<usize> = decision.removals.iter().map(|removal| removal.machine).collect();
    for (machine, keep) in decision.kept.iter().filter(|(machine, _)| !leaves.contains(machine)) {
        let unneeded = if decision.unneeded.contains(machine) { ", unneeded" } else { "" };
        writeln!(out, "keep {}: {}{unneeded}", name(*machine), word(keep)).unwrap();
    }
    for (place, count) in places(decision) {
        let place = match place {
            Place::Machine(machine) => name(machine).to_string(),
            Place::New(of, nth) => format!("new {} {nth}", pool(of)),
        };
        writeln!(out, "{count} pods to {place}").unwrap();
    }
    for unplaced in &decision.unplaced {
        let app = &world.cluster.specs[unplaced.spec as usize].labels["app"];
        writeln!(out, "no place for {} of {app}", unplaced.count).unwrap();
        for (pool, why) in &unplaced.why {
            writeln!(out, "  {pool}: {}", word(why)).unwrap();
        }
    }
    for (place, count) in &decision.headroom_short {
        writeln!(out, "headroom {place} lacks {count}").unwrap();
    }
    out
}

/// The stored word of something, without the marks of JSON.
fn word<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("words can be written").replace(['"', '{', '}'], "").replace(':', " ")
}

fn places(decision: &Decision) -> BTreeMap<Place, usize> {
    let mut places = BTreeMap::new();
    decision.placed.iter().for_each(|&(_, place)| *places.entry(place).or_default() += 1);
    places
}

/// The world once everything that was decided has come to pass, what was coming is up, and the scheduler has done as was
/// thought.
pub(crate) fn apply(world: &World, decision: &Decision) -> World {
    let mut next = world.clone();
    let there = |machine: &Machine| machine.stage != Stage::Coming;
    let old: BTreeSet<_> = world.machines.iter().filter(|m| there(m)).map(|m| m.name.clone()).collect();
    for machine in 0..next.machines.len() {
        if next.machines[machine].stage == Stage::Coming {
            come_up(&mut next, machine);
        }
    }
    // The order in which new machines are numbered is that of the causes.
    let mut new: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for cause in [LaunchCause::Min, LaunchCause::Demand, LaunchCause::Headroom] {
        for launch in decision.launches.iter().filter(|launch| launch.cause == cause) {
            for _ in 0..launch.count {
                let nth = (0..).find(|nth| !new.contains_key(&(launch.pool, *nth))).expect("a number");
                new.insert((launch.pool, nth), bring(&mut next, launch.pool, false));
            }
        }
    }
    for &(pool, count) in decision.replacements.iter().flat_map(|one| &one.new) {
        (0..count).for_each(|_| {
            bring(&mut next, pool, true);
        });
    }
    run_daemons(&mut next, |node| !old.contains(node));
    let node = |next: &World, machine: usize| {
        let at = next.machines[machine].node.expect("what takes pods has a node");
        Some(next.cluster.nodes[at].id.clone())
    };
    for &(pod, place) in &decision.placed {
        next.cluster.pods[pod].node = match place {
            Place::Machine(machine) => node(&next, machine),
            Place::New(pool, nth) => node(&next, new[&(pool, nth)]),
        };
    }
    for &(pod, machine) in &decision.moved {
        next.cluster.pods[pod].node = node(&next, machine);
    }
    for &machine in &decision.stays {
        next.machines[machine].stage = Stage::Up;
        next.machines[machine].leaving_for = None;
    }
    for &old in decision.replacements.iter().flat_map(|one| &one.old) {
        next.machines[old].replaced = true;
    }
    let gone: BTreeSet<usize> = decision.removals.iter().map(|removal| removal.machine).collect();
    for &machine in &gone {
        next.machines[machine].stage = Stage::Ending;
    }
    leave(&mut next);
    for (n, machine) in next.machines.iter_mut().enumerate() {
        let since = machine.unneeded_since.unwrap_or(NOW);
        machine.unneeded_since = decision.unneeded.contains(&n).then_some(since);
    }
    let stays = |machine: &Machine| machine.stage != Stage::Ending;
    next.machines.retain(stays);
    next.turn = decision.turn.clone();
    if !next.machines.iter().any(|machine| machine.replaced) {
        next.machines.iter_mut().for_each(|machine| machine.replaces = false);
    }
    forget_nodes(&mut next);
    next
}

/// One more machine of a pool, up; its place.
fn bring(world: &mut World, pool: usize, replaces: bool) -> usize {
    world.made += 1;
    let name = format!("new-{}-{}", world.pools[pool].id, 100 + world.made);
    world.machines.push(Machine {
        name: name.as_str().into(),
        pool: Some(pool),
        stage: Stage::Coming,
        node: None,
        price: world.pools[pool].price,
        outdated: false,
        keep: None,
        unneeded_since: None,
        replaces,
        replaced: false,
        leaving_for: None,
    });
    come_up(world, world.machines.len() - 1);
    world.machines.len() - 1
}

/// The machine has a node like its pool's template, and it takes pods.
fn come_up(world: &mut World, machine: usize) {
    let machine = &mut world.machines[machine];
    machine.stage = Stage::Up;
    let at = *machine.node.get_or_insert(world.cluster.nodes.len());
    if at == world.cluster.nodes.len() {
        let pool = machine.pool.expect("what is coming is ours");
        let mut node = world.pools[pool].template.clone();
        node.id = NodeId::from(machine.name.to_string());
        node.labels.insert(HOSTNAME.into(), machine.name.clone());
        world.cluster.nodes.push(node);
    }
    world.cluster.nodes[at].ready = true;
}

/// What was leaving is gone, and its pods wait.
fn leave(world: &mut World) {
    let World { machines, cluster, .. } = world;
    for machine in machines.iter_mut().filter(|machine| machine.stage == Stage::Leaving) {
        machine.stage = Stage::Ending;
        let node = machine.node.map(|at| cluster.nodes[at].id.clone());
        for pod in cluster.pods.iter_mut().filter(|pod| pod.node == node && !pod.is_of_node()) {
            pod.node = None;
        }
    }
}

/// Nodes without a machine are gone; pods on them are nowhere.
fn forget_nodes(world: &mut World) {
    let mut nodes = Vec::new();
    for machine in &mut world.machines {
        if let Some(at) = machine.node {
            machine.node = Some(nodes.len());
            nodes.push(world.cluster.nodes[at].clone());
        }
    }
    world.cluster.nodes = nodes;
}

/// Pods of DaemonSets on the nodes that have just come.
fn run_daemons(world: &mut World, has_come: impl Fn(&str) -> bool) {
    let cluster = world.cluster.clone();
    let mut ledger = Ledger::new(&cluster, &world.policy);
    for node in cluster.nodes.iter().filter(|node| has_come(node.id.as_str())) {
        let at = ledger.node(node.id.as_str()).expect("the node is there");
        for daemon in &cluster.daemons {
            let runs = ledger.pods_on(at).any(|(spec, _)| spec == daemon.spec);
            if runs || !ledger.wants_daemon(daemon.spec, at) || !ledger.fits(daemon.spec, at) {
                continue;
            }
            ledger.place(daemon.spec, at);
            let name: std::sync::Arc<str> = format!("{}-{}", daemon.name, node.id).into();
            let owner =
                Owner { kind: "DaemonSet".into(), name: daemon.name.clone(), uid: daemon.name.clone() };
            world.cluster.pods.push(Pod {
                uid: name.clone(),
                name,
                spec: daemon.spec,
                node: Some(node.id.clone()),
                nominated: None,
                created_at: NOW,
                terminating: false,
                ignored: None,
                owner: Some(std::sync::Arc::new(owner)),
                eviction: Eviction::default(),
            });
        }
    }
}

/// Why the judge does not allow a pod where it is, all others where they are.
pub(crate) fn why_not(world: &World, pod: usize) -> Option<Unfit> {
    let mut ledger = Ledger::new(&world.cluster, &world.policy);
    let pod = &world.cluster.pods[pod];
    let node = pod.node.as_ref().and_then(|node| ledger.node(node.as_str()))?;
    assert!(ledger.unplace(pod.spec, node), "{} is on its node", pod.name);
    ledger.fit(pod.spec, node).err()
}
