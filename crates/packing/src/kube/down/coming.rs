//! Machines on their way that nothing needs.

use super::Going;
use crate::kube::keep;
use crate::kube::problem::{Decision, Keep, Removal, RemovalCause, Stage};
use crate::kube::world::World;
use alloc::collections::BTreeMap;

/// Withdraws them once nothing has needed them for long enough.
pub(super) fn unneeded<'a>(
    world: &World<'a>,
    decision: &Decision,
    kept: &mut BTreeMap<usize, Keep>,
    go: &mut Going<'a>,
) {
    for &machine in &world.order {
        let record = world.machine(machine);
        let Some(pool) = record.pool.filter(|_| record.stage == Stage::Coming) else { continue };
        let Some(node) = world.nodes[machine] else { continue };
        let needed = world.ledger.pods_on(node).count() > world.base[machine];
        if record.replaces || record.keep.is_some() || needed || !decision.launches.is_empty() {
            continue;
        }
        if let Some(keep) = go.sizes.keep_coming(pool) {
            kept.insert(machine, keep);
            continue;
        }
        go.unneeded.push(machine);
        if go.holds.gate.is_some() || !keep::long_enough(world, machine) {
            continue;
        }
        go.sizes.take_coming(pool);
        go.removals.push(Removal { machine, cause: RemovalCause::Unneeded });
    }
}
