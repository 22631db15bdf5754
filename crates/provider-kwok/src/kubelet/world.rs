//! What the API server shows, and what a kubelet would do next and when. Pure: it neither waits nor asks.

use super::pod::Pod;
use crate::config::{Behaviour, parse_span};
use crate::node;
use k8s_openapi::api::core::v1::Node;
use kube::{Resource, ResourceExt};
use ostler_model::{Millis, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// A node counts as dead when its lease was not renewed for 40 to 50 s. Renewing each 20 s (a kubelet: 10 s)
/// leaves room for one that fails, at half of the load.
pub(crate) const RENEW: Millis = Millis::secs(20);
/// Names of nodes that are gone are known this long, for pods that were bound to them at the last moment.
const GHOSTS: Millis = Millis::secs(120);

/// What is looked after.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    Node(String),
    /// Namespace and name.
    Pod(String, String),
}

/// What a kubelet does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// The node is ready, and says so.
    Boot,
    /// The lease is renewed.
    Renew,
    /// The startup taint at this place is taken off.
    Untaint { at: usize, key: String },
    /// The node is taken down.
    End,
    /// A node that is gone is remembered by its lease.
    Bury,
    /// The pod runs; it is ready at once, or not yet.
    Run { ready: bool },
    /// The pod becomes ready.
    Ready,
    /// The pod has done its work.
    Succeed,
    /// The pod is gone from its node.
    Remove,
}

/// A node.
#[derive(Debug)]
struct Machine {
    behaviour: Behaviour,
    ready: bool,
    ended: bool,
    dead: bool,
    /// Taints by key, in the node's order.
    taints: Vec<String>,
    renewed_at: Timestamp,
    tagged: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct World {
    nodes: BTreeMap<String, Machine>,
    pods: BTreeMap<Key, Pod>,
    bound: BTreeMap<String, BTreeSet<Key>>,
    /// Nodes of ours that are gone, and since when.
    ghosts: BTreeMap<String, Timestamp>,
    /// Of those, the ones whose lease is still to be written.
    unburied: BTreeSet<String>,
}

impl World {
    /// Takes a node in; the answer is what must be looked at again.
    pub(crate) fn see_node(&mut self, node: &Node) -> Vec<Key> {
        let name = node.name_any();
        let status = node.status.as_ref();
        let conditions = status.and_then(|status| status.conditions.as_ref());
        let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
        let machine = Machine {
            behaviour: node::behaviour(&node.metadata),
            ready: conditions.into_iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True"),
            ended: node::annotated(&node.metadata, node::ENDED, None),
            dead: node::annotated(&node.metadata, node::FAULT, Some("dead")),
            taints: taints.into_iter().flatten().map(|taint| taint.key.clone()).collect(),
            renewed_at: self.nodes.get(&name).map_or(Timestamp(0), |before| before.renewed_at),
            tagged: node.annotations().contains_key(ostler_provider::tags::TOKEN),
        };
        let before = self.nodes.insert(name.clone(), machine);
        let now = &self.nodes[&name];
        let same = before.is_some_and(|b| (b.ready, b.ended, b.dead) == (now.ready, now.ended, now.dead));
        let mut again = vec![Key::Node(name.clone())];
        if !same {
            again.extend(self.bound.get(&name).into_iter().flatten().cloned());
        }
        again
    }

    /// A node is gone, at this time.
    pub(crate) fn lose_node(&mut self, name: &str, now: Timestamp) -> Vec<Key> {
        let Some(machine) = self.nodes.remove(name) else { return Vec::new() };
        self.ghosts.retain(|_, since| now.since(*since) < GHOSTS);
        self.ghosts.insert(name.to_owned(), now);
        if machine.tagged {
            self.unburied.insert(name.to_owned());
        }
        let pods = self.bound.get(name).into_iter().flatten().cloned();
        std::iter::once(Key::Node(name.to_owned())).chain(pods).collect()
    }

    /// Nodes of ours went while nobody watched, as their leases say.
    pub(crate) fn remember(&mut self, gone: Vec<String>, now: Timestamp) -> Vec<Key> {
        let mut again = Vec::new();
        for name in gone.into_iter().filter(|name| !self.nodes.contains_key(name)) {
            again.extend(self.bound.get(&name).into_iter().flatten().cloned());
            self.ghosts.insert(name, now);
        }
        again
    }

    /// The nodes that are there.
    pub(crate) fn node_names(&self) -> BTreeSet<String> {
        self.nodes.keys().cloned().collect()
    }

    /// Takes a pod in; those of other nodes do not matter.
    pub(crate) fn see_pod(&mut self, pod: Pod) -> Vec<Key> {
        let key = key_of(&pod);
        self.bound.entry(pod.spec.node_name.clone()).or_default().insert(key.clone());
        self.pods.insert(key.clone(), pod);
        vec![key]
    }

    /// A pod is gone.
    pub(crate) fn lose_pod(&mut self, key: &Key) -> Vec<Key> {
        let Some(pod) = self.pods.remove(key) else { return Vec::new() };
        if let Some(bound) = self.bound.get_mut(&pod.spec.node_name) {
            bound.remove(key);
            if bound.is_empty() {
                self.bound.remove(&pod.spec.node_name);
            }
        }
        vec![key.clone()]
    }

    /// The pods that are there.
    pub(crate) fn pod_keys(&self) -> BTreeSet<Key> {
        self.pods.keys().cloned().collect()
    }

    /// The pod of a key.
    pub(crate) fn pod(&self, key: &Key) -> Option<&Pod> {
        self.pods.get(key)
    }

    /// A lease was renewed.
    pub(crate) fn renewed(&mut self, name: &str, at: Timestamp) {
        if let Some(machine) = self.nodes.get_mut(name) {
            machine.renewed_at = at;
        }
    }

    /// A node that is gone has its lease.
    pub(crate) fn buried(&mut self, name: &str) {
        self.unburied.remove(name);
    }

    /// What is to be done next with this, and when.
    pub(crate) fn next(&self, key: &Key) -> Option<(Timestamp, Action)> {
        match key {
            Key::Node(name) => self.next_of_node(name),
            Key::Pod(..) => self.next_of_pod(self.pods.get(key)?),
        }
    }

    fn next_of_node(&self, name: &str) -> Option<(Timestamp, Action)> {
        let Some(machine) = self.nodes.get(name) else {
            return self.unburied.contains(name).then_some((Timestamp(0), Action::Bury));
        };
        if machine.ended {
            // Before its pods: as long as it is there, the scheduler would give it more.
            return Some((Timestamp(0), Action::End));
        }
        if machine.dead || machine.behaviour.never_ready {
            return None;
        }
        let up = Timestamp(machine.behaviour.asked_at) + machine.behaviour.boot;
        if !machine.ready {
            return Some((up, Action::Boot));
        }
        let renew = (machine.renewed_at + RENEW, Action::Renew);
        let startup = |key: &String| machine.behaviour.startup_keys.contains(key);
        let untaint = machine.taints.iter().position(startup).map(|at| {
            (up + machine.behaviour.startup, Action::Untaint { at, key: machine.taints[at].clone() })
        });
        untaint.into_iter().chain([renew]).min_by_key(|(at, _)| *at)
    }

    fn next_of_pod(&self, pod: &Pod) -> Option<(Timestamp, Action)> {
        let name = &pod.spec.node_name;
        let Some(machine) = self.nodes.get(name) else {
            return self.ghosts.contains_key(name).then_some((Timestamp(0), Action::Remove));
        };
        if machine.ended {
            let leaving = pod.is_over() && pod.meta().deletion_grace_period_seconds == Some(0);
            return (!leaving).then_some((Timestamp(0), Action::Remove));
        }
        if !machine.ready || machine.dead {
            return None;
        }
        if let Some(limit) = &pod.meta().deletion_timestamp {
            // The API server gives the end of the grace period; it began when somebody asked.
            let grace = Millis::secs(
                u64::try_from(pod.meta().deletion_grace_period_seconds.unwrap_or(0)).unwrap_or(0),
            );
            let idle = pod.is_over() || pod.status.phase != "Running";
            let own = pod.annotation("ostler.dev/kwok-stop").and_then(parse_span);
            let stop = if idle { Millis(0) } else { own.unwrap_or(machine.behaviour.stop) };
            let asked = node::moment(limit) - grace;
            return Some((asked + Millis(stop.0.min(grace.0)), Action::Remove));
        }
        if pod.is_over() {
            return None;
        }
        let delay = pod.annotation("ostler.dev/kwok-ready");
        if pod.status.phase != "Running" {
            return Some((Timestamp(0), Action::Run { ready: delay.is_none() }));
        }
        let started = pod.status.start_time.as_ref().map_or(Timestamp(0), node::moment);
        let after = |text: &str| Some(started + parse_span(text)?);
        // Whoever takes a node for dead marks its pods; a node that lives takes that back.
        let at = delay.map_or(Some(Timestamp(0)), after);
        let ready = at.filter(|_| !pod.is("Ready")).map(|at| (at, Action::Ready));
        let done = pod.annotation("ostler.dev/kwok-run").and_then(after).map(|at| (at, Action::Succeed));
        ready.into_iter().chain(done).min_by_key(|(at, _)| *at)
    }
}

/// The key of a pod.
pub(crate) fn key_of(pod: &Pod) -> Key {
    Key::Pod(pod.namespace().unwrap_or_default(), pod.name_any())
}
