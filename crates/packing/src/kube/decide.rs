//! The whole decision: growth, then what can be spared.

use super::down;
use super::problem::{Decision, Launch, Problem};
use super::up;
use super::world::World;
use alloc::collections::BTreeMap;

/// Which nodes should exist for these pods. The same for any order of the lists, but for the order of the
/// pools.
pub fn decide(problem: &Problem<'_>) -> Decision {
    let shapes = up::shapes(problem);
    let waiting = up::waiting(problem);
    let mut world = World::of(problem, &shapes);
    let grown = up::grow(&mut world, &waiting);
    let mut launches: BTreeMap<_, u64> = BTreeMap::new();
    for opened in &world.opened {
        *launches.entry((opened.pool, opened.cause)).or_default() += 1;
    }
    let mut decision = Decision {
        launches: launches.into_iter().map(|((pool, cause), count)| Launch { pool, count, cause }).collect(),
        stays: grown.stays.clone(),
        placed: core::mem::take(&mut world.placed),
        unplaced: grown.unplaced.clone(),
        headroom_short: grown.headroom_short.clone(),
        ..Decision::default()
    };
    decision.placed.sort_unstable();
    down::shrink(&mut world, &waiting, &grown, &mut decision);
    decision
}
