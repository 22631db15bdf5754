//! In which order requests are placed: the hard ones first.

use super::fit::Item;
use super::world::World;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::{Ordering, Reverse};

/// By what requests are sorted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Ray's, with amounts added up, and equals as they came.
    Raw,
    /// The same with GPUs before all else and the largest share in place of sums.
    Documented,
    /// The largest share before all but labels.
    Size,
}

/// Equal requests added up and put in order.
pub(super) fn sorted(world: &World<'_>, wanted: impl Iterator<Item = (usize, u64)>, by: Order) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut at: BTreeMap<usize, usize> = BTreeMap::new();
    for (request, count) in wanted.filter(|(_, count)| *count > 0) {
        let position = *at.entry(request).or_insert(items.len());
        match items.get_mut(position) {
            Some(item) => item.left = item.left.saturating_add(count),
            None => items.push(Item { request, left: count }),
        }
    }
    items.sort_by(|a, b| match by {
        Order::Raw => ray(world, a.request, b.request),
        Order::Documented => documented(world, a.request, b.request),
        Order::Size => size(world, a.request, b.request),
    });
    items
}

/// Terms of the first selector, number of resources, sum of amounts, amounts by name; all descending.
fn ray(world: &World<'_>, a: usize, b: usize) -> Ordering {
    let key = |n: usize| {
        let r = &world.requests.all[n];
        (r.terms, r.names, r.sum, &r.written)
    };
    key(b).cmp(&key(a))
}

/// The same with GPUs before all else and sizes in place of sums, so that bytes and CPUs are never added up.
fn documented(world: &World<'_>, a: usize, b: usize) -> Ordering {
    let key = |n: usize| {
        let r = &world.requests.all[n];
        (r.terms, r.wants_gpu, r.need.len(), r.size, &r.need, Reverse(selectors(world, n)))
    };
    key(b).cmp(&key(a))
}

fn size(world: &World<'_>, a: usize, b: usize) -> Ordering {
    let key = |n: usize| (world.requests.all[n].terms, world.requests.all[n].size);
    key(b).cmp(&key(a)).then_with(|| documented(world, a, b))
}

fn selectors<'w>(world: &'w World<'_>, request: usize) -> Vec<&'w [ostler_model::Selector]> {
    let lists = &world.requests.all[request].lists;
    lists.iter().map(|&list| &*world.requests.lists[list].selectors).collect()
}
