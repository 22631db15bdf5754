//! How many workers should exist when somebody outside names the number (Polars): which pool gives the next one,
//! and which worker goes first.
//!
//! Order of what counts, strongest first: a kept worker stays; no pool grows above its maximum; a pool keeps its
//! minimum; listed workers go; the number of workers is the goal.

mod bounds;
mod grow;
mod shrink;
#[cfg(test)]
mod tests;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use ostler_model::LaunchCause;

pub use bounds::Bounds;

/// What there is and what is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Question {
    /// What is aimed for; `None`: nobody has asked yet, so what there is stays.
    pub amount: Option<u32>,
    /// Workers at most over all pools, beside the pools' own bounds.
    pub max_total: Option<u32>,
    /// Pools in order of preference.
    pub pools: Vec<Pool>,
    /// Workers that exist or are on their way, oldest first, without those on their way out.
    pub workers: Vec<Worker>,
}

/// A pool with its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pool {
    /// Workers at least.
    pub min: u32,
    /// Workers at most.
    pub max: u32,
    /// Not to be asked just now: it refused, or it cannot be seen.
    pub closed: bool,
    /// Its machines failed us lately: asked after the others.
    pub doubtful: bool,
    /// Its provider decides itself which machine ends.
    pub blind: bool,
}

/// A worker that is not on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Worker {
    /// Index of its pool; `None`: the configuration no longer has it.
    pub pool: Option<usize>,
    /// How far it is.
    pub stage: Stage,
    /// Must not be removed.
    pub keep: bool,
    /// Is to go, and to be replaced if need be.
    pub listed: bool,
    /// Its provider cannot be seen, so nothing is decided about it.
    pub unseen: bool,
}

/// How far a worker is: what is worth least goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// There is no machine yet.
    Asked,
    /// There is a machine, not ready yet.
    Starting,
    /// Ready.
    Ready,
}

/// What to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// What is aimed for after all bounds and protections.
    pub goal: u32,
    /// New workers: pool, what for, how many.
    pub launches: Vec<(usize, LaunchCause, u32)>,
    /// Workers that go, by index, each once.
    pub removals: BTreeMap<usize, Cause>,
    /// Workers that are wanted and that no pool can give just now.
    pub short: u32,
    /// Workers that should go and may not: kept, unseen, or of a pool whose provider chooses itself.
    pub held: u32,
}

/// Why a worker goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// It was named.
    Listed,
    /// Its pool is over its maximum.
    MaxPerPool,
    /// Its pool is no longer there.
    NoPool,
    /// There are more than are wanted.
    Surplus,
}

/// Decides. The answer applied and asked again gives nothing more to do.
pub fn decide(question: &Question) -> Answer {
    let mut answer = Answer::default();
    shrink::forced(question, &mut answer);
    answer.goal = goal(question, &answer);
    shrink::to_goal(question, &mut answer);
    grow::to_goal(question, &mut answer);
    answer
}

fn goal(question: &Question, answer: &Answer) -> u32 {
    let Bounds { min, max } = Bounds::of(question);
    let staying = count(question.workers.len() - answer.removals.len());
    let kept = count(question.workers.iter().filter(|worker| worker.keep).count());
    question.amount.unwrap_or(staying).clamp(min, max).max(kept)
}

/// Workers of a pool that are not removed by the answer.
fn staying(question: &Question, answer: &Answer, pool: usize) -> u32 {
    let here = question.workers.iter().enumerate().filter(|(_, worker)| worker.pool == Some(pool));
    count(here.filter(|(n, _)| !answer.removals.contains_key(n)).count())
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
