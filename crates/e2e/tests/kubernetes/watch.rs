//! An independent eye: it sees each change of nodes, pods and budgets, and names whatever must never be.

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client, ResourceExt};
use ostler_provider_kwok::{ENDED, POOL};
use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::task::JoinHandle;
use tokio_stream::StreamExt;

/// What is there now, and what went wrong so far.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) nodes: BTreeMap<String, Node>,
    pub(crate) pods: BTreeMap<(String, String), Pod>,
    budgets: BTreeMap<(String, String), PodDisruptionBudget>,
    /// Budgets that have held once; from then on they must.
    held: BTreeSet<(String, String)>,
    /// Nodes whose end was asked for, and at which revision of the cluster.
    ended: BTreeMap<String, u64>,
    /// Pods that were on a node: from which revision, until which (or still).
    stays: BTreeMap<String, BTreeMap<String, Stay>>,
    /// The bound of each pool.
    pub(crate) bounds: BTreeMap<String, u32>,
    /// The most nodes of each pool at a time.
    pub(crate) most: BTreeMap<String, usize>,
    /// What must never be.
    pub(crate) wrong: Vec<String>,
    /// When the last node came, went or was marked.
    pub(crate) nodes_changed: Option<Instant>,
}

#[derive(Debug)]
struct Stay {
    pod: String,
    until: Option<u64>,
    daemon: bool,
}

/// The eye.
#[derive(Debug)]
pub(crate) struct Watch {
    seen: Arc<Mutex<Seen>>,
    task: JoinHandle<()>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Watch {
    pub(crate) fn start(client: Client, bounds: BTreeMap<String, u32>) -> Self {
        let seen = Arc::new(Mutex::new(Seen { bounds, ..Seen::default() }));
        let task = tokio::spawn(look(client, seen.clone()));
        Self { seen, task }
    }
    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn look(client: Client, seen: Arc<Mutex<Seen>>) {
    let all = Config::default;
    let mut nodes = pin!(watcher(Api::<Node>::all(client.clone()), all()).default_backoff());
    let mut pods = pin!(watcher(Api::<Pod>::all(client.clone()), all()).default_backoff());
    let mut budgets = pin!(watcher(Api::<PodDisruptionBudget>::all(client), all()).default_backoff());
    let (mut listed_nodes, mut listed_pods) = (BTreeSet::new(), BTreeSet::new());
    loop {
        tokio::select! {
            Some(Ok(event)) = nodes.next() => {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                match event {
                    Event::Apply(node) => seen.node(node),
                    Event::Delete(node) => seen.no_node(&node.name_any()),
                    Event::Init => listed_nodes.clear(),
                    Event::InitApply(node) => { listed_nodes.insert(node.name_any()); seen.node(node); }
                    Event::InitDone => {
                        let gone: Vec<_> = seen.nodes.keys().filter(|n| !listed_nodes.contains(*n)).cloned().collect();
                        gone.iter().for_each(|name| seen.no_node(name));
                    }
                }
            }
            Some(Ok(event)) = pods.next() => {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                match event {
                    Event::Apply(pod) => seen.pod(pod),
                    Event::Delete(pod) => { let at = revision(&pod); seen.no_pod(&key(&pod), at); }
                    Event::Init => listed_pods.clear(),
                    Event::InitApply(pod) => { listed_pods.insert(key(&pod)); seen.pod(pod); }
                    Event::InitDone => {
                        let gone: Vec<_> = seen.pods.keys().filter(|k| !listed_pods.contains(*k)).cloned().collect();
                        // When it went is not known: in doubt, in time.
                        gone.iter().for_each(|key| seen.no_pod(key, 0));
                    }
                }
            }
            Some(Ok(event)) = budgets.next() => {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                match event {
                    Event::Apply(budget) | Event::InitApply(budget) => {
                        let key = (budget.namespace().unwrap_or_default(), budget.name_any());
                        // A budget that was changed must be reached anew.
                        let spec = |budget: &PodDisruptionBudget| budget.spec.clone();
                        if seen.budgets.get(&key).is_none_or(|before| spec(before) != spec(&budget)) {
                            seen.held.remove(&key);
                        }
                        seen.budgets.insert(key, budget);
                        seen.check_budgets();
                    }
                    Event::Delete(budget) => {
                        let key = (budget.namespace().unwrap_or_default(), budget.name_any());
                        seen.budgets.remove(&key);
                        seen.held.remove(&key);
                    }
                    Event::Init | Event::InitDone => {}
                }
            }
            else => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
        }
    }
}

impl Seen {
    fn node(&mut self, node: Node) {
        let name = node.name_any();
        let ended = node.annotations().contains_key(ENDED) || node.metadata.deletion_timestamp.is_some();
        if ended && !self.ended.contains_key(&name) {
            self.ended.insert(name.clone(), revision(&node));
        }
        if ended || !self.nodes.contains_key(&name) || taints(&node) != taints(&self.nodes[&name]) {
            self.nodes_changed = Some(Instant::now());
        }
        self.nodes.insert(name, node);
        self.check_bounds();
    }
    fn no_node(&mut self, name: &str) {
        self.nodes.remove(name);
        self.nodes_changed = Some(Instant::now());
    }
    fn pod(&mut self, pod: Pod) {
        if let (Some(node), Some(uid)) = (node_of(&pod), pod.uid()) {
            let daemon = pod.owner_references().iter().any(|owner| owner.kind == "DaemonSet");
            let over = matches!(phase(&pod), "Succeeded" | "Failed").then(|| revision(&pod));
            let name = format!("{}/{}", pod.namespace().unwrap_or_default(), pod.name_any());
            let stays = self.stays.entry(node.to_owned()).or_default();
            let stay = stays.entry(uid).or_insert(Stay { pod: name, until: None, daemon });
            stay.until = stay.until.or(over);
        }
        self.pods.insert(key(&pod), pod);
        self.check_budgets();
    }
    fn no_pod(&mut self, key: &(String, String), at: u64) {
        let Some(pod) = self.pods.remove(key) else { return };
        let uid = pod.uid().unwrap_or_default();
        if let Some(stay) = node_of(&pod).and_then(|node| self.stays.get_mut(node)?.get_mut(&uid)) {
            stay.until = stay.until.or(Some(at));
        }
        self.check_budgets();
    }

    fn check_bounds(&mut self) {
        let mut counts = BTreeMap::<String, usize>::new();
        for (name, node) in &self.nodes {
            if let Some(pool) = node.labels().get(POOL).filter(|_| !self.ended.contains_key(name)) {
                *counts.entry(pool.clone()).or_default() += 1;
                // Of `POOL.OFFERING` the pool has a bound, too.
                if let Some((group, _)) = pool.split_once('.') {
                    *counts.entry(group.to_owned()).or_default() += 1;
                }
            }
        }
        for (pool, count) in counts {
            let most = self.most.entry(pool.clone()).or_default();
            *most = (*most).max(count);
            if self.bounds.get(&pool).is_some_and(|bound| count > *bound as usize) {
                self.wrong.push(format!("pool {pool} has {count} nodes, more than its max"));
            }
        }
    }

    fn check_budgets(&mut self) {
        for (name, budget) in &self.budgets {
            let Some(IntOrString::Int(least)) =
                budget.spec.as_ref().and_then(|spec| spec.min_available.clone())
            else {
                continue;
            };
            let labels = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref()?.match_labels.as_ref());
            let healthy = self.pods.values().filter(|pod| {
                let same = pod.namespace().as_deref() == Some(&name.0);
                same && is_ready(pod)
                    && pod.metadata.deletion_timestamp.is_none()
                    && labels.into_iter().flatten().all(|(key, value)| pod.labels().get(key) == Some(value))
            });
            let healthy = i32::try_from(healthy.count()).unwrap_or(i32::MAX);
            if healthy >= least {
                self.held.insert(name.clone());
            } else if self.held.remove(name) {
                self.wrong.push(format!(
                    "budget {}/{}: {healthy} pods are healthy, at least {least} must be",
                    name.0, name.1
                ));
            }
        }
    }

    /// Nodes that were ended with pods on them.
    pub(crate) fn crushed(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (node, at) in &self.ended {
            for stay in self.stays.get(node).into_iter().flat_map(BTreeMap::values) {
                if !stay.daemon && stay.until.is_none_or(|until| until > *at) {
                    found.push(format!("node {node} was ended with {} on it", stay.pod));
                }
            }
        }
        found
    }
    /// Nodes of a pool that are not on their way out.
    pub(crate) fn pool(&self, pool: &str) -> Vec<&Node> {
        let of = |node: &&Node| {
            node.labels().get(POOL).is_some_and(|of| of == pool) && !self.ended.contains_key(&node.name_any())
        };
        self.nodes.values().filter(of).collect()
    }
    /// Pods of an app that are on their way up or up.
    pub(crate) fn app(&self, app: &str) -> Vec<&Pod> {
        let of = |pod: &&Pod| {
            pod.labels().get("app").is_some_and(|of| of == app) && pod.metadata.deletion_timestamp.is_none()
        };
        self.pods.values().filter(of).collect()
    }
    /// Pods of an app that run and are ready.
    pub(crate) fn running(&self, app: &str) -> usize {
        self.app(app).into_iter().filter(|pod| is_ready(pod)).count()
    }
    /// What is there, for a failed assertion.
    pub(crate) fn picture(&self) -> String {
        let mut lines = Vec::new();
        for (name, node) in &self.nodes {
            let ready = conditions(
                node.status
                    .as_ref()
                    .and_then(|s| s.conditions.as_ref())
                    .map(|all| all.iter().map(|one| (one.type_.as_str(), one.status.as_str())).collect()),
            );
            let ended = if self.ended.contains_key(name) { " ended" } else { "" };
            lines.push(format!("node {name} ready={ready}{ended} taints={:?}", taints(node)));
        }
        for ((namespace, name), pod) in &self.pods {
            let leaving = if pod.metadata.deletion_timestamp.is_some() { " leaving" } else { "" };
            lines.push(format!("pod {namespace}/{name} {} on {:?}{leaving}", phase(pod), node_of(pod)));
        }
        lines.join("\n")
    }
}

fn conditions(list: Option<Vec<(&str, &str)>>) -> bool {
    list.into_iter().flatten().any(|one| one == ("Ready", "True"))
}

/// Does the node say that it is ready?
pub(crate) fn node_is_ready(node: &Node) -> bool {
    let all = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions(all.map(|all| all.iter().map(|one| (one.type_.as_str(), one.status.as_str())).collect()))
}

/// Has Ostler marked it? Other controllers have marks of their own: a node may be told not to be ready for a while after
/// it is, and has its pods.
pub(crate) fn is_marked(node: &Node) -> bool {
    taints(node).iter().any(|key| key.contains("ostler"))
}

/// Keys of the taints of a node.
pub(crate) fn taints(node: &Node) -> Vec<&str> {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    taints.into_iter().flatten().map(|taint| taint.key.as_str()).collect()
}

/// The node that a pod is bound to.
pub(crate) fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}

/// Is it up?
pub(crate) fn is_ready(pod: &Pod) -> bool {
    let all = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions(all.map(|all| all.iter().map(|one| (one.type_.as_str(), one.status.as_str())).collect()))
}

fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("")
}

fn key(pod: &Pod) -> (String, String) {
    (pod.namespace().unwrap_or_default(), pod.name_any())
}

/// The revision of the cluster that an object was changed at.
fn revision<K: kube::Resource>(object: &K) -> u64 {
    object.meta().resource_version.as_deref().and_then(|version| version.parse().ok()).unwrap_or(0)
}
