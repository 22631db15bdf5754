//! Where waiting pods have their place, the machine stays.

use super::Facts;
use crate::kube::problem::Keep;

pub(super) fn keep(facts: &Facts<'_, '_>, machine: usize) -> Option<Keep> {
    facts.awaited.contains(&machine).then_some(Keep::NeededByPending)
}
