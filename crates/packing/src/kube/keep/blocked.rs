//! A pod that may not be moved keeps its node.

use super::Facts;
use crate::kube::problem::Keep;
use crate::kube::world::World;
use alloc::vec::Vec;
use ostler_model::kube::{Budget, Hindrance, Pod};

/// Budgets that allow no more just now.
pub(in crate::kube) struct Budgets<'a>(Vec<&'a Budget>);

impl<'a> Budgets<'a> {
    pub(super) fn of(world: &World<'a>) -> Self {
        Self(world.problem.cluster.budgets.iter().filter(|budget| budget.allowed == 0).collect())
    }
}

/// A pod that stays whatever happens.
pub(super) fn keep(facts: &Facts<'_, '_>, machine: usize) -> Option<Keep> {
    hindrances(facts, machine).find(|keep| !is_to_end(keep))
}

/// A pod that ends by itself and is let finish: until then its node stays, though it may be unneeded for everything else.
pub(super) fn waits(facts: &Facts<'_, '_>, machine: usize) -> Option<Keep> {
    hindrances(facts, machine).find(is_to_end)
}

const fn is_to_end(keep: &Keep) -> bool {
    matches!(keep, Keep::Blocked { by: Hindrance::MustComplete, .. })
}

fn hindrances(facts: &Facts<'_, '_>, machine: usize) -> impl Iterator<Item = Keep> {
    let problem = facts.world.problem;
    let cluster = problem.cluster;
    facts.world.pods[machine].iter().filter_map(move |&pod| {
        let pod = &cluster.pods[pod as usize];
        let spec = cluster.specs.get(pod.spec as usize);
        if let Some(what) = spec.and_then(|spec| spec.unjudged.as_ref()).filter(|_| moves(pod)) {
            return Some(Keep::CannotJudge { what: what.clone() });
        }
        let by = pod.hindrance(&problem.policy.drain, problem.now).or_else(|| {
            let covered = |budget: &&&Budget| {
                spec.is_some_and(|spec| {
                    budget.namespace == spec.namespace
                        && budget.selector.as_ref().is_some_and(|selector| selector.matches(&spec.labels))
                })
            };
            (moves(pod) && facts.budgets.0.iter().any(|budget| covered(&budget))).then_some(Hindrance::Budget)
        })?;
        Some(Keep::Blocked { pod: pod.name.clone(), by })
    })
}

/// Has to go elsewhere if its node goes.
fn moves(pod: &Pod) -> bool {
    !pod.is_of_node() && !pod.terminating
}
