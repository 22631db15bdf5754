//! How many drains there may be at once: the tightest budget that applies counts.

use crate::kube::problem::{RemovalCause, Stage};
use crate::kube::world::World;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use ostler_model::Timestamp;
use ostler_model::kube::{DrainBudget, DrainReason, Share, Window};

const DAY: u64 = 24 * 3_600_000;
const WEEK: u64 = 7 * DAY;
/// The epoch was a Thursday; 0 is Monday.
const EPOCH_DAY: u64 = 3;

/// What the budgets that hold now still allow.
pub(in crate::kube) struct Drains<'a> {
    budgets: Vec<Left<'a>>,
}

struct Left<'a> {
    rule: &'a DrainBudget,
    /// By the value of its label; one entry without a name if it has none.
    left: BTreeMap<Option<&'a Arc<str>>, i64>,
}

impl<'a> Drains<'a> {
    pub(in crate::kube) fn of(world: &World<'a>) -> Self {
        let problem = world.problem;
        let active = problem.policy.budgets.iter().filter(|budget| holds(budget, problem.now));
        Self { budgets: active.map(|rule| Left::of(world, rule)).collect() }
    }

    /// Takes one drain of this machine if every budget that has to do with the cause allows it.
    pub(in crate::kube) fn take(&mut self, world: &World<'a>, machine: usize, cause: RemovalCause) -> bool {
        let reason = reason(cause);
        let applies =
            |budget: &Left<'_>| budget.rule.reasons.is_empty() || budget.rule.reasons.contains(&reason);
        let allowed = |budget: &Left<'a>| {
            budget.left.get(&value(world, budget.rule, machine)).is_none_or(|&left| left > 0)
        };
        if !self.budgets.iter().filter(|budget| applies(budget)).all(allowed) {
            return false;
        }
        for budget in self.budgets.iter_mut().filter(|budget| applies(budget)) {
            if let Some(left) = budget.left.get_mut(&value(world, budget.rule, machine)) {
                *left -= 1;
            }
        }
        true
    }
}

impl<'a> Left<'a> {
    fn of(world: &World<'a>, rule: &'a DrainBudget) -> Self {
        let mut all: BTreeMap<Option<&Arc<str>>, (i64, i64)> = BTreeMap::new();
        for (n, machine) in world.problem.machines.iter().enumerate() {
            if machine.pool.is_none() || !matches!(machine.stage, Stage::Up | Stage::Leaving) {
                continue;
            }
            let (nodes, leaving) = all.entry(value(world, rule, n)).or_default();
            *nodes += 1;
            let empty_too = rule.reasons.is_empty() || rule.reasons.contains(&DrainReason::Empty);
            let counts = empty_too || world.movable(n).next().is_some();
            *leaving += i64::from(machine.stage == Stage::Leaving && counts);
        }
        let left = all.into_iter().map(|(value, (nodes, leaving))| {
            let most = match rule.nodes {
                Share::Count(count) => i64::from(count),
                // Rounded up, so that a share above nothing always lets one go.
                Share::Percent(percent) => (nodes.saturating_mul(i64::from(percent)) + 99) / 100,
            };
            (value, most - leaving)
        });
        Self { rule, left: left.collect() }
    }
}

const fn reason(cause: RemovalCause) -> DrainReason {
    match cause {
        RemovalCause::Empty | RemovalCause::Unneeded => DrainReason::Empty,
        RemovalCause::Underused | RemovalCause::Consolidated => DrainReason::Underused,
        RemovalCause::Unready => DrainReason::Unready,
        RemovalCause::MaxPerPool | RemovalCause::MaxTotal => DrainReason::OverMax,
        RemovalCause::Outdated | RemovalCause::PoolGone => DrainReason::Outdated,
    }
}

fn value<'a>(world: &World<'a>, rule: &DrainBudget, machine: usize) -> Option<&'a Arc<str>> {
    let problem = world.problem;
    let key = rule.per.as_ref()?;
    let node = problem.machines[machine].node.and_then(|at| problem.cluster.nodes.get(at))?;
    node.labels.get(key)
}

fn holds(budget: &DrainBudget, now: Timestamp) -> bool {
    budget.windows.is_empty() || budget.windows.iter().any(|window| is_in(window, now))
}

/// Is the moment in the window? One that lasts past midnight, or into the next week, still holds.
fn is_in(window: &Window, now: Timestamp) -> bool {
    let moment = (now.0 + EPOCH_DAY * DAY) % WEEK;
    (0..7_u64).filter(|&day| window.days.is_empty() || window.days.contains(&(day as u8))).any(|day| {
        let start = (day * DAY + window.from.0) % WEEK;
        (moment + WEEK - start) % WEEK < window.lasts.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_model::Millis;

    #[test]
    fn a_window_may_last_past_midnight_and_into_the_next_week() {
        let hour = 3_600_000;
        let at = |days: u64, hours: u64| Timestamp(days * DAY + hours * hour);
        // Sundays from 22:00 for four hours; the first Sunday of 1970 was the fourth day.
        let window = Window { days: [6].into(), from: Millis(22 * hour), lasts: Millis(4 * hour) };
        let seen: Vec<bool> = [at(3, 21), at(3, 22), at(4, 1), at(4, 2), at(10, 23)]
            .iter()
            .map(|&now| is_in(&window, now))
            .collect();
        assert_eq!(seen, [false, true, true, false, true]);
        let daily = Window { days: [].into(), from: Millis(23 * hour), lasts: Millis(2 * hour) };
        assert!(is_in(&daily, at(1, 0)) && is_in(&daily, at(1, 23)) && !is_in(&daily, at(1, 1)));
    }
}
