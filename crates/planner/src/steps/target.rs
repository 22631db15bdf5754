//! So many workers as somebody asked for. No drains: who asks has said which workers may go, and a removal is one
//! committed step, so that a worker that is kept by a later wish is either gone already or stays.

use crate::draft::{Draft, Serial};
use crate::plan::{Severity, Subject};
use crate::reason::Reason;
use crate::report::TargetReport;
use crate::standing::Standing;
use alloc::vec::Vec;
use ostler_lifecycle::{Event, Instance, StateName};
use ostler_model::EndCause;
use ostler_packing::problem::Keep;
use ostler_packing::target::{self, Answer, Cause, Stage, Worker};

/// New records for what is lacking, ends for what is too much.
pub(crate) fn target(draft: &mut Draft<'_>) {
    let (answer, question, serials, report) = {
        let standing = standing(draft);
        let (question, records) = standing.question();
        let answer = target::decide(&question);
        let serials: Vec<Serial> = records.iter().map(|record| record.serial()).collect();
        let report = TargetReport::new(&standing, &answer);
        (answer, question, serials, report)
    };
    draft.report.target = Some(report);
    for (worker, serial) in question.workers.iter().zip(&serials) {
        draft.explain(*serial, Some(why_it_stays(worker)), None);
    }
    for (&n, &cause) in &answer.removals {
        remove(draft, serials[n], cause);
    }
    launch(draft, &answer);
    say(draft, &answer);
}

/// Where the workload stands after what this plan has done so far.
fn standing<'d>(draft: &'d Draft<'_>) -> Standing<'d> {
    let snapshot = draft.snapshot;
    Standing {
        now: snapshot.now,
        workload: &snapshot.workload,
        policy: &snapshot.policy,
        pools: &snapshot.pools,
        memory: &draft.memory,
        instances: draft.instances.values().collect(),
        listings: &snapshot.listings,
        state: snapshot.state.as_ref(),
    }
}

/// If it is not removed.
fn why_it_stays(worker: &Worker) -> Keep {
    match worker.stage {
        _ if worker.keep => Keep::Kept,
        _ if worker.unseen => Keep::Protected,
        Stage::Asked | Stage::Starting => Keep::Coming,
        Stage::Ready => Keep::Counted,
    }
}

fn remove(draft: &mut Draft<'_>, serial: Serial, cause: Cause) {
    let cause = match cause {
        Cause::Listed => EndCause::Asked,
        Cause::MaxPerPool => EndCause::MaxPerPool,
        Cause::NoPool => EndCause::Outdated,
        Cause::Surplus => EndCause::Surplus,
    };
    let reason = Reason::Removed { cause };
    match draft.instances[&serial].state().name() {
        StateName::Queued => draft.apply(serial, Event::Withdrawn { cause }, reason),
        StateName::Requested => {
            // Should its machine come all the same, it is adopted and goes the way of any other.
            draft.apply(serial, Event::LaunchRequeued, reason.clone());
            draft.apply(serial, Event::Withdrawn { cause }, reason);
        }
        _ => draft.apply(serial, Event::TerminationRequested { cause }, reason),
    }
}

fn launch(draft: &mut Draft<'_>, answer: &Answer) {
    for &(pool, cause, count) in &answer.launches {
        let Some(pool) = draft.snapshot.pools.get(pool) else { continue };
        for _ in 0..count {
            let (serial, id) = draft.memory.next_id();
            let instance = Instance::queued(id, serial, pool.id.clone(), cause, draft.snapshot.now);
            draft.create(instance, Reason::Wanted { cause });
        }
    }
}

fn say(draft: &mut Draft<'_>, answer: &Answer) {
    if answer.short > 0 {
        let reason = Reason::TargetShort { missing: answer.short };
        draft.note(Subject::Workload, Severity::Warning, reason);
    }
    if answer.held > 0 {
        draft.note(Subject::Workload, Severity::Info, Reason::TargetHeld { surplus: answer.held });
    }
}
