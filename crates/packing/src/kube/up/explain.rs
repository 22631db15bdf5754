//! Why a pod has no place: pool by pool.

use super::lot::Lot;
use crate::kube::ledger::NodeIx;
use crate::kube::problem::Unplaced;
use crate::kube::world::World;
use crate::problem::Unfit;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;
use ostler_model::kube::Daemon;
use ostler_model::{PoolId, Quantity};

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
            let pools = (0..world.problem.pools.len()).filter(|&pool| !world.problem.pools[pool].gone);
            let why = pools.map(|pool| why(world, lot.spec, pool)).collect();
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
    let daemons = match &fit {
        Err(Unfit::NoRoom { resource, .. }) => daemons(world, node, resource),
        _ => String::new(),
    };
    world.ledger.back_to(mark);
    let unfit = match fit {
        // An empty machine has enough, but not with its daemon pods.
        Err(Unfit::NoRoom { resource, asked, free }) => {
            let has = option.template.allocatable.get(&resource);
            Unfit::TakenByDaemons { daemons, asked, has, taken: has - free, resource }
        }
        Err(unfit) => unfit,
        Ok(()) => bound(world, pool),
    };
    (option.id.clone(), unfit)
}

/// Daemons that are named; the rest are counted.
const NAMED: usize = 3;

/// The DaemonSets that take of a resource on a node, those that take the most first.
fn daemons(world: &World<'_>, node: NodeIx, resource: &str) -> String {
    let cluster = world.problem.cluster;
    let takes = |daemon: &Daemon| {
        let runs = world.ledger.pods_on(node).any(|(spec, _)| spec == daemon.spec);
        let asks = cluster.specs.get(daemon.spec as usize).map(|spec| spec.requests.get(resource));
        asks.filter(|asks| runs && *asks > Quantity::ZERO)
    };
    let mut list: Vec<(Reverse<Quantity>, &str)> =
        cluster.daemons.iter().filter_map(|one| Some((Reverse(takes(one)?), &*one.name))).collect();
    list.sort_unstable();
    let names: Vec<&str> = list.iter().take(NAMED).map(|(_, name)| *name).collect();
    match list.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
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
