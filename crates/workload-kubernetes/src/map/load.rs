//! Nodes, with what is on them.

use super::facts::{Facts, in_words, written};
use super::node::NodeFacts;
use super::pod::PodFacts;
use ostler_model::kube::KubeNode;
use ostler_model::{Millis, Node, NodeId, NodeStatus, Resources, Timestamp};
use std::collections::BTreeMap;
use std::sync::Arc;

/// So many of a node's pods are named.
const ACTIVITY_MAX: usize = 3;
const FOR_EVER: Timestamp = Timestamp(u64::MAX);

/// Pods on nodes that cannot be read: the name of one for each node.
pub(super) type Unreadable = BTreeMap<NodeId, String>;

pub(super) fn unreadable(facts: &Facts) -> Unreadable {
    let mut all = Unreadable::new();
    for (key, (_, node)) in &facts.pods.bad {
        if let Some(node) = node {
            all.entry(node.clone()).or_insert_with(|| written(key));
        }
    }
    all
}

/// What is on a node.
#[derive(Debug, Clone, Default)]
pub(super) struct Load {
    requests: Resources,
    /// Pods that do not belong to the node.
    foreign: usize,
    names: Vec<String>,
    /// When the last of them was to be gone.
    lingering: Option<Timestamp>,
}

impl Load {
    pub(super) fn add(&mut self, pod: &PodFacts) {
        self.requests.add(&pod.spec.requests);
        if pod.owner.as_ref().is_some_and(|owner| matches!(&*owner.kind, "DaemonSet" | "Node")) {
            return;
        }
        self.foreign += 1;
        // Unless it is being deleted.
        let until = pod.gone_by.unwrap_or(FOR_EVER);
        self.lingering = self.lingering.max(Some(until));
        if self.names.len() < ACTIVITY_MAX {
            self.names.push(in_words(&pod.spec.namespace, &pod.name));
        }
    }

    /// When the last pod that does not belong to the node was to be gone, if all of them are to go.
    pub(super) fn lingering(&self) -> Option<Timestamp> {
        self.lingering.filter(|&until| until < FOR_EVER)
    }

    fn activity(&self, odd: Option<&String>) -> Vec<String> {
        let more = self.foreign.saturating_sub(self.names.len());
        let more = (more > 0).then(|| format!("and {more} more"));
        let odd = odd.map(|name| format!("{name}, which cannot be read"));
        self.names.iter().cloned().chain(more).chain(odd).collect()
    }
}

/// A node as the scheduler sees it.
pub(super) fn kube_node(facts: &Facts, node: &NodeFacts, odd: Option<&String>) -> KubeNode {
    let limits = facts.csi_nodes.get("", node.node.id.as_str());
    let odd = odd.map(|name| Arc::from(format!("pod {name} on it cannot be read")));
    KubeNode {
        attach_limits: limits.map(|limits| (**limits).clone()).unwrap_or_default(),
        held: node.node.held.clone().or(odd),
        ..node.node.clone()
    }
}

/// A node as it works.
pub(super) fn worker(
    facts: &NodeFacts,
    load: &Load,
    odd: Option<&String>,
    idle_since: &BTreeMap<NodeId, Timestamp>,
    now: Timestamp,
) -> Node {
    let id = &facts.node.id;
    let status = status(facts, load, odd.is_some(), now);
    let mut available = facts.node.allocatable.clone();
    for (name, amount) in &mut available.0 {
        *amount = amount.saturating_sub(load.requests.get(name));
    }
    let since = idle_since.get(id).filter(|_| status == NodeStatus::Idle);
    Node {
        id: id.clone(),
        cloud: facts.cloud.clone(),
        pool: facts.pool.clone(),
        head: facts.head,
        status,
        idle: since.map_or(Millis(0), |&since| now.since(since)),
        total: facts.node.allocatable.clone(),
        available,
        labels: facts.node.labels.clone(),
        address: facts.address.to_string(),
        instance_type: facts.instance_type().to_owned(),
        activity: load.activity(odd),
    }
}

fn status(facts: &NodeFacts, load: &Load, odd: bool, now: Timestamp) -> NodeStatus {
    let in_use = load.foreign > 0 || odd;
    if facts.evict_until.is_some() {
        // Of a node whose kubelet may be gone, what was to be gone by now does not count.
        let over = facts.silent && !odd && load.lingering.is_some_and(|until| until < now);
        return if in_use && !over { NodeStatus::Draining } else { NodeStatus::Drained };
    }
    match (facts.node.ready && !facts.starting, in_use) {
        (false, _) => NodeStatus::NotReady,
        (true, true) => NodeStatus::Running,
        (true, false) => NodeStatus::Idle,
    }
}
