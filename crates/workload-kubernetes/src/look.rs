//! Looks: what is known, joined, once for each state of it.

use crate::cache::{Cache, Known};
use crate::map::Joiner;
use crate::now;
use ostler_model::{FailureClass, Millis, NodeId, NodeStatus, Timestamp, WorkloadState};
use ostler_workload::WorkloadError;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What counts time (how long a node has been idle, how long a pod waits yet) is told anew after this, if nothing else
/// has changed.
const AGAIN: Millis = Millis::secs(30);

/// Makes looks. One at a time: each begins with what the last one knew.
#[derive(Debug, Default)]
pub(crate) struct Looks(Arc<Mutex<Last>>);

#[derive(Debug, Default)]
struct Last {
    joiner: Joiner,
    look: Option<WorkloadState>,
    /// The version of the facts that it is of, and when it was made.
    of: (i64, Timestamp),
    /// How often time alone has changed a look.
    turns: i64,
    /// Since when nodes have nothing to do.
    idle_since: BTreeMap<NodeId, Timestamp>,
}

impl Looks {
    pub(crate) async fn look(&self, cache: &Cache) -> Result<WorkloadState, WorkloadError> {
        let (last, known) = (self.0.clone(), cache.known().await?);
        // With many pods this takes long enough to be in the way of others.
        let joined = tokio::task::spawn_blocking(move || {
            last.lock().unwrap_or_else(PoisonError::into_inner).look(&known, now())
        });
        joined.await.map_err(|_| {
            WorkloadError::new(FailureClass::Permanent, "kubernetes.panic", "joining what was seen panicked")
        })
    }
}

impl Last {
    fn look(&mut self, known: &Known, now: Timestamp) -> WorkloadState {
        let same = self.of.0 == known.version;
        let next = self.joiner.next();
        let turned = same && next.is_some_and(|at| at <= now);
        let counts = next.is_some() || !self.idle_since.is_empty();
        let stale = counts && now.since(self.of.1) >= AGAIN;
        if let Some(last) = self.look.as_ref().filter(|_| same && !turned && !stale) {
            return last.clone();
        }
        self.turns += i64::from(turned);
        // A panic leaves nothing behind that is half made.
        let mut joiner = std::mem::take(&mut self.joiner);
        let state = joiner.join(&known.facts, &self.idle_since, now);
        self.joiner = joiner;
        self.note_idle(&state, now);
        let version = known.version + self.turns;
        let state = WorkloadState { version, session: known.session.clone(), ..state };
        (self.of, self.look) = ((known.version, now), Some(state.clone()));
        state
    }

    /// What is idle counts from the first look that shows it so.
    fn note_idle(&mut self, state: &WorkloadState, now: Timestamp) {
        let idle = state.nodes.iter().filter(|node| node.status == NodeStatus::Idle);
        let since = |id: &NodeId| self.idle_since.get(id).copied().unwrap_or(now);
        self.idle_since = idle.map(|node| (node.id.clone(), since(&node.id))).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::{Facts, Key, Release, node, pod};
    use serde_json::json;

    const NOW: Timestamp = Timestamp(1_767_226_200_000);

    /// An idle node, and a pod that waits until a minute after `NOW`.
    fn known(version: i64) -> Known {
        let mut facts = Facts::default();
        let ready = json!({"kind": "Node", "metadata": {"name": "n"},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        let delayed = json!({"kind": "Pod", "spec": {"containers": [{"name": "c"}]},
            "metadata": {"namespace": "a", "name": "p", "creationTimestamp": "2026-01-01T00:10:00Z",
                "annotations": {"ostler.dev/pod-scale-up-delay": "60s"}}});
        let key = |namespace: &str, name: &str| -> Key { (namespace.into(), name.into()) };
        facts.nodes.set(key("", "n"), Ok(Some(node(ready).expect("a node"))));
        facts.pods.set(key("a", "p"), Ok(pod(delayed, Release::NEWEST).expect("a pod")));
        Known { facts: facts.into(), version, session: "s".to_owned() }
    }

    fn is_same(a: &WorkloadState, b: &WorkloadState) -> bool {
        let clusters = (a.cluster.as_ref().expect("a cluster"), b.cluster.as_ref().expect("a cluster"));
        Arc::ptr_eq(clusters.0, clusters.1) && Arc::ptr_eq(&a.nodes, &b.nodes)
    }

    #[test]
    fn each_state_is_joined_once() {
        let mut last = Last::default();
        let first = last.look(&known(7), NOW);
        let again = last.look(&known(7), NOW + Millis(29_999));
        assert!(is_same(&first, &again), "nothing has changed");
        assert_eq!((first.version, again.version), (7, 7));
        let changed = last.look(&known(8), NOW + Millis(29_999));
        assert!(!is_same(&first, &changed));
        assert_eq!(changed.version, 8);
    }

    #[test]
    fn how_long_a_node_is_idle_is_told_anew_and_is_no_change() {
        let mut last = Last::default();
        let first = last.look(&known(7), NOW);
        let later = last.look(&known(7), NOW + AGAIN);
        assert_eq!((first.nodes[0].idle, later.nodes[0].idle), (Millis(0), AGAIN));
        assert_eq!(first.version, later.version);
    }

    #[test]
    fn what_time_alone_changes_is_a_change() {
        let waits =
            |state: &WorkloadState| state.cluster.as_ref().expect("a cluster").pods[0].ignored.is_some();
        let mut last = Last::default();
        let early = last.look(&known(7), NOW + Millis(59_999));
        let late = last.look(&known(7), NOW + Millis(60_000));
        assert_eq!((waits(&early), waits(&late)), (true, false));
        assert!(late.version > early.version);
        let changed = last.look(&known(8), NOW + Millis(60_000));
        assert!(changed.version > late.version, "no two states have one version");
    }
}
