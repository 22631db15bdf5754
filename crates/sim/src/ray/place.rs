//! The cluster's own scheduler: the first node that fits, oldest first. It knows nothing of Ostler.

use super::node::VirtualNode;
use super::work::{Kind, Stage, Work};
use ostler_model::{NodeId, Shape, Strategy, Timestamp};
use std::collections::BTreeMap;

type Nodes = BTreeMap<NodeId, VirtualNode>;

/// Starts whatever fits, in the order in which it was asked for.
pub(super) fn place(work: &mut [Work], nodes: &mut Nodes, now: Timestamp) {
    for work in work.iter_mut().filter(|work| work.waits(now)) {
        let places = match &work.kind {
            Kind::Task(shape) => one_after_the_other(nodes, shape, 1, now),
            Kind::Gang { strategy, shape, count } => gang(nodes, *strategy, shape, *count, now),
            Kind::Floor { .. } => continue, // nothing of it ever runs
        };
        let Some(on) = places else { continue };
        for id in &on {
            if let Some(node) = nodes.get_mut(id) {
                node.take(work.shape());
            }
        }
        work.started.get_or_insert(now);
        work.stage = Stage::Running { on, until: now + work.lasts };
    }
}

fn gang(nodes: &Nodes, strategy: Strategy, shape: &Shape, count: u64, now: Timestamp) -> Option<Vec<NodeId>> {
    match strategy {
        Strategy::StrictPack => all_on_one(nodes, shape, count, now),
        Strategy::StrictSpread => each_on_its_own(nodes, shape, count, now),
        Strategy::Pack => {
            all_on_one(nodes, shape, count, now).or_else(|| one_after_the_other(nodes, shape, count, now))
        }
        Strategy::Spread => each_on_its_own(nodes, shape, count, now)
            .or_else(|| one_after_the_other(nodes, shape, count, now)),
    }
}

/// How many such requests still fit on a node, at most `most`.
fn room(node: &VirtualNode, shape: &Shape, most: u64, now: Timestamp) -> u64 {
    if !node.is_up(now) {
        return 0;
    }
    let mut node = node.clone();
    let mut room = 0;
    while room < most && node.fits(shape) {
        node.take(shape);
        room += 1;
    }
    room
}

fn one_after_the_other(nodes: &Nodes, shape: &Shape, count: u64, now: Timestamp) -> Option<Vec<NodeId>> {
    let mut places = Vec::new();
    for node in nodes.values() {
        let left = count - places.len() as u64;
        places.extend((0..room(node, shape, left, now)).map(|_| node.id.clone()));
    }
    (places.len() as u64 == count).then_some(places)
}

fn all_on_one(nodes: &Nodes, shape: &Shape, count: u64, now: Timestamp) -> Option<Vec<NodeId>> {
    let node = nodes.values().find(|node| room(node, shape, count, now) == count)?;
    Some(vec![node.id.clone(); count as usize])
}

fn each_on_its_own(nodes: &Nodes, shape: &Shape, count: u64, now: Timestamp) -> Option<Vec<NodeId>> {
    let fitting = nodes.values().filter(|node| room(node, shape, 1, now) == 1);
    let places: Vec<NodeId> = fitting.take(count as usize).map(|node| node.id.clone()).collect();
    (places.len() as u64 == count).then_some(places)
}
