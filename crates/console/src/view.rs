//! A status in words: what the page shows and the command line prints. Pure.

use crate::read_model::JournalLine;
use crate::words::{Why, ago, span, unfit};
use ostler_lifecycle::StateName;
use ostler_model::{Bundle, Demand, LaunchCause, Node, NodeStatus, Scale, Task, Timestamp};
use ostler_planner::{
    DemandReport, HoldReason, InstanceReport, PodsReport, PoolReport, Reason, TargetReport,
};
use ostler_wire::{NodeStatusLine, ProviderStatus, Status, WorkloadStatus};
use serde::Serialize;
use std::collections::BTreeMap;

/// Everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct View {
    /// The version of Ostler.
    pub ostler: String,
    /// Now.
    pub at: Timestamp,
    /// How long it has been running.
    pub up: String,
    /// The workloads.
    pub workloads: Vec<WorkloadView>,
    /// The providers.
    pub providers: Vec<ProviderView>,
    /// What was decided lately, newest first.
    pub events: Vec<JournalLine>,
}

/// One workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkloadView {
    /// Its name.
    pub name: String,
    /// What kind of workload it is.
    pub kind: String,
    /// Which life of it.
    pub session: String,
    /// When it was seen.
    pub seen: String,
    /// When it was planned.
    pub planned: String,
    /// Why it could not be seen.
    pub failure: Option<String>,
    /// Why nothing is decided.
    pub hold: Option<Why>,
    /// What it was asked for last and what became of it, if it is scaled to a number.
    pub target: Option<String>,
    /// Its pools.
    pub pools: Vec<PoolView>,
    /// Its machines.
    pub machines: Vec<MachineView>,
    /// Its nodes.
    pub nodes: Vec<NodeView>,
    /// What it asks for.
    pub demand: Vec<DemandView>,
    /// Records that are wrong.
    pub faults: Vec<String>,
    /// What would be done, if anything might be.
    pub would: Vec<String>,
}

/// One pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PoolView {
    /// Its name.
    pub name: String,
    /// Workers at least.
    pub min: u32,
    /// Workers at most.
    pub max: u32,
    /// Machines by state, in the order of a life.
    pub states: Vec<(StateName, u32)>,
    /// What stands in its way.
    pub trouble: Option<String>,
}

/// One machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MachineView {
    /// The record's id.
    pub instance: String,
    /// Its pool.
    pub pool: String,
    /// Where it is in its life.
    pub state: StateName,
    /// For how long.
    pub since: String,
    /// What it was made for.
    pub launched_for: Option<LaunchCause>,
    /// The provider's id.
    pub cloud: Option<String>,
    /// The workload's id of its node.
    pub node: Option<String>,
    /// Why it waits, stays or goes.
    pub why: Option<Why>,
}

/// One node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeView {
    /// The workload's id.
    pub node: String,
    /// The provider's id of its machine.
    pub cloud: Option<String>,
    /// Its pool.
    pub pool: String,
    /// Is it the head?
    pub head: bool,
    /// What it is doing.
    pub status: String,
    /// For how long it has been idle.
    pub idle: Option<String>,
    /// Its address.
    pub address: String,
    /// The provider's machine type.
    pub instance_type: String,
    /// Use of each resource: `CPU 2 of 4`.
    pub used: Vec<String>,
    /// Why it is not idle.
    pub activity: Vec<String>,
    /// Where to look for more.
    pub details: Option<String>,
}

/// One entry of the demand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DemandView {
    /// `task`, `gang` or `floor`.
    pub kind: &'static str,
    /// Its place in the workload's list of that kind.
    pub index: usize,
    /// How many are asked for.
    pub count: u64,
    /// How many of them no pool can take.
    pub unplaced: u64,
    /// What it asks for.
    pub what: String,
    /// Why no pool can take it, pool by pool.
    pub why: Vec<String>,
}

/// One provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProviderView {
    /// Its name.
    pub name: String,
    /// Machines of ours.
    pub machines: usize,
    /// When it was listed.
    pub listed: String,
    /// Why it could not be.
    pub failure: Option<String>,
}

/// Puts a status into words.
pub fn view(status: &Status) -> View {
    View {
        ostler: status.ostler.clone(),
        at: status.at,
        up: span(status.at.since(status.started_at)),
        workloads: status.workloads.iter().map(|workload| workload_view(workload, status.at)).collect(),
        providers: status.providers.iter().map(|provider| provider_view(provider, status.at)).collect(),
        events: Vec::new(),
    }
}

fn workload_view(workload: &WorkloadStatus, now: Timestamp) -> WorkloadView {
    let report = workload.report.as_ref();
    let hold = report.and_then(|report| report.hold.clone());
    let fault = |fault| Reason::BadRecord { fault }.to_string();
    WorkloadView {
        name: workload.workload.to_string(),
        kind: workload.kind.clone(),
        session: workload.session.clone(),
        seen: ago(now, workload.observed_at),
        planned: ago(now, report.map(|report| report.at)),
        failure: workload.failure.as_ref().map(ToString::to_string),
        hold: hold.map(|hold| held(&hold)),
        target: report.and_then(|report| Some(target_words(report.target.as_ref()?, now))),
        pools: report.iter().flat_map(|r| &r.pools).map(|pool| pool_view(pool, now)).collect(),
        machines: report.iter().flat_map(|r| &r.instances).map(|one| machine_view(one, now)).collect(),
        nodes: workload.nodes.iter().map(node_view).collect(),
        demand: demand_views(workload),
        faults: report.iter().flat_map(|r| r.faults.iter().cloned()).map(fault).collect(),
        would: report.iter().flat_map(|r| r.would.iter().cloned()).collect(),
    }
}

/// What was asked for last, and what is there of it.
fn target_words(of: &TargetReport, now: Timestamp) -> String {
    let Scale { desired, available, min, max } = of.scale;
    let asked = match &of.target {
        Some(target) => {
            format!("{} workers asked for {}", target.wish.amount, ago(now, Some(target.accepted_at)))
        }
        None => "no number of workers asked for yet".to_owned(),
    };
    let more = [("short of", of.short), ("too many", of.held)];
    let more = more.iter().filter(|(_, count)| *count > 0).map(|(what, count)| format!(", {what} {count}"));
    format!(
        "{asked}; {desired} aimed for, {available} ready{}; from {min} to {max}",
        more.collect::<String>()
    )
}

/// The hold alone, without the "waits" that a reason puts before it.
fn held(hold: &HoldReason) -> Why {
    let code = Reason::WorkloadHeld { why: hold.clone() }.code().to_owned();
    Why { code, text: hold.to_string() }
}

fn pool_view(pool: &PoolReport, now: Timestamp) -> PoolView {
    let refusal = pool.last_refusal.as_ref().map(ToString::to_string);
    let trouble = match pool.backing_off_until {
        Some(until) => {
            // Without a refusal it is its machines that made it rest.
            let why = refusal.unwrap_or_else(|| Reason::PoolRests { until }.to_string());
            Some(format!("not asked for another {}: {why}", span(until.since(now))))
        }
        None => refusal.map(|refusal| format!("refused lately: {refusal}")),
    };
    let states = pool.states.iter().map(|(&state, &count)| (state, count)).collect();
    PoolView { name: pool.pool.to_string(), min: pool.min, max: pool.max, states, trouble }
}

fn machine_view(one: &InstanceReport, now: Timestamp) -> MachineView {
    let kept = one.kept.map(|why| Reason::Kept { why });
    MachineView {
        instance: one.instance.to_string(),
        pool: one.pool.to_string(),
        state: one.state,
        since: span(now.since(one.since)),
        launched_for: one.launched_for,
        cloud: one.cloud.as_ref().map(ToString::to_string),
        node: one.node.as_ref().map(ToString::to_string),
        why: one.reason.as_ref().or(kept.as_ref()).map(Why::from),
    }
}

fn node_view(line: &NodeStatusLine) -> NodeView {
    let node = &line.node;
    NodeView {
        node: node.id.to_string(),
        cloud: node.cloud.as_ref().map(ToString::to_string),
        pool: node.pool.as_ref().map(ToString::to_string).unwrap_or_default(),
        head: node.head,
        status: status_word(node.status),
        idle: (node.status == NodeStatus::Idle).then(|| span(node.idle)),
        address: node.address.clone(),
        instance_type: node.instance_type.clone(),
        used: used(node),
        activity: node.activity.clone(),
        details: line.details.clone(),
    }
}

fn status_word(status: NodeStatus) -> String {
    match status {
        NodeStatus::Running => "running".to_owned(),
        NodeStatus::Idle => "idle".to_owned(),
        NodeStatus::NotReady => "not ready".to_owned(),
        NodeStatus::Draining => "draining".to_owned(),
        NodeStatus::Drained => "drained".to_owned(),
        NodeStatus::Dead => "dead".to_owned(),
        NodeStatus::Unknown(number) => format!("unknown ({number})"),
    }
}

/// Ray marks each node with resources that only it has (`node:10.0.0.1`); they say nothing to a person.
fn used(node: &Node) -> Vec<String> {
    let plain = node.total.iter().filter(|(name, _)| !name.starts_with("node:"));
    plain
        .map(|(name, total)| {
            let used = total.saturating_sub(node.available.get(name));
            if name.contains("memory") {
                format!("{name} {} of {}", bytes(used.to_f64()), bytes(total.to_f64()))
            } else {
                format!("{name} {used} of {total}")
            }
        })
        .collect()
}

fn bytes(amount: f64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let scaled = |power: i32| amount / 2_f64.powi(power);
    match units.into_iter().find(|&(_, power)| scaled(power) >= 1.0) {
        Some((unit, power)) => format!("{:.1} {unit}", scaled(power)),
        None => format!("{amount} B"),
    }
}

fn provider_view(provider: &ProviderStatus, now: Timestamp) -> ProviderView {
    ProviderView {
        name: provider.provider.to_string(),
        machines: provider.machines,
        listed: ago(now, provider.listed_at),
        failure: provider.failure.as_ref().map(ToString::to_string),
    }
}

/// What a workload asks for, with what the newest plan says of it. A plan may be older than the demand; what it
/// says of demand that is no longer the same stands at the end, by itself.
pub fn demand_views(workload: &WorkloadStatus) -> Vec<DemandView> {
    let unplaced = workload.report.iter().flat_map(|report| &report.unplaced);
    let mut said: BTreeMap<(&str, usize), &DemandReport> =
        unplaced.map(|one| ((kind(one.kind), one.index), one)).collect();
    let mut views = asked(&workload.demand);
    for view in &mut views {
        let key = (view.kind, view.index);
        if let Some(one) = said.get(&key).filter(|one| one.demand == view.what) {
            (view.unplaced, view.why) = (one.count, reasons(one));
            said.remove(&key);
        }
    }
    views.extend(said.into_values().map(|one| DemandView {
        kind: kind(one.kind),
        index: one.index,
        count: one.count,
        unplaced: one.count,
        what: one.demand.clone(),
        why: reasons(one),
    }));
    views.extend(workload.report.iter().filter_map(|report| report.pods.as_ref()).flat_map(pods));
    views
}

/// Pods that wait and have a place, and those that wait for something else than room.
fn pods(report: &PodsReport) -> Vec<DemandView> {
    let placed = (report.placed > 0).then(|| DemandView {
        kind: "pod",
        index: 0,
        count: report.placed,
        unplaced: 0,
        what: "waiting pods with a place on nodes that are there or on their way".to_owned(),
        why: Vec::new(),
    });
    let ignored = report.ignored.iter().enumerate().map(|(index, (pod, why))| DemandView {
        kind: "pod",
        index,
        count: 1,
        unplaced: 1,
        what: pod.clone(),
        why: vec![format!("brings no node: {why}")],
    });
    placed.into_iter().chain(ignored).collect()
}

fn asked(demand: &Demand) -> Vec<DemandView> {
    let plain =
        |kind, index, count, what| DemandView { kind, index, count, unplaced: 0, what, why: Vec::new() };
    let tasks = demand.tasks.iter().enumerate();
    let gangs = demand.gangs.iter().enumerate();
    let floors = demand.floors.iter().enumerate();
    tasks
        .map(|(n, task)| plain("task", n, task.count, task.shape.to_string()))
        .chain(gangs.map(|(n, gang)| {
            let bundles = gang.bundles.iter().map(bundle_words).collect::<Vec<_>>().join(" + ");
            plain("gang", n, 1, format!("{} {}: {bundles}", gang.strategy, gang.id))
        }))
        .chain(floors.map(|(n, floor)| {
            let tasks = floor.tasks.iter().map(task_words).collect::<Vec<_>>().join(" + ");
            plain("floor", n, 1, format!("standing request: {tasks}"))
        }))
        .collect()
}

fn bundle_words(bundle: &Bundle) -> String {
    format!("{} × ({})", bundle.count, bundle.shape)
}

fn task_words(task: &Task) -> String {
    format!("{} × ({})", task.count, task.shape)
}

const fn kind(cause: LaunchCause) -> &'static str {
    match cause {
        LaunchCause::Demand => "task",
        other => other.code(),
    }
}

fn reasons(one: &DemandReport) -> Vec<String> {
    one.why.iter().map(|(pool, why)| unfit(pool, why)).collect()
}
