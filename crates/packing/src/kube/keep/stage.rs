//! What is on its way in or out is no candidate for a drain.

use super::Facts;
use crate::kube::problem::{Keep, Stage};

pub(super) fn keep(facts: &Facts<'_, '_>, machine: usize) -> Option<Keep> {
    let machine = &facts.world.problem.machines[machine];
    match machine.stage {
        Stage::Coming => Some(Keep::Coming),
        Stage::Leaving | Stage::Ending => Some(Keep::Leaving),
        Stage::Up if machine.node.is_none() => Some(Keep::Unseen),
        Stage::Up => None,
    }
}
