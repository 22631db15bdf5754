//! The board: what is known, for everybody who asks. Written by the loop alone.

use crate::clock::now;
use crate::rim::Rim;
use crate::words;
use ostler_console::{Counters, JournalLine, ReadModel};
use ostler_engine::Input;
use ostler_lifecycle::{Event, Instance, StateName};
use ostler_model::{Millis, Node, ProviderId, Timestamp, WorkloadId};
use ostler_planner::{Plan, Reason};
use ostler_wire::{NodeStatusLine, ProviderStatus, Status, WorkloadStatus};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What is known.
#[derive(Debug)]
pub struct Board {
    rim: Arc<Rim>,
    started_at: Timestamp,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    workloads: BTreeMap<WorkloadId, Known>,
    providers: BTreeMap<ProviderId, ProviderStatus>,
    counters: Counters,
    recent: VecDeque<JournalLine>,
    turned_at: Timestamp,
}

/// One workload: what is large is shared, and written out for those who ask.
#[derive(Debug)]
struct Known {
    /// Without its nodes and its report.
    status: WorkloadStatus,
    nodes: Arc<Vec<Node>>,
    /// What is in force.
    plan: Option<Arc<Plan>>,
}

/// Lines of the journal that the page shows.
const RECENT_MAX: usize = 100;
/// A loop that has not turned for this long hangs: every source is looked at far more often.
const STUCK_AFTER: Millis = Millis::secs(120);

impl Board {
    pub(crate) fn new(rim: Arc<Rim>) -> Self {
        Self { rim, started_at: now(), state: Mutex::default() }
    }

    /// Takes over what was seen.
    pub(crate) fn seen(&self, input: &Input) {
        let mut state = self.lock();
        state.turned_at = now();
        match input {
            Input::Observed { workload, look } => {
                if look.result.is_err() {
                    state.counters.looks_failed += 1;
                }
                let known = state.workload(&self.rim, workload);
                let status = &mut known.status;
                status.observed_at = Some(look.at);
                status.failure = look.result.as_ref().err().cloned();
                if let Ok(seen) = &look.result {
                    status.session.clone_from(&seen.session);
                    status.demand.clone_from(&seen.demand);
                    known.nodes = seen.nodes.clone();
                }
            }
            Input::Listed { provider, look } => {
                if look.result.is_err() {
                    state.counters.looks_failed += 1;
                }
                let known = state.providers.get(provider).map_or(0, |known| known.machines);
                let status = ProviderStatus {
                    provider: provider.clone(),
                    listed_at: Some(look.at),
                    failure: look.result.as_ref().err().cloned(),
                    machines: look.result.as_ref().map_or(known, Vec::len),
                };
                state.providers.insert(provider.clone(), status);
            }
            Input::PlanFailed { .. } => state.counters.passes_failed += 1,
            Input::Committed { .. } => state.counters.commits += 1,
            Input::CommitRefused { .. } => state.counters.commits_refused += 1,
            _ => {}
        }
    }

    /// A plan was made.
    pub(crate) fn planned(&self, took: Duration) {
        let mut state = self.lock();
        state.counters.passes += 1;
        state.counters.plan_seconds += took.as_secs_f64();
    }

    /// A plan was dropped.
    pub(crate) fn dropped(&self) {
        self.lock().counters.passes_failed += 1;
    }

    /// A plan is in force. `record` finds a record as it is now.
    pub(crate) fn in_force<'i>(
        &self,
        workload: &WorkloadId,
        plan: &Arc<Plan>,
        record: impl Fn(&ostler_model::InstanceId) -> Option<&'i Instance>,
    ) {
        let mut state = self.lock();
        state.workload(&self.rim, workload).plan = Some(plan.clone());
        let at = now();
        for said in words::lines(plan) {
            state.recent.push_front(line(workload, at, said));
        }
        state.recent.truncate(RECENT_MAX);
        for step in &plan.steps {
            if let Some(event) = &step.event {
                count(&mut state.counters, workload, step, event, record(&step.instance));
            }
        }
    }

    /// Drops what is no longer configured.
    pub(crate) fn follow_rim(&self) {
        let mut state = self.lock();
        state.workloads.retain(|id, _| self.rim.workload(id).is_some());
        state.providers.retain(|id, _| self.rim.provider(id).is_some());
    }

    /// A node, and where to find more about its machine.
    fn line(&self, workload: &WorkloadId, node: &Node) -> NodeStatusLine {
        let details = || {
            let (pool, cloud) = (node.pool.as_ref()?, node.cloud.as_ref()?);
            let providers = self.rim.providers_of(workload, pool);
            providers.iter().find_map(|provider| provider.details(cloud))
        };
        NodeStatusLine { node: node.clone(), details: details() }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn workload(&mut self, rim: &Rim, id: &WorkloadId) -> &mut Known {
        let status = || WorkloadStatus {
            workload: id.clone(),
            kind: rim.workload(id).map_or("", |connected| connected.kind).to_owned(),
            observed_at: None,
            failure: None,
            session: String::new(),
            nodes: Vec::new(),
            demand: ostler_model::Demand::default(),
            report: None,
        };
        let new = || Known { status: status(), nodes: Arc::default(), plan: None };
        self.workloads.entry(id.clone()).or_insert_with(new)
    }
}

/// Counts what one step of a plan does.
fn count(
    counters: &mut Counters,
    workload: &WorkloadId,
    step: &ostler_planner::Step,
    event: &Event,
    record: Option<&Instance>,
) {
    let pool = (workload.to_string(), step.pool.to_string());
    let launches = counters.launches.entry(pool.clone()).or_default();
    match event {
        Event::LaunchRequested { .. } => launches.requested += 1,
        Event::LaunchFailed { .. } => launches.refused += 1,
        Event::Allocated { .. } => launches.allocated += 1,
        Event::NodeUp { .. } => {
            launches.joined += 1;
            launches.join_seconds += record.map_or(0.0, join_seconds);
        }
        Event::DrainRequested { cause, .. }
        | Event::Withdrawn { cause }
        | Event::TerminationRequested { cause } => {
            *counters.removals.entry((pool.0, pool.1, cause.code().to_owned())).or_default() += 1;
        }
        Event::DrainCancelled if matches!(step.reason, Reason::DrainRejected { .. }) => {
            *counters.drains_rejected.entry(workload.to_string()).or_default() += 1;
        }
        _ => {}
    }
}

/// From the first request to the node.
fn join_seconds(record: &Instance) -> f64 {
    let entered = |state| record.history().iter().find(|e| e.state == state).map(|e| e.at);
    match (entered(StateName::Requested), entered(StateName::Running)) {
        (Some(asked), Some(joined)) => joined.since(asked).0 as f64 / 1000.0,
        _ => 0.0,
    }
}

fn line(workload: &WorkloadId, at: Timestamp, said: words::Line) -> JournalLine {
    JournalLine {
        seq: 0,
        at,
        workload: workload.to_string(),
        subject: format!("{}:{}", said.subject.kind, said.subject.id),
        code: said.code.to_owned(),
        message: said.message,
    }
}

impl ReadModel for Board {
    fn status(&self) -> Status {
        let state = self.lock();
        let known = |known: &Known| (known.status.clone(), known.nodes.clone(), known.plan.clone());
        let workloads: Vec<_> = state.workloads.values().map(known).collect();
        let providers = state.providers.values().cloned().collect();
        drop(state);
        let whole = |(status, nodes, plan): (WorkloadStatus, Arc<Vec<Node>>, Option<Arc<Plan>>)| {
            let nodes = nodes.iter().map(|node| self.line(&status.workload, node)).collect();
            WorkloadStatus { nodes, report: plan.map(|plan| plan.report.clone()), ..status }
        };
        let workloads = workloads.into_iter().map(whole).collect();
        Status {
            format: Status::FORMAT,
            ostler: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: self.started_at,
            at: now(),
            workloads,
            providers,
        }
    }

    fn counters(&self) -> Counters {
        self.lock().counters.clone()
    }

    fn alive(&self) -> Result<(), String> {
        let still_for = now().since(self.lock().turned_at.max(self.started_at));
        if still_for > STUCK_AFTER { Err(format!("the loop has not turned for {still_for}")) } else { Ok(()) }
    }

    fn recent(&self) -> Vec<JournalLine> {
        self.lock().recent.iter().cloned().collect()
    }

    fn ready(&self) -> Result<(), String> {
        let state = self.lock();
        for (source, _) in self.rim.sources() {
            match source {
                ostler_engine::Source::Workload(id) => match state.workloads.get(&id) {
                    Some(Known { status: WorkloadStatus { failure: Some(failure), .. }, .. }) => {
                        return Err(format!("workload {id}: {failure}"));
                    }
                    Some(known) if known.plan.is_some() => {}
                    _ => return Err(format!("workload {id} has not been planned yet")),
                },
                ostler_engine::Source::Provider(id) => match state.providers.get(&id) {
                    Some(ProviderStatus { failure: Some(failure), .. }) => {
                        return Err(format!("provider {id}: {failure}"));
                    }
                    Some(_) => {}
                    None => return Err(format!("provider {id} has not been listed yet")),
                },
            }
        }
        Ok(())
    }
}
