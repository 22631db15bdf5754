//! What there is to do: pools, Deployments of several shapes, and what a plan of all of it at once would buy.

use ostler_model::kube::{HOSTNAME, KubeNode, KubePolicy};
use ostler_model::{Price, Timestamp};
use ostler_packing::kube::decide;
use ostler_packing::kube::problem::{PoolOption, Problem, Turn, WORK};
use ostler_workload_kubernetes::map::{self, Facts};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Replicas of one Deployment at most. Those that keep apart by host have fewer.
const REPLICAS: usize = 500;
const REPLICAS_APART: usize = 50;
const ZONES: [&str; 3] = ["a", "b", "c"];
const ZONE: &str = "topology.kubernetes.io/zone";
/// Made for nodes of 4 cores, and this many pods on each.
const PODS_PER_NODE: f64 = 10.0;

/// How much.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) nodes: usize,
    pub(crate) pods: usize,
}

/// A kind of Deployment.
struct Shape {
    name: &'static str,
    millis: u32,
    mebibytes: u32,
    /// Of all pods, in percent.
    share: usize,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    /// As many in each zone.
    Spread,
    /// No two on a host.
    Apart,
    /// On the nodes with much memory, which take nobody else.
    Memory,
}

const SHAPES: [Shape; 6] = [
    Shape { name: "web", millis: 200, mebibytes: 512, share: 30, kind: Kind::Spread },
    Shape { name: "api", millis: 400, mebibytes: 1024, share: 25, kind: Kind::Plain },
    Shape { name: "worker", millis: 1000, mebibytes: 1024, share: 15, kind: Kind::Plain },
    Shape { name: "small", millis: 100, mebibytes: 256, share: 15, kind: Kind::Plain },
    Shape { name: "cache", millis: 300, mebibytes: 4096, share: 10, kind: Kind::Memory },
    Shape { name: "single", millis: 500, mebibytes: 512, share: 5, kind: Kind::Apart },
];

/// One Deployment.
#[derive(Debug, Clone)]
pub(crate) struct Deployment {
    pub(crate) name: String,
    pub(crate) replicas: usize,
    template: Value,
}

impl Deployment {
    /// The same with so many replicas.
    pub(crate) fn with(&self, replicas: usize) -> Self {
        Self { replicas, ..self.clone() }
    }

    pub(crate) fn object(&self) -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": self.name},
            "spec": {"replicas": self.replicas, "selector": {"matchLabels": {"app": self.name}},
                "template": self.template},
        })
    }
}

/// All Deployments; their replicas are as many as pods are asked for.
pub(crate) fn deployments(size: Size) -> Vec<Deployment> {
    let mut all = Vec::new();
    let mut left = size.pods;
    for (n, shape) in SHAPES.iter().enumerate() {
        let last = n + 1 == SHAPES.len();
        let mut pods = if last { left } else { size.pods * shape.share / 100 };
        left -= pods;
        let most = if shape.kind == Kind::Apart { REPLICAS_APART } else { REPLICAS };
        let mut nth = 0;
        while pods > 0 {
            let (name, replicas) = (format!("{}-{nth}", shape.name), pods.min(most));
            all.push(Deployment { template: template(shape, &name), name, replicas });
            pods -= replicas;
            nth += 1;
        }
    }
    all
}

fn template(shape: &Shape, name: &str) -> Value {
    let requests = json!({"cpu": format!("{}m", shape.millis), "memory": format!("{}Mi", shape.mebibytes)});
    let mut spec =
        json!({"containers": [{"name": "main", "image": "none", "resources": {"requests": requests}}]});
    let like = json!({"matchLabels": {"app": name}});
    match shape.kind {
        Kind::Plain => {}
        Kind::Spread => {
            spec["topologySpreadConstraints"] = json!([{"maxSkew": 5, "topologyKey": ZONE,
                "whenUnsatisfiable": "DoNotSchedule", "labelSelector": like}]);
        }
        Kind::Apart => {
            spec["affinity"] = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
                [{"topologyKey": HOSTNAME, "labelSelector": like}]}});
        }
        Kind::Memory => {
            spec["nodeSelector"] = json!({"class": "memory"});
            spec["tolerations"] = json!([{"key": "class", "operator": "Exists"}]);
        }
    }
    json!({"metadata": {"labels": {"app": name}}, "spec": spec})
}

/// A pool.
pub(crate) struct Pool {
    pub(crate) name: String,
    millis: u32,
    mebibytes: u32,
    price: f64,
    labels: BTreeMap<String, String>,
    tainted: bool,
}

/// One pool for each zone, and one of nodes with much memory. Nodes are as large as the size asks for.
pub(crate) fn pools(size: Size) -> Vec<Pool> {
    let scale = size.pods as f64 / size.nodes as f64 / PODS_PER_NODE;
    let part = |whole: u32| (f64::from(whole) * scale).round() as u32;
    let general = |zone: &&str| Pool {
        name: format!("general-{zone}"),
        millis: part(4_000),
        mebibytes: part(16 << 10),
        price: 0.2 * scale,
        labels: [(ZONE.to_owned(), format!("zone-{zone}"))].into(),
        tainted: false,
    };
    let memory = Pool {
        name: "memory".to_owned(),
        millis: part(4_000),
        mebibytes: part(32 << 10),
        price: 0.27 * scale,
        labels: [("class".to_owned(), "memory".to_owned())].into(),
        tainted: true,
    };
    ZONES.iter().map(general).chain([memory]).collect()
}

impl Pool {
    fn amounts(&self) -> Value {
        json!({"cpu": format!("{}m", self.millis), "memory": format!("{}Mi", self.mebibytes), "pods": "110"})
    }

    fn config(&self, max: usize) -> Value {
        let taints: &[&str] = if self.tainted { &["class=memory:NoSchedule"] } else { &[] };
        let (cores, memory) = (f64::from(self.millis) / 1e3, format!("{}Mi", self.mebibytes));
        let resources = json!({"cpu": cores, "memory": memory, "pods": 110});
        json!({
            "provider": "sim", "max": max, "resources": resources, "price": self.price, "labels": self.labels,
            "taints": taints, "template": {"boot": "5s", "taints": taints},
        })
    }

    /// A node of it, as the API server would show it.
    fn node(&self) -> Value {
        let taints = json!([{"key": "class", "value": "memory", "effect": "NoSchedule"}]);
        json!({
            "metadata": {"name": self.name, "labels": self.labels},
            "spec": if self.tainted { json!({"taints": taints}) } else { json!({}) },
            "status": {"allocatable": self.amounts(), "conditions": [{"type": "Ready", "status": "True"}]},
        })
    }
}

/// The configuration of Ostler: defaults, but for the waits before a node may go.
pub(crate) fn configuration(size: Size, ostler: &Path, simulator: &Path, api: &str) -> String {
    let pools: BTreeMap<String, Value> =
        pools(size).iter().map(|pool| (pool.name.clone(), pool.config(size.nodes * 2))).collect();
    let all = json!({
        "workloads": {"load": {
            "kind": "kubernetes", "kubeconfig": ostler,
            "scale_down": {"unneeded": "20s", "delay_after_add": "10s"},
            "pools": pools,
        }},
        "providers": {"sim": {"type": "kwok", "kubeconfig": simulator}},
        "store": {"path": "ostler.db"},
        "api": {"listen": api},
    });
    format!("{all:#}\n") // JSON is YAML
}

/// Nodes and their price.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bill {
    pub(crate) nodes: u64,
    pub(crate) price: f64,
}

/// What these pools' nodes come to.
pub(crate) fn bill(size: Size, nodes: &BTreeMap<String, u64>) -> Bill {
    let price = |pool: &Pool| pool.price * nodes.get(&pool.name).copied().unwrap_or(0) as f64;
    Bill { nodes: nodes.values().sum(), price: pools(size).iter().map(price).sum() }
}

/// What is bought if all pods wait at once and there is no node: the same code that Ostler decides by, in one plan.
pub(crate) fn in_one_plan(size: Size, deployments: &[Deployment]) -> Bill {
    let facts = facts_of(deployments);
    let state = map::workload_state(&facts, &BTreeMap::new(), Timestamp(0));
    let cluster = state.cluster.expect("a cluster");
    let all = pools(size);
    let problem = Problem {
        now: Timestamp(0),
        cluster: &cluster,
        policy: &KubePolicy { scale_down: false, ..KubePolicy::default() },
        pools: all.iter().map(|pool| option(pool, size)).collect(),
        machines: Vec::new(),
        max_machines: None,
        quiet_until: None,
        work: WORK,
        turn: Turn::default(),
    };
    let decision = decide(&problem);
    assert!(decision.unplaced.is_empty(), "every pod fits: {:?}", decision.unplaced);
    let counts = decision.launches.iter().map(|launch| (all[launch.pool].name.clone(), launch.count));
    let mut nodes: BTreeMap<String, u64> = BTreeMap::new();
    counts.for_each(|(pool, count)| *nodes.entry(pool).or_default() += count);
    bill(size, &nodes)
}

fn facts_of(deployments: &[Deployment]) -> Facts {
    let mut facts = Facts::default();
    for deployment in deployments {
        let mut object = deployment.template.clone();
        object["metadata"]["namespace"] = "default".into();
        object["metadata"]["name"] = "pod".into();
        let pod = map::pod(object, map::Release::NEWEST).expect("it can be read").expect("it has not ended");
        for n in 0..deployment.replicas {
            let name: Arc<str> = format!("{}-{n}", deployment.name).into();
            let pod = map::PodFacts { name: name.clone(), uid: name.clone(), ..pod.clone() };
            facts.pods.good.insert(("default".into(), name), Arc::new(pod));
        }
    }
    facts
}

fn option(pool: &Pool, size: Size) -> PoolOption {
    let template: KubeNode = map::node(pool.node()).expect("a node").node;
    PoolOption {
        id: pool.name.as_str().into(),
        template,
        price: Price((pool.price * 1e6) as u64),
        min: 0,
        max: (size.nodes * 2) as u32,
        priority: 0,
        group: None,
        group_max: None,
        closed: false,
        doubtful: false,
        gone: false,
    }
}
