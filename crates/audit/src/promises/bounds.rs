//! `bounds_kept`

use crate::world::World;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use ostler_lifecycle::{Event, Instance, StateName};
use ostler_model::PoolId;

/// Machines of pools that launch, after the plan, against the bounds. Where a bound was lowered below what
/// exists, nothing may launch, and what exists is no finding.
pub(crate) fn judge(world: &World<'_>) -> Vec<String> {
    let launched: Vec<&PoolId> = world
        .events()
        .filter(|(_, event)| matches!(event, Event::LaunchRequested { .. }))
        .map(|(step, _)| &step.pool)
        .collect();
    if launched.is_empty() {
        return Vec::new();
    }
    let pools: BTreeSet<&PoolId> = launched.into_iter().collect();
    let mut found: Vec<String> = pools.into_iter().filter_map(|pool| pool_over(world, pool)).collect();
    let policy = &world.snapshot.policy;
    let all = World::machines(world.after.values(), None);
    if let Some(max) = policy.max_workers.filter(|&max| all > u64::from(max)) {
        found.push(format!("{all} workers in all, at most {max} may exist"));
    }
    let requested = |i: &&Instance| i.state().name() == StateName::Requested;
    let asked = world.after.values().filter(requested).count() as u64;
    let before = world.before.values().copied().filter(requested).count() as u64;
    if asked > u64::from(policy.max_concurrent_launches).max(before) {
        found.push(format!("{asked} launches under way, at most {} may be", policy.max_concurrent_launches));
    }
    found
}

fn pool_over(world: &World<'_>, id: &PoolId) -> Option<String> {
    let Some(pool) = world.pool(id) else { return Some(format!("pool {id} launches and is not configured")) };
    let machines = World::machines(world.after.values(), Some(id));
    (machines > u64::from(pool.max))
        .then(|| format!("pool {id} has {machines} machines, at most {}", pool.max))
}
