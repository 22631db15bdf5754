//! What holds for every decision.

use super::apply::{apply, why_not};
use super::world::{NOW, World};
use ostler_model::{LaunchCause, NodeId};
use ostler_packing::kube::decide;
use ostler_packing::kube::ledger::Ledger;
use ostler_packing::kube::problem::{Decision, Machine, Place, PoolOption, RemovalCause, Stage};
use std::collections::{BTreeMap, BTreeSet};

/// Rounds after which a world is at rest: exchanges are one in a plan, and each takes two.
const ROUNDS: usize = 40;

/// All of them.
pub(crate) fn hold(world: &World, decision: &Decision) {
    within_bounds(world, decision);
    machines_have_one_fate(world, decision);
    places_fit(world, decision);
    nothing_that_fits_is_left(world, decision);
    nothing_is_bought_twice(world, decision);
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
    let mut groups: BTreeMap<&str, (u64, u64, u64)> = BTreeMap::new();
    for (n, pool) in world.pools.iter().enumerate() {
        assert!(counts[n] <= u64::from(pool.max).max(before[n]), "{} has {} machines", pool.id, counts[n]);
        if let (Some(group), Some(max)) = (&pool.group, pool.group_max) {
            let sum = groups.entry(group).or_insert((0, max.into(), 0));
            sum.0 += counts[n];
            sum.1 = sum.1.min(max.into());
            sum.2 += before[n];
        }
    }
    for (group, (count, max, before)) in groups {
        assert!(count <= max.max(before), "group {group} has {count} machines");
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
        let lost = |machine: &Machine| {
            let node = &world.cluster.nodes[machine.node.expect("what is up has a node")];
            !node.ready && NOW.since(node.ready_since) >= world.policy.unready
        };
        let up = |machine: &usize| {
            let machine = &world.machines[*machine];
            machine.pool == Some(pool) && machine.stage == Stage::Up && !lost(machine)
        };
        let goes = |cause: RemovalCause| cause != RemovalCause::Outdated;
        let leaves = decision.removals.iter().filter(|one| goes(one.cause) && up(&one.machine)).count();
        let all = (0..world.machines.len()).filter(up).count();
        let minimums: u64 = world.pools.iter().map(|pool| u64::from(pool.min)).sum();
        // Where not all can be kept, none must be.
        let fit = world.max_machines.is_none_or(|max| minimums <= max);
        let is_kept = all - leaves >= option.min as usize;
        assert!(!fit || leaves == 0 || is_kept, "{} falls below its minimum", option.id);
    }
}

/// Pods that have a place fit there by the judge, and so do those that are moved: with all that is to come there, or
/// on a node that is up without it, since the scheduler may be quicker.
fn places_fit(world: &World, decision: &Decision) {
    let nominates = world.cluster.pods.iter().any(|pod| pod.nominated.is_some());
    // Pods of machines that leave have places of which the decision does not tell. Room that is kept free is none that the scheduler sees: machines for it are no place yet.
    let headroom = decision.launches.iter().any(|launch| launch.cause == LaunchCause::Headroom);
    if nominates || headroom || leaves(world) {
        return;
    }
    let (late, early) = (apply(world, decision), apply(world, &only_up(world, decision)));
    // Where lower pods have to leave first, the judge says so too; these are looked at by their own tests.
    let priority = |pod: usize| world.cluster.specs[world.cluster.pods[pod].spec as usize].priority;
    let bound = (0..world.cluster.pods.len()).filter(|&pod| world.cluster.pods[pod].node.is_some());
    let lowest = bound.map(priority).min().unwrap_or(i32::MAX);
    if decision.placed.iter().any(|&(pod, _)| priority(pod) > lowest) {
        return;
    }
    for &(pod, place) in &decision.placed {
        let why = match place {
            Place::Machine(machine) if world.machines[machine].stage == Stage::Up => {
                why_not(&early, pod).and_then(|_| why_not(&late, pod))
            }
            Place::Machine(_) | Place::New(..) => why_not(&late, pod),
        };
        assert_eq!(why, None, "{} at {place:?}", world.cluster.pods[pod].name);
    }
    for &(pod, _) in &decision.moved {
        assert_eq!(why_not(&late, pod), None, "{} is moved", world.cluster.pods[pod].name);
    }
}

/// Pods without a place have none: on no node that is there, on no machine that may still be had.
fn nothing_that_fits_is_left(world: &World, decision: &Decision) {
    let specs = world.cluster.specs.iter().map(|spec| spec.priority).collect::<BTreeSet<i32>>();
    if specs.len() > 1
        || leaves(world)
        || !decision.removals.is_empty()
        || world.cluster.pods.iter().any(|pod| pod.nominated.is_some())
    {
        return;
    }
    let next = apply(world, decision);
    let mut counts = vec![0; world.pools.len()];
    let machines = world.machines.iter().filter_map(|machine| machine.pool);
    machines.for_each(|pool| counts[pool] += 1);
    decision.launches.iter().for_each(|launch| counts[launch.pool] += launch.count);
    let mut ledger = Ledger::new(&next.cluster, &next.policy);
    for left in &decision.unplaced {
        let app = &world.cluster.specs[left.spec as usize].labels["app"];
        for machine in next.machines.iter().filter(|machine| machine.stage == Stage::Up) {
            let at = machine.node.expect("what is up has a node");
            let node = ledger.node(next.cluster.nodes[at].id.as_str()).expect("the node is there");
            let takes = next.cluster.nodes[at].ready && ledger.fits(left.spec, node);
            assert!(!takes, "{app} is left and fits on {}", machine.name);
        }
        for (pool, option) in world.pools.iter().enumerate() {
            let mark = ledger.mark();
            let node = ledger.add_node(&option.template);
            let can_be_had = !option.closed && has_room(world, &counts, pool);
            let takes = can_be_had && ledger.fits(left.spec, node);
            ledger.back_to(mark);
            assert!(!takes, "{app} is left and fits on one more of {}", option.id);
        }
    }
}

fn leaves(world: &World) -> bool {
    world.machines.iter().any(|machine| machine.stage == Stage::Leaving)
}

fn has_room(world: &World, counts: &[u64], pool: usize) -> bool {
    let option = &world.pools[pool];
    let in_group = |other: &&PoolOption| option.group.is_some() && other.group == option.group;
    let most = world.pools.iter().filter(in_group).filter_map(|other| other.group_max).min();
    let group = world.pools.iter().zip(counts).filter(|(other, _)| in_group(other));
    let group: u64 = group.map(|(_, count)| count).sum();
    counts[pool] < option.max.into()
        && most.is_none_or(|max| group < max.into())
        && world.max_machines.is_none_or(|max| counts.iter().sum::<u64>() < max)
}

/// With what was launched on its way, booting, or up and not yet used, nothing more is launched.
fn nothing_is_bought_twice(world: &World, decision: &Decision) {
    let ends = world.machines.iter().any(|machine| matches!(machine.stage, Stage::Ending | Stage::Leaving));
    // Of pods that keep each other away those may come first that were left, and they bring other machines.
    let left = !decision.unplaced.is_empty();
    let used: BTreeSet<&NodeId> = world.cluster.pods.iter().filter_map(|pod| pod.node.as_ref()).collect();
    // Nor does the scheduler choose among empty nodes as was thought.
    let choice = decision.placed.iter().any(|&(_, place)| match place {
        Place::Machine(machine) => {
            let node = world.machines[machine].node.map(|at| &world.cluster.nodes[at].id);
            node.is_some_and(|node| !used.contains(node))
        }
        Place::New(..) => false,
    });
    // A machine for room that is kept free is one more place over which pods must lie evenly.
    let headroom = decision.launches.iter().any(|launch| launch.cause == LaunchCause::Headroom);
    if headroom || choice || ends || left || decision.launches.is_empty() || !decision.removals.is_empty() {
        return;
    }
    // The scheduler places at once what has a place on nodes that are up.
    let up = apply(world, &Decision { launches: decision.launches.clone(), ..only_up(world, decision) });
    let bought: u64 = decision.launches.iter().map(|launch| launch.count).sum();
    let first = up.machines.len() - bought as usize;
    let nodes = up.cluster.nodes.len() - bought as usize;
    let mut booting = up.clone();
    let mut coming = up.clone();
    for n in first..up.machines.len() {
        booting.machines[n].stage = Stage::Coming;
        let at = booting.machines[n].node.expect("it has a node");
        booting.cluster.nodes[at].ready = false;
        coming.machines[n].stage = Stage::Coming;
        coming.machines[n].node = None;
    }
    coming.cluster.nodes.truncate(nodes);
    for (how, world) in [("coming", coming), ("booting", booting), ("up", up)] {
        let mut again = decide(&world.problem()).launches;
        // A pod may take room that was to be kept free.
        again.retain(|launch| launch.cause != LaunchCause::Headroom);
        assert_eq!(again, [], "while what was bought is {how}");
    }
}

/// What of the decision happens before any machine has come.
fn only_up(world: &World, decision: &Decision) -> Decision {
    let up = |place: &Place| matches!(place, Place::Machine(machine) if world.machines[*machine].stage == Stage::Up);
    let placed = decision.placed.iter().copied().filter(|(_, place)| up(place)).collect();
    Decision { placed, ..Decision::default() }
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
