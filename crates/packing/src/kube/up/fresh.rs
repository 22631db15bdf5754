//! New machines: minimums, and those for what has no place on what is there.

use super::lot::Lot;
use super::probe::Probes;
use super::{scatter, there};
use crate::kube::bulk::{self, Ask, Choice, Kind};
use crate::kube::world::World;
use alloc::vec::Vec;
use ostler_model::LaunchCause;

/// Opens what the pools lack of their minimums, as far as the bounds allow.
pub(super) fn minimums(world: &mut World<'_>) {
    for (pool, option) in world.problem.pools.iter().enumerate() {
        if option.closed {
            continue;
        }
        let lacks = u64::from(option.min).saturating_sub(world.size_of(pool));
        for _ in 0..lacks.min(world.room.of_pool(pool)) {
            world.open(pool, LaunchCause::Min);
        }
    }
}

/// Opens machines for these lots; each keeps what found no place.
pub(super) fn open(world: &mut World<'_>, probes: &mut Probes, lots: &mut [Lot], cause: LaunchCause) {
    let order = there::hardest_first(world, lots);
    for &n in &order {
        scatter::open(world, probes, &mut lots[n], cause);
    }
    crowd(world, probes, lots, cause);
}

/// Plain lots: first onto what is coming or was just opened, then packed into new machines together.
fn crowd(world: &mut World<'_>, probes: &mut Probes, lots: &mut [Lot], cause: LaunchCause) {
    let to_be = there::to_be(world);
    there::crowd(world, lots, &to_be);
    let mut crowds = there::crowds(world, lots);
    if crowds.is_empty() {
        return;
    }
    for crowd in &mut crowds {
        let lot = &lots[crowd.lots[0]];
        let suits = probes.suits(world, lot.spec).iter();
        crowd.group.kinds = suits.filter(|&pool| world.is_of(Some(pool), lot.only)).collect();
    }
    let groups: Vec<_> = crowds.iter().map(|crowd| crowd.group.clone()).collect();
    let kinds = kinds(world, probes);
    let ask = Ask {
        groups: &groups,
        kinds: &kinds,
        shares: &world.room.groups,
        total: world.room.total,
        choice: Choice::from(world.problem.policy.expander),
    };
    for batch in bulk::pack(&ask).batches {
        for _ in 0..batch.count {
            let node = world.open(batch.kind, cause);
            for &(group, count) in &batch.holds {
                there::seat(world, &crowds[group], lots, node, count);
            }
        }
    }
}

/// The pools as kinds of machines, in their order.
pub(in crate::kube) fn kinds(world: &World<'_>, probes: &Probes) -> Vec<Kind> {
    let kind = |(n, option): (usize, &crate::kube::problem::PoolOption)| Kind {
        has: probes.free[n].clone(),
        price: option.price.0,
        room: if option.closed { 0 } else { world.room.of_pool_alone(n) },
        share: world.room.group(n),
        priority: option.priority,
        doubtful: option.doubtful,
        here: world.size_of(n),
    };
    world.problem.pools.iter().enumerate().map(kind).collect()
}
