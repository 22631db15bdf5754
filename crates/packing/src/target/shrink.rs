//! Which workers go.

use super::{Answer, Cause, Question, Worker, count, staying};
use alloc::vec::Vec;
use core::cmp::Reverse;

/// Workers that go whatever the goal is: those that were named, those without a pool, and what a pool has above
/// its maximum.
pub(super) fn forced(question: &Question, answer: &mut Answer) {
    for (n, worker) in question.workers.iter().enumerate() {
        match worker.pool {
            _ if !may_go(question, worker) => {}
            // A provider that chooses itself would end another one.
            Some(pool) if worker.listed && !question.pools[pool].blind => {
                answer.removals.insert(n, Cause::Listed);
            }
            None => drop(answer.removals.insert(n, Cause::NoPool)),
            _ => {}
        }
    }
    for (pool, bounds) in question.pools.iter().enumerate() {
        let over = staying(question, answer, pool).saturating_sub(bounds.max);
        let here: Vec<usize> = victims(question, answer)
            .into_iter()
            .filter(|&n| question.workers[n].pool == Some(pool))
            .collect();
        answer.removals.extend(here.into_iter().take(over as usize).map(|n| (n, Cause::MaxPerPool)));
    }
}

/// What there is above the goal, as far as it may go; no pool falls below its minimum.
pub(super) fn to_goal(question: &Question, answer: &mut Answer) {
    let left = count(question.workers.len() - answer.removals.len());
    let mut surplus = left.saturating_sub(answer.goal);
    for n in victims(question, answer) {
        let pool = question.workers[n].pool;
        let above_min = pool.is_none_or(|p| staying(question, answer, p) > question.pools[p].min);
        if surplus > 0 && above_min {
            answer.removals.insert(n, Cause::Surplus);
            surplus -= 1;
        }
    }
    answer.held = surplus;
}

/// Who may still go, the first to go first: named ones, then what is least far, then of the pool that is liked
/// least, then the youngest.
fn victims(question: &Question, answer: &Answer) -> Vec<usize> {
    let free = |n: &usize| may_go(question, &question.workers[*n]) && !answer.removals.contains_key(n);
    let mut free: Vec<usize> = (0..question.workers.len()).filter(free).collect();
    free.sort_by_key(|&n| {
        let worker = &question.workers[n];
        (!worker.listed, worker.stage, Reverse(worker.pool), Reverse(n))
    });
    free
}

fn may_go(question: &Question, worker: &Worker) -> bool {
    let protected = || question.workers.iter().any(|worker| worker.keep);
    let blind = worker.pool.is_some_and(|pool| question.pools[pool].blind);
    !(worker.keep || worker.unseen || (blind && protected()))
}
