//! Machines that nothing needs: idle for longer than the timeout, or on their way for nothing.

use super::bounds::is_free_to_go;
use super::plan::{Need, Plan};
use super::victims::is_busy;
use super::world::World;
use crate::problem::{Keep, Phase, Removal, RemovalCause};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use ostler_model::{Millis, PoolId};

/// What goes beyond the bounds, and why each of the others stays.
pub(super) struct Idle {
    pub(super) removals: Vec<Removal>,
    pub(super) kept: Vec<(usize, Keep)>,
    pub(super) pending_unneeded: Vec<PoolId>,
}

pub(super) fn idle(world: &World<'_>, plan: &Plan) -> Idle {
    let mut why: Vec<Option<Keep>> = (0..world.hosts.len()).map(|n| Some(reason(world, plan, n))).collect();
    let gone = plan.standing.removals.iter().chain(&world.released);
    gone.for_each(|removal| why[removal.machine] = None);
    let mut pools: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for &n in world.canonical.iter().filter(|&&n| plan.standing.stays[n]) {
        pools.entry(world.pool_of[n]).or_default().push(n);
    }
    let launches = plan.by_pool(world.fresh.len());
    let (mut removals, mut pending_unneeded) = (Vec::new(), Vec::new());
    for (pool, members) in &pools {
        let new = pool.map_or(0, |p| launches[p]);
        let min = pool.map_or(0, |p| u64::from(world.problem.pools[p].pool.min));
        let mut spare = (members.len() as u64 + new).saturating_sub(min);
        release(world, plan, *pool, members, min, &mut spare, &mut why, &mut removals);
        if let Some(p) = *pool {
            let waits = |&&n: &&usize| is_unneeded_coming(world, plan, n) && why[n] == Some(Keep::Coming);
            if members.iter().any(|n| waits(&n)) {
                pending_unneeded.push(world.problem.pools[p].pool.id.clone());
            }
        }
    }
    let kept = why.into_iter().enumerate().filter_map(|(n, keep)| Some((n, keep?))).collect();
    Idle { removals, kept, pending_unneeded }
}

/// Lets go of a pool's machines that nothing needs, down to its minimum.
#[allow(clippy::too_many_arguments, reason = "one pool's share of the state above")]
fn release(
    world: &World<'_>,
    plan: &Plan,
    pool: Option<usize>,
    members: &[usize],
    min: u64,
    spare: &mut u64,
    why: &mut [Option<Keep>],
    removals: &mut Vec<Removal>,
) {
    let go = |n: usize, cause, why: &mut [Option<Keep>], removals: &mut Vec<Removal>| {
        why[n] = None;
        removals.push(Removal { machine: n, cause });
    };
    let coming: Vec<usize> =
        members.iter().copied().filter(|&n| is_unneeded_coming(world, plan, n)).collect();
    let waited = pool.and_then(|p| world.problem.pools[p].pending_unneeded);
    if waited.is_some_and(|waited| world.problem.pending_idle_timeout.is_some_and(|limit| waited > limit)) {
        // Asked for and not yet there cannot be called back; it goes once it has come.
        for &n in coming.iter().filter(|&&n| world.problem.machines[n].phase != Phase::Requested) {
            if *spare > 0 {
                *spare -= 1;
                go(n, RemovalCause::PendingIdle, why, removals);
            }
        }
    }
    let mut expired: Vec<usize> = members.iter().copied().filter(|&n| why[n] == Some(Keep::Min)).collect();
    expired.sort_by_key(|&n| Reverse(world.problem.machines[n].up.as_ref().map_or(Millis(0), |up| up.idle)));
    // A machine that only means to exist is a worse minimum than one that is there: it is called back in its place.
    let queued =
        |&n: &usize| world.problem.machines[n].phase == Phase::Queued && why[n] == Some(Keep::Coming);
    let called_back: Vec<usize> = coming.into_iter().filter(queued).collect();
    let goes = (expired.len() as u64).min(*spare);
    let left = members.len() as u64 + plan_new(plan, pool) - gone(members, why);
    let solid = left.saturating_sub(goes).saturating_sub(called_back.len() as u64);
    let swap = min.saturating_sub(solid).min(called_back.len() as u64).min(goes);
    for &n in called_back.iter().take(usize::try_from(swap).unwrap_or(usize::MAX)) {
        go(n, RemovalCause::PendingIdle, why, removals);
    }
    for &n in expired.iter().take(usize::try_from(goes - swap).unwrap_or(usize::MAX)) {
        go(n, RemovalCause::Idle, why, removals);
    }
}

fn plan_new(plan: &Plan, pool: Option<usize>) -> u64 {
    let of_pool =
        |((p, _), n): (&(usize, crate::problem::LaunchCause), &u64)| (Some(*p) == pool).then_some(*n);
    plan.launches.iter().filter_map(of_pool).sum()
}

fn gone(members: &[usize], why: &[Option<Keep>]) -> u64 {
    members.iter().filter(|&&n| why[n].is_none()).count() as u64
}

fn is_unneeded_coming(world: &World<'_>, plan: &Plan, n: usize) -> bool {
    world.problem.machines[n].phase.is_coming() && plan.needed[n] == Need::Nobody && is_free_to_go(world, n)
}

/// Why a machine stays. `Min` is said of machines that would go but for their pool's minimum.
fn reason(world: &World<'_>, plan: &Plan, n: usize) -> Keep {
    let machine = &world.problem.machines[n];
    if matches!(machine.phase, Phase::DrainRequested | Phase::Leaving) {
        return Keep::Leaving;
    }
    if world.is_head(n) {
        return Keep::Head;
    }
    match plan.needed[n] {
        Need::Demand => return Keep::NeededByDemand,
        Need::Floor => return Keep::NeededByFloor,
        Need::Nobody => {}
    }
    if machine.keep {
        return Keep::Protected;
    }
    if machine.phase.is_coming() {
        return Keep::Coming;
    }
    let Some(up) = &machine.up else { return Keep::Protected };
    if is_busy(world, n) {
        return Keep::Busy;
    }
    let own = world.pool_of[n].and_then(|p| world.problem.pools[p].pool.idle_timeout);
    match own.or(world.problem.idle_timeout) {
        None => Keep::NoTimeout,
        Some(timeout) if up.idle > timeout => Keep::Min,
        Some(_) => Keep::NotIdleLongEnough,
    }
}
