//! `minimum_kept`

use crate::world::World;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use ostler_lifecycle::{Event, Instance, StateName};
use ostler_model::{EndCause, PoolId};

/// Pools that idle removals take below their minimum.
pub(crate) fn judge(world: &World<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for pool in &world.snapshot.pools {
        let idle_removals = world.events().filter(|(step, event)| {
            let idle = |cause: &EndCause| matches!(cause, EndCause::Idle | EndCause::PendingIdle);
            step.pool == pool.id
                && match event {
                    Event::DrainRequested { cause, .. }
                    | Event::Withdrawn { cause }
                    | Event::TerminationRequested { cause } => idle(cause),
                    _ => false,
                }
        });
        let left = staying(world, &pool.id);
        // Bounds over all pools come before a minimum.
        let capped = world.snapshot.policy.max_workers.is_some_and(|max| total_min(world) > u64::from(max));
        if idle_removals.count() > 0 && left < u64::from(pool.min.min(pool.max)) && !capped {
            found.push(format!("pool {} would be left with {left}, its minimum is {}", pool.id, pool.min));
        }
    }
    found
}

fn staying(world: &World<'_>, pool: &PoolId) -> u64 {
    let stays = |i: &&Instance| {
        use StateName::{Allocated, Installing, Queued, Requested, Running};
        i.pool() == pool && matches!(i.state().name(), Queued | Requested | Allocated | Installing | Running)
    };
    world.after.values().filter(stays).count() as u64
}

fn total_min(world: &World<'_>) -> u64 {
    world.snapshot.pools.iter().map(|pool| u64::from(pool.min)).sum()
}
