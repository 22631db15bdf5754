//! Pods of a lower priority make room, as the scheduler would have it.

use super::lot::{Levels, Lot};
use super::there::has_room;
use crate::kube::ledger::NodeIx;
use crate::kube::problem::Stage;
use crate::kube::world::World;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// For each pod without a place, the node where the least important pods would have to leave. Those that
/// leave are demand of their own priority, unless nobody brings nodes for them.
pub(super) fn lower(world: &mut World<'_>, lots: &mut [Lot], levels: &mut Levels) {
    let Some(least) = least_priority(world) else { return };
    let of_nodes = of_nodes(world);
    for lot in lots.iter_mut().filter(|lot| lot.left() > 0 && lot.only.is_none()) {
        let Some(spec) = world.ledger.spec(lot.spec) else { continue };
        if spec.never_preempts || spec.priority <= least {
            continue;
        }
        while lot.left() > 0 {
            let Some((node, victims)) = best(world, lot.spec, spec.priority, &of_nodes) else { break };
            for &victim in &victims {
                world.ledger.unplace(victim, node);
                let brings = world.ledger.spec(victim).is_some_and(|victim| {
                    let policy = world.problem.policy;
                    !policy.is_expendable(victim) && policy.schedulers.contains(&victim.scheduler)
                });
                if brings {
                    levels.add(world, victim, 1);
                }
            }
            lot.seat(world, node, 1);
        }
    }
}

/// The lowest priority of a pod on a node, those that belong to their node left out.
fn least_priority(world: &World<'_>) -> Option<i32> {
    let cluster = world.problem.cluster;
    let placed = cluster.pods.iter().filter(|pod| pod.node.is_some() && pod.is_movable());
    placed.filter_map(|pod| cluster.specs.get(pod.spec as usize)).map(|spec| spec.priority).min()
}

/// Specs of pods that belong to their node.
fn of_nodes(world: &World<'_>) -> BTreeSet<u32> {
    let cluster = world.problem.cluster;
    let pods = cluster.pods.iter().filter(|pod| pod.is_of_node()).map(|pod| pod.spec);
    pods.chain(cluster.daemons.iter().map(|daemon| daemon.spec)).collect()
}

/// The node whose pods that have to leave are the least important, then the fewest.
fn best(
    world: &mut World<'_>,
    spec: u32,
    priority: i32,
    of_nodes: &BTreeSet<u32>,
) -> Option<(NodeIx, Vec<u32>)> {
    let mut best: Option<((i32, usize), NodeIx, Vec<u32>)> = None;
    for machine in world.order.clone() {
        if !world.takes[machine] || world.machine(machine).stage == Stage::Coming {
            continue;
        }
        let Some(node) = world.nodes[machine] else { continue };
        if !world.ledger.static_fit(spec, node) {
            continue;
        }
        let Some(victims) = victims(world, spec, priority, of_nodes, node) else { continue };
        let highest = victims.iter().map(|&victim| priority_of(world, victim)).max().unwrap_or(i32::MIN);
        let key = (highest, victims.len());
        if best.as_ref().is_none_or(|(least, ..)| key < *least) {
            best = Some((key, node, victims));
        }
    }
    best.map(|(_, node, victims)| (node, victims))
}

fn priority_of(world: &World<'_>, spec: u32) -> i32 {
    world.ledger.spec(spec).map_or(0, |spec| spec.priority)
}

/// Who would have to leave this node: all of a lower priority, less those that may stay after all, the most
/// important first.
fn victims(
    world: &mut World<'_>,
    spec: u32,
    priority: i32,
    of_nodes: &BTreeSet<u32>,
    node: NodeIx,
) -> Option<Vec<u32>> {
    let lower = |&(other, terminating): &(u32, bool)| {
        !terminating && !of_nodes.contains(&other) && priority_of(world, other) < priority
    };
    let mut lower: Vec<u32> = world.ledger.pods_on(node).filter(lower).map(|(other, _)| other).collect();
    if lower.is_empty() {
        return None;
    }
    lower.sort_by_key(|&other| (Reverse(priority_of(world, other)), world.rank[other as usize]));
    let mut room = world.ledger.free(node).to_vec();
    for &other in &lower {
        room.iter_mut().zip(world.ledger.request(other)).for_each(|(room, ask)| *room += ask);
    }
    if !has_room(world.ledger.request(spec), &room) {
        return None;
    }
    let mark = world.ledger.mark();
    lower.iter().for_each(|&other| {
        world.ledger.unplace(other, node);
    });
    if !world.ledger.fits(spec, node) {
        world.ledger.back_to(mark);
        return None;
    }
    world.ledger.place(spec, node);
    let mut victims = Vec::new();
    for other in lower {
        // With the newcomer there, whoever still fits stays, and it must not mind them.
        let before = world.ledger.mark();
        if world.ledger.fits(other, node) {
            world.ledger.place(other, node);
            world.ledger.unplace(spec, node);
            let minds = !world.ledger.fits(spec, node);
            if minds {
                world.ledger.back_to(before);
                victims.push(other);
            } else {
                world.ledger.place(spec, node);
            }
        } else {
            victims.push(other);
        }
    }
    world.ledger.back_to(mark);
    (!victims.is_empty()).then_some(victims)
}
