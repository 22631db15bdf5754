//! The answer carried out: drains taken back, new records, drains.

use super::problem::Question;
use crate::draft::{Draft, Serial};
use crate::memory::Replacing;
use crate::reason::Reason;
use alloc::collections::BTreeSet;
use ostler_lifecycle::{Event, Instance, StateName};
use ostler_model::{EndCause, InstanceId, LaunchCause, NodeId, PoolId, Timestamp};
use ostler_packing::kube::problem::{Decision, RemovalCause};

/// Nodes that are wanted again first, then what is new, then what goes.
pub(super) fn carry_out(
    draft: &mut Draft<'_>,
    question: &Question<'_>,
    decision: &Decision,
    seen_at: Timestamp,
) {
    let serial = |machine: usize| question.serials.get(machine).copied().flatten();
    for serial in decision.stays.iter().filter_map(|machine| serial(*machine)) {
        if matches!(draft.instances[&serial].state().name(), StateName::DrainRequested | StateName::Draining)
        {
            draft.apply(serial, Event::UndrainRequested, Reason::DrainTakenBack);
        }
    }
    for launch in &decision.launches {
        let Some(pool) = question.problem.pools.get(launch.pool) else { continue };
        launches(draft, &pool.id, launch.count, launch.cause);
    }
    for removal in &decision.removals {
        if let Some(serial) = serial(removal.machine) {
            remove(draft, serial, end_cause(removal.cause), seen_at);
        }
    }
    for replacement in &decision.replacements {
        let node = |machine: &usize| {
            let node = question.problem.machines.get(*machine)?.node?;
            Some(question.problem.cluster.nodes.get(node)?.id.clone())
        };
        let old: BTreeSet<NodeId> = replacement.old.iter().filter_map(node).collect();
        let mut new = BTreeSet::new();
        for &(pool, count) in &replacement.new {
            let Some(pool) = question.problem.pools.get(pool) else { continue };
            new.extend(launches(draft, &pool.id, count, LaunchCause::Replacement));
        }
        draft.memory.kube.replacing.push(Replacing { old, new, since: draft.snapshot.now });
    }
}

fn launches(draft: &mut Draft<'_>, pool: &PoolId, count: u64, cause: LaunchCause) -> BTreeSet<InstanceId> {
    let mut made = BTreeSet::new();
    for _ in 0..count {
        let (serial, id) = draft.memory.next_id();
        made.insert(id.clone());
        let instance = Instance::queued(id, serial, pool.clone(), cause, draft.snapshot.now);
        draft.create(instance, Reason::Wanted { cause });
    }
    made
}

/// The machine's stage decides how it goes: what does not exist is withdrawn, what has no node is ended, a node is
/// drained first. A node that has lost touch cannot be drained: nothing on it answers.
fn remove(draft: &mut Draft<'_>, serial: Serial, cause: EndCause, seen_at: Timestamp) {
    let reason = Reason::Removed { cause };
    match draft.instances[&serial].state().name() {
        StateName::Queued => draft.apply(serial, Event::Withdrawn { cause }, reason),
        StateName::Allocated | StateName::Installing => {
            draft.apply(serial, Event::TerminationRequested { cause }, reason);
        }
        // What was seen before the node came up, or came back from a drain, says nothing of it.
        StateName::Running if seen_at <= draft.instances[&serial].since() => {}
        StateName::Running if cause == EndCause::Unready => {
            draft.apply(serial, Event::NodeGone { cause }, reason);
        }
        StateName::Running => {
            let deadline = draft.snapshot.now + draft.snapshot.policy.drain_grace;
            draft.apply(serial, Event::DrainRequested { cause, deadline: Some(deadline) }, reason);
        }
        // A launch cannot be called back: its machine goes once it has come.
        _ => {}
    }
}

pub(super) const fn end_cause(cause: RemovalCause) -> EndCause {
    match cause {
        RemovalCause::Empty => EndCause::Idle,
        RemovalCause::Underused => EndCause::Underused,
        RemovalCause::Consolidated => EndCause::Consolidated,
        RemovalCause::Unready => EndCause::Unready,
        RemovalCause::MaxPerPool => EndCause::MaxPerPool,
        RemovalCause::MaxTotal => EndCause::MaxTotal,
        RemovalCause::Outdated | RemovalCause::PoolGone => EndCause::Outdated,
        RemovalCause::Unneeded => EndCause::PendingIdle,
    }
}
