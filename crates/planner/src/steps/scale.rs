//! Which machines should exist for this demand: asks the scoring policy and turns its answer into events.

use super::problem::{Order, problem};
use super::remove::removals;
use crate::draft::{Draft, Serial};
use crate::plan::{Severity, Subject};
use crate::reason::{HoldReason, Reason};
use crate::report::DemandReport;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use ostler_lifecycle::Instance;
use ostler_model::{LaunchCause, PoolId, Scoring, Timestamp, WorkloadState};
use ostler_packing::problem::{Decision, Fault, FaultKind, Machine, Problem, RemovalCause, Unplaced};
use ostler_packing::{exact, ray};

/// New records for launches; removals by how far each machine is. Without a head that is up nothing is launched
/// or removed, and what cannot be placed is still said.
pub(crate) fn scale(draft: &mut Draft<'_>, state: &WorkloadState, seen_at: Timestamp) {
    let mut question = problem(draft, state);
    let decision = decide(draft, &mut question.problem);
    report(draft, &question.demand, &question.problem, &decision, &question.serials);
    let head_up = state.nodes.iter().any(|node| node.head && node.status.is_up());
    if draft.snapshot.policy.head_pool.is_some() && !head_up {
        let why = HoldReason::NoHead;
        draft.report.hold = Some(why.clone());
        draft.note(Subject::Workload, Severity::Warning, Reason::WorkloadHeld { why });
        return;
    }
    remember_unneeded(draft, &decision);
    removals(draft, &question, &decision, seen_at);
    launch(draft, &question.problem, &decision);
}

fn decide(draft: &Draft<'_>, problem: &mut Problem) -> Decision {
    match draft.snapshot.policy.scoring {
        // Targets and pods have steps of their own.
        Scoring::Ray | Scoring::Target | Scoring::Kubernetes => ray::decide(problem),
        Scoring::RayExact => {
            // Where nothing is outdated, Ray would still take all that is on its way for it, and not count it.
            problem.replace_outdated &= problem.machines.iter().any(|m| is_outdated(draft, m));
            without_false_outdated(draft, problem, exact::decide(problem))
        }
    }
}

/// Ray carries no launch hash before a node runs, so with the check on it ends what is on its way in every round
/// and replaces it. Both are left out, or machines would be launched without end.
fn without_false_outdated(draft: &Draft<'_>, problem: &Problem, mut decision: Decision) -> Decision {
    let mut replaced: BTreeMap<PoolId, u64> = BTreeMap::new();
    decision.removals.retain(|removal| {
        let Some(machine) = problem.machines.get(removal.machine) else { return true };
        let wrong = removal.cause == RemovalCause::Outdated && !is_outdated(draft, machine);
        if wrong {
            *replaced.entry(machine.pool.clone()).or_insert(0) += 1;
        }
        !wrong
    });
    for launch in decision.launches.iter_mut().filter(|launch| launch.cause == LaunchCause::Min) {
        let pool = problem.pools.get(launch.pool).map(|option| &option.pool.id);
        let surplus = pool.and_then(|pool| replaced.get(pool)).copied().unwrap_or(0);
        launch.count = launch.count.saturating_sub(surplus);
    }
    decision
}

fn is_outdated(draft: &Draft<'_>, machine: &Machine) -> bool {
    machine.outdated || draft.pool(&machine.pool).is_none()
}

fn launch(draft: &mut Draft<'_>, problem: &Problem, decision: &Decision) {
    for launch in &decision.launches {
        let Some(option) = problem.pools.get(launch.pool) else { continue };
        for _ in 0..launch.count {
            let (serial, id) = draft.memory.next_id();
            let instance =
                Instance::queued(id, serial, option.pool.id.clone(), launch.cause, draft.snapshot.now);
            draft.create(instance, Reason::Wanted { cause: launch.cause });
        }
    }
}

/// Since when nothing has needed the machines on their way, pool by pool.
fn remember_unneeded(draft: &mut Draft<'_>, decision: &Decision) {
    if draft.snapshot.policy.pending_idle_timeout.is_none() {
        return;
    }
    let now = draft.snapshot.now;
    for pool in &draft.snapshot.pools {
        let unneeded = decision.pending_unneeded.contains(&pool.id);
        let known = draft.memory.pools.contains_key(&pool.id);
        if unneeded || known {
            let memory = draft.memory.pools.entry(pool.id.clone()).or_default();
            let since = memory.pending_unneeded_since.unwrap_or(now);
            memory.pending_unneeded_since = unneeded.then_some(since);
        }
    }
}

fn report(
    draft: &mut Draft<'_>,
    order: &Order,
    problem: &Problem,
    decision: &Decision,
    serials: &[Option<Serial>],
) {
    for &(machine, keep) in &decision.kept {
        if let Some(serial) = serials.get(machine).copied().flatten() {
            draft.explain(serial, Some(keep), None);
        }
    }
    draft.report.faults = faults(draft, problem, decision, serials);
    let lists: [(LaunchCause, &Vec<Unplaced>); 3] = [
        (LaunchCause::Demand, &decision.unplaced_tasks),
        (LaunchCause::Gang, &decision.unplaced_gangs),
        (LaunchCause::Floor, &decision.unmet_floors),
    ];
    let mut unplaced = Vec::new();
    for (kind, list) in lists {
        for left in list {
            let words = match kind {
                LaunchCause::Gang => problem.gangs.get(left.index).map(gang_words),
                LaunchCause::Floor => problem.floors.get(left.index).map(floor_words),
                _ => problem.tasks.get(left.index).map(|task| task.shape.to_string()),
            };
            unplaced.push(DemandReport {
                kind,
                index: order.index(kind, left.index),
                demand: words.unwrap_or_default(),
                count: left.count,
                why: left.why.clone(),
            });
        }
    }
    // By words, so that the order in which the workload lists its demand shows nowhere.
    unplaced.sort_by(|a, b| (a.kind, &a.demand, a.count).cmp(&(b.kind, &b.demand, b.count)));
    for left in &unplaced {
        let reason = Reason::Infeasible { why: left.why.clone() };
        draft.note(Subject::Demand(left.demand.clone()), Severity::Warning, reason);
    }
    draft.report.unplaced = unplaced;
}

/// What is wrong, in order of the records.
fn faults(
    draft: &Draft<'_>,
    problem: &Problem,
    decision: &Decision,
    serials: &[Option<Serial>],
) -> Vec<Fault> {
    let machines = problem.machines.iter().zip(serials);
    let excused: BTreeMap<&str, FaultKind> =
        machines.filter_map(|(m, serial)| Some((m.instance.as_str(), excuse(draft, *serial)?))).collect();
    let is_fault = |fault: &&Fault| {
        // Ray's way names a record with its pool.
        let words = fault.record.strip_prefix("instance ").and_then(|rest| rest.split(' ').next());
        excused.get(words.unwrap_or(&fault.record)) != Some(&fault.kind)
    };
    let mut faults: Vec<Fault> = decision.faults.iter().filter(is_fault).cloned().collect();
    faults.sort_by(|a, b| (&a.record, a.kind).cmp(&(&b.record, b.kind)));
    faults.dedup();
    faults
}

/// What is no fault of a machine: a node that is not ours may well have no pool of ours, and a node with a status
/// that we do not know is there.
fn excuse(draft: &Draft<'_>, serial: Option<Serial>) -> Option<FaultKind> {
    let Some(serial) = serial else { return Some(FaultKind::UnknownPool) };
    let node = draft.instances[&serial].state().node()?;
    draft.is_odd(node).then_some(FaultKind::NoNode)
}

fn gang_words(gang: &ostler_model::Gang) -> String {
    let bundles: Vec<String> =
        gang.bundles.iter().map(|b| alloc::format!("{} × ({})", b.count, b.shape)).collect();
    alloc::format!("{} {}: {}", gang.strategy, gang.id, bundles.join(" + "))
}

fn floor_words(floor: &ostler_model::Floor) -> String {
    let tasks: Vec<String> =
        floor.tasks.iter().map(|t| alloc::format!("{} × ({})", t.count, t.shape)).collect();
    alloc::format!("standing request: {}", tasks.join(" + "))
}
