//! `owner`: a machine belongs to one record, and an attempt makes one machine.

use super::Check;
use crate::world::World;
use std::collections::BTreeMap;

#[derive(Debug)]
pub(super) struct Owner;

impl Check for Owner {
    fn name(&self) -> &'static str {
        "owner"
    }

    fn after(&mut self, world: &World) -> Result<(), String> {
        let mut owners = BTreeMap::new();
        for record in world.records.values() {
            let Some(cloud) = record.state().cloud() else { continue };
            if let Some(other) = owners.insert(cloud, record.id()) {
                return Err(format!("machine {cloud} belongs to {other} and to {}", record.id()));
            }
        }
        let mut made = BTreeMap::new();
        for machine in world.machines() {
            let Some(attempt) = &machine.launched_for else { continue };
            if let Some(other) = made.insert(attempt, &machine.id) {
                let (id, number) = attempt;
                return Err(format!("attempt {number} of {id} made {other} and {}", machine.id));
            }
        }
        Ok(())
    }
}
