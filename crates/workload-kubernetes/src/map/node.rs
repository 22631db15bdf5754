//! Nodes.

use super::affinity::effect;
use super::names::{
    DO_NOT_DISRUPT, DRAIN_TAINT, EVICT_UNTIL, REMOVED_BY_OTHERS, SCALE_DOWN_DISABLED, STARTUP_PREFIXES,
    STARTUP_TAINTS,
};
use super::quantity::{amounts, counted};
use super::{annotation, created, labels, name_of, time, typed};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff;
use ostler_model::kube::{KubeNode, Taint};
use ostler_model::{CloudId, NodeId, PoolId, Timestamp};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

const CONTROL_PLANE: [&str; 2] = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];
const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";

/// What is kept of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeFacts {
    /// As the scheduler sees it, its attach limits not looked up yet.
    pub node: KubeNode,
    /// Its machine (`spec.providerID`).
    pub cloud: Option<CloudId>,
    /// The pool that its label names.
    pub pool: Option<PoolId>,
    /// It runs the control plane.
    pub head: bool,
    /// Address, for people.
    pub address: Arc<str>,
    /// Nothing is heard of its kubelet.
    pub silent: bool,
    /// It has taints that every node may start with.
    pub starting: bool,
    /// Pods are evicted from it until then (our go-mark; only with our taint).
    pub evict_until: Option<Timestamp>,
}

/// Reads a node. What its pool promises of it is not known here: whose machine it is says its provider's id.
pub fn node(object: Value) -> Result<NodeFacts, String> {
    let core::Node { metadata, spec, status } = typed(object)?;
    let (spec, status) = (spec.unwrap_or_default(), status.unwrap_or_default());
    let name = name_of(&metadata)?;
    let labels = labels(metadata.labels.clone());
    let pool = super::policy::pool(&labels);
    let all = spec.taints.into_iter().flatten().map(taint).collect::<Result<Vec<_>, _>>()?;
    let draining = all.iter().any(|taint| &*taint.key == DRAIN_TAINT);
    let mut taints: Vec<Taint> = all.into_iter().filter(|taint| &*taint.key != DRAIN_TAINT).collect();
    taints.sort();
    let allocatable = counted(&amounts(status.allocatable.as_ref())?);
    let (up, silent, since) = readiness(status.conditions.as_deref().unwrap_or_default());
    let starting = taints.iter().any(is_of_start);
    let address = status.addresses.into_iter().flatten().find(|address| address.type_ == "InternalIP");
    let mark = annotation(&metadata, &[EVICT_UNTIL]).and_then(moment);
    let node = KubeNode {
        id: NodeId::new(name),
        unschedulable: spec.unschedulable == Some(true),
        attach_limits: BTreeMap::new(),
        features: status.declared_features.into_iter().flatten().map(Arc::from).collect(),
        ready: up,
        ready_since: since.unwrap_or_else(|| created(&metadata)),
        created_at: created(&metadata),
        held: held(&metadata, &taints),
        draining,
        allocatable,
        labels,
        taints,
    };
    Ok(NodeFacts {
        cloud: spec.provider_id.filter(|id| !id.is_empty()).map(CloudId::from),
        head: CONTROL_PLANE.iter().any(|label| node.labels.contains_key(*label)),
        address: address.map(|address| address.address.into()).unwrap_or_default(),
        evict_until: mark.filter(|_| draining),
        pool,
        silent,
        starting,
        node,
    })
}

impl NodeFacts {
    /// The machine's type, for people.
    pub(super) fn instance_type(&self) -> &str {
        self.node.labels.get(INSTANCE_TYPE).map_or("", |name| name)
    }
}

fn taint(taint: core::Taint) -> Result<Taint, String> {
    let effect = effect(&taint.effect)
        .ok_or_else(|| format!("the effect {:?} of its taint {} is not known", taint.effect, taint.key))?;
    Ok(Taint { key: taint.key.into(), value: taint.value.unwrap_or_default().into(), effect })
}

/// Is it ready, is it silent, and since when?
fn readiness(conditions: &[core::NodeCondition]) -> (bool, bool, Option<Timestamp>) {
    let ready = conditions.iter().find(|condition| condition.type_ == "Ready");
    ready.map_or((false, false, None), |ready| {
        (ready.status == "True", ready.status == "Unknown", time(ready.last_transition_time.as_ref()))
    })
}

/// Does a node lose this taint before it takes pods, whatever its pool?
fn is_of_start(taint: &Taint) -> bool {
    STARTUP_TAINTS.contains(&&*taint.key)
        || STARTUP_PREFIXES.iter().any(|prefix| taint.key.starts_with(prefix))
}

/// Why it is not to be removed, in the words of whoever says so.
fn held(meta: &ObjectMeta, taints: &[Taint]) -> Option<Arc<str>> {
    let told = |names: &'static [&'static str]| {
        let first = names.iter().find(|&&name| annotation(meta, &[name]) == Some("true"));
        first.map(|name| Arc::from(format!("annotation {name}")))
    };
    let removed = || {
        let taint = taints.iter().find(|taint| REMOVED_BY_OTHERS.contains(&&*taint.key))?;
        Some(Arc::from(format!("another autoscaler removes it (taint {})", taint.key)))
    };
    told(SCALE_DOWN_DISABLED).or_else(|| told(DO_NOT_DISRUPT)).or_else(removed)
}

/// A point in time as RFC 3339 writes it.
fn moment(text: &str) -> Option<Timestamp> {
    let moment: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(moment.as_millisecond()).ok().map(Timestamp)
}
