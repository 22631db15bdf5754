//! What holds for every decision.

use super::apply::{apply, assert_fits};
use super::world::World;
use ostler_packing::kube::decide;
use ostler_packing::kube::problem::{Decision, Place, RemovalCause, Stage};
use std::collections::{BTreeMap, BTreeSet};

/// Rounds after which a world is at rest: exchanges are one in a plan, and each takes a few.
const ROUNDS: usize = 12;

/// All of them.
pub(crate) fn hold(world: &World, decision: &Decision) {
    within_bounds(world, decision);
    machines_have_one_fate(world, decision);
    places_fit(world, decision);
    order_does_not_matter(world, decision);
    comes_to_rest(world, decision);
}

/// No pool, group or all above its maximum, whatever is leaving or coming.
fn within_bounds(world: &World, decision: &Decision) {
    let mut counts: Vec<u64> = vec![0; world.pools.len()];
    world.machines.iter().filter_map(|machine| machine.pool).for_each(|pool| counts[pool] += 1);
    let before = counts.clone();
    decision.launches.iter().for_each(|launch| counts[launch.pool] += launch.count);
    let replacements = decision.replacements.iter().flat_map(|one| &one.new);
    replacements.for_each(|&(pool, count)| counts[pool] += count);
    let mut groups: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (n, pool) in world.pools.iter().enumerate() {
        assert!(counts[n] <= u64::from(pool.max).max(before[n]), "{} has {} machines", pool.id, counts[n]);
        if let (Some(group), Some(max)) = (&pool.group, pool.group_max) {
            let sum = groups.entry(group).or_insert((0, max.into()));
            sum.0 += counts[n];
            sum.1 = sum.1.min(max.into());
        }
    }
    for (group, (count, max)) in groups {
        assert!(count <= max, "group {group} has {count} machines");
    }
    let total: u64 = counts.iter().sum();
    let most = world.max_machines.unwrap_or(u64::MAX).max(before.iter().sum());
    assert!(total <= most, "{total} machines");
}

/// A machine goes, stays for a reason, or is taken back; and each goes once.
fn machines_have_one_fate(world: &World, decision: &Decision) {
    let gone: BTreeSet<usize> = decision.removals.iter().map(|removal| removal.machine).collect();
    assert_eq!(gone.len(), decision.removals.len(), "a machine is removed twice");
    let kept: BTreeSet<usize> = decision.kept.iter().map(|(machine, _)| *machine).collect();
    assert_eq!(kept.len(), decision.kept.len(), "a machine is kept for two reasons");
    assert!(kept.is_disjoint(&gone));
    assert_eq!(kept.len() + gone.len(), world.machines.len(), "a machine has no reason");
    for (pool, option) in world.pools.iter().enumerate() {
        let up = |machine: &usize| {
            let machine = &world.machines[*machine];
            machine.pool == Some(pool) && machine.stage == Stage::Up
        };
        let goes = |cause: RemovalCause| cause != RemovalCause::Outdated;
        let leaves = decision.removals.iter().filter(|one| goes(one.cause) && up(&one.machine)).count();
        let all = (0..world.machines.len()).filter(up).count();
        assert!(leaves == 0 || all - leaves >= option.min as usize, "{} falls below its minimum", option.id);
    }
}

/// Pods that have a place fit there by the judge, and so do those that are moved.
fn places_fit(world: &World, decision: &Decision) {
    let next = apply(world, decision);
    let evicts = world.cluster.pods.iter().any(|pod| pod.nominated.is_some());
    let there = |place: Place| match place {
        Place::Machine(machine) => world.machines[machine].stage == Stage::Up,
        Place::New(..) => true,
    };
    let placed = decision.placed.iter().filter(|(_, place)| there(*place)).map(|&(pod, _)| pod);
    let lower = |pod: &usize| {
        // Where lower pods have to leave first, the judge says so too; these are looked at by their own
        // tests.
        let priority = |pod: usize| world.cluster.specs[world.cluster.pods[pod].spec as usize].priority;
        (0..world.cluster.pods.len()).any(|other| priority(other) < priority(*pod))
    };
    if !evicts && decision.stays.is_empty() {
        assert_fits(&next, placed.filter(|pod| !lower(pod)).collect::<Vec<_>>().into_iter());
        assert_fits(&next, decision.moved.iter().map(|&(pod, _)| pod));
    }
}

/// The same world with its lists the other way round is decided in the same way.
fn order_does_not_matter(world: &World, decision: &Decision) {
    let turned = turn(world);
    let other = decide(&turned.problem());
    let (machines, pods) = (world.machines.len(), world.cluster.pods.len());
    let machine = |n: usize| machines - 1 - n;
    let mut expected = decision.clone();
    expected.removals.iter_mut().for_each(|one| one.machine = machine(one.machine));
    expected.stays = expected.stays.iter().map(|&n| machine(n)).collect();
    expected.unneeded = expected.unneeded.iter().map(|&n| machine(n)).collect();
    expected.kept.iter_mut().for_each(|one| one.0 = machine(one.0));
    let place = |place: Place| match place {
        Place::Machine(n) => Place::Machine(machine(n)),
        new @ Place::New(..) => new,
    };
    expected.placed = expected.placed.iter().map(|&(pod, at)| (pods - 1 - pod, place(at))).collect();
    expected.moved = expected.moved.iter().map(|&(pod, at)| (pods - 1 - pod, machine(at))).collect();
    for one in &mut expected.replacements {
        one.old.iter_mut().for_each(|old| *old = machine(*old));
    }
    expected.stays.sort_unstable();
    expected.unneeded.sort_unstable();
    expected.kept.sort();
    expected.placed.sort_unstable();
    expected.moved.sort_unstable();
    let specs = world.cluster.specs.len() as u32;
    let mut found = other;
    found.unplaced.iter_mut().for_each(|one| one.spec = specs - 1 - one.spec);
    assert_eq!(found, expected);
}

fn turn(world: &World) -> World {
    let mut turned = world.clone();
    let nodes = turned.cluster.nodes.len();
    turned.cluster.nodes.reverse();
    turned.cluster.pods.reverse();
    turned.cluster.daemons.reverse();
    turned.cluster.budgets.reverse();
    turned.machines.reverse();
    for machine in &mut turned.machines {
        machine.node = machine.node.map(|node| nodes - 1 - node);
    }
    let specs = turned.cluster.specs.len() as u32;
    turned.cluster.specs.reverse();
    let turn = |spec: &mut u32| *spec = specs - 1 - *spec;
    turned.cluster.pods.iter_mut().for_each(|pod| turn(&mut pod.spec));
    turned.cluster.daemons.iter_mut().for_each(|daemon| turn(&mut daemon.spec));
    turned.cluster.headroom.iter_mut().for_each(|headroom| turn(&mut headroom.spec));
    turned
}

/// What is decided, and comes to pass, leaves less and less to decide; nothing in the end, and no price that
/// rises without a pod that waits.
fn comes_to_rest(world: &World, decision: &Decision) {
    let (mut world, mut decision) = (apply(world, decision), decision.clone());
    let evicts = world.cluster.pods.iter().any(|pod| pod.nominated.is_some());
    if evicts || world.machines.iter().any(|machine| machine.stage != Stage::Up) {
        return;
    }
    for _ in 0..ROUNDS {
        decision = decide(&world.problem());
        if is_quiet(&decision) {
            return;
        }
        let waits = !decision.placed.is_empty();
        let next = apply(&world, &decision);
        let price = |world: &World| world.machines.iter().map(|machine| machine.price.0).sum::<u64>();
        let replaces = !decision.replacements.is_empty();
        let launches = !decision.launches.is_empty();
        assert!(waits || replaces || launches || price(&next) <= price(&world));
        world = next;
    }
    panic!("after {ROUNDS} rounds still {decision:?}");
}

pub(crate) fn is_quiet(decision: &Decision) -> bool {
    decision.launches.is_empty() && decision.removals.is_empty() && decision.replacements.is_empty()
}
