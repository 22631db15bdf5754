//! A scenario: what the world is like and what happens in it, as text.
//!
//! One line, one fact; `#` begins a comment. `docs/recipes/add-a-scenario.md` lists all lines.

mod line;
mod mistake;
mod words;

pub use mistake::{Mistake, Mistakes};

use crate::happening::{CrashPoint, Happening};
use crate::ray::{RayHabits, Work};
use ostler_model::{Millis, Policy, Pool, ProviderId, Timestamp};
use ostler_provider::fake::Habits;
use std::collections::BTreeMap;

/// Everything that a simulation begins with.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Of all that is drawn by lot: latencies, ids.
    pub seed: u64,
    /// Between two looks at one source.
    pub poll: Millis,
    /// One way of a call, from the least to the most.
    pub latency: (Millis, Millis),
    /// From a crash to the next life.
    pub restart_in: Millis,
    /// The end.
    pub end: Timestamp,
    /// How the workload wants to be scaled.
    pub policy: Policy,
    /// Its pools, that of the head first.
    pub pools: Vec<Pool>,
    /// The clouds.
    pub clouds: BTreeMap<ProviderId, Habits>,
    /// The cluster.
    pub ray: RayHabits,
    /// What is asked of the cluster.
    pub work: Vec<Work>,
    /// What else happens, and when.
    pub plot: Vec<(Timestamp, Happening)>,
    /// Where Ostler is killed.
    pub crashes: Vec<CrashPoint>,
}

/// Work and happenings of one scenario at most: a slip of the pen must not fill the memory.
pub(crate) const WORK_MAX: u64 = 100_000;

impl Scenario {
    /// Reads a scenario.
    ///
    /// # Errors
    /// All mistakes at once (`OSTLER-V001`).
    pub fn parse(text: &str) -> Result<Self, Mistakes> {
        let mut scenario = Self::default();
        let mut mistakes = Vec::new();
        for (n, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            if let Err(message) = line::read(&mut scenario, line) {
                mistakes.push(Mistake { line: n + 1, message });
            }
        }
        if mistakes.is_empty() { Ok(scenario) } else { Err(Mistakes(mistakes)) }
    }
}

impl Default for Scenario {
    /// A head, one cloud called `cloud`, no pools, nothing to do; two minutes long. Timeouts are short, so that
    /// little of a scenario is waiting.
    fn default() -> Self {
        let cloud = ProviderId::from("cloud");
        let habits =
            Habits { appears_in: Millis::secs(1), boots_in: Millis::secs(2), stops_in: Millis::secs(1) };
        let policy = line::default_policy();
        Self {
            seed: 0,
            poll: Millis::secs(1),
            latency: (Millis(20), Millis(20)),
            restart_in: Millis::secs(2),
            end: Timestamp(120_000),
            pools: vec![line::head_pool(&cloud)],
            policy,
            clouds: BTreeMap::from([(cloud, habits)]),
            ray: RayHabits::default(),
            work: Vec::new(),
            plot: Vec::new(),
            crashes: Vec::new(),
        }
    }
}
