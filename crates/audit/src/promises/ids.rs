//! `ids_are_new`

use crate::world::World;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// New records whose serial number is not above every number that was given before.
pub(crate) fn judge(world: &World<'_>) -> Vec<String> {
    let last = world.snapshot.memory.serial;
    let stale = world.births().filter(|born| born.serial() <= last);
    stale
        .map(|born| format!("{} has the serial number {}, the last was {last}", born.id(), born.serial()))
        .collect()
}
