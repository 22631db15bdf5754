//! `kept_workers_stay`

use crate::world::World;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use ostler_lifecycle::{Event, Instance};
use ostler_model::InstanceId;

/// Workers that the one who asked last wants to keep, and that the plan would end. That a machine is gone is a
/// fact and no decision.
pub(crate) fn judge(world: &World<'_>) -> Vec<String> {
    let Some(target) = &world.snapshot.memory.target else { return Vec::new() };
    let ends = world.events().filter(|(_, event)| {
        matches!(
            event,
            Event::DrainRequested { .. }
                | Event::Withdrawn { .. }
                | Event::TerminationRequested { .. }
                | Event::NodeGone { .. }
                | Event::AllocationTimedOut
        )
    });
    ends.filter_map(|(step, event)| {
        let record = world.before.get(&step.instance)?;
        let name = name(world, record);
        target.wish.keep.contains(name).then(|| format!("{name} must stay, and would go by {event}"))
    })
    .collect()
}

/// What the program on the machine is called: after the record that asked for the machine.
fn name<'w>(world: &'w World<'_>, record: &'w Instance) -> &'w InstanceId {
    let listed = world.snapshot.listings.values().filter_map(|look| look.result.as_ref().ok()).flatten();
    let cloud = record.state().cloud();
    let machine = listed
        .filter(|machine| Some(&machine.id) == cloud && machine.pool == *record.pool())
        .find_map(|machine| machine.launched_for.as_ref());
    machine.map_or(record.id(), |(name, _)| name)
}
