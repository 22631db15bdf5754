//! Which new machines hold a crowd of plain requests at the lowest total price.
//!
//! Equal requests are one [`Group`] with a count, equal machines one [`Batch`] with a count, so that the work
//! grows with what differs. What one of a group is worth is told by the prices ([`worth`]): the cheapest mix
//! of machines for a demand that could be cut at will gives each resource a price, and a machine is good if
//! what it holds is worth nearly what it costs. The best filled machine is opened again and again ([`open`]);
//! what came out badly is thrown away and done again with the rest in place ([`renew`]); a handful is tried
//! every way ([`exact`]); each machine is then the cheapest that holds what is on it ([`trim`]), and ties are
//! spread over pools that are alike ([`even`]).
//!
//! A planner with a proven bound of the price would be one more [`Choice`] beside the expanders: it gets the
//! same [`Ask`] and answers with the same [`Packed`].

mod bits;
mod even;
mod exact;
mod fill;
mod open;
mod renew;
mod spare;
mod trim;
mod worth;

pub(crate) use bits::Bits;
pub(crate) use fill::are_alike;
pub(crate) use spare::{Spare, spare};
pub(crate) use worth::Prices;

use alloc::vec::Vec;
use ostler_model::kube::Expander;

/// Equal requests.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// What one asks for, column by column; not below zero.
    pub(crate) ask: Vec<i64>,
    /// How many.
    pub(crate) count: u64,
    /// The kinds of machines that would take one if they were empty and large enough.
    pub(crate) kinds: Bits,
}

/// Machines that can be had.
#[derive(Debug, Clone)]
pub(crate) struct Kind {
    /// What is free on a new one.
    pub(crate) has: Vec<i64>,
    /// What one costs.
    pub(crate) price: u64,
    /// How many there may be beside those that exist.
    pub(crate) room: u64,
    /// The bound that it shares with others, by place in [`Ask::shares`].
    pub(crate) share: Option<usize>,
    /// The higher, the sooner (expander `priority` alone).
    pub(crate) priority: i32,
    /// Only if no other would do.
    pub(crate) doubtful: bool,
    /// How many exist, for the balance of those that are alike.
    pub(crate) here: u64,
}

/// The question.
#[derive(Debug)]
pub(crate) struct Ask<'a> {
    pub(crate) groups: &'a [Group],
    pub(crate) kinds: &'a [Kind],
    /// How many more there may be of each set of kinds.
    pub(crate) shares: &'a [u64],
    /// How many more there may be at all.
    pub(crate) total: u64,
    pub(crate) choice: Choice,
}

/// How the next machine is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The cheapest for what it holds.
    Cost,
    /// The least left over.
    LeastWaste,
    /// The most requests on one.
    MostPods,
    /// The highest priority that takes anything, then as `Cost`.
    Priority,
}

/// `count` machines that hold the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) kind: usize,
    pub(crate) count: u64,
    /// Groups and how many of each, on one machine; in the order of the groups.
    pub(crate) holds: Vec<(usize, u64)>,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Packed {
    pub(crate) batches: Vec<Batch>,
    /// How many of each group found no place.
    pub(crate) left: Vec<u64>,
}

impl From<Expander> for Choice {
    fn from(expander: Expander) -> Self {
        match expander {
            Expander::Cost => Self::Cost,
            Expander::LeastWaste => Self::LeastWaste,
            Expander::MostPods => Self::MostPods,
            Expander::Priority => Self::Priority,
        }
    }
}

/// Machines for these requests: as many of them as can be placed, cheaply.
pub(crate) fn pack(ask: &Ask<'_>) -> Packed {
    let mut packed =
        Packed { batches: Vec::new(), left: ask.groups.iter().map(|group| group.count).collect() };
    if packed.left.iter().all(|&left| left == 0) || ask.kinds.is_empty() {
        return packed;
    }
    let mut scene = fill::Scene::of(ask);
    let mut tiers: Vec<(bool, i32)> = ask.kinds.iter().map(|kind| tier(ask, kind)).collect();
    tiers.sort_unstable();
    tiers.dedup();
    let mut bounds = open::Bounds::of(ask);
    for turn in tiers {
        // What a better tier could not take goes to the next one, and only there.
        scene.only(ask, |kind| tier(ask, kind) == turn);
        packed = renew::best(&scene, &mut bounds, packed);
        if packed.left.iter().all(|&left| left == 0) {
            break;
        }
    }
    even::out(&scene, &mut bounds, &mut packed);
    packed.batches.sort_by(|a, b| (a.kind, &a.holds).cmp(&(b.kind, &b.holds)));
    packed
}

/// Kinds of a lower tier come first.
fn tier(ask: &Ask<'_>, kind: &Kind) -> (bool, i32) {
    let priority = if ask.choice == Choice::Priority { kind.priority.saturating_neg() } else { 0 };
    (kind.doubtful, priority)
}

impl Packed {
    /// What all of it costs.
    pub(crate) fn price(&self, kinds: &[Kind]) -> u128 {
        self.batches.iter().map(|batch| u128::from(kinds[batch.kind].price) * u128::from(batch.count)).sum()
    }

    /// How many machines.
    pub(crate) fn machines(&self) -> u64 {
        self.batches.iter().map(|batch| batch.count).sum()
    }

    /// How many requests found no place.
    pub(crate) fn unplaced(&self) -> u64 {
        self.left.iter().sum()
    }
}
