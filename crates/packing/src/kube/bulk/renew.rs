//! Several ways of opening machines, and the worst of what came out done again; the cheapest is kept.

use super::fill::{Rule, Scene, Scratch};
use super::open::{self, Bounds, Way};
use super::{Batch, Choice, Packed, exact, trim};
use alloc::vec::Vec;
use core::cmp::Ordering;

/// Ways of opening: which rules fill the machines that compete.
const WAYS: [Way; 5] = [
    Way { rules: &[Rule::Level], coarse: 14, large: true },
    Way { rules: &[Rule::Dearest, Rule::Level], coarse: 14, large: true },
    Way { rules: &[Rule::Dearest, Rule::Level], coarse: 0, large: false },
    Way { rules: &[Rule::Alike], coarse: 0, large: false },
    Way { rules: &[Rule::Alike, Rule::Dearest], coarse: 12, large: true },
];
/// For when not all can have a place.
const MANY: Way = Way { rules: &[Rule::Least], coarse: 40, large: false };
/// Of a hundred machines, how many are done again in each round.
const PARTS: [u64; 6] = [50, 30, 20, 10, 5, 2];

/// Adds machines to `packed` for what it has left.
pub(super) fn best(scene: &Scene<'_>, bounds: &mut Bounds, packed: Packed) -> Packed {
    let mut found: Option<(Packed, Bounds, &Way)> = None;
    for way in &WAYS {
        let (mut next, mut room) = (packed.clone(), bounds.clone());
        open::all(scene, &mut room, &mut next, way);
        if !matches!(scene.ask.choice, Choice::Cost | Choice::Priority) {
            // The other expanders say how each machine is chosen: the first way is the answer.
            *bounds = room;
            return next;
        }
        trim::each(scene, &mut room, &mut next);
        if found.as_ref().is_none_or(|(best, ..)| cheaper(scene, &next, best)) {
            found = Some((next, room, way));
        }
    }
    if found.as_ref().is_some_and(|(best, ..)| best.unplaced() > packed_away(scene, &packed)) {
        // Not all can have a place: as many as can be, the small ones first.
        let (mut next, mut room) = (packed.clone(), bounds.clone());
        open::all(scene, &mut room, &mut next, &MANY);
        trim::each(scene, &mut room, &mut next);
        if found.as_ref().is_none_or(|(best, ..)| cheaper(scene, &next, best)) {
            found = Some((next, room, &MANY));
        }
    }
    if let Some(next) = exact::best(scene, bounds, &packed)
        && found.as_ref().is_none_or(|(best, ..)| cheaper(scene, &next.0, best))
    {
        *bounds = next.1;
        return next.0;
    }
    let Some((mut best, mut room, way)) = found else { return packed };
    for part in PARTS {
        let (mut next, mut free) = (best.clone(), room.clone());
        again(scene, &mut free, &mut next, part, way);
        if cheaper(scene, &next, &best) {
            (best, room) = (next, free);
        }
    }
    *bounds = room;
    best
}

/// Fewer left over, then cheaper; of what costs the same to the thousandth the fewer machines, of so many the
/// cheaper.
pub(super) fn cheaper(scene: &Scene<'_>, a: &Packed, b: &Packed) -> bool {
    let (one, other) = (a.price(scene.ask.kinds), b.price(scene.ask.kinds));
    let order = if one.abs_diff(other) * 1000 <= one.max(other) {
        (a.machines(), one).cmp(&(b.machines(), other))
    } else {
        one.cmp(&other)
    };
    a.unplaced().cmp(&b.unplaced()).then(order) == Ordering::Less
}

/// How many requests have no machine in this turn.
fn packed_away(scene: &Scene<'_>, packed: &Packed) -> u64 {
    let served = |g: usize| scene.kinds.iter().any(|kind| kind.open && kind.takers.binary_search(&g).is_ok());
    packed.left.iter().enumerate().filter(|(g, _)| !served(*g)).map(|(_, left)| left).sum()
}

/// Gives up the worst machines, fills the room of the others, and opens new ones for the rest.
fn again(scene: &Scene<'_>, bounds: &mut Bounds, packed: &mut Packed, percent: u64, way: &Way) {
    let give_up = (packed.machines() * percent).div_ceil(100);
    packed.batches.sort_by(|a, b| badness(scene, a, b));
    let mut count = 0;
    let mut kept = Vec::new();
    for mut batch in core::mem::take(&mut packed.batches) {
        let gone = batch.count.min(give_up - count);
        if scene.kinds[batch.kind].open && gone > 0 {
            count += gone;
            bounds.give_back(batch.kind, gone);
            batch.holds.iter().for_each(|&(g, held)| packed.left[g] += held * gone);
            batch.count -= gone;
        }
        if batch.count > 0 {
            kept.push(batch);
        }
    }
    packed.batches = kept;
    top_up(scene, packed);
    open::all(scene, bounds, packed, way);
    trim::each(scene, bounds, packed);
}

/// The least worth for the price first.
fn badness(scene: &Scene<'_>, a: &Batch, b: &Batch) -> Ordering {
    let worth = |batch: &Batch| -> i128 {
        batch.holds.iter().map(|&(g, count)| i128::from(scene.worth[g]) * i128::from(count)).sum()
    };
    let price = |batch: &Batch| i128::from(scene.kinds[batch.kind].price);
    (worth(a) * price(b))
        .cmp(&(worth(b) * price(a)))
        .then_with(|| (a.kind, &a.holds).cmp(&(b.kind, &b.holds)))
}

/// Puts what is left into the room of machines that are there anyway.
fn top_up(scene: &Scene<'_>, packed: &mut Packed) {
    let mut scratch = Scratch::default();
    let mut at = 0;
    while at < packed.batches.len() {
        let batch = &packed.batches[at];
        let sort = &scene.kinds[batch.kind];
        let free = scene.free_after(&sort.fills, &batch.holds);
        let load = scene.top_up(&free, &sort.takers, &packed.left, Rule::Alike, &mut scratch, batch.kind);
        if load.pods == 0 {
            at += 1;
            continue;
        }
        let times = load.holds.iter().map(|&(g, count)| packed.left[g] / count).min().unwrap_or(1);
        let count = times.clamp(1, batch.count);
        load.holds.iter().for_each(|&(g, held)| packed.left[g] -= held * count);
        let mut fuller = batch.clone();
        fuller.count = count;
        for &(g, held) in &load.holds {
            match fuller.holds.iter_mut().find(|(other, _)| *other == g) {
                Some((_, count)) => *count += held,
                None => fuller.holds.push((g, held)),
            }
        }
        fuller.holds.sort_unstable();
        if count == batch.count {
            packed.batches[at] = fuller;
            at += 1;
        } else {
            packed.batches[at].count -= count;
            packed.batches.push(fuller);
        }
    }
}
