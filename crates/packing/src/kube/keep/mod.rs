//! Why a machine stays: one rule in one file. Each looks at one machine and says why it must not go, or
//! nothing.

mod asked;
mod blocked;
pub(super) mod drains;
mod gate;
mod minimum;
mod ours;
mod pending;
mod stage;
mod timer;
pub(super) mod used;

pub(super) use gate::gate;
pub(super) use minimum::Sizes;
pub(super) use timer::long_enough;

use super::problem::Keep;
use super::world::World;
use alloc::collections::BTreeSet;

/// What the rules look at beside the world.
pub(super) struct Facts<'w, 'a> {
    pub(super) world: &'w World<'a>,
    /// Machines on which waiting pods have their place.
    pub(super) awaited: BTreeSet<usize>,
    pub(super) budgets: blocked::Budgets,
}

/// A rule.
type Rule = fn(&Facts<'_, '_>, usize) -> Option<Keep>;

/// In the order in which they are asked; the first that holds is the reason that is given.
const RULES: [Rule; 5] = [ours::keep, stage::keep, asked::keep, pending::keep, blocked::keep];

impl<'w, 'a> Facts<'w, 'a> {
    pub(super) fn of(world: &'w World<'a>, awaited: BTreeSet<usize>) -> Self {
        Self { world, awaited, budgets: blocked::Budgets::of(world) }
    }

    /// Why the machine is no candidate, whatever the others do.
    pub(super) fn keep(&self, machine: usize) -> Option<Keep> {
        RULES.iter().find_map(|rule| rule(self, machine))
    }

    /// What the machine waits for although nothing needs it.
    pub(super) fn waits(&self, machine: usize) -> Option<Keep> {
        blocked::waits(self, machine)
    }
}
