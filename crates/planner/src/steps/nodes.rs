//! What the workload lists, against our records: nodes that came up, drain, died, or are no longer listed.

use super::kube::Promises;
use crate::draft::{Draft, Serial};
use crate::plan::{Severity, Subject};
use crate::reason::Reason;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::ToString;
use alloc::vec::Vec;
use ostler_lifecycle::{Event, Instance, State, StateName};
use ostler_model::{CloudId, EndCause, Node, NodeId, NodeKind, NodeStatus, Timestamp, WorkloadState};

/// Brings each record in step with its node. Nodes without a machine of ours are left alone: they are capacity
/// that somebody else looks after.
pub(crate) fn nodes(draft: &mut Draft<'_>, state: &WorkloadState, seen_at: Timestamp) {
    let mut nodes: Vec<&Node> = state.nodes.iter().filter(|node| !node.head).collect();
    nodes.sort_by(|a, b| a.id.cmp(&b.id));
    for node in &nodes {
        if let NodeStatus::Unknown(status) = node.status {
            let reason = Reason::UnknownNodeStatus { node: node.id.to_string(), status };
            draft.note(Subject::Node(node.id.clone()), Severity::Warning, reason);
            draft.odd.insert(node.id.clone());
        }
    }
    let by_id: BTreeMap<&NodeId, &Node> = nodes.iter().map(|node| (&node.id, *node)).collect();
    follow_known(draft, &by_id);
    super::kube::follow_drains(draft, state, seen_at);
    join_new(draft, &nodes, state);
    lose_missing(draft, &by_id, seen_at);
}

/// Records that know their node.
fn follow_known(draft: &mut Draft<'_>, by_id: &BTreeMap<&NodeId, &Node>) {
    // A node of a Kubernetes cluster drains because we asked for it.
    let drains_on_order_only = draft.snapshot.policy.kube.is_some();
    for serial in draft.serials(|i| i.state().node().is_some()) {
        let instance = &draft.instances[&serial];
        let Some(node) = instance.state().node().and_then(|id| by_id.get(id)) else { continue };
        match (node.status, instance.state().name()) {
            (NodeStatus::Draining, StateName::Running) if drains_on_order_only => {}
            (NodeStatus::Draining, StateName::Running | StateName::DrainRequested) => {
                draft.apply(serial, Event::NodeDraining, Reason::NodeDraining);
            }
            (NodeStatus::Drained, StateName::DrainRequested | StateName::Draining) => {
                draft.apply(serial, Event::NodeGone { cause: EndCause::NodeDraining }, Reason::NodeDrained);
            }
            (NodeStatus::Dead, _) => {
                draft.apply(serial, Event::NodeGone { cause: EndCause::NodeDead }, Reason::NodeDead);
            }
            _ => {}
        }
    }
}

/// Records that wait for a node, and machines on which another node has come up.
fn join_new(draft: &mut Draft<'_>, nodes: &[&Node], state: &WorkloadState) {
    let owners = draft.owners();
    let promises = Promises::of(state);
    let known: Vec<NodeId> = draft.instances.values().filter_map(|i| i.state().node().cloned()).collect();
    let known: BTreeSet<NodeId> = known.into_iter().collect();
    let up: BTreeSet<&NodeId> =
        nodes.iter().filter(|node| node.status.is_up()).map(|node| &node.id).collect();
    let machines = Machines::of(draft, nodes);
    for node in nodes.iter().filter(|node| !known.contains(&node.id)) {
        let Some(serial) = owners.under(node) else { continue };
        let is_up = matches!(node.status, NodeStatus::Running | NodeStatus::Idle);
        if is_up && !promises.are_kept(draft, serial, node) {
            continue; // it counts as on its way, until it is overdue
        }
        // An earlier node of this loop may have moved the record on.
        let name = draft.instances[&serial].state().name();
        match (node.status, name) {
            (NodeStatus::Running | NodeStatus::Idle, StateName::Allocated | StateName::Installing) => {
                joined(draft, serial, node);
            }
            (NodeStatus::Running | NodeStatus::Idle, _) if is_left_by_its_node(draft, serial, &up) => {
                replaced(draft, serial, node);
            }
            (NodeStatus::Draining, StateName::Allocated | StateName::Installing) => {
                joined(draft, serial, node);
                draft.apply(serial, Event::NodeDraining, Reason::NodeDraining);
            }
            (NodeStatus::Dead, StateName::Allocated | StateName::Installing)
                if machines.died_here(node.cloud.as_ref()) =>
            {
                draft.apply(serial, Event::NodeGone { cause: EndCause::NodeDead }, Reason::NodeDead);
            }
            _ => {}
        }
    }
}

/// Is the machine still wanted, and its node gone? While both nodes are up, the new one is a node of its own.
fn is_left_by_its_node(draft: &Draft<'_>, serial: Serial, up: &BTreeSet<&NodeId>) -> bool {
    let state = draft.instances[&serial].state();
    let wanted = match state.end_cause() {
        None => state.name() == StateName::Running,
        // A control plane that was replaced during the drain knows neither the old node nor the drain; what
        // started on the machine under it may be at work.
        Some(EndCause::Idle) => matches!(state.name(), StateName::DrainRequested | StateName::Draining),
        // Other machines that we want to end go, whatever starts on them again.
        Some(EndCause::NodeDead | EndCause::NodeLost | EndCause::NodeDraining) => {
            matches!(state.name(), StateName::Draining | StateName::Drained)
        }
        Some(_) => false,
    };
    wanted && state.node().is_none_or(|node| !up.contains(node))
}

/// What the nodes say of the machines under them.
struct Machines {
    up: BTreeSet<CloudId>,
    dead: BTreeMap<CloudId, usize>,
    /// How many records that have ended had a node on the machine.
    ended: BTreeMap<CloudId, usize>,
}

impl Machines {
    fn of(draft: &Draft<'_>, nodes: &[&Node]) -> Self {
        let (mut up, mut dead, mut ended) = (BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
        for node in nodes {
            match (&node.cloud, node.status) {
                (Some(cloud), NodeStatus::Dead) => *dead.entry(cloud.clone()).or_insert(0) += 1,
                (Some(cloud), status) if status.is_up() => drop(up.insert(cloud.clone())),
                _ => {}
            }
        }
        for instance in draft.instances.values() {
            let ran = instance.history().iter().any(|entered| entered.state == StateName::Running);
            if let (State::Terminated { cloud: Some(cloud), .. }, true) = (instance.state(), ran) {
                *ended.entry(cloud.clone()).or_insert(0) += 1;
            }
        }
        Self { up, dead, ended }
    }

    /// Did a node die here that was not an earlier record's? A machine that was started again still has the dead
    /// node of its life before in the workload's list.
    fn died_here(&self, cloud: Option<&CloudId>) -> bool {
        let count =
            |of: &BTreeMap<CloudId, usize>| cloud.and_then(|cloud| of.get(cloud)).copied().unwrap_or(0);
        let alive = cloud.is_some_and(|cloud| self.up.contains(cloud));
        !alive && count(&self.dead) > count(&self.ended)
    }
}

/// The node counts as up.
pub(super) fn joined(draft: &mut Draft<'_>, serial: Serial, node: &Node) {
    let pool = draft.instances[&serial].pool().clone();
    if let Some(memory) = draft.memory.pools.get_mut(&pool) {
        memory.timed_out_at = None;
    }
    draft.apply(serial, Event::NodeUp { node: node.id.clone() }, Reason::NodeJoined);
}

/// The workload's software was started again on the same machine: a new record for the new node, and the old
/// record ends without its machine (as Ray does).
fn replaced(draft: &mut Draft<'_>, old: Serial, node: &Node) {
    let Some(cloud) = draft.instances[&old].state().cloud().cloned() else { return };
    let pool = draft.instances[&old].pool().clone();
    let (serial, id) = draft.memory.next_id();
    let new = Instance::adopted(id, serial, pool, NodeKind::Worker, cloud, draft.snapshot.now);
    draft.create(new, Reason::MachineAdopted);
    draft.apply(serial, Event::NodeUp { node: node.id.clone() }, Reason::NodeJoined);
    if draft.instances[&old].state().name() != StateName::Drained {
        draft.apply(old, Event::NodeGone { cause: EndCause::Replaced }, Reason::NodeReplaced);
    }
    draft.apply(old, Event::MachineGone { cause: EndCause::Replaced }, Reason::MachineOwnedByOther);
}

/// Records whose node the workload does not list at all, for longer than it may take to hear of it again.
fn lose_missing(draft: &mut Draft<'_>, by_id: &BTreeMap<&NodeId, &Node>, seen_at: Timestamp) {
    let wait = draft.snapshot.policy.timeouts.node_missing;
    let mut missing = BTreeMap::new();
    for serial in draft.serials(|i| i.kind() == NodeKind::Worker && i.state().node().is_some()) {
        let instance = &draft.instances[&serial];
        // Whatever a node of unknown status on its machine is, the machine is not left over.
        let cloud = instance.state().cloud();
        let odd = !draft.odd.is_empty()
            && by_id.values().any(|node| node.cloud.as_ref() == cloud && draft.is_odd(&node.id));
        let listed = odd || instance.state().node().is_some_and(|node| by_id.contains_key(node));
        if listed || seen_at <= instance.since() {
            continue;
        }
        let id = instance.id().clone();
        let since = draft.memory.missing_since.get(&id).copied().unwrap_or(seen_at);
        let after = seen_at.since(since);
        if after >= wait && draft.is_protected(serial) {
            // Who asked for it knows that it works, though it does not answer us.
            draft.note(Subject::Instance(id.clone()), Severity::Warning, Reason::KeptUnready { after });
            missing.insert(id, since);
        } else if after >= wait {
            draft.apply(serial, Event::NodeGone { cause: EndCause::NodeLost }, Reason::NodeLost { after });
        } else {
            missing.insert(id, since);
        }
    }
    draft.memory.missing_since = missing;
}
