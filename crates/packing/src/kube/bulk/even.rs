//! Machines of kinds that are alike are spread over them evenly, those that exist counted.

use super::fill::Scene;
use super::open::Bounds;
use super::{Batch, Packed};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Moves machines between kinds that may stand for each other.
pub(super) fn out(scene: &Scene<'_>, bounds: &mut Bounds, packed: &mut Packed) {
    if scene.kinds.iter().all(|kind| kind.alike.len() < 2) {
        return;
    }
    let mut here: Vec<u64> = scene.ask.kinds.iter().map(|kind| kind.here).collect();
    let mut batches: BTreeMap<(usize, Vec<(usize, u64)>), u64> = BTreeMap::new();
    let (mut mixed, fixed): (Vec<Batch>, Vec<Batch>) = core::mem::take(&mut packed.batches)
        .into_iter()
        .partition(|batch| scene.kinds[batch.kind].alike.len() > 1);
    for batch in &fixed {
        here[batch.kind] += batch.count;
    }
    mixed.sort_by(|a, b| (&a.holds, a.kind).cmp(&(&b.holds, b.kind)));
    mixed.iter().for_each(|batch| bounds.give_back(batch.kind, batch.count));
    for batch in mixed {
        let mut count = batch.count;
        while count > 0 {
            let alike = scene.kinds[batch.kind].alike.iter().copied();
            let room = alike.filter(|&k| bounds.room(k) > 0);
            let mut order: Vec<usize> = room.collect();
            order.sort_by_key(|&k| (here[k], k));
            // The kind it was opened of has room at the least: it was given back.
            let kind = order.first().copied().unwrap_or(batch.kind);
            // Up to the next fuller one at once, then one at a time.
            let gap = order.get(1).map_or(count, |&next| here[next] - here[kind]);
            let taken = gap.clamp(1, count).min(bounds.room(kind).max(1));
            bounds.take(kind, taken);
            here[kind] += taken;
            count -= taken;
            *batches.entry((kind, batch.holds.clone())).or_default() += taken;
        }
    }
    packed.batches = fixed;
    packed.batches.extend(batches.into_iter().map(|((kind, holds), count)| Batch { kind, count, holds }));
}
