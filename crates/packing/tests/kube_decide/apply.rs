//! A decision as text, and the world after it.

use super::world::World;
use ostler_model::kube::HOSTNAME;
use ostler_model::{LaunchCause, NodeId};
use ostler_packing::kube::ledger::Ledger;
use ostler_packing::kube::problem::{Decision, Machine, Place, Stage};
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

/// The world once everything that was decided has come to pass, and the scheduler has done as was thought.
pub(crate) fn apply(world: &World, decision: &Decision) -> World {
    let mut next = world.clone();
    let mut new: BTreeMap<(usize, usize), NodeId> = BTreeMap::new();
    let mut of_pool: BTreeMap<usize, usize> = BTreeMap::new();
    let mut bring = |next: &mut World, pool: usize, replaces: bool| {
        let nth = of_pool.entry(pool).or_default();
        // A name that no earlier round gave.
        let id = NodeId::from(format!("new-{}-{}", world.pools[pool].id, next.cluster.nodes.len() + 100));
        let mut node = world.pools[pool].template.clone();
        node.id = id.clone();
        node.labels.insert(HOSTNAME.into(), id.as_str().into());
        next.machines.push(Machine {
            name: id.as_str().into(),
            pool: Some(pool),
            stage: Stage::Up,
            node: Some(next.cluster.nodes.len()),
            price: world.pools[pool].price,
            outdated: false,
            keep: None,
            unneeded_since: None,
            replaces,
            leaving_for: None,
        });
        next.cluster.nodes.push(node);
        new.insert((pool, *nth), id);
        *nth += 1;
    };
    // The order in which new machines are numbered is that of the causes.
    for cause in [LaunchCause::Min, LaunchCause::Demand, LaunchCause::Headroom] {
        for launch in decision.launches.iter().filter(|launch| launch.cause == cause) {
            (0..launch.count).for_each(|_| bring(&mut next, launch.pool, false));
        }
    }
    for replacement in &decision.replacements {
        for &(pool, count) in &replacement.new {
            (0..count).for_each(|_| bring(&mut next, pool, true));
        }
    }
    let node = |machine: usize| world.machines[machine].node.map(|at| world.cluster.nodes[at].id.clone());
    for &(pod, place) in &decision.placed {
        next.cluster.pods[pod].node = match place {
            Place::Machine(machine) => node(machine),
            Place::New(pool, nth) => Some(new[&(pool, nth)].clone()),
        };
    }
    for &(pod, machine) in &decision.moved {
        next.cluster.pods[pod].node = node(machine);
    }
    for &machine in &decision.stays {
        next.machines[machine].stage = Stage::Up;
        next.machines[machine].leaving_for = None;
    }
    let gone: BTreeSet<usize> = decision.removals.iter().map(|removal| removal.machine).collect();
    for &machine in &gone {
        next.machines[machine].stage = Stage::Ending;
    }
    let stays = |machine: &Machine| machine.stage != Stage::Ending;
    let replacing = decision.replacements.iter().flat_map(|one| &one.old).any(|old| !gone.contains(old));
    if !replacing {
        let old_there = gone.is_empty();
        next.machines.iter_mut().for_each(|machine| machine.replaces &= old_there);
    }
    next.machines.retain(stays);
    next
}

/// Does every pod of the world lie where the judge allows it, with all others where they are?
pub(crate) fn assert_fits(world: &World, pods: impl Iterator<Item = usize>) {
    let mut ledger = Ledger::new(&world.cluster, &world.policy);
    for pod in pods {
        let pod = &world.cluster.pods[pod];
        let Some(node) = pod.node.as_ref().and_then(|node| ledger.node(node.as_str())) else { continue };
        let mark = ledger.mark();
        assert!(ledger.unplace(pod.spec, node), "{} is on its node", pod.name);
        assert_eq!(ledger.fit(pod.spec, node), Ok(()), "{}", pod.name);
        ledger.back_to(mark);
    }
}
