//! Controllers, the scheduler, and nodes as far as they carry pods.

use super::cloud::Cloud;
use ostler_model::kube::{
    Budget, Cluster, Daemon, Eviction, HOSTNAME, Headroom, KubeNode, KubePolicy, LabelSelector, NodeTemplate,
    Owner, PODS, Pod, PodSpec,
};
use ostler_model::{
    Labels, Millis, Node, NodeId, NodeStatus, Pool, Quantity, Resources, Timestamp, WorkloadState,
};
use ostler_packing::kube::ledger::Ledger;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// So many equal pods, made again when one is evicted.
#[derive(Debug, Clone)]
pub struct App {
    /// What each asks for.
    pub spec: PodSpec,
    /// How many.
    pub replicas: usize,
    /// Its kind of controller; `None`: nothing makes them again.
    pub owner: Option<&'static str>,
    /// What speaks for and against moving them.
    pub eviction: Eviction,
    /// Why they wait for something else than room.
    pub ignored: Option<&'static str>,
    /// A PodDisruptionBudget: so many must be there.
    pub min_available: Option<usize>,
}

impl App {
    /// Pods of a ReplicaSet that ask for `cpu` thousandths of a core and `memory` MiB.
    pub fn new(name: &str, replicas: usize, cpu: i64, memory: i64) -> Self {
        let requests = [
            ("cpu", Quantity::ten_thousandths(i128::from(cpu) * 10)),
            ("memory", Quantity::units(memory << 20)),
            (PODS, Quantity::ONE),
        ];
        let spec = PodSpec {
            namespace: "default".into(),
            labels: [("app".into(), name.into())].into(),
            requests: requests.into_iter().collect(),
            scheduler: "default-scheduler".into(),
            ..PodSpec::default()
        };
        let (owner, eviction) = (Some("ReplicaSet"), Eviction::default());
        Self { spec, replicas, owner, eviction, ignored: None, min_available: None }
    }
}

/// A pod.
#[derive(Debug, Clone)]
pub struct PodState {
    app: Arc<str>,
    created_at: Timestamp,
    /// Where it is.
    pub node: Option<NodeId>,
}

/// The cluster without its machines.
#[derive(Debug, Clone, Default)]
pub struct VirtualCluster {
    /// By name.
    pub apps: BTreeMap<Arc<str>, App>,
    /// By name.
    pub pods: BTreeMap<Arc<str>, PodState>,
    /// DaemonSets.
    pub daemons: Vec<PodSpec>,
    /// Room that objects of the cluster ask for.
    pub headroom: Vec<(PodSpec, u32)>,
    /// Nodes that others look after.
    pub foreign: Vec<KubeNode>,
    /// Nodes with our taint, and since when they may be emptied.
    pub draining: BTreeMap<NodeId, Timestamp>,
    /// Nodes that have lost touch, and since when.
    pub lost: BTreeMap<NodeId, Timestamp>,
    /// The scheduler places nothing until then.
    pub scheduler_rests_until: Option<Timestamp>,
    /// Evictions so far.
    pub evictions: usize,
    /// The fewest pods of each app that were ever placed since it was complete for the first time.
    pub fewest: BTreeMap<Arc<str>, usize>,
    made: usize,
}

impl VirtualCluster {
    /// Controllers make what is missing and take what is too much, the youngest first.
    pub(crate) fn reconcile(&mut self, now: Timestamp) {
        for (name, app) in &self.apps {
            let of = |pod: &PodState| pod.app == *name;
            let mut there: Vec<Arc<str>> =
                self.pods.iter().filter(|(_, pod)| of(pod)).map(|(name, _)| name.clone()).collect();
            while there.len() > app.replicas {
                // Waiting pods go before running ones, as the controller has it.
                let waits = there.iter().position(|name| self.pods[name].node.is_none());
                let gone = there.remove(waits.unwrap_or(there.len() - 1));
                self.pods.remove(&gone);
            }
            for _ in there.len()..app.replicas {
                self.made += 1;
                let pod = PodState { app: name.clone(), created_at: now, node: None };
                self.pods.insert(format!("{name}-{:05}", self.made).into(), pod);
            }
        }
        self.pods.retain(|_, pod| self.apps.contains_key(&pod.app));
    }

    /// Pods on nodes that are gone are gone too.
    pub(crate) fn forget_nodes(&mut self, there: &BTreeSet<NodeId>) {
        self.draining.retain(|node, _| there.contains(node));
        self.pods.retain(|_, pod| pod.node.as_ref().is_none_or(|node| there.contains(node)));
    }

    /// One round of the scheduler: by priority, then age; on the node with the most CPU left.
    pub(crate) fn schedule(&mut self, cluster: &Cluster, policy: &KubePolicy) {
        let mut ledger = Ledger::new(cluster, policy);
        let mut waiting: Vec<&Pod> =
            cluster.pods.iter().filter(|pod| pod.node.is_none() && pod.ignored.is_none()).collect();
        let priority = |pod: &Pod| -cluster.specs[pod.spec as usize].priority;
        waiting
            .sort_by(|a, b| (priority(a), a.created_at, &a.name).cmp(&(priority(b), b.created_at, &b.name)));
        for pod in waiting {
            let nodes: Vec<_> = ledger.nodes().collect();
            let open = |n: usize| cluster.nodes.get(n).is_some_and(|node| node.ready && !node.draining);
            let mut best: Option<(i64, usize)> = None;
            for (n, node) in nodes.iter().enumerate() {
                if open(n) && ledger.fits(pod.spec, *node) {
                    let free = ledger.free(*node).first().copied().unwrap_or(0);
                    if best.is_none_or(|(most, _)| free > most) {
                        best = Some((free, n));
                    }
                }
            }
            if let Some((_, n)) = best {
                ledger.place(pod.spec, nodes[n]);
                if let Some(state) = self.pods.get_mut(&pod.name) {
                    state.node = Some(cluster.nodes[n].id.clone());
                }
            }
        }
    }

    /// Evicts what is on nodes that are being emptied, within the budgets.
    pub(crate) fn evict(&mut self, now: Timestamp) {
        let going: BTreeSet<NodeId> =
            self.draining.iter().filter(|(_, from)| **from <= now).map(|(node, _)| node.clone()).collect();
        let names: Vec<Arc<str>> = self.pods.keys().cloned().collect();
        for name in names {
            let pod = &self.pods[&name];
            if !pod.node.as_ref().is_some_and(|node| going.contains(node)) {
                continue;
            }
            let app = pod.app.clone();
            let least = self.apps[&app].min_available.unwrap_or(0);
            if self.placed(&app) > least {
                self.pods.remove(&name);
                self.evictions += 1;
            }
        }
    }

    /// Takes note of how many pods are placed.
    pub(crate) fn count(&mut self) {
        for (name, app) in &self.apps {
            let placed = self.placed(name);
            if placed >= app.replicas || self.fewest.contains_key(name) {
                let fewest = self.fewest.entry(name.clone()).or_insert(placed);
                *fewest = placed.min(*fewest);
            }
        }
    }

    /// Pods of an app that have a node.
    pub fn placed(&self, app: &str) -> usize {
        self.pods.values().filter(|pod| &*pod.app == app && pod.node.is_some()).count()
    }

    /// Pods without a node.
    pub fn waiting(&self) -> usize {
        self.pods.values().filter(|pod| pod.node.is_none()).count()
    }

    /// What Ostler sees.
    pub(crate) fn look(&self, now: Timestamp, cloud: &Cloud) -> WorkloadState {
        let mut cluster = Cluster::default();
        let mut nodes = Vec::new();
        for (id, machine) in &cloud.machines {
            let pool = &machine.made_of;
            let mut kube = self.node(now, id.as_str(), machine.ready_at, pool);
            let habits = cloud.habits.get(&pool.id).cloned().unwrap_or_default();
            kube.allocatable = habits.allocatable.unwrap_or_else(|| pool.resources.clone());
            if machine.ready_at.is_some_and(|at| now < at + habits.startup) {
                kube.taints.extend(pool.node.iter().flat_map(|node| node.startup_taints.clone()));
            }
            nodes.push(Node {
                id: kube.id.clone(),
                cloud: Some(id.clone()),
                // Providers do not label nodes as we would.
                pool: None,
                head: false,
                status: self.status(now, &kube),
                idle: Millis(0),
                total: kube.allocatable.clone(),
                available: Resources::default(),
                labels: kube.labels.clone(),
                address: String::new(),
                instance_type: String::new(),
                activity: Vec::new(),
            });
            cluster.nodes.push(kube);
        }
        cluster.nodes.extend(self.foreign.iter().cloned());
        self.write_pods(&mut cluster);
        WorkloadState { nodes: nodes.into(), cluster: Some(Arc::new(cluster)), ..WorkloadState::default() }
    }

    fn status(&self, now: Timestamp, node: &KubeNode) -> NodeStatus {
        let empty = !self.pods.values().any(|pod| pod.node.as_ref() == Some(&node.id));
        match self.draining.get(&node.id) {
            Some(from) if *from <= now && empty => NodeStatus::Drained,
            Some(from) if *from <= now => NodeStatus::Draining,
            _ if !node.ready => NodeStatus::NotReady,
            _ if empty => NodeStatus::Idle,
            _ => NodeStatus::Running,
        }
    }

    fn node(&self, now: Timestamp, id: &str, ready_at: Option<Timestamp>, pool: &Pool) -> KubeNode {
        let name = format!("node-{id}");
        let mut labels: Labels = pool.labels.clone();
        labels.insert(HOSTNAME.into(), name.as_str().into());
        let template: NodeTemplate = pool.node.as_deref().cloned().unwrap_or_default();
        let created_at = ready_at.unwrap_or(now);
        let lost = self.lost.get(name.as_str()).copied();
        KubeNode {
            id: NodeId::new(name.as_str()),
            labels,
            taints: template.taints,
            unschedulable: false,
            allocatable: pool.resources.clone(),
            attach_limits: template.attach_limits,
            features: BTreeSet::new(),
            ready: ready_at.is_some_and(|at| at <= now) && lost.is_none(),
            ready_since: lost.unwrap_or(created_at),
            created_at,
            draining: self.draining.contains_key(name.as_str()),
            held: None,
        }
    }

    fn write_pods(&self, cluster: &mut Cluster) {
        let mut specs: BTreeMap<&PodSpec, u32> = BTreeMap::new();
        let mut place = |spec| {
            let next = specs.len() as u32;
            *specs.entry(spec).or_insert(next)
        };
        for (name, state) in &self.pods {
            let app = &self.apps[&state.app];
            let owner = app.owner.map(|kind| {
                Arc::new(Owner { kind: kind.into(), name: state.app.clone(), uid: state.app.clone() })
            });
            cluster.pods.push(Pod {
                name: name.clone(),
                uid: name.clone(),
                spec: place(&app.spec),
                node: state.node.clone(),
                nominated: None,
                created_at: state.created_at,
                terminating: false,
                ignored: app.ignored.filter(|_| state.node.is_none()).map(Arc::from),
                owner,
                eviction: app.eviction.clone(),
            });
        }
        for (n, spec) in self.daemons.iter().enumerate() {
            cluster.daemons.push(Daemon { name: format!("daemon-{n}").into(), spec: place(spec) });
        }
        for (n, (spec, count)) in self.headroom.iter().enumerate() {
            let name = format!("buffer-{n}").into();
            cluster.headroom.push(Headroom { name, spec: place(spec), count: *count });
        }
        let mut ordered: Vec<(&PodSpec, u32)> = specs.into_iter().collect();
        ordered.sort_by_key(|(_, n)| *n);
        cluster.specs = ordered.into_iter().map(|(spec, _)| spec.clone()).collect();
        for (name, app) in &self.apps {
            let Some(least) = app.min_available else { continue };
            cluster.budgets.push(Budget {
                namespace: "default".into(),
                name: name.clone(),
                selector: Some(LabelSelector {
                    labels: [("app".into(), name.clone())].into(),
                    ..LabelSelector::default()
                }),
                allowed: u32::try_from(self.placed(name).saturating_sub(least)).unwrap_or(u32::MAX),
            });
        }
    }
}
