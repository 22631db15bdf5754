//! Telling each workload what is planned: the newest state, and every event once.

use crate::clock::now;
use crate::notices;
use crate::rim::Rim;
use crate::sources::within;
use ostler_lifecycle::{Instance, State, StateName};
use ostler_model::{Demand, LaunchCause, Pool, PoolId, Timestamp, WorkloadId, WorkloadState};
use ostler_planner::Report;
use ostler_workload::{Event, FailedLaunch, PendingInstance, PendingLaunch, Published};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// What has not changed is told again after this time: a workload whose control plane was restarted has
/// forgotten it.
const AGAIN_AFTER: Duration = Duration::from_secs(5);
/// Events that wait for a workload that does not answer; the oldest go. They are all in the journal.
const EVENTS_MAX: usize = 200;

/// One task for each workload that has been told something.
#[derive(Debug)]
pub(crate) struct Publisher {
    rim: Arc<Rim>,
    boxes: BTreeMap<WorkloadId, (Arc<Letterbox>, tokio::task::JoinHandle<()>)>,
}

#[derive(Debug, Default)]
struct Letterbox {
    waiting: Mutex<Option<Published>>,
    news: Notify,
}

impl Publisher {
    pub(crate) fn new(rim: Arc<Rim>) -> Self {
        Self { rim, boxes: BTreeMap::new() }
    }

    /// Replaces what waits to be told, except for events, which are added.
    pub(crate) fn publish(&mut self, workload: &WorkloadId, mut published: Published) {
        let rim = self.rim.clone();
        let (letterbox, _) = self.boxes.entry(workload.clone()).or_insert_with(|| {
            let letterbox = Arc::new(Letterbox::default());
            let task = tokio::spawn(deliver(rim, workload.clone(), letterbox.clone()));
            (letterbox, task)
        });
        let mut waiting = letterbox.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(earlier) = waiting.take() {
            published.events = bounded(earlier.events, published.events);
        }
        *waiting = Some(published);
        letterbox.news.notify_one();
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.boxes.values().for_each(|(_, task)| task.abort());
    }
}

fn bounded(mut events: Vec<Event>, newer: Vec<Event>) -> Vec<Event> {
    events.extend(newer);
    let surplus = events.len().saturating_sub(EVENTS_MAX);
    events.drain(..surplus);
    events
}

async fn deliver(rim: Arc<Rim>, workload: WorkloadId, letterbox: Arc<Letterbox>) {
    let mut told: Option<(Published, Instant)> = None;
    let mut undelivered: Vec<Event> = Vec::new();
    loop {
        letterbox.news.notified().await;
        let letter = letterbox.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (Some(mut letter), Some(connected), Some(config)) =
            (letter, rim.workload(&workload), rim.config())
        else {
            continue;
        };
        letter.events = bounded(std::mem::take(&mut undelivered), letter.events);
        let fresh =
            told.as_ref().is_none_or(|(old, at)| at.elapsed() >= AGAIN_AFTER || differs(old, &letter));
        if !fresh {
            continue;
        }
        match within(config.deadlines.publish, connected.workload.publish(&letter)).await {
            Ok(()) => {
                letter.events.clear();
                told = Some((letter, Instant::now()));
            }
            Err(failure) => {
                tracing::debug!(%workload, %failure, "could not be told the plan");
                undelivered = letter.events;
            }
        }
    }
}

fn differs(old: &Published, new: &Published) -> bool {
    let same =
        Published { generation: old.generation, workload_version: old.workload_version, ..new.clone() };
    !new.events.is_empty() || same != *old
}

/// What to tell, from the records and the newest look.
pub(crate) fn published<'i>(
    state: &WorkloadState,
    report: &Report,
    pools: &[Pool],
    records: impl Iterator<Item = &'i Instance>,
    events: Vec<Event>,
) -> Published {
    let mut published = Published {
        workload_version: state.version,
        generation: now().0,
        infeasible: infeasible(&state.demand, report),
        events,
        pods: notices::pods(state, report),
        nodes: notices::nodes(report),
        status: notices::status(report),
        ..Published::default()
    };
    let mut pending: BTreeMap<&PoolId, (u32, Timestamp)> = BTreeMap::new();
    let mut failed: BTreeMap<(&PoolId, &str), (u32, Timestamp, Timestamp)> = BTreeMap::new();
    for record in records {
        match record.state() {
            State::Requested => count(&mut pending, record),
            // Ray reports a queued launch too once it has been asked for.
            State::Queued if record.attempt() > 0 => count(&mut pending, record),
            State::Allocated { .. } | State::Installing { .. } => {
                published.pending_instances.push(PendingInstance {
                    instance: record.id().clone(),
                    pool: record.pool().clone(),
                    instance_type: instance_type(pools, record.pool()),
                    address: String::new(),
                    details: waiting_for(record.state().name()).to_owned(),
                });
            }
            State::AllocationFailed { failure } => {
                let asked = record.history().iter().find(|e| e.state == StateName::Requested);
                let started = asked.map_or(record.since(), |entered| entered.at);
                let entry =
                    failed.entry((record.pool(), &failure.message)).or_insert((0, started, record.since()));
                *entry = (entry.0 + 1, entry.1.min(started), entry.2.max(record.since()));
            }
            _ => {}
        }
    }
    published.pending_launches = pending
        .into_iter()
        .map(|(pool, (count, since))| PendingLaunch {
            pool: pool.clone(),
            instance_type: instance_type(pools, pool),
            count,
            since,
        })
        .collect();
    published.failed_launches = failed
        .into_iter()
        .map(|((pool, reason), (count, started, failed))| FailedLaunch {
            pool: pool.clone(),
            instance_type: instance_type(pools, pool),
            count,
            reason: reason.to_owned(),
            started,
            failed,
        })
        .collect();
    published
}

fn count<'i>(pending: &mut BTreeMap<&'i PoolId, (u32, Timestamp)>, record: &'i Instance) {
    let entry = pending.entry(record.pool()).or_insert((0, record.since()));
    *entry = (entry.0 + 1, entry.1.min(record.since()));
}

fn instance_type(pools: &[Pool], id: &PoolId) -> String {
    pools.iter().find(|pool| pool.id == *id).map(|pool| pool.instance_type.clone()).unwrap_or_default()
}

const fn waiting_for(state: StateName) -> &'static str {
    match state {
        StateName::Installing => "being prepared",
        _ => "waiting for its node to join",
    }
}

/// The unplaced part of the demand, in the workload's own words.
fn infeasible(demand: &Demand, report: &Report) -> Demand {
    let mut found = Demand::default();
    for unplaced in &report.unplaced {
        match unplaced.kind {
            LaunchCause::Gang => found.gangs.extend(demand.gangs.get(unplaced.index).cloned()),
            LaunchCause::Floor => found.floors.extend(demand.floors.get(unplaced.index).cloned()),
            LaunchCause::Demand
            | LaunchCause::Min
            | LaunchCause::Target
            | LaunchCause::Headroom
            | LaunchCause::Replacement => {
                let task = demand.tasks.get(unplaced.index).cloned();
                found.tasks.extend(task.map(|task| ostler_model::Task { count: unplaced.count, ..task }));
            }
        }
    }
    found
}
