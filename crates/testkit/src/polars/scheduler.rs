//! The scheduler: what it asks of a scaling service, and when. Time is an argument, in milliseconds.

use std::collections::{BTreeMap, BTreeSet};

/// Demand rises: asked at once. Demand falls: asked once the surplus has been there for this long.
const IDLE: u64 = 60_000;
/// Between two readings of the configuration, over REST.
const REREAD: u64 = 300_000;
/// Attempts after the first one; before each a second longer is waited than before the last.
const RETRIES: u64 = 4;
/// Failures in a row after which the configuration is not asked for again.
const GIVES_UP: u32 = 5;

/// What the operator sets.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Workers of a query that names no number. The scheduler does not start without it.
    pub default_workers_per_query: Option<u32>,
    /// How long a query waits for its workers.
    pub scale_up_timeout: u64,
    /// Is the configuration a stream that is pushed (gRPC), or read again and again (REST)?
    pub pushed: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { default_workers_per_query: Some(4), scale_up_timeout: 300_000, pushed: false }
    }
}

/// A call to the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// `scale_config`.
    Config,
    /// `scale_to`.
    ScaleTo {
        /// Workers in all.
        amount: u32,
        /// Those that hold a query.
        keep: BTreeSet<String>,
        /// Those that it gives up.
        delete: BTreeSet<String>,
    },
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The configuration: desired, available, min, max.
    Config(u32, u32, u32, u32),
    /// Accepted.
    Accepted,
    /// Timed out, not connected, 429, or UNAVAILABLE over gRPC: tried again.
    TryAgain,
    /// Any other error.
    Failed,
}

/// Why a query failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loss {
    /// Its workers did not come within the time.
    TimedOut,
    /// A worker of it went away.
    WorkerGone(String),
}

#[derive(Debug, Clone)]
struct Query {
    wants: u32,
    since: u64,
    runs_for: u64,
    ends: Option<u64>,
    holds: BTreeSet<String>,
}

#[derive(Debug, Clone)]
struct InFlight {
    call: Call,
    attempt: u64,
    not_before: u64,
}

/// The double.
#[derive(Debug)]
pub struct Scheduler {
    settings: Settings,
    queries: BTreeMap<u64, Query>,
    last_query: u64,
    workers: BTreeSet<String>,
    /// Workers that were given up: no query is put on them.
    given_up: BTreeSet<String>,
    leaving: BTreeSet<String>,
    limits: Option<(u32, u32)>,
    config_due: u64,
    config_failures: u32,
    size: Option<u32>,
    surplus_since: Option<u64>,
    in_flight: Option<InFlight>,
    not_asked_before: u64,
    /// Queries that ended well.
    pub finished: u64,
    /// Queries that failed: when, and why.
    pub failed: Vec<(u64, u64, Loss)>,
    /// Requests that were accepted.
    pub accepted: u64,
}

impl Scheduler {
    /// Starts.
    ///
    /// # Errors
    /// Without `default_workers_per_query`.
    pub fn start(settings: Settings) -> Result<Self, &'static str> {
        if settings.default_workers_per_query.is_none() {
            return Err("scheduler.default_workers_per_query is not set");
        }
        Ok(Self {
            settings,
            queries: BTreeMap::new(),
            last_query: 0,
            workers: BTreeSet::new(),
            given_up: BTreeSet::new(),
            leaving: BTreeSet::new(),
            limits: None,
            config_due: 0,
            config_failures: 0,
            size: None,
            surplus_since: None,
            in_flight: None,
            not_asked_before: 0,
            finished: 0,
            failed: Vec::new(),
            accepted: 0,
        })
    }

    /// A query arrives.
    pub fn submit(&mut self, now: u64, wants: Option<u32>, runs_for: u64) -> u64 {
        self.last_query += 1;
        let wants = wants.or(self.settings.default_workers_per_query).unwrap_or(1);
        let query = Query { wants, since: now, runs_for, ends: None, holds: BTreeSet::new() };
        self.queries.insert(self.last_query, query);
        self.last_query
    }

    /// A worker registers.
    pub fn register(&mut self, name: &str) {
        self.workers.insert(name.to_owned());
    }

    /// A worker was told to end, and says so: it takes no more queries.
    pub fn leaving(&mut self, name: &str) {
        self.leaving.insert(name.to_owned());
    }

    /// A worker is gone; the query that it held fails.
    pub fn gone(&mut self, now: u64, name: &str) {
        self.workers.remove(name);
        self.given_up.remove(name);
        self.leaving.remove(name);
        let lost: Vec<u64> =
            self.queries.iter().filter(|(_, query)| query.holds.contains(name)).map(|(id, _)| *id).collect();
        for id in lost {
            self.queries.remove(&id);
            self.failed.push((now, id, Loss::WorkerGone(name.to_owned())));
        }
    }

    /// Does this worker hold a query?
    pub fn holds(&self, name: &str) -> bool {
        self.queries.values().any(|query| query.holds.contains(name))
    }

    /// Workers that all running queries want together.
    pub fn demand(&self) -> u32 {
        self.queries.values().map(|query| query.wants).sum()
    }

    /// Another node leads: it knows the queries and the workers, and has asked for nothing yet.
    pub fn leader_changes(&mut self, now: u64) {
        (self.limits, self.size, self.in_flight, self.surplus_since) = (None, None, None, None);
        (self.config_due, self.config_failures) = (now, 0);
        self.given_up.clear();
    }

    /// The stream has pushed a configuration.
    pub fn pushed(&mut self, config: Answer) {
        if let Answer::Config(desired, _, min, max) = config {
            self.limits = Some((min, max));
            self.size.get_or_insert(desired);
        }
    }

    /// Lets time pass; the call that is due, if one is.
    pub fn step(&mut self, now: u64) -> Option<Call> {
        self.run_queries(now);
        if let Some(flying) = &self.in_flight {
            return (flying.not_before <= now).then(|| flying.call.clone());
        }
        let call = self.config_call(now).or_else(|| self.decide(now))?;
        self.in_flight = Some(InFlight { call: call.clone(), attempt: 0, not_before: now });
        Some(call)
    }

    /// How the call that is under way ended.
    pub fn answered(&mut self, now: u64, answer: Answer) {
        let Some(flying) = self.in_flight.take() else { return };
        match (&flying.call, answer) {
            (_, Answer::TryAgain) if flying.attempt < RETRIES => {
                let attempt = flying.attempt + 1;
                self.in_flight = Some(InFlight { attempt, not_before: now + attempt * 1000, ..flying });
            }
            (Call::Config, Answer::Config(..)) => {
                self.pushed(answer);
                (self.config_failures, self.config_due) = (0, now + REREAD);
            }
            (Call::Config, _) => {
                self.config_failures += 1;
                self.config_due = now + 1000;
            }
            (Call::ScaleTo { amount, delete, .. }, Answer::Accepted) => {
                self.accepted += 1;
                self.size = Some(*amount);
                self.surplus_since = None;
                self.given_up = delete.clone();
            }
            // The size stays, and the next decision asks again.
            (Call::ScaleTo { .. }, _) => {
                self.given_up.clear();
                self.not_asked_before = now + 1000;
            }
        }
    }

    /// Has it stopped asking for the configuration?
    pub fn has_given_up(&self) -> bool {
        self.config_failures >= GIVES_UP
    }

    fn config_call(&self, now: u64) -> Option<Call> {
        let due = !self.settings.pushed && self.config_due <= now && !self.has_given_up();
        due.then_some(Call::Config)
    }

    fn run_queries(&mut self, now: u64) {
        let ended = |query: &Query| query.ends.is_some_and(|at| at <= now);
        self.finished += self.queries.values().filter(|query| ended(query)).count() as u64;
        self.queries.retain(|_, query| !ended(query));
        let Some((_, max)) = self.limits else { return };
        let waiting: Vec<u64> =
            self.queries.iter().filter(|(_, q)| q.ends.is_none()).map(|(id, _)| *id).collect();
        for id in waiting {
            let free: Vec<String> = self
                .workers
                .iter()
                .filter(|name| {
                    !self.holds(name) && !self.given_up.contains(*name) && !self.leaving.contains(*name)
                })
                .cloned()
                .collect();
            let timeout = self.settings.scale_up_timeout;
            let Some(query) = self.queries.get_mut(&id) else { continue };
            // More than the maximum is capped to it, and runs at that size.
            let size = query.wants.min(max) as usize;
            if free.len() >= size && size > 0 {
                query.holds = free.into_iter().take(size).collect();
                query.ends = Some(now + query.runs_for);
            } else if now.saturating_sub(query.since) > timeout {
                self.queries.remove(&id);
                self.failed.push((now, id, Loss::TimedOut));
            }
        }
    }

    fn decide(&mut self, now: u64) -> Option<Call> {
        let ((min, max), size) = (self.limits?, self.size?);
        if now < self.not_asked_before {
            return None;
        }
        let keep: BTreeSet<String> =
            self.queries.values().flat_map(|query| query.holds.iter().cloned()).collect();
        let holding = u32::try_from(keep.len()).unwrap_or(u32::MAX);
        let wanted = self.demand().clamp(min, max).max(holding);
        if wanted > size {
            return Some(Call::ScaleTo { amount: wanted, keep, delete: BTreeSet::new() });
        }
        if wanted == size {
            self.surplus_since = None;
            return None;
        }
        let since = *self.surplus_since.get_or_insert(now);
        if now - since < IDLE {
            return None;
        }
        let surplus = self.workers.len().saturating_sub(wanted as usize);
        let delete: BTreeSet<String> =
            self.workers.iter().filter(|name| !keep.contains(*name)).take(surplus).cloned().collect();
        self.given_up = delete.clone(); // nothing is put on them from now on
        Some(Call::ScaleTo { amount: wanted, keep, delete })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scheduler that knows its limits: 0 to 8, nothing is there.
    fn started() -> Scheduler {
        let mut s = Scheduler::start(Settings::default()).expect("it has its number of workers");
        assert_eq!(s.step(0), Some(Call::Config));
        s.answered(0, Answer::Config(0, 0, 0, 8));
        s
    }

    fn amount(call: Option<Call>) -> Option<u32> {
        call.map(|call| match call {
            Call::ScaleTo { amount, .. } => amount,
            Call::Config => panic!("the configuration is asked for"),
        })
    }

    #[test]
    fn it_does_not_start_without_a_number_of_workers() {
        assert!(
            Scheduler::start(Settings { default_workers_per_query: None, ..Settings::default() }).is_err()
        );
    }

    #[test]
    fn two_queries_of_four_are_eight_at_once_and_less_after_sixty_seconds() {
        let mut s = started();
        s.submit(0, None, 10_000);
        s.submit(0, Some(4), 10_000);
        assert_eq!(amount(s.step(0)), Some(8));
        s.answered(0, Answer::Accepted);
        (0..8).for_each(|n| s.register(&format!("w{n}")));
        assert_eq!(s.step(1_000), None);
        assert_eq!(s.step(11_000), None); // both have ended
        assert_eq!(s.step(70_000), None);
        assert_eq!(amount(s.step(71_000)), Some(0));
        assert_eq!(s.finished, 2);
    }

    #[test]
    fn a_query_above_the_maximum_runs_at_the_maximum() {
        let mut s = started();
        s.submit(0, Some(100), 10_000);
        assert_eq!(amount(s.step(0)), Some(8));
        s.answered(0, Answer::Accepted);
        (0..8).for_each(|n| s.register(&format!("w{n}")));
        s.step(1_000);
        assert!(s.holds("w7"));
        s.gone(2_000, "w7");
        assert_eq!(s.failed, [(2_000, 1, Loss::WorkerGone("w7".to_owned()))]);
    }

    #[test]
    fn four_retries_each_a_second_later_than_the_last() {
        let mut s = started();
        s.submit(0, Some(1), 10_000);
        let (mut now, mut tries) = (0, Vec::new());
        while tries.len() < 6 && now < 60_000 {
            if s.step(now).is_some() {
                tries.push(now);
                s.answered(now, Answer::TryAgain);
            }
            now += 100;
        }
        // After the last of them the next decision asks again.
        assert_eq!(tries, [0, 1_000, 3_000, 6_000, 10_000, 11_000]);
    }

    #[test]
    fn a_failed_request_keeps_the_size_and_is_repeated_at_the_next_decision() {
        let mut s = started();
        s.submit(0, Some(3), 10_000);
        assert_eq!(amount(s.step(0)), Some(3));
        s.answered(0, Answer::Failed);
        assert_eq!(s.step(500), None);
        assert_eq!(amount(s.step(1_000)), Some(3));
        s.answered(1_000, Answer::Failed);
        assert_eq!(s.step(300_001), s.in_flight.as_ref().map(|flying| flying.call.clone()));
        assert_eq!(s.failed, [(300_001, 1, Loss::TimedOut)]);
    }

    #[test]
    fn the_configuration_is_given_up_after_five_failures_in_a_row() {
        let mut s = Scheduler::start(Settings::default()).expect("it has its number of workers");
        for n in 0..5 {
            assert_eq!(s.step(n * 1_000), Some(Call::Config));
            s.answered(n * 1_000, Answer::Failed);
        }
        assert!(s.has_given_up());
        assert_eq!(s.step(1_000_000), None);
        s.leader_changes(1_000_000);
        assert_eq!(s.step(1_000_000), Some(Call::Config));
    }
}
