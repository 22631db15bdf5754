//! What is wrong and stays wrong after this plan. What the plan itself puts right needs no saying.

use crate::draft::{Draft, Serial};
use crate::plan::{Severity, Subject};
use crate::reason::Reason;
use alloc::collections::BTreeSet;
use alloc::string::ToString;
use alloc::vec::Vec;
use ostler_lifecycle::{Instance, StateName};

/// Says which records are wrong, and which have not moved on for long.
pub(crate) fn say(draft: &mut Draft<'_>) {
    say_faults(draft);
    say_stuck(draft);
}

fn say_faults(draft: &mut Draft<'_>) {
    let ends = |i: &Instance| i.state().end_cause().is_some() || i.state().name().is_final();
    let ending: BTreeSet<_> =
        draft.serials(ends).iter().map(|serial| draft.instances[serial].id().to_string()).collect();
    for fault in draft.report.faults.clone() {
        if !ending.contains(&fault.record) {
            let subject = Subject::Record(fault.record.clone());
            draft.note(subject, Severity::Warning, Reason::BadRecord { fault });
        }
    }
}

/// States without a timeout of their own (as Ray): somebody should look.
fn say_stuck(draft: &mut Draft<'_>) {
    let warn = draft.snapshot.policy.timeouts.warn;
    let waits = |i: &Instance| {
        use StateName::{Drained, Draining, InstallFailed, Queued, TerminationFailed, UndrainRequested};
        let state = i.state().name();
        matches!(state, Queued | Draining | UndrainRequested | Drained | InstallFailed | TerminationFailed)
            && draft.snapshot.now.since(i.since()) > warn
    };
    let stuck: Vec<Serial> = draft.serials(waits);
    for serial in stuck {
        let instance = &draft.instances[&serial];
        let (subject, state) = (Subject::Instance(instance.id().clone()), instance.state().name());
        draft.note(subject, Severity::Warning, Reason::Stuck { state });
    }
}
