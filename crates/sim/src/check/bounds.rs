//! `bounds`: no more machines than the maximums, counting all that exist.

use super::{Check, asked_for};
use crate::world::World;
use ostler_lifecycle::StateName;
use ostler_model::{CloudInstance, PoolId};

/// Machines whose own attempt was given up are left out: they came although Ostler had been told, or had to
/// believe, that they would not. And bounds that were lowered hold for machines that were decided on after that.
#[derive(Debug)]
pub(super) struct Bounds;

impl Check for Bounds {
    fn name(&self) -> &'static str {
        "bounds"
    }

    fn after(&mut self, world: &World) -> Result<(), String> {
        let new = world.machines().iter().filter(|machine| machine.created_at == Some(world.now));
        for machine in new.filter(|machine| is_expected(world, machine) && !is_older_wish(world, machine)) {
            let Some(pool) = world.pool(&machine.pool) else { continue };
            let count = counted(world, Some(&pool.id));
            if count > u64::from(pool.max) {
                return Err(format!("pool {} has {count} machines, at most {} may be", pool.id, pool.max));
            }
            let all = counted(world, None);
            if let Some(max) = world.policy.max_workers.filter(|max| all > u64::from(*max)) {
                return Err(format!("there are {all} machines in all, at most {max} may be"));
            }
        }
        Ok(())
    }
}

fn is_older_wish(world: &World, machine: &CloudInstance) -> bool {
    asked_for(world, machine).is_some_and(|record| record.since() <= world.reconfigured_at)
}

fn counted(world: &World, pool: Option<&PoolId>) -> u64 {
    let of_pool = |machine: &&CloudInstance| pool.is_none_or(|pool| machine.pool == *pool);
    world.machines().iter().filter(of_pool).filter(|machine| is_expected(world, machine)).count() as u64
}

fn is_expected(world: &World, machine: &CloudInstance) -> bool {
    let names = |i: &&ostler_lifecycle::Instance| {
        i.state().cloud() == Some(&machine.id) && i.state().name() != StateName::Terminated
    };
    asked_for(world, machine).is_some() || world.records.values().any(|i| names(&i))
}
