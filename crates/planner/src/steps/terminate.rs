//! Machines whose node is gone, or that never became one, are ended.

use crate::draft::Draft;
use crate::reason::Reason;
use ostler_lifecycle::{Event, Instance, StateName};
use ostler_model::EndCause;

/// Drained, AllocationTimedOut, InstallFailed and TerminationFailed → Terminating.
pub(crate) fn terminate(draft: &mut Draft<'_>) {
    let leftover = |i: &Instance| {
        use StateName::{AllocationTimedOut, Drained, InstallFailed, TerminationFailed};
        matches!(i.state().name(), Drained | AllocationTimedOut | InstallFailed | TerminationFailed)
    };
    for serial in draft.serials(leftover) {
        let instance = &draft.instances[&serial];
        if is_owned_by_other(draft, instance) {
            let event = Event::MachineGone { cause: EndCause::Replaced };
            draft.apply(serial, event, Reason::MachineOwnedByOther);
        } else {
            let cause = instance.state().end_cause().unwrap_or(EndCause::NodeDead);
            draft.apply(serial, Event::TerminationRequested { cause }, Reason::MachineLeftOver);
        }
    }
}

/// A node that was started again on the same machine has a record of its own; ending the machine for the sake
/// of the old record would kill it.
fn is_owned_by_other(draft: &Draft<'_>, instance: &Instance) -> bool {
    let cloud = instance.state().cloud();
    draft.instances.values().any(|other| {
        use StateName::{Allocated, DrainRequested, Installing, Running};
        let live = matches!(other.state().name(), Allocated | Installing | Running | DrainRequested);
        live && other.serial() != instance.serial() && other.state().cloud() == cloud
    })
}
