//! Machines that are up and must be prepared by us.

use crate::draft::Draft;
use crate::reason::Reason;
use alloc::collections::BTreeSet;
use ostler_lifecycle::{Event, StateName};
use ostler_model::{CloudId, CloudPhase, NodeKind};

/// Allocated → Installing once the provider says that the machine runs.
pub(crate) fn install(draft: &mut Draft<'_>) {
    if !draft.snapshot.policy.install {
        return;
    }
    let listings = draft.snapshot.listings.values().filter_map(|observed| observed.result.as_ref().ok());
    let running: BTreeSet<&CloudId> = listings
        .flatten()
        .filter(|machine| machine.phase == CloudPhase::Running)
        .map(|machine| &machine.id)
        .collect();
    let waiting = draft.serials(|i| {
        let up = i.state().cloud().is_some_and(|cloud| running.contains(cloud));
        up && i.kind() == NodeKind::Worker && i.state().name() == StateName::Allocated
    });
    for serial in waiting {
        draft.apply(serial, Event::InstallStarted, Reason::InstallBegins);
    }
}
