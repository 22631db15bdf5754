//! What is known of a machine from the requests that are placed on it.

use super::fit::{Ask, Takes};
use super::ledger::Slot;
use super::score::Rule;
use super::world::{Spec, World};

/// What is known of a machine from the requests that were placed on it.
pub(super) struct Mark {
    pub(super) touched: u128,
    pub(super) gpu: bool,
    pub(super) gpu_named: bool,
    pub(super) label: i32,
}

impl Mark {
    pub(super) fn of(
        world: &World<'_>,
        rule: Rule,
        slot: &Slot,
        spec: &Spec,
        ask: &Ask,
        takes: &Takes,
    ) -> Self {
        let mut mark =
            Self { touched: slot.touched, gpu: slot.gpu, gpu_named: slot.gpu_named, label: slot.label };
        for &(item, _) in takes {
            let number = ask.items[item].request;
            let request = &world.requests.all[number];
            mark.touched |= request.mask;
            mark.gpu |= request.wants_gpu;
            mark.gpu_named |= request.names_gpu;
            if mark.label == 0 {
                mark.label = preference(world, rule, number, spec.class);
            }
        }
        mark
    }
}

/// How well a machine suits the selectors of a request: all of them for the first, one for the last. A selector
/// that says nothing is no preference, unless it stands behind one that does (Ray counts it always).
fn preference(world: &World<'_>, rule: Rule, request: usize, class: usize) -> i32 {
    let lists = world.requests.all[request].lists.iter().map(|&list| &world.requests.lists[list]);
    let counted = lists.filter(|list| rule == Rule::Raw || list.named);
    let length = counted.map(|list| list.selectors.len()).max().unwrap_or(0);
    match world.rank(request, class) {
        Some(rank) if length > 0 => {
            i32::try_from(length).unwrap_or(i32::MAX) - i32::try_from(rank).unwrap_or(0)
        }
        _ => 0,
    }
}
