//! Machines that are as good as new ones of their pool: coming, or up with nothing on them yet.

use super::problem::{Machine, Problem, Stage};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use ostler_model::NodeId;
use ostler_model::kube::KubeNode;

/// By place, in order.
pub(super) fn machines(problem: &Problem<'_>) -> Vec<usize> {
    let pods = problem.cluster.pods.iter().filter(|pod| !pod.is_of_node());
    let awaited = pods.clone().filter_map(|pod| pod.nominated.as_ref());
    let loaded: BTreeSet<&NodeId> = pods.filter_map(|pod| pod.node.as_ref()).chain(awaited).collect();
    let is_unused = |machine: &Machine| {
        let Some(option) = machine.pool.and_then(|pool| problem.pools.get(pool)) else { return false };
        let node = machine.node.and_then(|at| problem.cluster.nodes.get(at));
        let empty = node.is_none_or(|node| !loaded.contains(&node.id));
        let as_new = match machine.stage {
            Stage::Coming => true,
            Stage::Up => node.is_some_and(|node| is_like(node, &option.template)),
            Stage::Leaving | Stage::Ending => false,
        };
        empty && as_new && !machine.replaces && !machine.outdated
    };
    (0..problem.machines.len()).filter(|&n| is_unused(&problem.machines[n])).collect()
}

/// Does the node take whatever a new one would?
fn is_like(node: &KubeNode, template: &KubeNode) -> bool {
    node.ready
        && !node.draining
        && !node.unschedulable
        && node.taints == template.taints
        && template.labels.iter().all(|(key, value)| node.labels.get(key) == Some(value))
        && template.allocatable.0.iter().all(|(name, amount)| node.allocatable.get(name) >= *amount)
}

/// The same problem with these machines gone, and as many more that may be had of their pools.
pub(super) fn given_up<'a>(problem: &Problem<'a>, unused: &[usize]) -> Problem<'a> {
    let mut given_up = problem.clone();
    let mut counts = alloc::vec![0_u32; problem.pools.len()];
    let mut there = counts.clone();
    for machine in &problem.machines {
        machine.pool.into_iter().for_each(|pool| there[pool] += 1);
    }
    for &n in unused {
        let machine = &mut given_up.machines[n];
        machine.stage = Stage::Ending;
        machine.pool.into_iter().for_each(|pool| counts[pool] += 1);
    }
    let mut groups: BTreeMap<Arc<str>, u32> = BTreeMap::new();
    for (pool, count) in problem.pools.iter().zip(&counts) {
        pool.group.iter().for_each(|group| *groups.entry(group.clone()).or_default() += count);
    }
    for (n, pool) in given_up.pools.iter_mut().enumerate() {
        // Of a closed pool those that are there, and no more.
        let max = if pool.closed { there[n] } else { pool.max };
        pool.max = max.saturating_add(counts[n]);
        pool.closed &= counts[n] == 0;
        let group = pool.group.as_ref().and_then(|group| groups.get(group)).copied().unwrap_or(0);
        pool.group_max = pool.group_max.map(|max| max.saturating_add(group));
    }
    given_up.max_machines = problem.max_machines.map(|max| max.saturating_add(unused.len() as u64));
    given_up
}
