//! Machines whose node is gone, or that never became one, are ended.

use crate::draft::Draft;
use crate::reason::Reason;
use alloc::collections::BTreeSet;
use ostler_lifecycle::{Event, Instance, StateName};
use ostler_model::{CloudId, EndCause, PoolId};

/// Drained, AllocationTimedOut, InstallFailed and TerminationFailed → Terminating.
pub(crate) fn terminate(draft: &mut Draft<'_>) {
    let leftover = |i: &Instance| {
        use StateName::{AllocationTimedOut, Drained, InstallFailed, TerminationFailed};
        matches!(i.state().name(), Drained | AllocationTimedOut | InstallFailed | TerminationFailed)
    };
    let in_use = in_use(draft);
    for serial in draft.serials(leftover) {
        let instance = &draft.instances[&serial];
        let machine = instance.state().cloud().map(|cloud| (cloud.clone(), instance.pool().clone()));
        if machine.is_some_and(|machine| in_use.contains(&machine)) {
            let event = Event::MachineGone { cause: EndCause::Replaced };
            draft.apply(serial, event, Reason::MachineOwnedByOther);
        } else {
            let cause = instance.state().end_cause().unwrap_or(EndCause::NodeDead);
            draft.apply(serial, Event::TerminationRequested { cause }, Reason::MachineLeftOver);
        }
    }
}

/// Machines of records that live. A node that was started again on the same machine has a record of its own;
/// ending the machine for the sake of the old record would kill it.
fn in_use(draft: &Draft<'_>) -> BTreeSet<(CloudId, PoolId)> {
    use StateName::{Allocated, DrainRequested, Installing, Running, UndrainRequested};
    let live = |i: &&Instance| {
        matches!(i.state().name(), Allocated | Installing | Running | DrainRequested | UndrainRequested)
    };
    let machine = |i: &Instance| Some((i.state().cloud()?.clone(), i.pool().clone()));
    draft.instances.values().filter(live).filter_map(machine).collect()
}
