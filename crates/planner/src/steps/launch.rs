//! Which queued launches may go: oldest first, within every bound.

use crate::draft::{Draft, Serial};
use crate::reason::{HoldReason, Reason};
use alloc::collections::BTreeMap;
use ostler_lifecycle::{Event, Instance, StateName};
use ostler_model::{EndCause, LaunchCause, Pool, PoolId, Timestamp};

/// Queued → Requested. Bounds hold for machines that exist: one that is on its way out keeps its room until it
/// is gone. Launches under way count against speed and concurrency, so planning again launches no more.
pub(crate) fn launch(draft: &mut Draft<'_>) {
    if draft.report.hold.is_some() {
        return;
    }
    let mut count = Counts::of(draft);
    for serial in draft.serials(|i| i.state().name() == StateName::Queued) {
        let Some(pool) = draft.pool(draft.instances[&serial].pool()) else {
            let cause = EndCause::Outdated;
            draft.apply(serial, Event::Withdrawn { cause }, Reason::Removed { cause });
            continue;
        };
        match held(draft, &count, serial, pool) {
            Some(why) => draft.explain(serial, None, Some(Reason::LaunchHeld { why })),
            None => {
                count.launch(&pool.id);
                let event = Event::LaunchRequested { launch_hash: pool.launch_hash.clone() };
                draft.apply(serial, event, Reason::LaunchTurn);
            }
        }
    }
}

/// What there is, as far as it bounds launches.
#[derive(Default)]
struct Counts {
    requested: u32,
    workers: u64,
    pools: BTreeMap<PoolId, PoolCounts>,
    resting: BTreeMap<PoolId, Timestamp>,
}

#[derive(Default, Clone, Copy)]
struct PoolCounts {
    requested: u64,
    running: u64,
    workers: u64,
}

impl Counts {
    fn of(draft: &Draft<'_>) -> Self {
        let rests = |pool: &Pool| draft.resting_until(&pool.id).map(|until| (pool.id.clone(), until));
        let resting = draft.snapshot.pools.iter().filter_map(rests).collect();
        let mut counts = Self { resting, ..Self::default() };
        let exists = |i: &&Instance| !i.state().name().is_final() && i.state().name() != StateName::Queued;
        for instance in draft.instances.values().filter(exists) {
            let pool = counts.pools.entry(instance.pool().clone()).or_default();
            counts.workers += 1;
            pool.workers += 1;
            match instance.state().name() {
                StateName::Requested => {
                    counts.requested += 1;
                    pool.requested += 1;
                }
                StateName::Running => pool.running += 1,
                _ => {}
            }
        }
        counts
    }

    fn launch(&mut self, pool: &PoolId) {
        let entry = self.pools.entry(pool.clone()).or_default();
        entry.requested += 1;
        entry.workers += 1;
        self.requested += 1;
        self.workers += 1;
    }
}

/// What a queued launch waits for, `None` if it may go.
fn held(draft: &Draft<'_>, count: &Counts, serial: Serial, pool: &Pool) -> Option<HoldReason> {
    let policy = &draft.snapshot.policy;
    let of_pool = count.pools.get(&pool.id).copied().unwrap_or_default();
    if !draft.is_seen(&pool.id) {
        return Some(HoldReason::ProviderUnseen);
    }
    if let Some(&until) = count.resting.get(&pool.id) {
        return Some(HoldReason::BackingOff { until });
    }
    let total_room = policy.max_workers.is_none_or(|max| count.workers < u64::from(max));
    if of_pool.workers >= u64::from(pool.max) || !total_room {
        return Some(HoldReason::RoomTaken);
    }
    if count.requested >= policy.max_concurrent_launches {
        return Some(HoldReason::ConcurrentLaunches { limit: policy.max_concurrent_launches });
    }
    // Standing capacity was asked for by somebody who knows; only demand that was seen grows step by step.
    let standing = matches!(
        draft.instances[&serial].launched_for(),
        Some(LaunchCause::Min | LaunchCause::Floor | LaunchCause::Target)
    );
    let allowed = allowed_by_speed(policy.upscaling_speed_percent, of_pool.running);
    (!standing && of_pool.requested >= allowed).then_some(HoldReason::UpscalingSpeed { allowed })
}

/// `max(1, ceil(speed × max(running, 1)))`, as Ray.
fn allowed_by_speed(speed_percent: u32, running: u64) -> u64 {
    (u64::from(speed_percent) * running.max(1)).div_ceil(100).max(1)
}
