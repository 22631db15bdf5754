//! How much a node is used.
//!
//! The largest part of CPU, memory and of each extended resource that the node has (GPUs) that its pods ask
//! for. Pods that belong to their node (daemons and mirror pods) are left out on both sides: every node has
//! them, so they say nothing about whether this one is needed, and on a small node they would hide that
//! nothing else is there. Pods that are leaving and those that may be lost are left out too.

use crate::kube::world::World;

/// Parts of a whole: a thousandth of a percent, so that "strictly less" is exact where it matters.
const WHOLE: i128 = 100_000;

/// How much the machine is used, in thousandths of a percent.
pub(in crate::kube) fn share(world: &World<'_>, machine: usize) -> u32 {
    let Some(node) = world.nodes[machine] else { return 0 };
    let cluster = world.problem.cluster;
    let names = world.ledger.resource_names();
    let mut usable = world.ledger.capacity(node).to_vec();
    let mut used = alloc::vec![0_i64; usable.len()];
    for &pod in &world.pods[machine] {
        let pod = &cluster.pods[pod as usize];
        let ask = world.ledger.request(pod.spec);
        let sum = if pod.is_of_node() {
            usable.iter_mut().zip(ask).for_each(|(usable, ask)| *usable = usable.saturating_sub(*ask));
            continue;
        } else if pod.terminating || world.is_expendable(pod.spec) {
            continue;
        } else {
            &mut used
        };
        sum.iter_mut().zip(ask).for_each(|(sum, ask)| *sum = sum.saturating_add(*ask));
    }
    let counts = |column: usize| column < 2 || names.get(column).is_some_and(|name| name.contains('/'));
    let part = |column: usize| match (used[column], usable[column]) {
        (0, _) => 0,
        (_, ..=0) => WHOLE,
        (used, usable) => i128::from(used) * WHOLE / i128::from(usable),
    };
    let most = (0..used.len()).filter(|&column| counts(column)).map(part).max().unwrap_or(0);
    u32::try_from(most).unwrap_or(u32::MAX)
}

/// Is the share strictly under so many percent?
pub(in crate::kube) fn is_under(share: u32, percent: u32) -> bool {
    u64::from(share) < u64::from(percent) * 1000
}
