//! Room that is kept free: placed last, and never more than a place in the simulation.

use super::lot::Lot;
use super::probe::Probes;
use super::{course, there};
use crate::kube::ledger::NodeIx;
use crate::kube::problem::Problem;
use crate::kube::world::{What, World};
use alloc::vec::Vec;
use ostler_model::LaunchCause;
use ostler_model::Quantity;
use ostler_model::kube::{PODS, PodSpec, Toleration};

/// Room that is kept free on a node.
#[derive(Debug, Clone, Copy)]
pub(in crate::kube) struct Kept {
    pub(in crate::kube) node: NodeIx,
    pub(in crate::kube) spec: u32,
    pub(in crate::kube) only: Option<usize>,
}

/// Specs that stand for the shapes of the policy's headroom, in its order.
pub(in crate::kube) fn shapes(problem: &Problem<'_>) -> Vec<PodSpec> {
    let shape = |headroom: &ostler_model::kube::PoolHeadroom| {
        let mut requests = headroom.shape.clone();
        requests.0.insert(PODS.into(), Quantity::ONE);
        // The pool is named, so its taints do not matter.
        let bears_all = Toleration { key: None, value: None, effect: None, compare: None };
        PodSpec { requests, tolerations: alloc::vec![bears_all], ..PodSpec::default() }
    };
    problem.policy.headroom.iter().map(shape).collect()
}

/// Finds the room, opens machines for what is missing, and says what cannot be had.
pub(super) fn keep(world: &mut World<'_>, probes: &mut Probes) -> (Vec<Kept>, Vec<(usize, u32)>) {
    let problem = world.problem;
    let cluster = problem.cluster;
    let mut lots: Vec<(usize, Lot)> = Vec::new();
    // That of a pool has less choice, so it comes first.
    for (n, headroom) in problem.policy.headroom.iter().enumerate() {
        let Some(pool) = problem.pools.iter().position(|pool| pool.id == headroom.pool) else { continue };
        let mut lot = Lot::of_others((cluster.specs.len() + n) as u32, headroom.count.into());
        lot.only = Some(pool);
        lots.push((cluster.headroom.len() + n, lot));
    }
    for (n, headroom) in cluster.headroom.iter().enumerate() {
        if (headroom.spec as usize) < cluster.specs.len() {
            lots.push((n, Lot::of_others(headroom.spec, headroom.count.into())));
        }
    }
    let mut kept = Vec::new();
    let mut short = Vec::new();
    // Whole lots one after the other: few, and each is of its own shape.
    for (place, lot) in lots {
        let (spec, only) = (lot.spec, lot.only);
        let before = counts(world, spec);
        let mut list = [lot];
        // What replaces others is to take their pods.
        let mut up = there::up(world);
        up.retain(
            |&node| !matches!(world.what(node), What::Machine(machine) if world.machine(machine).replaces),
        );
        there::place(world, &mut list, &up);
        let [lot] = list;
        let left = course::bring(world, probes, &[alloc::vec![lot]], LaunchCause::Headroom);
        let left: u64 = left.iter().map(Lot::left).sum();
        if left > 0 {
            short.push((place, u32::try_from(left).unwrap_or(u32::MAX)));
        }
        for (n, count) in counts(world, spec).into_iter().enumerate() {
            let new = count - before.get(n).copied().unwrap_or(0);
            kept.extend((0..new).map(|_| Kept { node: NodeIx(n as u32), spec, only }));
        }
    }
    short.sort_unstable();
    (kept, short)
}

/// How many of a spec are on each node of the ledger.
fn counts(world: &World<'_>, spec: u32) -> Vec<usize> {
    let on = |n: usize| world.ledger.pods_on(NodeIx(n as u32)).filter(|&(on, _)| on == spec).count();
    (0..world.ledger.len()).map(on).collect()
}
