//! Drains that come back: what the workload has given up, what is wanted again, and marks that nobody wants.

use crate::draft::{Draft, Serial};
use crate::reason::Reason;
use alloc::collections::{BTreeMap, BTreeSet};
use ostler_lifecycle::{Event, StateName};
use ostler_model::{NodeId, NodeStatus, Timestamp, WorkloadState};

/// Brings records in step with the marks of drains on their nodes. A look that is older than the record's state
/// says nothing of it.
pub(crate) fn follow_drains(draft: &mut Draft<'_>, state: &WorkloadState, seen_at: Timestamp) {
    let Some(cluster) = state.cluster.as_deref() else { return };
    let status: BTreeMap<&NodeId, NodeStatus> = state.nodes.iter().map(|n| (&n.id, n.status)).collect();
    let marked: BTreeSet<&NodeId> = cluster.nodes.iter().filter(|n| n.draining).map(|n| &n.id).collect();
    for serial in draft.serials(|i| i.state().node().is_some() && i.since() < seen_at) {
        let instance = &draft.instances[&serial];
        let Some(node) = instance.state().node() else { continue };
        let Some(&status) = status.get(node) else { continue };
        let going = matches!(status, NodeStatus::Draining | NodeStatus::Drained | NodeStatus::Dead);
        match instance.state().name() {
            // The rim took its mark away: the deadline passed, or something that must stay came.
            StateName::Draining if !going => {
                remember_failed_drain(draft, serial);
                draft.apply(serial, Event::DrainCancelled, Reason::NodeBack);
            }
            StateName::UndrainRequested if !marked.contains(node) && !going => {
                draft.apply(serial, Event::DrainCancelled, Reason::NodeBack);
            }
            // Left behind by a crash, or by a store that was lost.
            StateName::Running if marked.contains(node) => {
                draft.apply(serial, Event::UndrainRequested, Reason::DrainLeftOver);
            }
            _ => {}
        }
    }
}

/// A node that could not be drained is let alone for a while.
pub(crate) fn remember_failed_drain(draft: &mut Draft<'_>, serial: Serial) {
    let node = draft.instances[&serial].state().node().cloned();
    if let (Some(node), Some(_)) = (node, &draft.snapshot.policy.kube) {
        draft.memory.kube.drain_failed.insert(node, draft.snapshot.now);
    }
}
