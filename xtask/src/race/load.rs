//! Reads a scenario file into the words of the planner.

use std::collections::BTreeMap;
use std::sync::Arc;

use ostler_model::kube::{
    Cluster, HOSTNAME, KubeNode, LabelSelector, Owner, PODS, Pod, PodSpec, Spread, Taint, TaintEffect,
    Toleration,
};
use ostler_model::{Labels, Price, Quantity, Resources, Timestamp};
use ostler_packing::kube::problem::PoolOption;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct File {
    version: u32,
    name: String,
    kind: String,
    types: Vec<Type>,
    apps: Vec<App>,
    nodes: Vec<Node>,
    pods: Vec<(usize, i64)>,
}

#[derive(Debug, Deserialize)]
struct Type {
    name: String,
    cpu_m: i64,
    mem_mi: i64,
    pods: i64,
    price: f64,
    min: u32,
    max: u32,
    labels: BTreeMap<String, String>,
    taints: Vec<FileTaint>,
}

#[derive(Debug, Deserialize)]
struct FileTaint {
    key: String,
    #[serde(default)]
    value: String,
    effect: String,
}

#[derive(Debug, Deserialize)]
struct App {
    name: String,
    cpu_m: i64,
    mem_mi: i64,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    node_selector: BTreeMap<String, String>,
    #[serde(default)]
    tolerations: Vec<FileToleration>,
    #[serde(default)]
    spread: Vec<FileSpread>,
}

#[derive(Debug, Deserialize)]
struct FileToleration {
    key: Option<String>,
    operator: Option<String>,
    value: Option<String>,
    effect: Option<String>,
}

#[derive(Debug, Deserialize)]
struct FileSpread {
    key: String,
    max_skew: u32,
}

#[derive(Debug, Deserialize)]
struct Node {
    name: String,
    #[serde(rename = "type")]
    kind: usize,
    cpu_m: Option<i64>,
    mem_mi: Option<i64>,
    pods: Option<i64>,
    labels: Option<BTreeMap<String, String>>,
    taints: Option<Vec<FileTaint>>,
}

/// A file in the planner's words.
#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) name: String,
    pub(super) shrinks: bool,
    pub(super) pools: Vec<PoolOption>,
    pub(super) cluster: Cluster,
    /// The pool of each node.
    pub(super) pool_of: Vec<usize>,
    /// How each node of a type is, beside its name.
    pub(super) templates: Vec<KubeNode>,
}

impl Scenario {
    pub(super) fn of(text: &str) -> Result<Self, String> {
        let file: File = serde_json::from_str(text).map_err(|e| format!("no scenario: {e}"))?;
        if file.version != 1 {
            return Err(format!("version {} is not known; this reads version 1", file.version));
        }
        let shrinks = match &*file.kind {
            "scale_up" => false,
            "scale_down" => true,
            other => return Err(format!("kind {other:?} is neither scale_up nor scale_down")),
        };
        let templates = file.types.iter().map(template).collect::<Result<Vec<_>, _>>()?;
        let pools = file.types.iter().zip(&templates).map(|(kind, template)| pool(kind, template)).collect();
        let mut cluster = Cluster { specs: file.apps.iter().map(spec).collect(), ..Cluster::default() };
        let mut pool_of = Vec::new();
        for one in &file.nodes {
            let template = templates
                .get(one.kind)
                .ok_or_else(|| format!("node {} is of type {}, which is not there", one.name, one.kind))?;
            cluster.nodes.push(node(one, template)?);
            pool_of.push(one.kind);
        }
        cluster.pods = pods(&file)?;
        Ok(Self { name: file.name, shrinks, pools, cluster, pool_of, templates })
    }
}

fn amounts(cpu_m: i64, mem_mi: i64, pods: i64) -> Resources {
    [
        ("cpu", Quantity::ten_thousandths(i128::from(cpu_m) * 10)),
        ("memory", Quantity::units(mem_mi << 20)),
        (PODS, Quantity::units(pods)),
    ]
    .into_iter()
    .collect()
}

fn labels(labels: &BTreeMap<String, String>) -> Labels {
    labels.iter().map(|(key, value)| (Arc::from(&**key), Arc::from(&**value))).collect()
}

fn effect(text: &str) -> Result<TaintEffect, String> {
    match text {
        "NoSchedule" => Ok(TaintEffect::NoSchedule),
        "PreferNoSchedule" => Ok(TaintEffect::PreferNoSchedule),
        "NoExecute" => Ok(TaintEffect::NoExecute),
        other => Err(format!("{other:?} is no effect of a taint")),
    }
}

fn taints(taints: &[FileTaint]) -> Result<Vec<Taint>, String> {
    let one = |taint: &FileTaint| {
        Ok(Taint { key: (*taint.key).into(), value: (*taint.value).into(), effect: effect(&taint.effect)? })
    };
    taints.iter().map(one).collect()
}

fn template(kind: &Type) -> Result<KubeNode, String> {
    Ok(KubeNode {
        id: (*kind.name).into(),
        labels: labels(&kind.labels),
        taints: taints(&kind.taints)?,
        unschedulable: false,
        allocatable: amounts(kind.cpu_m, kind.mem_mi, kind.pods),
        attach_limits: BTreeMap::new(),
        features: [].into(),
        ready: true,
        ready_since: Timestamp(0),
        created_at: Timestamp(0),
        draining: false,
        held: None,
    })
}

fn pool(kind: &Type, template: &KubeNode) -> PoolOption {
    PoolOption {
        id: (*kind.name).into(),
        template: template.clone(),
        price: Price((kind.price * 1e6).round() as u64),
        min: kind.min,
        max: kind.max,
        priority: 0,
        group: None,
        group_max: None,
        closed: false,
        gone: false,
        doubtful: false,
    }
}

fn node(one: &Node, template: &KubeNode) -> Result<KubeNode, String> {
    let mut node = template.clone();
    node.id = (*one.name).into();
    if let Some(given) = &one.labels {
        node.labels = labels(given);
    }
    if let Some(given) = &one.taints {
        node.taints = taints(given)?;
    }
    let mut set = |name: &str, amount: Option<Quantity>| {
        if let Some(amount) = amount {
            node.allocatable.0.insert(name.into(), amount);
        }
    };
    set("cpu", one.cpu_m.map(|cpu| Quantity::ten_thousandths(i128::from(cpu) * 10)));
    set("memory", one.mem_mi.map(|mem| Quantity::units(mem << 20)));
    set(PODS, one.pods.map(Quantity::units));
    node.labels.insert(HOSTNAME.into(), (*one.name).into());
    Ok(node)
}

fn spec(app: &App) -> PodSpec {
    let toleration = |one: &FileToleration| Toleration {
        key: one.key.as_deref().filter(|key| !key.is_empty()).map(Into::into),
        value: (one.operator.as_deref() != Some("Exists"))
            .then(|| one.value.as_deref().unwrap_or_default().into()),
        effect: one.effect.as_deref().and_then(|text| effect(text).ok()),
        compare: None,
    };
    let own = labels(&app.labels);
    let spread = |one: &FileSpread| Spread {
        topology: (*one.key).into(),
        max_skew: one.max_skew,
        min_domains: 0,
        selector: Some(LabelSelector { labels: own.clone(), requirements: Vec::new() }),
        honor_affinity: true,
        honor_taints: false,
    };
    PodSpec {
        namespace: "default".into(),
        labels: own.clone(),
        requests: amounts(app.cpu_m, app.mem_mi, 1),
        node_selector: labels(&app.node_selector),
        tolerations: app.tolerations.iter().map(toleration).collect(),
        spread: app.spread.iter().map(spread).collect(),
        scheduler: "default-scheduler".into(),
        ..PodSpec::default()
    }
}

fn pods(file: &File) -> Result<Vec<Pod>, String> {
    let owners: Vec<Arc<Owner>> = file
        .apps
        .iter()
        .map(|app| {
            let name: Arc<str> = (*app.name).into();
            Arc::new(Owner { kind: "ReplicaSet".into(), uid: name.clone(), name })
        })
        .collect();
    let ids: Vec<_> = file.nodes.iter().map(|node| (*node.name).into()).collect();
    let mut counts = vec![0; file.apps.len()];
    let mut pods = Vec::with_capacity(file.pods.len());
    for &(app, node) in &file.pods {
        let owner = owners.get(app).ok_or_else(|| format!("a pod is of app {app}, which is not there"))?;
        let name: Arc<str> = format!("{}-{}", owner.name, counts[app]).into();
        counts[app] += 1;
        let node = match usize::try_from(node) {
            Err(_) => None,
            Ok(node) => {
                Some(ids.get(node).cloned().ok_or_else(|| format!("pod {name} is on no node of the file"))?)
            }
        };
        pods.push(Pod {
            uid: name.clone(),
            name,
            spec: app as u32,
            node,
            nominated: None,
            created_at: Timestamp(0),
            terminating: false,
            ignored: None,
            owner: Some(owner.clone()),
            eviction: Default::default(),
        });
    }
    Ok(pods)
}
