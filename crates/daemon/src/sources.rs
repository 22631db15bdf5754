//! Looking: one task for each source, at its interval, sooner after a poke, more slowly while it fails.

use crate::clock::{duration, micros, now};
use crate::rim::Rim;
use ostler_engine::{Input, Source};
use ostler_model::{Failure, FailureClass, Millis, Observed, ProviderId, WorkloadId};
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

/// Between two listings of a provider when nothing changes. A machine that dies is noticed by its workload
/// first; the listing must only catch up.
const LIST_EVERY: Duration = Duration::from_secs(5);
/// Between two looks at a workload that knocks when something has changed: only lost knocks are caught up on.
const PROBED_EVERY: Duration = Duration::from_secs(1);
/// A poked source is looked at again after these waits: what was asked for shows a little later.
const HURRY: [Duration; 4] = [
    Duration::from_millis(100),
    Duration::from_millis(300),
    Duration::from_millis(700),
    Duration::from_millis(1500),
];
/// The longest wait between two looks at a source that fails.
const BACKOFF_MAX: Duration = Duration::from_secs(30);

/// Starts and stops pollers as the configuration changes.
#[derive(Debug)]
pub(crate) struct Sources {
    rim: Arc<Rim>,
    inputs: mpsc::Sender<Input>,
    tasks: BTreeMap<Source, JoinHandle<()>>,
}

impl Sources {
    pub(crate) fn new(rim: Arc<Rim>, inputs: mpsc::Sender<Input>) -> Self {
        Self { rim, inputs, tasks: BTreeMap::new() }
    }

    /// One poller for each source of the rim, none for others.
    pub(crate) fn follow_rim(&mut self) {
        let wanted: BTreeMap<Source, Arc<Notify>> = self.rim.sources().into_iter().collect();
        self.tasks.retain(|source, task| {
            let keep = wanted.contains_key(source);
            if !keep {
                task.abort();
            }
            keep
        });
        for (source, poke) in wanted {
            let poller = || tokio::spawn(poll(source.clone(), poke, self.rim.clone(), self.inputs.clone()));
            self.tasks.entry(source.clone()).or_insert_with(poller);
        }
    }
}

impl Drop for Sources {
    fn drop(&mut self) {
        self.tasks.values().for_each(JoinHandle::abort);
    }
}

async fn poll(source: Source, poke: Arc<Notify>, rim: Arc<Rim>, inputs: mpsc::Sender<Input>) {
    let mut pace = Pace::default();
    loop {
        let Some((input, failure)) = look(&source, &rim).await else { return };
        pace.looked(&source, failure.as_ref());
        if inputs.send(input).await.is_err() {
            return;
        }
        let wait = pace.wait(interval(&source, &rim));
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = poke.notified() => {
                // While it fails, a poke does not help.
                if pace.failures == 0 {
                    pace.hurry = HURRY.len();
                } else {
                    tokio::time::sleep(wait).await;
                }
            }
        }
    }
}

/// How soon to look again.
#[derive(Debug, Default)]
struct Pace {
    failures: u32,
    hurry: usize,
    looks: u32,
}

impl Pace {
    /// Says once that a source is gone, and once that it is back.
    fn looked(&mut self, source: &Source, failure: Option<&Failure>) {
        match failure {
            Some(failure) => {
                if self.failures == 0 {
                    tracing::warn!(source = %name(source), %failure, "cannot be seen; trying again ever more slowly");
                }
                self.failures = self.failures.saturating_add(1);
            }
            None => {
                if self.failures > 0 {
                    tracing::info!(source = %name(source), failed_looks = self.failures, "can be seen again");
                }
                self.failures = 0;
            }
        }
    }

    fn wait(&mut self, interval: Duration) -> Duration {
        if self.failures > 0 {
            let doubled = interval.saturating_mul(1 << (self.failures - 1).min(10));
            return doubled.min(BACKOFF_MAX.max(interval));
        }
        if self.hurry == 0 {
            return self.uneven(interval);
        }
        let wait = HURRY[HURRY.len() - self.hurry];
        self.hurry -= 1;
        wait.min(interval)
    }
}

impl Pace {
    /// The interval on average, from three quarters of it to five quarters. A workload refreshes what it shows at a
    /// pace of its own, often the same second; looks in step with it could be late by a whole interval, every time.
    fn uneven(&mut self, interval: Duration) -> Duration {
        const STEPS: u32 = 8;
        self.looks = self.looks.wrapping_add(1);
        let step = self.looks.wrapping_mul(5) % STEPS; // 5 visits all eight, neighbours far apart
        interval * (3 * STEPS + 2 * step + 1) / (4 * STEPS)
    }
}

fn interval(source: &Source, rim: &Rim) -> Duration {
    match source {
        Source::Provider(_) => LIST_EVERY,
        Source::Workload(id) => rim.config().map_or(LIST_EVERY, |config| {
            let kind = config.workloads.iter().find(|w| w.id == *id).map(|w| &w.kind);
            match kind {
                Some(ostler_config::WorkloadKind::Ray(ray)) => duration(ray.poll_interval),
                Some(ostler_config::WorkloadKind::Polars(_) | ostler_config::WorkloadKind::Kubernetes(_)) => {
                    PROBED_EVERY
                }
                None => LIST_EVERY,
            }
        }),
    }
}

fn name(source: &Source) -> String {
    match source {
        Source::Workload(id) => format!("workload {id}"),
        Source::Provider(id) => format!("provider {id}"),
    }
}

/// One look, as an input, and what was wrong with it. `None`: the source is no longer configured.
async fn look(source: &Source, rim: &Rim) -> Option<(Input, Option<Failure>)> {
    match source {
        Source::Workload(id) => look_at_workload(id, rim).await,
        Source::Provider(id) => look_at_provider(id, rim).await,
    }
}

async fn look_at_workload(id: &WorkloadId, rim: &Rim) -> Option<(Input, Option<Failure>)> {
    let (workload, deadlines) = (rim.workload(id)?.workload, rim.config()?.deadlines);
    let (at, begun) = (now(), Instant::now());
    let result = within(deadlines.observe, workload.observe()).await;
    tracing::debug!(workload = %id, micros = micros(begun), failed = result.is_err(), "looked");
    let failure = result.as_ref().err().cloned();
    Some((Input::Observed { workload: id.clone(), look: Observed { at, result } }, failure))
}

async fn look_at_provider(id: &ProviderId, rim: &Rim) -> Option<(Input, Option<Failure>)> {
    let (provider, deadlines) = (rim.provider(id)?, rim.config()?.deadlines);
    let at = now();
    let result = within(deadlines.list, provider.list()).await;
    let result = result.map(|listing| {
        for skipped in &listing.skipped {
            tracing::debug!(provider = %id, skipped, "a machine's record could not be understood");
        }
        listing.instances
    });
    let failure = result.as_ref().err().cloned();
    Some((Input::Listed { provider: id.clone(), look: Observed { at, result } }, failure))
}

/// The answer, or a failure when it does not come in time.
pub(crate) async fn within<T, E: Into<Failure>>(
    deadline: Millis,
    call: impl Future<Output = Result<T, E>>,
) -> Result<T, Failure> {
    match tokio::time::timeout(duration(deadline), call).await {
        Ok(result) => result.map_err(Into::into),
        Err(_) => Err(Failure {
            class: FailureClass::Transient,
            message: format!("no answer within {deadline} [OSTLER-D003]"),
        }),
    }
}
