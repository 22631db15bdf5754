//! Which pools give new workers.

use super::{Answer, Question, count, staying};
use alloc::vec::Vec;
use ostler_model::LaunchCause;

/// First what each pool lacks to its minimum, then what is left to the goal, pool by pool in order of preference.
/// A pool's room counts without those on their way out: the launch waits for them, so it never is above its
/// maximum.
pub(super) fn to_goal(question: &Question, answer: &mut Answer) {
    let mut lacking = answer.goal.saturating_sub(count(question.workers.len() - answer.removals.len()));
    let mut room: Vec<u32> = Vec::new();
    for (n, pool) in question.pools.iter().enumerate() {
        let here = staying(question, answer, n);
        let to_min = if pool.closed { 0 } else { pool.min.min(pool.max).saturating_sub(here).min(lacking) };
        add(answer, n, LaunchCause::Min, to_min);
        lacking -= to_min;
        room.push(if pool.closed { 0 } else { pool.max.saturating_sub(here + to_min) });
    }
    let mut order: Vec<usize> = (0..question.pools.len()).collect();
    order.sort_by_key(|&n| (question.pools[n].doubtful, n));
    for n in order {
        let more = room[n].min(lacking);
        add(answer, n, LaunchCause::Target, more);
        lacking -= more;
    }
    answer.short = lacking;
}

fn add(answer: &mut Answer, pool: usize, cause: LaunchCause, workers: u32) {
    if workers > 0 {
        answer.launches.push((pool, cause, workers));
    }
}
