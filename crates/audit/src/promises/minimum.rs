//! `minimum_kept`

use crate::world::World;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use ostler_lifecycle::{Event, State, StateName};
use ostler_model::{EndCause, NodeId, PoolId};

/// Pools that idle removals take below their minimum.
pub(crate) fn judge(world: &World<'_>) -> Vec<String> {
    let thinned =
        world.moves().filter(|(_, event, from)| is_idle_removal(event, from)).map(|(step, ..)| &step.pool);
    let thinned: BTreeSet<&PoolId> = thinned.collect();
    // Bounds over all pools come before a minimum.
    let capped = world.snapshot.policy.max_workers.is_some_and(|max| total_min(world) > u64::from(max));
    if thinned.is_empty() || capped {
        return Vec::new();
    }
    let left = staying(world);
    let below = |pool: &&ostler_model::Pool| {
        let left = left.get(&pool.id).copied().unwrap_or(0);
        thinned.contains(&pool.id) && left < u64::from(pool.min.min(pool.max))
    };
    let words = |pool: &ostler_model::Pool| {
        let left = left.get(&pool.id).copied().unwrap_or(0);
        format!("pool {} would be left with {left}, its minimum is {}", pool.id, pool.min)
    };
    world.snapshot.pools.iter().filter(below).map(words).collect()
}

/// A machine that was decided on earlier and goes its way now takes nothing away any more.
fn is_idle_removal(event: &Event, from: &State) -> bool {
    let cause = match (event, from) {
        (Event::DrainRequested { cause, .. } | Event::Withdrawn { cause }, _) => cause,
        (
            Event::TerminationRequested { cause },
            State::Allocated { .. } | State::Installing { .. } | State::Running { .. },
        ) => cause,
        _ => return false,
    };
    matches!(cause, EndCause::Idle | EndCause::PendingIdle | EndCause::Underused | EndCause::Consolidated)
}

/// Machines that stay, by pool: records, and nodes that are up without a record, such as the head.
fn staying<'w>(world: &'w World<'_>) -> BTreeMap<&'w PoolId, u64> {
    use StateName::{Allocated, Installing, Queued, Requested, Running};
    let mut left = BTreeMap::new();
    let mut known: BTreeSet<&NodeId> = BTreeSet::new();
    for instance in world.after.values() {
        known.extend(instance.state().node());
        if matches!(instance.state().name(), Queued | Requested | Allocated | Installing | Running) {
            *left.entry(instance.pool()).or_insert(0) += 1;
        }
    }
    for node in world.nodes.values().filter(|node| node.status.is_up() && !known.contains(&node.id)) {
        let head_pool = world.snapshot.policy.head_pool.as_ref().filter(|_| node.head);
        if let Some(pool) = node.pool.as_ref().or(head_pool) {
            *left.entry(pool).or_insert(0) += 1;
        }
    }
    left
}

fn total_min(world: &World<'_>) -> u64 {
    world.snapshot.pools.iter().map(|pool| u64::from(pool.min)).sum()
}
