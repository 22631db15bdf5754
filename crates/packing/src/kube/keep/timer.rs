//! A machine goes once nothing has needed it for long enough.

use crate::kube::world::World;
use ostler_model::Timestamp;

/// Has nothing needed the machine for long enough? One that is not ready has a time of its own.
pub(in crate::kube) fn long_enough(world: &World<'_>, machine: usize) -> bool {
    let problem = world.problem;
    let policy = problem.policy;
    let machine = &problem.machines[machine];
    let node = machine.node.and_then(|at| problem.cluster.nodes.get(at));
    let (since, wanted): (Timestamp, _) = match node.filter(|node| !node.ready) {
        Some(node) => (node.ready_since, policy.unready),
        None => (machine.unneeded_since.unwrap_or(problem.now), policy.unneeded),
    };
    problem.now.since(since) >= wanted
}
