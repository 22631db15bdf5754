//! Each machine the cheapest that holds what is on it.

use super::Packed;
use super::fill::Scene;
use super::open::Bounds;
use alloc::vec::Vec;

/// Exchanges machines for cheaper ones that hold the same.
pub(super) fn each(scene: &Scene<'_>, bounds: &mut Bounds, packed: &mut Packed) {
    let mut order: Vec<usize> = (0..scene.kinds.len()).filter(|&k| scene.kinds[k].open).collect();
    order.sort_by_key(|&k| (scene.kinds[k].price, k));
    let mut at = 0;
    while at < packed.batches.len() {
        let batch = &packed.batches[at];
        if !scene.kinds[batch.kind].open {
            // Of a better tier: it was chosen whatever it costs.
            at += 1;
            continue;
        }
        let sum = sum(scene, &batch.holds);
        let holds = |k: usize| {
            sum.iter().zip(&scene.kinds[k].fills).all(|(sum, has)| sum <= has)
                && batch.holds.iter().all(|(g, _)| scene.kinds[k].takers.binary_search(g).is_ok())
        };
        let dear = scene.kinds[batch.kind].price;
        let cheaper = order.iter().copied().take_while(|&k| scene.kinds[k].price < dear);
        let found = cheaper.filter(|&k| bounds.room(k) > 0).find(|&k| holds(k));
        let Some(kind) = found else {
            at += 1;
            continue;
        };
        let count = batch.count.min(bounds.room(kind));
        let mut moved = batch.clone();
        bounds.give_back(moved.kind, count);
        bounds.take(kind, count);
        moved.kind = kind;
        if count == batch.count {
            packed.batches[at] = moved;
            at += 1;
        } else {
            // The cheaper ones have run out; the rest is looked at again.
            packed.batches[at].count -= count;
            moved.count = count;
            packed.batches.push(moved);
        }
    }
}

/// What a load asks for together.
fn sum(scene: &Scene<'_>, holds: &[(usize, u64)]) -> Vec<i64> {
    let mut sum = alloc::vec![0_i64; scene.width];
    for &(g, count) in holds {
        sum.iter_mut().zip(scene.ask_of(g)).for_each(|(sum, ask)| *sum += ask * count as i64);
    }
    sum
}
