//! Between Ray's words and ours. Pure. A record that makes no sense is left out and named; it costs nobody else.

use crate::proto::autoscaler as ray;
use ostler_model::{
    Bundle, CloudId, Demand, Floor, Gang, GangId, Labels, Millis, Node, NodeId, NodeStatus, Operator, PoolId,
    Quantity, Resources, Selector, Shape, Strategy, Task, Term, WorkloadState,
};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// The resource that only a head has.
const HEAD: &str = "node:__internal_head__";
/// Placement groups are named by this label in their constraints.
const GROUP_LABEL: &str = "_PG_";
/// Names of skipped records are for people: a flood of them helps nobody.
const SKIPPED_MAX: usize = 100;

/// What Ray's GCS says, in our words. Nodes are in the order of their ids, since GCS has no order of its own.
/// Resources are kept whole, with those that Ray makes itself (`node:…`, `…_group_…`).
pub fn workload_state(state: ray::ClusterResourceState) -> WorkloadState {
    let mut skipped = Vec::new();
    let mut nodes: Vec<Node> = keep(state.node_states, node, &mut skipped);
    nodes.sort_by(|a, b| a.id.cmp(&b.id));
    let tasks = keep(state.pending_resource_requests, task, &mut skipped);
    let gangs = keep(state.pending_gang_resource_requests, gang, &mut skipped);
    let floors = state.cluster_resource_constraints.into_iter();
    let floors = floors.map(|c| floor(c, &mut skipped)).filter(|f| !f.tasks.is_empty()).collect();
    WorkloadState {
        version: state.cluster_resource_state_version,
        session: state.cluster_session_name,
        nodes: nodes.into(),
        demand: Demand { tasks: merged(tasks), gangs, floors },
        cluster: None,
        skipped: bounded(skipped),
    }
}

fn keep<T, U>(records: Vec<T>, read: fn(T) -> Result<U, String>, skipped: &mut Vec<String>) -> Vec<U> {
    let mut kept = Vec::with_capacity(records.len());
    for record in records {
        match read(record) {
            Ok(good) => kept.push(good),
            Err(why) => skipped.push(why),
        }
    }
    kept
}

fn bounded(mut skipped: Vec<String>) -> Vec<String> {
    let more = skipped.len().saturating_sub(SKIPPED_MAX);
    if more > 0 {
        skipped.truncate(SKIPPED_MAX);
        skipped.push(format!("and {more} more"));
    }
    skipped
}

// ---- nodes ----

fn node(n: ray::NodeState) -> Result<Node, String> {
    let id = hex(&n.node_id);
    let name = || {
        if n.instance_id.is_empty() { format!("node {id}") } else { format!("node {id} ({})", n.instance_id) }
    };
    if n.node_id.is_empty() {
        return Err(format!("node of instance {:?}: it has no id", n.instance_id));
    }
    let total = amounts(&n.total_resources).map_err(|why| format!("{}: total {why}", name()))?;
    let available = amounts(&n.available_resources).map_err(|why| format!("{}: available {why}", name()))?;
    Ok(Node {
        id: NodeId::new(id),
        head: total.0.contains_key(HEAD),
        status: status(n.status),
        idle: Millis(n.idle_duration_ms.try_into().unwrap_or(0)),
        total,
        available,
        labels: labels(n.labels.into_iter().chain(n.dynamic_labels)),
        cloud: named(n.instance_id).map(CloudId::from),
        pool: named(n.ray_node_type_name).map(PoolId::from),
        address: n.node_ip_address,
        instance_type: n.instance_type_name,
        activity: n.node_activity,
    })
}

fn status(number: i32) -> NodeStatus {
    match ray::NodeStatus::try_from(number) {
        Ok(ray::NodeStatus::Running) => NodeStatus::Running,
        Ok(ray::NodeStatus::Idle) => NodeStatus::Idle,
        Ok(ray::NodeStatus::Draining) => NodeStatus::Draining,
        Ok(ray::NodeStatus::Dead) => NodeStatus::Dead,
        Ok(ray::NodeStatus::Unspecified) | Err(_) => NodeStatus::Unknown(number),
    }
}

fn named(text: String) -> Option<String> {
    if text.is_empty() { None } else { Some(text) }
}

fn labels(pairs: impl Iterator<Item = (String, String)>) -> Labels {
    pairs.map(|(key, value)| (Arc::from(key), Arc::from(value))).collect()
}

fn amounts(map: &BTreeMap<String, f64>) -> Result<Resources, String> {
    map.iter()
        .map(|(name, &amount)| match Quantity::from_f64(amount) {
            Some(quantity) if quantity >= Quantity::ZERO => Ok((name.as_str(), quantity)),
            _ => Err(format!("{name} is {amount}")),
        })
        .collect()
}

/// Bytes in hex, as Ray prints its ids.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // writing to a String cannot fail
        text
    })
}

/// Hex into bytes; `None` if it is not hex.
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    if text.len().is_multiple_of(2) { digits.map(byte).collect() } else { None }
}

// ---- demand ----

fn task(t: ray::ResourceRequestByCount) -> Result<Task, String> {
    let request = t.request.ok_or("request without a shape")?;
    let shape = shape(&request).map_err(|why| format!("request {why}"))?;
    match u64::try_from(t.count) {
        Ok(count) if count > 0 => Ok(Task { shape, count }),
        _ => Err(format!("request {shape}: its count is {}", t.count)),
    }
}

fn shape(r: &ray::ResourceRequest) -> Result<Shape, String> {
    let resources = amounts(&r.resources_bundle).map_err(|why| format!("whose {why}"))?;
    let selectors = r.label_selectors.iter().map(selector).collect::<Result<_, _>>()?;
    Ok(Shape { resources, selectors })
}

fn selector(s: &ray::LabelSelector) -> Result<Selector, String> {
    s.label_constraints.iter().map(term).collect::<Result<_, _>>().map(Selector)
}

fn term(c: &ray::LabelConstraint) -> Result<Term, String> {
    let operator = match ray::LabelOperator::try_from(c.operator) {
        Ok(ray::LabelOperator::In) => Operator::In,
        Ok(ray::LabelOperator::NotIn) => Operator::NotIn,
        _ => return Err(format!("whose label {} has the unknown operator {}", c.label_key, c.operator)),
    };
    let values = c.label_values.iter().map(|v| Arc::from(v.as_str())).collect();
    Ok(Term { key: Arc::from(c.label_key.as_str()), operator, values })
}

/// Equal shapes as one entry, in the order of their first appearance.
fn merged(tasks: Vec<Task>) -> Vec<Task> {
    let mut first: BTreeMap<Shape, usize> = BTreeMap::new();
    let mut kept: Vec<Task> = Vec::with_capacity(tasks.len());
    for task in tasks {
        match first.get(&task.shape) {
            Some(&n) => kept[n].count = kept[n].count.saturating_add(task.count),
            None => {
                first.insert(task.shape.clone(), kept.len());
                kept.push(task);
            }
        }
    }
    kept
}

fn floor(c: ray::ClusterResourceConstraint, skipped: &mut Vec<String>) -> Floor {
    let named = |t| task(t).map_err(|why| format!("request_resources: {why}"));
    Floor { tasks: merged(keep(c.resource_requests, named, skipped)) }
}

fn gang(g: ray::GangResourceRequest) -> Result<Gang, String> {
    let (id, strategy) = identity(&g);
    let blame = |why: String| format!("placement group {id}: bundle {why}");
    let mut choices = g.bundle_selectors.iter().map(|s| bundles(&s.resource_requests));
    let preferred = choices.next().unwrap_or_else(|| bundles(&g.requests)).map_err(blame)?;
    if preferred.is_empty() {
        return Err(format!("placement group {id}: it has no bundles"));
    }
    let fallbacks = choices.collect::<Result<Vec<_>, _>>().map_err(blame)?;
    let fallbacks = fallbacks.into_iter().filter(|f| !f.is_empty()).collect();
    Ok(Gang { id: GangId::new(id.clone()), strategy, bundles: preferred, fallbacks, details: g.details })
}

/// The group's name and how its bundles lie: the strict strategies are constraints, the others are only in the
/// text `<group>:<strategy>|<state>`.
fn identity(g: &ray::GangResourceRequest) -> (String, Strategy) {
    let (id, rest) = g.details.split_once(':').unwrap_or((&g.details, ""));
    let told = match rest.split('|').next().unwrap_or_default() {
        "STRICT_PACK" => Strategy::StrictPack,
        "STRICT_SPREAD" => Strategy::StrictSpread,
        "SPREAD" => Strategy::Spread,
        _ => Strategy::Pack,
    };
    let bundles = g.requests.iter().chain(g.bundle_selectors.iter().flat_map(|s| &s.resource_requests));
    let constraint = bundles.flat_map(|r| &r.placement_constraints).next();
    let (label, strategy) = match constraint {
        Some(ray::PlacementConstraint { affinity: Some(a), .. }) => {
            (a.label_name.as_str(), Strategy::StrictPack)
        }
        Some(ray::PlacementConstraint { anti_affinity: Some(a), .. }) => {
            (a.label_name.as_str(), Strategy::StrictSpread)
        }
        _ => ("", told),
    };
    let id = if id.is_empty() { label.strip_prefix(GROUP_LABEL).unwrap_or(label) } else { id };
    (id.to_owned(), strategy)
}

fn bundles(requests: &[ray::ResourceRequest]) -> Result<Vec<Bundle>, String> {
    let tasks =
        requests.iter().map(|r| shape(r).map(|shape| Task { shape, count: 1 })).collect::<Result<_, _>>()?;
    Ok(merged(tasks).into_iter().map(|Task { shape, count }| Bundle { shape, count }).collect())
}
