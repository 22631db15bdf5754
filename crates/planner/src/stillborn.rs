//! Machines that end too early: a command that crashes at its start, an image that does not boot, a program that
//! answers once and dies. Their pool rests, as after a refusal, so that it is not started again and again; the demand
//! goes elsewhere.
//!
//! Too early is: by itself, before its node was up, or before that had been up for as long as the pool would rest at
//! least. So in the place of one machine there are never two starts within `launch_backoff`: either the first of
//! them lived for so long, or the pool rested for so long after it. That a machine came up for a moment says nothing
//! good of its pool, or a probe that is quick enough to see it would take the brake away.

use alloc::vec::Vec;
use ostler_lifecycle::{Instance, StateName};
use ostler_model::{EndCause, Millis, Policy, PoolId, Scoring, Timestamp};

/// Until when the pool rests because its machines end too early; `None`: it does not. The rest is twice as long after
/// each failure in a row, which ends when a machine has come up and stayed; machines that end together are one
/// failure, not ten.
pub(crate) fn rests_until<'i>(
    instances: impl Iterator<Item = &'i Instance>,
    pool: &PoolId,
    policy: &Policy,
    now: Timestamp,
) -> Option<Timestamp> {
    let backoff = policy.launch_backoff;
    let here: Vec<&Instance> = instances.filter(|i| i.pool() == pool).collect();
    let stayed = |i: &&Instance| {
        let up = came_up(i)?;
        (left(i).unwrap_or(now).since(up) >= backoff).then_some(up)
    };
    let good = here.iter().filter_map(stayed).max();
    let early = |i: &&Instance| {
        let end = left(i).filter(|_| ended_by_itself(i))?;
        let too_early = came_up(i).is_none_or(|up| end.since(up) < backoff);
        (too_early && good.is_none_or(|good| end > good)).then_some(end)
    };
    let mut times: Vec<Timestamp> = here.iter().filter_map(early).collect();
    times.sort_unstable();
    let last = times.get(accidents(policy)..)?.last()?;
    let failures = 1 + times.windows(2).filter(|pair| pair[1].since(pair[0]) >= backoff).count();
    let rest = Millis(backoff.0.saturating_mul(1 << (failures - 1).min(20))).min(policy.launch_backoff_max);
    Some(*last + rest).filter(|until| now < *until)
}

/// Ends that are made up for at once. Where demand is placed on machines, the first of a pool is taken for an
/// accident. Whoever asked for a number of workers waits for all of them in any case, and hears soon enough that one
/// has crashed.
const fn accidents(policy: &Policy) -> usize {
    match policy.scoring {
        Scoring::Target => 0,
        _ => 1,
    }
}

fn ended_by_itself(instance: &Instance) -> bool {
    matches!(instance.state().end_cause(), Some(EndCause::Vanished | EndCause::NodeDead))
}

/// When its node came up.
fn came_up(instance: &Instance) -> Option<Timestamp> {
    instance.history().iter().find(|entered| entered.state == StateName::Running).map(|entered| entered.at)
}

/// When it was no longer on its way or up, if it is not.
fn left(instance: &Instance) -> Option<Timestamp> {
    use StateName::{Allocated, Installing, Queued, Requested, Running};
    let there = |state| matches!(state, Queued | Requested | Allocated | Installing | Running);
    instance
        .history()
        .iter()
        .rev()
        .take_while(|entered| !there(entered.state))
        .last()
        .map(|entered| entered.at)
}
