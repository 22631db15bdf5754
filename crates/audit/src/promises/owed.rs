//! `launches_owed`

use crate::world::World;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use ostler_model::LaunchCause;

/// New records for demand that was not seen, and more of them for a minimum than the minimum.
pub(crate) fn judge(world: &World<'_>) -> Vec<String> {
    let Some(state) = world.state else { return Vec::new() };
    let demand = &state.demand;
    let mut found = Vec::new();
    for born in world.births() {
        let owed = match born.launched_for() {
            None | Some(LaunchCause::Min) => true,
            Some(LaunchCause::Demand) => {
                let waits =
                    |cluster: &ostler_model::kube::Cluster| cluster.pods.iter().any(|p| p.node.is_none());
                demand.tasks.iter().any(|task| task.count > 0) || state.cluster.as_deref().is_some_and(waits)
            }
            Some(LaunchCause::Gang) => !demand.gangs.is_empty(),
            Some(LaunchCause::Floor) => !demand.floors.is_empty(),
            Some(LaunchCause::Headroom | LaunchCause::Replacement) => world.snapshot.policy.kube.is_some(),
            Some(LaunchCause::Target) => world.snapshot.memory.target.is_some(),
        };
        if !owed {
            found.push(format!("{} is for demand that nobody asked", born.id()));
        }
    }
    for pool in &world.snapshot.pools {
        let for_min = |i: &&ostler_lifecycle::Instance| {
            i.pool() == &pool.id && i.launched_for() == Some(LaunchCause::Min)
        };
        let count = world.births().filter(for_min).count();
        if count as u64 > u64::from(pool.min) {
            found.push(format!("{count} machines of pool {} for a minimum of {}", pool.id, pool.min));
        }
    }
    found
}
