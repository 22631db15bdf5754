//! `minimum`: a pool is not below its minimum for long while nothing is in the way.

use super::{Check, is_calm};
use crate::world::World;
use ostler_model::{Millis, PoolId, Timestamp};
use std::collections::BTreeMap;

/// Longer than a machine takes to be found missing, asked for again (over the longest back-off of the scenarios),
/// and to join.
const WITHIN: Millis = Millis::secs(150);

#[derive(Debug, Default)]
pub(super) struct Minimum {
    below_since: BTreeMap<PoolId, Timestamp>,
}

impl Check for Minimum {
    fn name(&self) -> &'static str {
        "minimum"
    }

    fn after(&mut self, world: &World) -> Result<(), String> {
        let total_min: u64 = world.pools.iter().map(|pool| u64::from(pool.min)).sum();
        let possible = world.policy.max_workers.is_none_or(|max| total_min <= u64::from(max));
        for pool in world.pools.iter().filter(|_| possible) {
            let count = world.live_machines().filter(|machine| machine.pool == pool.id).count();
            let below = (count as u64) < u64::from(pool.min.min(pool.max));
            if !below || !is_calm(world, Millis(0)) {
                self.below_since.remove(&pool.id);
                continue;
            }
            let since = *self.below_since.entry(pool.id.clone()).or_insert(world.now);
            if world.now.since(since) > WITHIN {
                return Err(format!("pool {} has {count} machines, its minimum is {}", pool.id, pool.min));
            }
        }
        Ok(())
    }
}
