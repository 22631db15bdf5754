//! Which machines should exist for this demand: asks the scoring policy and turns its answer into events.

use super::problem::problem;
use crate::draft::{Draft, Serial};
use crate::plan::{Severity, Subject};
use crate::reason::{HoldReason, Reason};
use crate::report::DemandReport;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use ostler_lifecycle::{Event, Instance, StateName};
use ostler_model::{EndCause, LaunchCause, Scoring, WorkloadState};
use ostler_packing::problem::{Decision, Problem, RemovalCause, Unplaced};
use ostler_packing::{exact, ray};

/// New records for launches; removals by how far each machine is. Without a head that is up nothing is launched
/// or removed, and what cannot be placed is still said.
pub(crate) fn scale(draft: &mut Draft<'_>, state: &WorkloadState) {
    let (problem, serials) = problem(draft, state);
    let decision = match draft.snapshot.policy.scoring {
        Scoring::Ray => ray::decide(&problem),
        Scoring::RayExact => exact::decide(&problem),
    };
    report(draft, state, &decision, &serials);
    let head_up = state.nodes.iter().any(|node| node.head && node.status.is_up());
    if draft.snapshot.policy.head_pool.is_some() && !head_up {
        let why = HoldReason::NoHead;
        draft.report.hold = Some(why.clone());
        draft.note(Subject::Workload, Severity::Warning, Reason::WorkloadHeld { why });
        return;
    }
    remember_unneeded(draft, &decision);
    for removal in &decision.removals {
        if let Some(serial) = serials.get(removal.machine).copied().flatten() {
            remove(draft, serial, end_cause(removal.cause));
        }
    }
    launch(draft, &problem, &decision);
}

/// The machine's stage decides how it goes: what does not exist is withdrawn, what the workload does not see is
/// ended, what it does see is drained first, and what is already leaving is left alone.
fn remove(draft: &mut Draft<'_>, serial: Serial, cause: EndCause) {
    let reason = Reason::Removed { cause };
    match draft.instances[&serial].state().name() {
        StateName::Queued => draft.apply(serial, Event::Withdrawn { cause }, reason),
        StateName::Requested => {
            // Should its machine come all the same, it is adopted and goes the way of any other.
            draft.apply(serial, Event::LaunchRequeued, reason.clone());
            draft.apply(serial, Event::Withdrawn { cause }, reason);
        }
        StateName::Allocated | StateName::Installing => {
            draft.apply(serial, Event::TerminationRequested { cause }, reason);
        }
        StateName::Running => {
            let busy_grace = draft.snapshot.now + draft.snapshot.policy.drain_grace;
            let deadline = (cause != EndCause::Idle).then_some(busy_grace);
            draft.apply(serial, Event::DrainRequested { cause, deadline }, reason);
        }
        _ => {}
    }
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

fn report(draft: &mut Draft<'_>, state: &WorkloadState, decision: &Decision, serials: &[Option<Serial>]) {
    for &(machine, keep) in &decision.kept {
        if let Some(serial) = serials.get(machine).copied().flatten() {
            draft.explain(serial, Some(keep), None);
        }
    }
    for fault in &decision.faults {
        let subject = Subject::Record(fault.record.clone());
        draft.note(subject, Severity::Warning, Reason::BadRecord { fault: fault.clone() });
    }
    draft.report.faults.clone_from(&decision.faults);
    let demand = &state.demand;
    let lists: [(LaunchCause, &Vec<Unplaced>); 3] = [
        (LaunchCause::Demand, &decision.unplaced_tasks),
        (LaunchCause::Gang, &decision.unplaced_gangs),
        (LaunchCause::Floor, &decision.unmet_floors),
    ];
    for (kind, list) in lists {
        for unplaced in list {
            let words = match kind {
                LaunchCause::Gang => demand.gangs.get(unplaced.index).map(gang_words),
                LaunchCause::Floor => demand.floors.get(unplaced.index).map(floor_words),
                _ => demand.tasks.get(unplaced.index).map(|task| task.shape.to_string()),
            };
            unplaced_demand(draft, kind, unplaced, words.unwrap_or_default());
        }
    }
}

fn unplaced_demand(draft: &mut Draft<'_>, kind: LaunchCause, unplaced: &Unplaced, demand: String) {
    let why = unplaced.why.clone();
    let subject = Subject::Demand(demand.clone());
    draft.note(subject, Severity::Warning, Reason::Infeasible { why: why.clone() });
    draft.report.unplaced.push(DemandReport {
        kind,
        index: unplaced.index,
        demand,
        count: unplaced.count,
        why,
    });
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

const fn end_cause(cause: RemovalCause) -> EndCause {
    match cause {
        RemovalCause::Outdated => EndCause::Outdated,
        RemovalCause::MaxPerPool => EndCause::MaxPerPool,
        RemovalCause::MaxTotal => EndCause::MaxTotal,
        RemovalCause::Idle => EndCause::Idle,
        RemovalCause::PendingIdle => EndCause::PendingIdle,
    }
}
