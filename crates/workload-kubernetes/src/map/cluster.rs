//! The facts of all objects, joined into one look.

use super::node::NodeFacts;
use super::pod::{Claim, PodFacts};
use super::policy::{BufferFacts, DaemonFacts, ScalableFacts, ScalableRef, TemplateFacts};
use super::volume::{ClaimFacts, ClassFacts, CsiFacts, VolumeFacts, Volumes};
use ostler_model::kube::{Budget, Cluster, Daemon, Headroom, KubeNode, LabelSelector, Pod, PodSpec};
use ostler_model::{Labels, Millis, Node, NodeId, NodeStatus, Resources, Timestamp, WorkloadState};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Names of skipped objects are for people: a flood of them helps nobody.
const SKIPPED_MAX: usize = 100;
/// So many of a node's pods are named.
const ACTIVITY_MAX: usize = 3;

/// Namespace (empty for things that have none) and name.
pub type Key = (Arc<str>, Arc<str>);

/// All objects of one kind.
#[derive(Debug, Clone)]
pub struct Named<T> {
    /// Those that can be read.
    pub good: BTreeMap<Key, Arc<T>>,
    /// Why the others cannot, and the node that they are on.
    pub bad: BTreeMap<Key, (Arc<str>, Option<NodeId>)>,
}

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self { good: BTreeMap::new(), bad: BTreeMap::new() }
    }
}

impl<T> Named<T> {
    pub(super) fn get(&self, namespace: &str, name: &str) -> Option<&Arc<T>> {
        self.good.get(&(namespace.into(), name.into()))
    }
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Key, &T)> {
        self.good.iter().map(|(key, facts)| (key, &**facts))
    }
}

/// What is known of everything.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "each is the kind of that name")]
pub struct Facts {
    pub pods: Named<PodFacts>,
    pub nodes: Named<NodeFacts>,
    pub csi_nodes: Named<CsiFacts>,
    pub budgets: Named<Budget>,
    pub claims: Named<ClaimFacts>,
    pub volumes: Named<VolumeFacts>,
    pub classes: Named<ClassFacts>,
    pub daemons: Named<DaemonFacts>,
    pub namespaces: Named<Labels>,
    pub buffers: Named<BufferFacts>,
    pub templates: Named<TemplateFacts>,
    pub scalables: BTreeMap<ScalableRef, Arc<ScalableFacts>>,
}

/// One look. `idle_since` tells since when nodes have nothing to do, as far as it is known; the version and
/// the session are left to the caller.
pub fn workload_state(
    facts: &Facts,
    idle_since: &BTreeMap<NodeId, Timestamp>,
    now: Timestamp,
) -> WorkloadState {
    let mut skipped = skipped(facts);
    let (specs, places) = Specs::of(facts, &mut skipped);
    let loads = loads(facts);
    let pods = facts.pods.good.values().zip(&places.pods).map(|(pod, &spec)| described(pod, spec, now));
    let nodes = facts.nodes.good.values();
    let cluster = Cluster {
        nodes: nodes.clone().map(|node| kube_node(facts, node, loads.get(&node.node.id))).collect(),
        specs,
        pods: pods.collect(),
        namespaces: facts
            .namespaces
            .iter()
            .map(|((_, name), labels)| (name.clone(), labels.clone()))
            .collect(),
        daemons: places.daemons,
        budgets: facts.budgets.iter().map(|(_, budget)| budget.clone()).collect(),
        headroom: places.headroom,
    };
    let none = Load::default();
    WorkloadState {
        nodes: nodes
            .map(|node| worker(node, loads.get(&node.node.id).unwrap_or(&none), idle_since, now))
            .collect(),
        cluster: Some(Arc::new(cluster)),
        skipped: bounded(skipped),
        ..WorkloadState::default()
    }
}

fn skipped(facts: &Facts) -> Vec<String> {
    fn of<'a, T>(kind: &'a str, named: &'a Named<T>) -> impl Iterator<Item = String> + 'a {
        named.bad.iter().map(move |(key, (why, _))| format!("{kind} {}: {why}", written(key)))
    }
    let all = of("pod", &facts.pods).chain(of("node", &facts.nodes)).chain(of("CSINode", &facts.csi_nodes));
    let all = all.chain(of("PodDisruptionBudget", &facts.budgets)).chain(of("DaemonSet", &facts.daemons));
    let all =
        all.chain(of("PersistentVolumeClaim", &facts.claims)).chain(of("PersistentVolume", &facts.volumes));
    let all = all.chain(of("StorageClass", &facts.classes)).chain(of("namespace", &facts.namespaces));
    all.chain(of("CapacityBuffer", &facts.buffers)).chain(of("PodTemplate", &facts.templates)).collect()
}

fn written((namespace, name): &Key) -> String {
    if namespace.is_empty() { name.to_string() } else { format!("{namespace}/{name}") }
}

fn bounded(mut skipped: Vec<String>) -> Vec<String> {
    let more = skipped.len().saturating_sub(SKIPPED_MAX);
    if more > 0 {
        skipped.truncate(SKIPPED_MAX);
        skipped.push(format!("and {more} more"));
    }
    skipped
}

// ---- specs, each kind once ----

/// Where things lie in the list of specs.
#[derive(Default)]
struct Places {
    pods: Vec<u32>,
    daemons: Vec<Daemon>,
    headroom: Vec<Headroom>,
}

/// Specs on their way to the list. Pods of one origin share a spec in memory, so most are told apart by
/// address.
#[derive(Default)]
struct Specs {
    all: Vec<Arc<PodSpec>>,
    seen: BTreeMap<usize, usize>,
}

impl Specs {
    fn of(facts: &Facts, skipped: &mut Vec<String>) -> (Vec<PodSpec>, Places) {
        let volumes = Volumes { claims: &facts.claims, volumes: &facts.volumes, classes: &facts.classes };
        let mut specs = Self::default();
        let pods: Vec<usize> =
            facts.pods.good.values().map(|pod| specs.add(&pod.spec, &pod.claims, &volumes)).collect();
        let daemons: Vec<(Arc<str>, usize)> = facts
            .daemons
            .iter()
            .map(|(key, daemon)| {
                let spec = with_live_priority(daemon, facts);
                (written(key).into(), specs.add(&spec, &daemon.claims, &volumes))
            })
            .collect();
        let mut headroom = Vec::new();
        for (key, buffer) in facts.buffers.iter() {
            match room(key, buffer, facts) {
                Ok((_, 0)) => {}
                Ok((template, count)) => {
                    headroom.push((
                        written(key),
                        specs.add(&template.spec, &template.claims, &volumes),
                        count,
                    ));
                }
                Err(why) => skipped.push(format!("CapacityBuffer {}: {why}", written(key))),
            }
        }
        let (list, place) = specs.placed(mentioned(&facts.budgets));
        let places = Places {
            pods: pods.into_iter().map(|n| place[n]).collect(),
            daemons: daemons.into_iter().map(|(name, n)| Daemon { name, spec: place[n] }).collect(),
            headroom: headroom
                .into_iter()
                .map(|(name, n, count)| Headroom { name: name.into(), spec: place[n], count })
                .collect(),
        };
        (list, places)
    }

    fn add(&mut self, spec: &Arc<PodSpec>, claims: &[Claim], volumes: &Volumes<'_>) -> usize {
        let last = self.all.len();
        if claims.is_empty() {
            let n = *self.seen.entry(Arc::as_ptr(spec).addr()).or_insert(last);
            if n == last {
                self.all.push(spec.clone());
            }
            return n;
        }
        let mut full = PodSpec::clone(spec);
        for claim in claims {
            let (need, odd) = volumes.need(&full.namespace, claim);
            full.volumes.push(need);
            full.volumes.extend(volumes.beside(&full.namespace, claim));
            full.unjudged = full.unjudged.or(odd);
        }
        full.volumes.sort();
        self.all.push(Arc::new(full));
        last
    }

    /// The list in its order, each spec once, and the place of each. Labels that no selector asks for are
    /// left out: pods that differ in nothing else (their names, say) are equal to the scheduler.
    fn placed(self, mut asked: BTreeSet<Arc<str>>) -> (Vec<PodSpec>, Vec<u32>) {
        self.all.iter().for_each(|spec| asked_by(spec, &mut asked));
        let reduced: Vec<Arc<PodSpec>> = self.all.into_iter().map(|spec| reduced(spec, &asked)).collect();
        let distinct: BTreeSet<&Arc<PodSpec>> = reduced.iter().collect();
        let order: BTreeMap<&PodSpec, u32> = distinct.iter().map(|spec| &***spec).zip(0..).collect();
        let places = reduced.iter().map(|spec| order[&**spec]).collect();
        (distinct.into_iter().map(|spec| PodSpec::clone(spec)).collect(), places)
    }
}

fn reduced(mut spec: Arc<PodSpec>, asked: &BTreeSet<Arc<str>>) -> Arc<PodSpec> {
    if !spec.labels.keys().all(|key| asked.contains(key)) {
        Arc::make_mut(&mut spec).labels.retain(|key, _| asked.contains(key));
    }
    spec
}

/// Labels that budgets select by.
fn mentioned(budgets: &Named<Budget>) -> BTreeSet<Arc<str>> {
    let mut keys = BTreeSet::new();
    budgets.iter().filter_map(|(_, budget)| budget.selector.as_ref()).for_each(|s| keys_of(s, &mut keys));
    keys
}

fn asked_by(spec: &PodSpec, keys: &mut BTreeSet<Arc<str>>) {
    let terms = spec.affinity.iter().chain(&spec.anti_affinity).chain(&spec.avoids);
    let affine = terms.filter_map(|term| term.selector.as_ref());
    let spread = spec.spread.iter().filter_map(|spread| spread.selector.as_ref());
    affine.chain(spread).for_each(|selector| keys_of(selector, keys));
}

fn keys_of(selector: &LabelSelector, keys: &mut BTreeSet<Arc<str>>) {
    let all = selector.labels.keys().chain(selector.requirements.iter().map(|requirement| &requirement.key));
    for key in all.filter(|key| !keys.contains(*key)).cloned().collect::<Vec<_>>() {
        keys.insert(key);
    }
}

/// Priority classes are not watched; the API server has written the number into the pods that are there.
fn with_live_priority(daemon: &DaemonFacts, facts: &Facts) -> Arc<PodSpec> {
    if daemon.says_priority {
        return daemon.spec.clone();
    }
    let of_it = |pod: &&Arc<PodFacts>| pod.owner.as_ref().is_some_and(|owner| owner.uid == daemon.uid);
    match facts.pods.good.values().find(of_it).map(|pod| pod.spec.priority) {
        Some(priority) if priority != daemon.spec.priority => {
            Arc::new(PodSpec { priority, ..PodSpec::clone(&daemon.spec) })
        }
        _ => daemon.spec.clone(),
    }
}

/// What would have room, and how often.
fn room<'a>(key: &Key, buffer: &BufferFacts, facts: &'a Facts) -> Result<(&'a TemplateFacts, u32), String> {
    let (template, replicas) = match (&buffer.scalable, &buffer.template) {
        (Some(to), _) => {
            let scalable =
                facts.scalables.get(to).ok_or_else(|| format!("{} {} cannot be read", to.kind, to.name))?;
            (&scalable.template, Some(scalable.replicas))
        }
        (None, Some(name)) => {
            let template = facts.templates.get(&key.0, name);
            (&**template.ok_or_else(|| format!("the PodTemplate {name} is not there"))?, None)
        }
        (None, None) => return Err("it names neither a template nor a thing with pods".to_owned()),
    };
    Ok((template, buffer.count(&template.spec, replicas)))
}

// ---- pods and nodes ----

fn described(pod: &PodFacts, spec: u32, now: Timestamp) -> Pod {
    let delayed = pod.not_before.filter(|&until| now < until);
    let delayed = delayed.map(|until| format!("its scale-up delay ends in {}", until.since(now)).into());
    Pod {
        name: pod.name.clone(),
        uid: pod.uid.clone(),
        spec,
        node: pod.node.clone(),
        nominated: pod.nominated.clone(),
        created_at: pod.created_at,
        terminating: pod.gone_by.is_some(),
        ignored: pod.waits.clone().or(delayed).filter(|_| pod.node.is_none()),
        owner: pod.owner.clone(),
        eviction: pod.eviction.clone(),
    }
}

/// What is on a node.
#[derive(Default)]
struct Load {
    requests: Resources,
    /// Pods that do not belong to the node.
    foreign: usize,
    names: Vec<String>,
    /// The same without those that were to be gone by now.
    lingering: Option<Timestamp>,
    /// A pod that cannot be read.
    unreadable: Option<String>,
}

fn loads(facts: &Facts) -> BTreeMap<NodeId, Load> {
    let mut loads: BTreeMap<NodeId, Load> = BTreeMap::new();
    for (key, pod) in facts.pods.iter() {
        let Some(node) = &pod.node else { continue };
        if !loads.contains_key(node) {
            loads.insert(node.clone(), Load::default());
        }
        let Some(load) = loads.get_mut(node) else { continue };
        load.requests.add(&pod.spec.requests);
        if !pod.owner.as_ref().is_some_and(|owner| matches!(&*owner.kind, "DaemonSet" | "Node")) {
            load.foreign += 1;
            // For ever, unless it is being deleted.
            let until = pod.gone_by.unwrap_or(Timestamp(u64::MAX));
            load.lingering = load.lingering.max(Some(until));
            if load.names.len() < ACTIVITY_MAX {
                load.names.push(written(key));
            }
        }
    }
    for (key, (_, node)) in &facts.pods.bad {
        if let Some(node) = node {
            loads.entry(node.clone()).or_default().unreadable.get_or_insert(written(key));
        }
    }
    loads
}

impl Load {
    /// Is anything on it that would have to be moved, or whose end has to be waited for?
    fn is_in_use(&self) -> bool {
        self.foreign > 0 || self.unreadable.is_some()
    }

    /// The same of a node whose kubelet may be gone: what was to be gone by now does not count.
    fn is_held_up(&self, silent: bool, now: Timestamp) -> bool {
        self.is_in_use()
            && !(silent && self.unreadable.is_none() && self.lingering.is_some_and(|until| until < now))
    }

    fn activity(&self) -> Vec<String> {
        let more = self.foreign.saturating_sub(self.names.len());
        let more = (more > 0).then(|| format!("and {more} more"));
        let odd = self.unreadable.as_ref().map(|name| format!("{name}, which cannot be read"));
        self.names.iter().cloned().chain(more).chain(odd).collect()
    }
}

fn kube_node(facts: &Facts, node: &NodeFacts, load: Option<&Load>) -> KubeNode {
    let limits = facts.csi_nodes.get("", node.node.id.as_str());
    let unreadable = load.and_then(|load| load.unreadable.as_ref());
    let unreadable = unreadable.map(|name| format!("pod {name} on it cannot be read").into());
    KubeNode {
        attach_limits: limits.map(|limits| CsiFacts::clone(limits)).unwrap_or_default(),
        held: node.node.held.clone().or(unreadable),
        ..node.node.clone()
    }
}

fn worker(facts: &NodeFacts, load: &Load, idle_since: &BTreeMap<NodeId, Timestamp>, now: Timestamp) -> Node {
    let id = &facts.node.id;
    let status = status(facts, load, now);
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
        activity: load.activity(),
    }
}

fn status(facts: &NodeFacts, load: &Load, now: Timestamp) -> NodeStatus {
    if facts.evict_until.is_some() {
        let left = load.is_held_up(facts.silent, now);
        return if left { NodeStatus::Draining } else { NodeStatus::Drained };
    }
    match (facts.node.ready && !facts.starting, load.is_in_use()) {
        (false, _) => NodeStatus::NotReady,
        (true, true) => NodeStatus::Running,
        (true, false) => NodeStatus::Idle,
    }
}
