//! `owned`: every machine has a record, or gets one soon after it exists.

use super::{Check, record_of};
use crate::world::World;
use ostler_model::{CloudId, Millis, Timestamp};
use std::collections::BTreeMap;

/// A machine that nobody owns costs money for ever. Longer than any fault of a scenario lasts, and than a machine
/// takes to be listed.
const WITHIN: Millis = Millis::secs(60);

#[derive(Debug, Default)]
pub(super) struct Owned {
    unowned_since: BTreeMap<CloudId, Timestamp>,
}

impl Check for Owned {
    fn name(&self) -> &'static str {
        "owned"
    }

    fn after(&mut self, world: &World) -> Result<(), String> {
        let unowned = world.live_machines().filter(|machine| record_of(world, machine).is_none());
        let known = std::mem::take(&mut self.unowned_since);
        for machine in unowned {
            let since = known.get(&machine.id).copied().unwrap_or(world.now).max(world.troubled_until);
            if world.now.since(since) > WITHIN {
                return Err(format!("machine {} of {} has no record for {WITHIN}", machine.id, machine.pool));
            }
            self.unowned_since.insert(machine.id.clone(), since);
        }
        Ok(())
    }
}
