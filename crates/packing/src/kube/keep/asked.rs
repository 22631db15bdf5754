//! Somebody said that it stays: the planner, an annotation, or the move that it is part of.

use super::Facts;
use crate::kube::problem::Keep;

pub(super) fn keep(facts: &Facts<'_, '_>, machine: usize) -> Option<Keep> {
    let problem = facts.world.problem;
    let machine = &problem.machines[machine];
    if let Some(keep) = &machine.keep {
        return Some(keep.clone());
    }
    if machine.replaces {
        return Some(Keep::Replacing);
    }
    let node = machine.node.and_then(|at| problem.cluster.nodes.get(at));
    node.is_some_and(|node| node.held.is_some()).then_some(Keep::Held)
}
