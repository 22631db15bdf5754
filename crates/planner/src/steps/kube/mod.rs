//! The nodes of a Kubernetes cluster: asks `packing::kube` which there should be, and turns its answer into events.
//!
//! [`promise`] says when a node counts as up, [`drains`] follows drains that come back, [`pools`] says what machines of
//! each pool are like, [`problem`] puts the question, [`answer`] carries the answer out, [`words`] says what waits and
//! why.

mod answer;
mod drains;
mod pools;
mod problem;
mod promise;
mod words;

pub(crate) use drains::{follow_drains, remember_failed_drain};
pub(crate) use promise::Promises;

use crate::draft::Draft;
use crate::plan::{Severity, Subject};
use crate::reason::{HoldReason, Reason};
use ostler_lifecycle::{Event, StateName};
use ostler_model::{EndCause, Timestamp, WorkloadState};
use ostler_packing::kube;

/// New records for nodes that pods need, drains for nodes that nothing needs, and drains taken back.
pub(crate) fn kube(draft: &mut Draft<'_>, state: &WorkloadState, seen_at: Timestamp) {
    let snapshot = draft.snapshot;
    let (Some(policy), Some(cluster)) = (snapshot.policy.kube.as_deref(), state.cluster.as_deref()) else {
        return;
    };
    withdraw_resting(draft);
    pools::learn(draft, cluster);
    let question = problem::question(draft, policy, cluster);
    let decision = kube::decide(&question.problem);
    words::report(draft, &question, &decision);
    problem::remember(draft, &question, &decision);
    if policy.shadow {
        words::shadow(draft, &question, &decision);
        draft.report.hold = Some(HoldReason::Shadow);
        draft.note(Subject::Workload, Severity::Info, Reason::WorkloadHeld { why: HoldReason::Shadow });
        return;
    }
    answer::carry_out(draft, &question, &decision, seen_at);
}

/// Launches that wait in the queue of a pool that rests would only hide the demand from other pools.
fn withdraw_resting(draft: &mut Draft<'_>) {
    for serial in draft.serials(|i| i.state().name() == StateName::Queued) {
        let pool = draft.instances[&serial].pool().clone();
        if draft.resting_until(&pool).is_some() {
            let cause = EndCause::PoolRefused;
            draft.apply(serial, Event::Withdrawn { cause }, Reason::Removed { cause });
        }
    }
}
