//! Opens the best filled machine, again and again.

use super::fill::{Load, Rule, Scene, Scratch, Sort};
use super::{Ask, Batch, Choice, Packed};
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// How many more machines there may be.
#[derive(Debug, Clone)]
pub(super) struct Bounds {
    kinds: Vec<u64>,
    share_of: Vec<Option<usize>>,
    shares: Vec<u64>,
    total: u64,
}

impl Bounds {
    pub(super) fn of(ask: &Ask<'_>) -> Self {
        Self {
            kinds: ask.kinds.iter().map(|kind| kind.room).collect(),
            share_of: ask.kinds.iter().map(|kind| kind.share).collect(),
            shares: ask.shares.to_vec(),
            total: ask.total,
        }
    }

    /// How many more of this kind.
    pub(super) fn room(&self, kind: usize) -> u64 {
        let share = self.share_of[kind].map_or(u64::MAX, |share| self.shares[share]);
        self.kinds[kind].min(share).min(self.total)
    }

    pub(super) fn take(&mut self, kind: usize, count: u64) {
        self.kinds[kind] = self.kinds[kind].saturating_sub(count);
        if let Some(share) = self.share_of[kind] {
            self.shares[share] = self.shares[share].saturating_sub(count);
        }
        self.total = self.total.saturating_sub(count);
    }

    pub(super) fn give_back(&mut self, kind: usize, count: u64) {
        self.kinds[kind] = self.kinds[kind].saturating_add(count);
        if let Some(share) = self.share_of[kind] {
            self.shares[share] = self.shares[share].saturating_add(count);
        }
        self.total = self.total.saturating_add(count);
    }
}

/// One way of opening machines.
pub(super) struct Way {
    /// The rules by which the machines that compete are filled.
    pub(super) rules: &'static [Rule],
    /// Machines count as equally good if they differ by less than this power of two, in millionths.
    pub(super) coarse: u32,
    /// Of equally good ones the largest, not the one with the least left over.
    pub(super) large: bool,
}

/// Opens machines for what is left, until nothing is, or nothing more can be had.
///
/// A kind is judged again only when it would be the best by what it last held: with less left to choose from
/// it hardly holds more, and it certainly holds the same as long as all of that is left.
pub(super) fn all(scene: &Scene<'_>, bounds: &mut Bounds, packed: &mut Packed, way: &Way) {
    let mut scratch = Scratch::default();
    let mut loads: Vec<Load> = scene.kinds.iter().map(|_| Load::default()).collect();
    let mut queue: BinaryHeap<(Merit, Reverse<usize>)> = BinaryHeap::new();
    for (k, sort) in scene.kinds.iter().enumerate().filter(|(_, sort)| sort.open) {
        queue.push((Merit::at_most(scene, sort, way), Reverse(k)));
    }
    while let Some((_, Reverse(k))) = queue.pop() {
        if bounds.room(k) == 0 {
            continue;
        }
        let holds = &loads[k].holds;
        if holds.is_empty() || holds.iter().any(|&(g, count)| packed.left[g] < count) {
            let mut best: Option<(Merit, Load)> = None;
            for &rule in way.rules {
                let load = scene.load(k, &packed.left, rule, &mut scratch);
                let merit = Merit::of(scene, k, &load, way);
                if load.pods > 0 && best.as_ref().is_none_or(|(most, _)| merit > *most) {
                    best = Some((merit, load));
                }
            }
            if let Some((merit, load)) = best {
                loads[k] = load;
                queue.push((merit, Reverse(k)));
            }
            continue;
        }
        let load = &loads[k];
        let times = load.holds.iter().map(|&(g, count)| packed.left[g] / count).min().unwrap_or(1);
        let count = times.clamp(1, bounds.room(k));
        bounds.take(k, count);
        load.holds.iter().for_each(|&(g, held)| packed.left[g] -= held * count);
        packed.batches.push(Batch { kind: k, count, holds: load.holds.clone() });
        queue.push((Merit::of(scene, k, load, way), Reverse(k)));
    }
}

/// How good a choice a machine is; the greatest is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Merit(i64, i64, i64);

impl Merit {
    fn of(scene: &Scene<'_>, k: usize, load: &Load, way: &Way) -> Self {
        let sort = &scene.kinds[k];
        // Close ones count as equal: a worth is a rounded number.
        let ratio = ((i128::from(load.worth) << 8) / i128::from(sort.price)) as i64;
        let spared = (1 << 20) - ((i128::from(load.waste) << 20) / i128::from(sort.size().max(1))) as i64;
        match scene.ask.choice {
            Choice::Cost | Choice::Priority if way.large => Self(ratio >> way.coarse, load.worth, spared),
            Choice::Cost | Choice::Priority => Self(ratio >> way.coarse, spared, load.worth),
            Choice::LeastWaste => Self(spared, ratio, load.worth),
            Choice::MostPods => Self(load.pods as i64, ratio, spared),
        }
    }

    /// No load of the kind is better than this.
    fn at_most(scene: &Scene<'_>, sort: &Sort, way: &Way) -> Self {
        match scene.ask.choice {
            Choice::Cost | Choice::Priority => {
                let ratio = ((i128::from(sort.most) << 8) / i128::from(sort.price)) as i64;
                Self((ratio >> way.coarse) + 1, i64::MAX, i64::MAX)
            }
            Choice::LeastWaste | Choice::MostPods => Self(i64::MAX, i64::MAX, i64::MAX),
        }
    }
}
