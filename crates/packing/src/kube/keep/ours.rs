//! Only machines of our pools go.

use super::Facts;
use crate::kube::problem::Keep;

pub(super) fn keep(facts: &Facts<'_, '_>, machine: usize) -> Option<Keep> {
    let problem = facts.world.problem;
    let pool = problem.machines[machine].pool.filter(|&pool| pool < problem.pools.len());
    pool.is_none().then_some(Keep::NotOurs)
}
