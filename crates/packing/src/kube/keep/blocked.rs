//! A pod that may not be moved keeps its node.

use super::Facts;
use crate::kube::problem::Keep;
use crate::kube::world::World;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use ostler_model::kube::{Budget, Hindrance, PodSpec};

/// What PodDisruptionBudgets say of the pods of each spec.
pub(in crate::kube) struct Budgets(Vec<Option<Hindrance>>);

impl Budgets {
    pub(super) fn of(world: &World<'_>) -> Self {
        let cluster = world.problem.cluster;
        let mut spaces: BTreeMap<&str, Vec<&Budget>> = BTreeMap::new();
        for budget in &cluster.budgets {
            spaces.entry(&budget.namespace).or_default().push(budget);
        }
        let verdict = |spec: &PodSpec| {
            let near = spaces.get(&*spec.namespace)?;
            let mut covering = near.iter().filter(|budget| budget.covers(spec));
            let first = covering.next()?;
            match covering.next() {
                Some(_) => Some(Hindrance::Budgets),
                None => (first.allowed == 0).then_some(Hindrance::Budget),
            }
        };
        Self(cluster.specs.iter().map(verdict).collect())
    }

    fn hindrance(&self, spec: u32) -> Option<Hindrance> {
        self.0.get(spec as usize).copied().flatten()
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
        if let Some(what) = spec.and_then(|spec| spec.unjudged.as_ref()).filter(|_| pod.is_movable()) {
            return Some(Keep::CannotJudge { what: what.clone() });
        }
        let own = pod.hindrance(&problem.policy.drain, problem.now);
        let by = own.or_else(|| facts.budgets.hindrance(pod.spec).filter(|_| pod.is_movable()))?;
        Some(Keep::Blocked { pod: pod.name.clone(), by })
    })
}
