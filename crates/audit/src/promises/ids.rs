//! `ids_are_new`

use crate::world::World;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// New records whose serial number is not above every number that was given before, or that the memory does not
/// count: then the next record would get the number again.
pub(crate) fn judge(world: &World<'_>) -> Vec<String> {
    let last = world.snapshot.memory.serial;
    let stale = world.births().filter(|born| born.serial() <= last);
    let mut found: Vec<String> = stale
        .map(|born| format!("{} has the serial number {}, the last was {last}", born.id(), born.serial()))
        .collect();
    let counted = world.plan.memory.as_ref().map_or(last, |memory| memory.serial);
    let newest = world.births().map(ostler_lifecycle::Instance::serial).max().unwrap_or(counted);
    if newest > counted || counted < last {
        found.push(format!("the memory counts up to {counted}, the newest record is {newest}"));
    }
    found
}
