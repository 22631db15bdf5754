//! The evictor: empties every node that has our taint and our go-mark, whoever set them and when.
//!
//! Pods of the lowest priority go first, the next ones once these have gone. A budget that allows no more
//! is waited for until the mark's time; then, or when a pod comes that may not be moved, the node goes back
//! to work and an event says why. What belongs to the node (mirror pods, DaemonSets) stays.

use crate::cache::{Cache, DrainFacts};
use crate::drain::{Marks, plain};
use crate::error::{reason, status};
use crate::map::PodFacts;
use crate::now;
use crate::publish::{Events, Line, On};
use k8s_openapi::api::core::v1 as core;
use kube::Client;
use kube::api::{Api, DeleteParams, EvictParams, Preconditions};
use ostler_model::kube::DrainRules;
use ostler_model::{NodeId, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Nodes that are emptied at one time, first those whose time is up first.
const NODES_AT_ONCE: usize = 20;
/// Evictions under way at one time.
const CALLS_AT_ONCE: usize = 32;
/// Between two looks while something is being emptied; times and budgets change without a word.
const TICK: Duration = Duration::from_millis(500);
/// Between two looks at the cluster at the least.
const BREATH: Duration = Duration::from_millis(100);
const RETRY_MIN: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(10);
/// An eviction that was accepted is asked for again if the pod is still not leaving after this.
const ACCEPTED: Duration = Duration::from_secs(10);
/// A node that was given back is let alone until the cache has seen it.
const GIVEN_BACK: Duration = Duration::from_secs(5);

/// What is known of a pod's eviction.
#[derive(Debug)]
struct Try {
    under_way: bool,
    next: Instant,
    refusals: u32,
    why: Option<String>,
}

/// What came of a call.
enum Done {
    Evicted { uid: Arc<str>, result: Result<(), kube::Error> },
    GaveBack { node: NodeId, result: Result<(), kube::Error> },
}

struct Evictor {
    client: Client,
    cache: Arc<Cache>,
    marks: Marks,
    events: Events,
    rules: DrainRules,
    tries: BTreeMap<Arc<str>, Try>,
    given_back: BTreeMap<NodeId, Instant>,
    calls: JoinSet<Done>,
}

/// Runs until it is dropped.
pub(crate) async fn run(client: Client, cache: Arc<Cache>, events: Events, rules: DrainRules) {
    let marks = Marks::new(client.clone());
    let (tries, given_back, calls) = (BTreeMap::new(), BTreeMap::new(), JoinSet::new());
    let mut evictor = Evictor { client, cache, marks, events, rules, tries, given_back, calls };
    loop {
        let busy = evictor.tick();
        let pause = if busy { TICK } else { Duration::from_secs(60) };
        tokio::select! {
            () = evictor.cache.for_evictor.notified() => {}
            Some(Ok(done)) = evictor.calls.join_next() => evictor.note(done),
            () = tokio::time::sleep(pause) => {}
        }
        // A look goes over all pods: what happens together is seen together.
        tokio::time::sleep(BREATH).await;
        while let Some(Ok(done)) = evictor.calls.try_join_next() {
            evictor.note(done);
        }
    }
}

impl Evictor {
    /// One look at all nodes that are to be emptied; is there anything to do?
    fn tick(&mut self) -> bool {
        let at = Instant::now();
        self.given_back.retain(|_, since| at - *since < GIVEN_BACK);
        let mut drains = self.cache.drains();
        drains.retain(|drain| !self.given_back.contains_key(&drain.node.node.id));
        drains.retain_mut(|drain| {
            // On a node whose kubelet may be gone, nobody ends what was to be gone by now.
            let (at, silent) = (now(), drain.node.silent);
            let gone = |pod: &PodFacts| silent && pod.gone_by.is_some_and(|until| until < at);
            drain.pods.retain(|pod| !plain(pod).is_of_node() && !gone(pod));
            !drain.pods.is_empty() || drain.odd.is_some()
        });
        drains.sort_by_key(|drain| (drain.node.evict_until, drain.node.node.id.clone()));
        drains.truncate(NODES_AT_ONCE);
        let there: BTreeSet<&Arc<str>> =
            drains.iter().flat_map(|drain| &drain.pods).map(|pod| &pod.uid).collect();
        self.tries.retain(|uid, _| there.contains(uid));
        for drain in &drains {
            match self.verdict(drain, now()) {
                Some(why) => self.give_back(&drain.node.node.id, &why),
                None => self.evict(drain),
            }
        }
        !drains.is_empty() || !self.calls.is_empty()
    }

    /// Why the node goes back to work.
    fn verdict(&self, drain: &DrainFacts, at: Timestamp) -> Option<String> {
        if let Some(odd) = &drain.odd {
            return Some(format!("pod {odd} on it cannot be read"));
        }
        let name = |pod: &PodFacts| format!("{}/{}", pod.spec.namespace, pod.name);
        for pod in &drain.pods {
            if let Some(hindrance) = plain(pod).hindrance(&self.rules, at) {
                return Some(format!("pod {} may not be moved ({hindrance})", name(pod)));
            }
        }
        if drain.node.evict_until.is_none_or(|until| at < until) {
            return None;
        }
        let refused = |pod: &&Arc<PodFacts>| self.tries.get(&pod.uid).and_then(|t| t.why.clone());
        let worst = drain.pods.iter().find_map(|pod| Some((pod, refused(&pod)?)));
        Some(match worst {
            Some((pod, why)) => format!("its time is over and pod {} could not be evicted: {why}", name(pod)),
            None => format!("its time is over and pod {} has not ended", name(drain.pods.first()?)),
        })
    }

    fn give_back(&mut self, node: &NodeId, why: &str) {
        tracing::warn!(%node, why, "the drain is given up; the node goes back to work");
        self.given_back.insert(node.clone(), Instant::now());
        let (marks, events, node) = (self.marks.clone(), self.events.clone(), node.clone());
        let line = Line::warning("ScaleDownFailed", format!("the node is not removed: {why}"));
        self.calls.spawn(async move {
            let result = marks.clear(&node).await;
            if result.is_ok() {
                events.tell(&On::Node(node.clone()), &line).await;
            }
            Done::GaveBack { node, result }
        });
    }

    /// Evicts what is next.
    fn evict(&mut self, drain: &DrainFacts) {
        // Pods that are leaving hold the next wave up, those of a higher priority do not.
        let Some(wave) = drain.pods.iter().map(|pod| pod.spec.priority).min() else { return };
        let at = Instant::now();
        for pod in drain.pods.iter().filter(|pod| pod.spec.priority == wave && pod.gone_by.is_none()) {
            if self.calls.len() >= CALLS_AT_ONCE {
                return;
            }
            let new = || Try { under_way: false, next: at, refusals: 0, why: None };
            let state = self.tries.entry(pod.uid.clone()).or_insert_with(new);
            if state.under_way || at < state.next {
                continue;
            }
            state.under_way = true;
            let pods: Api<core::Pod> = Api::namespaced(self.client.clone(), &pod.spec.namespace);
            let (name, uid) = (pod.name.clone(), pod.uid.clone());
            self.calls.spawn(async move {
                let this_one = Preconditions { uid: Some(uid.to_string()), ..Preconditions::default() };
                let how = DeleteParams { preconditions: Some(this_one), ..DeleteParams::default() };
                let how = EvictParams { delete_options: Some(how), ..EvictParams::default() };
                let result = pods.evict(&name, &how).await.map(drop);
                Done::Evicted { uid, result }
            });
        }
    }

    fn note(&mut self, done: Done) {
        match done {
            Done::Evicted { uid, result } => {
                let Some(state) = self.tries.get_mut(&uid) else { return };
                state.under_way = false;
                match result {
                    Ok(()) => (state.next, state.why) = (Instant::now() + ACCEPTED, None),
                    Err(error) => state.refused(&error),
                }
            }
            Done::GaveBack { node, result: Err(error) } => {
                tracing::warn!(%node, %error, "the node could not be given back; trying again");
                self.given_back.remove(&node);
            }
            Done::GaveBack { .. } => {}
        }
    }
}

impl Try {
    fn refused(&mut self, error: &kube::Error) {
        let told = retry_after(error);
        let grown = RETRY_MIN.saturating_mul(1 << self.refusals.min(4)).min(RETRY_MAX);
        self.refusals = self.refusals.saturating_add(1);
        self.next = Instant::now() + told.unwrap_or(grown).clamp(RETRY_MIN, RETRY_MAX);
        // A pod that is gone, or another of the same name, shows in the cache soon.
        self.why = (!matches!(status(error), Some(404 | 409))).then(|| words(error));
    }
}

fn retry_after(error: &kube::Error) -> Option<Duration> {
    let kube::Error::Api(status) = error else { return None };
    let seconds = status.details.as_ref()?.retry_after_seconds;
    (seconds > 0).then(|| Duration::from_secs(u64::from(seconds)))
}

/// What the API server says, with the budget that it names.
fn words(error: &kube::Error) -> String {
    let kube::Error::Api(status) = error else { return reason(error) };
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let causes: Vec<_> = causes.map(|cause| cause.message.as_str()).filter(|text| !text.is_empty()).collect();
    if causes.is_empty() { status.message.clone() } else { causes.join("; ") }
}
