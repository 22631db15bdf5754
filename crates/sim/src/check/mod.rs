//! What must hold at every moment of every scenario, one file each, judged by the truth outside and by what the
//! store holds; none of it asks the engine.

mod bounds;
mod busy;
mod legal;
mod minimum;
mod owned;
mod owner;

use crate::simulation::Broken;
use crate::world::World;
use ostler_lifecycle::Instance;
use ostler_model::{CloudInstance, Millis};
use ostler_planner::Plan;
use std::fmt::Debug;

/// One promise.
pub(crate) trait Check: Debug {
    /// Its name.
    fn name(&self) -> &'static str;
    /// Looks at the world after something has happened.
    fn after(&mut self, world: &World) -> Result<(), String> {
        let _ = world;
        Ok(())
    }
    /// Looks at what is told to all.
    fn published(&mut self, plan: &Plan) -> Result<(), String> {
        let _ = plan;
        Ok(())
    }
}

/// All of them.
pub(crate) fn all() -> Vec<Box<dyn Check>> {
    vec![
        Box::new(bounds::Bounds),
        Box::new(owned::Owned::default()),
        Box::new(owner::Owner),
        Box::new(busy::Busy::default()),
        Box::new(minimum::Minimum::default()),
        Box::new(legal::Legal),
    ]
}

/// Once no plan changes anything any more: what the clouds run, what the cluster sees and what the store holds are
/// the same, and it is what the minimums say.
///
/// # Errors
/// The first thing that is not so.
pub(crate) fn settled(world: &World) -> Result<(), Broken> {
    let wrong = |what: String| Err(Broken { at: world.now, check: "settled", what });
    for machine in world.machines() {
        if record_of(world, machine).is_none() {
            return wrong(format!("machine {} of {} has no record", machine.id, machine.pool));
        }
    }
    let there = |i: &Instance| {
        i.state().cloud().is_some_and(|cloud| world.machines().iter().any(|machine| machine.id == *cloud))
    };
    for record in world.records.values().filter(|i| !i.state().name().is_final()) {
        if !there(record) {
            return wrong(format!("record {} ({}) has no machine", record.id(), record.state().name()));
        }
    }
    let workers = world.ray.workers(world.now);
    for pool in &world.pools {
        let count = workers.get(&pool.id).copied().unwrap_or(0);
        let (min, max) = (u64::from(pool.min.min(pool.max)), u64::from(pool.max));
        let room = world.policy.max_workers.is_none_or(|total| {
            world.pools.iter().map(|pool| u64::from(pool.min.min(pool.max))).sum::<u64>() <= u64::from(total)
        });
        if (count < min && room) || count > min.min(max) {
            return wrong(format!("pool {} has {count} workers, its minimum is {min}", pool.id));
        }
    }
    Ok(())
}

/// The record that a machine belongs to: the one that names it, or the one that asked for it just now.
pub(crate) fn record_of<'w>(world: &'w World, machine: &CloudInstance) -> Option<&'w Instance> {
    let named = |i: &&Instance| i.state().cloud() == Some(&machine.id);
    world.records.values().find(named).or_else(|| asked_for(world, machine))
}

/// The record whose present attempt asked for this machine and does not know of it yet.
pub(crate) fn asked_for<'w>(world: &'w World, machine: &CloudInstance) -> Option<&'w Instance> {
    let (id, attempt) = machine.launched_for.as_ref()?;
    let record = world.records.get(id)?;
    let waits = record.state().name() == ostler_lifecycle::StateName::Requested;
    (waits && record.attempt() == *attempt).then_some(record)
}

/// Is nothing ordered to go wrong just now, nor was a moment ago?
pub(crate) fn is_calm(world: &World, since: Millis) -> bool {
    world.now > world.troubled_until + since
}
