//! The facts of all objects, joined into one look. Of a large cluster hardly anything changes from one look to the
//! next, so what was made is kept, and used again where the facts that it was made of are the same in memory.

use super::facts::{Facts, Key, bounded, written};
use super::load::{self, Load};
use super::pod::PodFacts;
use super::policy::{BufferFacts, DaemonFacts, TemplateFacts};
use super::specs::{Kind, Specs};
use ostler_model::kube::{Cluster, Daemon, Headroom, KubeNode, Pod, PodSpec};
use ostler_model::{Millis, Node, NodeId, Timestamp, WorkloadState};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// Looks that are kept: whoever was given the last one may still have it, the one before is free as a rule.
const KEPT: usize = 2;
/// The API server cuts the name of a DaemonSet for the names of its pods, but leaves more than this.
const NAME_KEPT: usize = 50;

/// One look at facts of which nothing is known yet.
pub fn workload_state(
    facts: &Facts,
    idle_since: &BTreeMap<NodeId, Timestamp>,
    now: Timestamp,
) -> WorkloadState {
    Joiner::default().join(facts, idle_since, now)
}

/// Makes looks, and knows the last ones.
#[derive(Debug, Default)]
pub struct Joiner {
    specs: Specs,
    seats: HashMap<NodeId, Seat>,
    kept: VecDeque<Kept>,
    /// When time alone changes the last look.
    next: Option<Timestamp>,
}

/// What is on a node, and the facts by which that is known.
#[derive(Debug, Default)]
struct Seat {
    pods: Vec<Arc<PodFacts>>,
    load: Load,
}

/// A look, and what its pods were made of.
#[derive(Debug)]
struct Kept {
    cluster: Arc<Cluster>,
    pods: Vec<Origin>,
    epoch: u64,
}

#[derive(Debug)]
struct Origin {
    facts: Arc<PodFacts>,
    kind: Kind,
}

/// Name, kind of pod, how often.
type Room = (Arc<str>, Kind, u32);

/// What pods would be made of.
struct Templates {
    daemons: Vec<(Arc<str>, Kind)>,
    /// Room that is to be kept free.
    headroom: Vec<Room>,
    /// What is wrong with the rest of it.
    odd: Vec<String>,
}

impl Joiner {
    /// One look. `idle_since` tells since when nodes have nothing to do, as far as it is known; the version and the
    /// session are left to the caller.
    pub fn join(
        &mut self,
        facts: &Facts,
        idle_since: &BTreeMap<NodeId, Timestamp>,
        now: Timestamp,
    ) -> WorkloadState {
        let mut skipped = facts.skipped();
        self.next = None;
        self.specs.begin(facts);
        let (mut origins, mut pods) = self.pods(facts, now);
        let templates = self.kinds(facts, &mut origins);
        skipped.extend(templates.odd);
        let (specs, places) = self.specs.list();
        let place = |kind: Kind| places[kind as usize];
        pods.iter_mut().zip(&origins).for_each(|(pod, origin)| pod.spec = place(origin.kind));
        self.seat(facts, &pods, &origins);
        let (workers, nodes) = self.nodes(facts, idle_since, now);
        let daemon = |(name, kind)| Daemon { name, spec: place(kind) };
        let headroom = |(name, kind, count)| Headroom { name, spec: place(kind), count };
        let namespaces = facts.namespaces.iter();
        let cluster = Arc::new(Cluster {
            nodes,
            specs,
            pods,
            namespaces: namespaces.map(|((_, name), labels)| (name.clone(), labels.clone())).collect(),
            daemons: templates.daemons.into_iter().map(daemon).collect(),
            budgets: facts.budgets.iter().map(|(_, budget)| budget.clone()).collect(),
            headroom: templates.headroom.into_iter().map(headroom).collect(),
        });
        self.kept.push_back(Kept { cluster: cluster.clone(), pods: origins, epoch: self.specs.epoch() });
        WorkloadState {
            nodes: workers.into(),
            cluster: Some(cluster),
            skipped: bounded(skipped),
            ..WorkloadState::default()
        }
    }

    /// When time alone changes the last look; `None`: never.
    pub fn next(&self) -> Option<Timestamp> {
        self.next
    }

    fn changes_at(&mut self, at: Timestamp) {
        self.next = Some(self.next.map_or(at, |next| next.min(at)));
    }

    /// All pods in the order of their names. Those that are what they were in the oldest look that is kept are moved
    /// out of it, if nobody has it any more: that touches neither their names nor their facts.
    fn pods(&mut self, facts: &Facts, now: Timestamp) -> (Vec<Origin>, Vec<Pod>) {
        let oldest = if self.kept.len() >= KEPT { self.kept.pop_front() } else { None };
        let (epoch, origins, cluster) =
            oldest.map_or_else(Default::default, |kept| (kept.epoch, kept.pods, kept.cluster));
        let pods = Arc::try_unwrap(cluster).map(|cluster| cluster.pods).unwrap_or_default();
        let mut before = origins.into_iter().zip(pods).peekable();
        let (mut made, mut all) = (Vec::new(), Vec::new());
        made.reserve_exact(facts.pods.good.len());
        all.reserve_exact(facts.pods.good.len());
        for pod in facts.pods.good.values() {
            let is = |(origin, _): &(Origin, Pod)| Arc::ptr_eq(&origin.facts, pod);
            while before.next_if(|one| !is(one) && name(&one.0.facts) <= name(pod)).is_some() {}
            // What a pod waits for may be over.
            match before.next_if(is).filter(|(_, pod)| pod.ignored.is_none()) {
                Some((mut origin, pod)) => {
                    if epoch != self.specs.epoch() {
                        origin.kind = self.specs.of_pod(&origin.facts);
                    }
                    made.push(origin);
                    all.push(pod);
                }
                None => {
                    made.push(Origin { facts: pod.clone(), kind: self.specs.of_pod(pod) });
                    all.push(described(pod, now));
                    pod.not_before.filter(|&at| now < at).into_iter().for_each(|at| self.changes_at(at));
                }
            }
        }
        (made, all)
    }

    /// Makes the kinds of all that is to be in the list; those of pods anew if they are others now.
    fn kinds(&mut self, facts: &Facts, origins: &mut [Origin]) -> Templates {
        loop {
            let (daemons, (headroom, odd)) = (self.daemons(facts), self.headroom(facts));
            let of_templates = daemons.iter().map(|one| one.1).chain(headroom.iter().map(|one| one.1));
            let kinds = origins.iter().map(|origin| origin.kind).chain(of_templates);
            kinds.for_each(|kind| self.specs.want(kind));
            if self.specs.is_whole() {
                return Templates { daemons, headroom, odd };
            }
            origins.iter_mut().for_each(|origin| origin.kind = self.specs.of_pod(&origin.facts));
        }
    }

    /// Notes what is on each node, where that has changed.
    fn seat(&mut self, facts: &Facts, pods: &[Pod], origins: &[Origin]) {
        // As many as there were, as a rule.
        let room = |node: &NodeId| Vec::with_capacity(self.seats.get(node).map_or(0, |seat| seat.pods.len()));
        let nodes = facts.nodes.good.values().map(|node| &node.node.id);
        let mut on: HashMap<&str, Vec<usize>> = nodes.map(|node| (node.as_str(), room(node))).collect();
        for (n, pod) in pods.iter().enumerate() {
            if let Some(on) = pod.node.as_ref().and_then(|node| on.get_mut(node.as_str())) {
                on.push(n);
            }
        }
        self.seats.retain(|node, _| on.contains_key(node.as_str()));
        for node in facts.nodes.good.values() {
            let pods = || on[node.node.id.as_str()].iter().map(|&n| &origins[n].facts);
            let seat = self.seats.entry(node.node.id.clone()).or_default();
            if seat.pods.len() == pods().len() && seat.pods.iter().zip(pods()).all(|(a, b)| Arc::ptr_eq(a, b))
            {
                continue;
            }
            let mut load = Load::default();
            pods().for_each(|pod| load.add(pod));
            *seat = Seat { pods: pods().cloned().collect(), load };
        }
    }

    /// All nodes, as they work and as the scheduler sees them.
    fn nodes(
        &mut self,
        facts: &Facts,
        idle_since: &BTreeMap<NodeId, Timestamp>,
        now: Timestamp,
    ) -> (Vec<Node>, Vec<KubeNode>) {
        let odd = load::unreadable(facts);
        let (mut workers, mut nodes, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        for node in facts.nodes.good.values() {
            let (load, odd) = (&self.seats[&node.node.id].load, odd.get(&node.node.id));
            workers.push(load::worker(node, load, odd, idle_since, now));
            nodes.push(load::kube_node(facts, node, odd));
            if node.evict_until.is_some() && node.silent {
                ends.extend(load.lingering().filter(|&at| at >= now));
            }
        }
        ends.into_iter().for_each(|at| self.changes_at(at + Millis(1)));
        (workers, nodes)
    }

    fn daemons(&mut self, facts: &Facts) -> Vec<(Arc<str>, Kind)> {
        let of = |(key, daemon): (&Key, &DaemonFacts)| {
            let spec = with_live_priority(key, daemon, facts);
            (written(key).into(), self.specs.of_template(&spec, &daemon.claims))
        };
        facts.daemons.iter().map(of).collect()
    }

    /// Room that is to be kept free, and what is wrong with the rest.
    fn headroom(&mut self, facts: &Facts) -> (Vec<Room>, Vec<String>) {
        let (mut all, mut odd) = (Vec::new(), Vec::new());
        for (key, buffer) in facts.buffers.iter() {
            match room(key, buffer, facts) {
                Ok((_, 0)) => {}
                Ok((template, count)) => {
                    let kind = self.specs.of_template(&template.spec, &template.claims);
                    all.push((written(key).into(), kind, count));
                }
                Err(why) => odd.push(format!("CapacityBuffer {}: {why}", written(key))),
            }
        }
        (all, odd)
    }
}

/// By what pods are in order.
fn name(pod: &PodFacts) -> (&str, &str) {
    (&pod.spec.namespace, &pod.name)
}

/// A pod, but for the place of its spec.
fn described(pod: &PodFacts, now: Timestamp) -> Pod {
    let delayed = pod.not_before.filter(|&until| now < until);
    let delayed = delayed.map(|until| format!("its scale-up delay ends in {}", until.since(now)).into());
    Pod {
        name: pod.name.clone(),
        uid: pod.uid.clone(),
        spec: 0,
        node: pod.node.clone(),
        nominated: pod.nominated.clone(),
        created_at: pod.created_at,
        terminating: pod.gone_by.is_some(),
        ignored: pod.waits.clone().or(delayed).filter(|_| pod.node.is_none()),
        owner: pod.owner.clone(),
        eviction: pod.eviction.clone(),
    }
}

/// Priority classes are not watched; the API server has written the number into the pods that are there.
fn with_live_priority((namespace, name): &Key, daemon: &DaemonFacts, facts: &Facts) -> Arc<PodSpec> {
    if daemon.says_priority {
        return daemon.spec.clone();
    }
    // A pod of it is named after it, which leaves only a part of all pods to look at.
    let start: Arc<str> = format!("{name}-").chars().take(NAME_KEPT).collect::<String>().into();
    let near = facts.pods.good.range((namespace.clone(), start.clone())..);
    let mut near = near.take_while(|((space, name), _)| space == namespace && name.starts_with(&*start));
    let of_it = |pod: &Arc<PodFacts>| pod.owner.as_ref().is_some_and(|owner| owner.uid == daemon.uid);
    match near.find(|(_, pod)| of_it(pod)).map(|(_, pod)| pod.spec.priority) {
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
