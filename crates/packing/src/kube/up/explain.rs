//! Why a pod has no place: pool by pool.

use super::lot::Lot;
use crate::kube::problem::Unplaced;
use crate::kube::world::World;
use crate::problem::Unfit;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use ostler_model::PoolId;

/// Whether specs may share an answer: plain ones that ask the same.
type Key = (Vec<i64>, u32, Option<u32>);

/// One entry for each lot with pods that wait; leaving and lower pods that found none are no entry of their
/// own.
pub(super) fn all(world: &mut World<'_>, lots: &[Lot]) -> Vec<Unplaced> {
    let mut known: BTreeMap<Key, Vec<(PoolId, Unfit)>> = BTreeMap::new();
    let mut unplaced = Vec::new();
    for lot in lots.iter().filter(|lot| lot.waiting() > 0) {
        let own = (!world.is_plain(lot.spec)).then_some(lot.spec);
        let key = (world.ledger.request(lot.spec).to_vec(), world.ledger.nature(lot.spec), own);
        if !known.contains_key(&key) {
            let why = (0..world.problem.pools.len()).map(|pool| why(world, lot.spec, pool)).collect();
            known.insert(key.clone(), why);
        }
        let why = known.get(&key).cloned().unwrap_or_default();
        unplaced.push(Unplaced { spec: lot.spec, count: lot.waiting(), why });
    }
    unplaced
        .sort_by_key(|one| (core::cmp::Reverse(priority(world, one.spec)), world.rank[one.spec as usize]));
    unplaced
}

fn priority(world: &World<'_>, spec: u32) -> i32 {
    world.ledger.spec(spec).map_or(0, |spec| spec.priority)
}

/// What stands against one more machine of this pool: the machine itself, then whether it can be had.
fn why(world: &mut World<'_>, spec: u32, pool: usize) -> (PoolId, Unfit) {
    let problem = world.problem;
    let option = &problem.pools[pool];
    let mark = world.ledger.mark();
    let node = world.ledger.add_node(&option.template);
    let fit = world.ledger.fit(spec, node);
    world.ledger.back_to(mark);
    let unfit = match fit {
        // An empty machine with its daemon pods has too little: to the pod it is too small.
        Err(Unfit::NoRoom { resource, asked, free }) => Unfit::TooLarge { resource, asked, has: free },
        Err(unfit) => unfit,
        Ok(()) => bound(world, pool),
    };
    (option.id.clone(), unfit)
}

/// Which bound keeps a machine away that would take the pod.
fn bound(world: &World<'_>, pool: usize) -> Unfit {
    let option = &world.problem.pools[pool];
    let group_full = world.room.group(pool).is_some_and(|group| world.room.groups[group] == 0);
    match world.problem.max_machines {
        _ if option.closed => Unfit::BackingOff,
        _ if world.room.of_pool_alone(pool) == 0 => Unfit::PoolAtMax { max: option.max },
        _ if group_full => Unfit::GroupAtMax { max: option.group_max.unwrap_or(0) },
        Some(max) if world.room.total == 0 => Unfit::TotalAtMax { max },
        _ => Unfit::Strategy,
    }
}
