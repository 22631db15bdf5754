//! What a scenario came to, in numbers.

use crate::ray::Kind;
use crate::world::World;
use ostler_model::{Millis, Timestamp};
use serde::Serialize;
use std::fmt;

/// The score of one run; for each number, less is better.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Score {
    /// The virtual time that it took.
    pub simulated: Millis,
    /// Tasks and gangs that came to their end.
    pub done: u64,
    /// Tasks and gangs that did not.
    pub unfinished: u64,
    /// Half of the tasks and gangs waited for less than this before they began; those that never began count
    /// until the end.
    pub wait_p50: Millis,
    /// 95 of 100 did.
    pub wait_p95: Millis,
    /// Seconds of machines that existed, added up.
    pub machine_seconds: u64,
    /// Machines that were made.
    pub machines: u64,
    /// Tasks and gangs that failed since Ostler ended their machine.
    pub failures_by_us: u64,
    /// Tasks and gangs that failed for another reason.
    pub failures_by_world: u64,
}

impl Score {
    /// The score of a world as it is.
    pub fn of(world: &World) -> Self {
        let runs = |kind: &Kind| !matches!(kind, Kind::Floor { .. });
        let work = || world.ray.work.iter().filter(|work| runs(&work.kind) && work.arrives <= world.now);
        let mut waits: Vec<Millis> =
            work().map(|work| work.started.unwrap_or(world.now).since(work.arrives)).collect();
        waits.sort_unstable();
        let failures = |by_us: bool| {
            let killed = world.ray.killed.iter().filter(|killed| killed.by_us.is_some() == by_us);
            killed.map(|killed| killed.work).sum()
        };
        let done = work().filter(|work| work.is_done()).count() as u64;
        Self {
            simulated: world.now.since(Timestamp(0)),
            done,
            unfinished: work().count() as u64 - done,
            wait_p50: percentile(&waits, 50),
            wait_p95: percentile(&waits, 95),
            machine_seconds: world.tally.machine_ms / 1000,
            machines: world.tally.machines,
            failures_by_us: failures(true),
            failures_by_world: failures(false),
        }
    }
}

/// The smallest value that `percent` of all are not above; zero of none.
fn percentile(sorted: &[Millis], percent: usize) -> Millis {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "simulated          {}", self.simulated)?;
        writeln!(f, "done               {}, unfinished {}", self.done, self.unfinished)?;
        writeln!(f, "wait               p50 {}, p95 {}", self.wait_p50, self.wait_p95)?;
        writeln!(f, "machines           {} made, {} machine-seconds", self.machines, self.machine_seconds)?;
        writeln!(
            f,
            "failures           {} by us, {} by the world",
            self.failures_by_us, self.failures_by_world
        )
    }
}
