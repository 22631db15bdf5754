//! One pass of placing: first on the machines that exist, then on those that may be launched.

use super::fit::{Ask, Takes};
use super::ledger::{Kind, Ledger, Slot, Stage};
use super::race::Race;
use super::score::Rule;
use super::variant::Variant;
use super::world::{Spec, World};
use crate::problem::LaunchCause;
use alloc::vec::Vec;
use core::cell::Cell;

/// `count` machines of a slot take the same.
pub(super) struct Pick {
    pub(super) slot: usize,
    pub(super) count: u64,
    pub(super) takes: Takes,
}

/// What a pass found; nothing is booked yet.
#[derive(Default)]
pub(super) struct Placed {
    /// On machines that exist, best first.
    pub(super) picks: Vec<Pick>,
    /// On machines to launch: the pool in place of the slot.
    pub(super) fresh: Vec<Pick>,
}

/// Counts fits tried, so that improvements end at a stated amount of work and not of time.
#[derive(Default)]
pub(super) struct Work(Cell<u64>);

impl Work {
    pub(super) fn add(&self, n: usize) {
        self.0.set(self.0.get().saturating_add(n as u64));
    }
    pub(super) fn done(&self) -> u64 {
        self.0.get()
    }
}

/// The spec behind a slot.
pub(super) fn spec<'w>(world: &'w World<'_>, kind: Kind) -> &'w Spec {
    match kind {
        Kind::Known(n) => &world.specs[n],
        Kind::Fresh(n) => &world.fresh[n],
    }
}

/// Places what it can of `ask` and leaves the rest in it. `launch`: new machines may be taken.
pub(super) fn place(
    world: &World<'_>,
    work: &Work,
    variant: &Variant,
    ledger: &Ledger,
    ask: &mut Ask,
    launch: bool,
) -> Placed {
    let mut placed = Placed::default();
    // Filled stage by stage, machines on their way are chosen as they were when they were launched; so what was
    // launched for a demand is found to suffice for it.
    let stages: &[(&[Stage], Rule)] = if variant.staged {
        &[(&[Stage::Running], variant.existing), (&[Stage::Coming], variant.fresh)]
    } else {
        &[(&[Stage::Running, Stage::Coming], variant.existing)]
    };
    for &(stages, rule) in stages {
        let of_stage = |(n, slot): (usize, &Slot)| stages.contains(&slot.stage).then_some((n, slot.count));
        let supply = ledger.slots.iter().enumerate().filter_map(of_stage).collect();
        let mut race = Race::new(world, work, rule, &ledger.slots, supply);
        race.run(ask, u64::MAX, false, &mut placed.picks);
    }
    if launch && !ask.is_done() && ledger.total_room > 0 {
        let slots: Vec<Slot> =
            (0..world.fresh.len()).map(|pool| Slot::fresh(world, pool, 1, LaunchCause::Demand)).collect();
        let supply = ledger.room.iter().copied().enumerate().filter(|(_, room)| *room > 0).collect();
        let mut race = Race::new(world, work, variant.fresh, &slots, supply);
        race.run(ask, ledger.total_room, variant.in_turns, &mut placed.fresh);
    }
    placed
}
