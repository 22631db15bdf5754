//! Machines that end before their node is up: a command that crashes at its start, an image that does not boot.
//! Their pool rests, as after a refusal, so that it is not started again and again; the demand goes elsewhere.

use alloc::vec::Vec;
use ostler_lifecycle::{Instance, State, StateName};
use ostler_model::{EndCause, Millis, Policy, PoolId, Timestamp};

/// How a pool's machines have been ending since one of them last came up.
pub(crate) struct Stillborn {
    /// How many ended too early.
    pub(crate) count: usize,
    /// Until when the pool rests for it, if it should rest at all.
    pub(crate) until: Timestamp,
}

/// `None` if the newest machine that got so far came up well. The rest is twice as long after each failure in a
/// row; machines that end together are one failure, not ten.
pub(crate) fn stillborn<'i>(
    instances: impl Iterator<Item = &'i Instance>,
    pool: &PoolId,
    policy: &Policy,
) -> Option<Stillborn> {
    let here: Vec<&Instance> = instances.filter(|i| i.pool() == pool).collect();
    let good = here.iter().filter_map(|i| ran(i)).max().unwrap_or_default();
    let early = |i: &&&Instance| {
        matches!(i.state(), State::Terminated { cause: EndCause::Vanished, .. })
            && ran(i).is_none()
            && i.since() > good
    };
    let mut times: Vec<Timestamp> = here.iter().filter(early).map(|i| i.since()).collect();
    times.sort_unstable();
    let backoff = policy.launch_backoff;
    let failures = 1 + times.windows(2).filter(|pair| pair[1].since(pair[0]) >= backoff).count();
    let rest = Millis(backoff.0.saturating_mul(1 << (failures - 1).min(20))).min(policy.launch_backoff_max);
    times.last().map(|&last| Stillborn { count: times.len(), until: last + rest })
}

/// When it last ran.
fn ran(instance: &Instance) -> Option<Timestamp> {
    let running = instance.history().iter().filter(|entered| entered.state == StateName::Running);
    running.map(|entered| entered.at).max()
}
