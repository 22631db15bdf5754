//! Growth: every waiting pod a place, on what is there, on what is coming, on new machines.
//!
//! In this order: pods that the scheduler has nominated keep their node; pods of machines that are leaving
//! find a place, or the machine stays; minimums are filled up; then, the higher priority first, waiting pods
//! go to what is up and take the place of pods of a lower priority if the scheduler would do so; what is
//! left goes to machines that are coming, and brings new ones; and room that is to be kept free is found last.
//! All of it is placed in the ledger, so that each step sees what the earlier ones took, and so does the
//! shrinking afterwards.

mod course;
mod evict;
mod explain;
pub(super) mod fresh;
mod headroom;
mod leaving;
mod lot;
pub(super) mod probe;
mod scatter;
mod there;

pub(super) use headroom::shapes;
pub(super) use lot::{Waiting, waiting};

use super::problem::Unplaced;
use super::world::World;
use alloc::vec::Vec;
use leaving::Moved;
use lot::{Levels, Lot};
use ostler_model::LaunchCause;

/// What growth found, beside what it placed in the world.
pub(super) struct Grown {
    /// Machines that were to leave and are to stay.
    pub(super) stays: Vec<usize>,
    pub(super) unplaced: Vec<Unplaced>,
    pub(super) headroom_short: Vec<(usize, u32)>,
    /// Nodes with room that is kept free, and what has its place there.
    pub(super) headroom: Vec<headroom::Kept>,
}

/// Finds a place for everything that waits.
pub(super) fn grow(world: &mut World<'_>, waiting: &Waiting) -> Grown {
    there::nominated(world, waiting);
    let mut levels = Levels::of(world, waiting);
    let mut moved = Moved::default();
    moved.away(world, &mut levels);
    let mut probes = probe::Probes::of(world);
    fresh::minimums(world);
    let mut bring: Vec<Vec<Lot>> = Vec::new();
    let mut young: Vec<Vec<Lot>> = Vec::new();
    while let Some(mut lots) = levels.next() {
        let up = there::up(world);
        there::place(world, &mut lots, &up);
        moved.back(world, &mut lots);
        evict::lower(world, &mut lots, &mut levels);
        let (old, new) = lots.into_iter().filter(|lot| lot.left() > 0).partition(|lot| lot.brings);
        bring.push(old);
        young.push(new);
    }
    let hopeless = course::bring(world, &mut probes, &bring, LaunchCause::Demand);
    // Young ones wait for the scheduler to look at them first.
    for mut lots in young {
        let to_be = there::to_be(world);
        there::place(world, &mut lots, &to_be);
    }
    let (headroom, headroom_short) = headroom::keep(world, &mut probes);
    let unplaced = explain::all(world, &hopeless);
    Grown { stays: moved.stays(), unplaced, headroom_short, headroom }
}
