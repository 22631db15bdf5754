//! How effects ended. A report about an older transition of its record is stale and says nothing.

use crate::draft::{Draft, Serial};
use crate::memory::Refusal;
use crate::reason::Reason;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use ostler_lifecycle::{Event, StateName};
use ostler_model::{
    EffectOutcome, EffectReport, EndCause, Failure, FailureClass, InstanceId, Scoring, Timestamp,
};

/// Refused launches, drains, preparations and terminations move their records on.
pub(crate) fn outcomes(draft: &mut Draft<'_>) {
    let mut reports: Vec<&EffectReport> = draft.snapshot.reports.iter().collect();
    reports.sort_by(|a, b| (&a.instance, a.epoch, a.at).cmp(&(&b.instance, b.epoch, b.at)));
    let serials: BTreeMap<InstanceId, Serial> =
        draft.instances.values().map(|i| (i.id().clone(), i.serial())).collect();
    for report in reports {
        let serial = serials.get(&report.instance).copied();
        if let Some(serial) = serial.filter(|serial| draft.instances[serial].epoch() == report.epoch) {
            outcome(draft, serial, &report.outcome);
        }
    }
}

fn outcome(draft: &mut Draft<'_>, serial: Serial, outcome: &EffectOutcome) {
    match (outcome, draft.instances[&serial].state().name()) {
        (EffectOutcome::Failed(failure), StateName::Requested) => {
            refused(draft, serial, failure, Reason::LaunchRefused { failure: failure.clone() });
        }
        (EffectOutcome::Launched { listed_by }, StateName::Requested) => accepted(draft, serial, *listed_by),
        (EffectOutcome::Failed(failure), StateName::Installing) => {
            let event = Event::InstallFailed { failure: failure.clone() };
            draft.apply(serial, event, Reason::InstallRefused { failure: failure.clone() });
        }
        (EffectOutcome::Failed(_), StateName::UndrainRequested) => {
            // It is asked again, ever more slowly.
            draft.apply(serial, Event::UndrainRequested, Reason::DrainTakenBack);
        }
        (EffectOutcome::Failed(failure), StateName::DrainRequested) => {
            super::kube::remember_failed_drain(draft, serial);
            draft.apply(serial, Event::DrainCancelled, Reason::DrainFailed { failure: failure.clone() });
        }
        (EffectOutcome::DrainRejected(message), StateName::DrainRequested) => {
            super::kube::remember_failed_drain(draft, serial);
            draft.apply(serial, Event::DrainCancelled, Reason::DrainRejected { message: message.clone() });
        }
        (EffectOutcome::Failed(failure), StateName::Terminating) => {
            let event = Event::TerminationFailed { failure: failure.clone() };
            draft.apply(serial, event, Reason::TerminationRefused { failure: failure.clone() });
        }
        // Accepted, or about a state that the record has left: what comes of it is observed.
        _ => {}
    }
}

/// Had a listing shown the machine, the record would have claimed it in this same plan, see `machines`. One that began
/// after the machine must show proves that it is gone, and nobody waits for it any longer.
fn accepted(draft: &mut Draft<'_>, serial: Serial, listed_by: Timestamp) {
    let (instance, policy) = (&draft.instances[&serial], &draft.snapshot.policy);
    let shown = draft.looked_at(instance.pool()).is_some_and(|began| began > listed_by);
    if !shown || policy.scoring == Scoring::RayExact {
        return; // Ray waits.
    }
    let attempt = instance.attempt();
    if attempt <= policy.timeouts.request_retries {
        draft.apply(serial, Event::LaunchRequeued, Reason::LaunchVanished { attempt });
    } else {
        let message = alloc::format!("{attempt} launches were accepted, and no machine was ever listed");
        let failure = Failure { class: FailureClass::Transient, message };
        refused(draft, serial, &failure, Reason::LaunchGivenUp { attempts: attempt });
    }
}

/// The record ends, and its pool backs off, so that the demand goes elsewhere in this same plan.
fn refused(draft: &mut Draft<'_>, serial: Serial, failure: &Failure, reason: Reason) {
    let (now, policy) = (draft.snapshot.now, &draft.snapshot.policy);
    let pool = draft.instances[&serial].pool().clone();
    let memory = draft.memory.pools.entry(pool.clone()).or_default();
    let in_a_row = match &memory.refusal {
        // Refusals of one burst count once: ten launches that fail together are one answer, not ten.
        Some(last) if now < last.until(policy) => last.in_a_row,
        Some(last) => last.in_a_row + 1,
        None => 1,
    };
    let at = memory.refusal.as_ref().filter(|last| now < last.until(policy)).map_or(now, |last| last.at);
    memory.refusal = Some(Refusal { at, in_a_row, failure: failure.clone() });
    draft.apply(serial, Event::LaunchFailed { failure: failure.clone() }, reason);
    withdraw_queued(draft, &pool);
}

/// What still waits in the queue of a pool that refuses would only hide the demand from other pools.
fn withdraw_queued(draft: &mut Draft<'_>, pool: &ostler_model::PoolId) {
    if draft.snapshot.policy.scoring == Scoring::RayExact {
        return; // Ray asks the same pool again.
    }
    for serial in draft.serials(|i| i.pool() == pool && i.state().name() == StateName::Queued) {
        let cause = EndCause::PoolRefused;
        draft.apply(serial, Event::Withdrawn { cause }, Reason::Removed { cause });
    }
}
