//! What a pod says about where it may be: tolerations, ports, affinity, spread.

use super::Release;
use super::requests::restarts;
use super::selector::{label_selector, node_selector};
use k8s_openapi::api::core::v1 as core;
use ostler_model::Labels;
use ostler_model::kube::{
    AffinityTerm, Compare, HostPort, LabelOperator, LabelRequirement, LabelSelector, PodSpec, Protocol,
    Spread, TaintEffect, Toleration,
};
use std::sync::Arc;

/// Notes the first thing that nobody can judge, and goes on without it.
fn known<T>(read: Result<T, String>, odd: &mut Option<String>) -> Option<T> {
    read.map_err(|why| odd.get_or_insert(why)).ok()
}

// ---- taints and tolerations ----

/// The effect of a taint or toleration; `None` if we do not know it.
pub(super) fn effect(text: &str) -> Option<TaintEffect> {
    match text {
        "NoSchedule" => Some(TaintEffect::NoSchedule),
        "PreferNoSchedule" => Some(TaintEffect::PreferNoSchedule),
        "NoExecute" => Some(TaintEffect::NoExecute),
        _ => None,
    }
}

/// Tolerations, each once, in order: any of them will do.
pub(super) fn tolerations(list: Option<Vec<core::Toleration>>, odd: &mut Option<String>) -> Vec<Toleration> {
    let list = list.into_iter().flatten();
    let mut all: Vec<_> = list.filter_map(|t| known(toleration(t), odd)).collect();
    all.sort();
    all.dedup();
    all
}

fn toleration(t: core::Toleration) -> Result<Toleration, String> {
    let text = |value: Option<String>| value.filter(|value| !value.is_empty());
    let (key, effect_name) = (text(t.key), text(t.effect));
    let effect = match effect_name {
        None => None,
        Some(name) => {
            Some(effect(&name).ok_or_else(|| format!("the toleration effect {name} is not known"))?)
        }
    };
    let value = || Some(Arc::from(t.value.as_deref().unwrap_or_default()));
    let (value, compare) = match text(t.operator).as_deref() {
        None | Some("Equal") => (value(), None),
        Some("Exists") => (None, None),
        Some("Gt") => (value(), Some(Compare::Greater)),
        Some("Lt") => (value(), Some(Compare::Less)),
        Some(other) => return Err(format!("the toleration operator {other} is not known")),
    };
    Ok(Toleration { key: key.map(Arc::from), value, effect, compare })
}

/// The tolerations that the DaemonSet controller gives its pods.
pub(super) fn daemon_tolerations(host_network: bool) -> impl Iterator<Item = Toleration> {
    let execute = ["not-ready", "unreachable"].into_iter().map(|name| (name, TaintEffect::NoExecute));
    let schedule = ["disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"].into_iter();
    let schedule = schedule.chain(host_network.then_some("network-unavailable"));
    execute.chain(schedule.map(|name| (name, TaintEffect::NoSchedule))).map(|(name, effect)| Toleration {
        key: Some(format!("node.kubernetes.io/{name}").into()),
        value: None,
        effect: Some(effect),
        compare: None,
    })
}

// ---- ports ----

/// Ports of the host that the pod takes: of its containers and sidecars. `template`: with host networking
/// every port of a container is one of the host, which the API server writes down for pods only.
pub(super) fn ports(spec: &core::PodSpec, template: bool) -> Vec<HostPort> {
    let sidecars = spec.init_containers.iter().flatten().filter(|container| restarts(container));
    let every = template && spec.host_network == Some(true);
    let ports = sidecars.chain(&spec.containers).flat_map(|container| container.ports.iter().flatten());
    let mut all: Vec<_> = ports.filter_map(|port| host_port(port, every)).collect();
    all.sort();
    all.dedup();
    all
}

fn host_port(port: &core::ContainerPort, every: bool) -> Option<HostPort> {
    let number = port.host_port.filter(|&number| number > 0);
    let number = number.or(every.then_some(port.container_port))?;
    let protocol = match port.protocol.as_deref() {
        Some("UDP") => Protocol::Udp,
        Some("SCTP") => Protocol::Sctp,
        _ => Protocol::Tcp,
    };
    let address = port.host_ip.as_deref().unwrap_or_default().into();
    u16::try_from(number).ok().filter(|&n| n > 0).map(|port| HostPort { address, protocol, port })
}

// ---- affinity ----

/// Fills in what the pod requires of its node and of other pods.
pub(super) fn affinity(
    from: core::Affinity,
    template: bool,
    release: Release,
    into: &mut PodSpec,
    odd: &mut Option<String>,
) {
    let node = from.node_affinity.and_then(|node| node.required_during_scheduling_ignored_during_execution);
    into.node_affinity = node.map(|selector| node_selector(selector, odd));
    let near = from.pod_affinity.and_then(|pods| pods.required_during_scheduling_ignored_during_execution);
    let apart =
        from.pod_anti_affinity.and_then(|pods| pods.required_during_scheduling_ignored_during_execution);
    let own = into.namespace.clone();
    let labels = into.labels.clone();
    let mut terms = |list: Option<Vec<core::PodAffinityTerm>>| {
        let list = list.into_iter().flatten();
        let read = list.filter_map(|term| known(pod_term(term, &own, template.then_some(&labels)), odd));
        let mut all: Vec<AffinityTerm> = read.collect();
        all.sort();
        all.dedup();
        all
    };
    into.affinity = terms(near);
    into.anti_affinity = terms(apart);
    if release.widens_namespaces() {
        into.avoids = into.anti_affinity.iter().filter_map(widened).collect();
        for term in &mut into.affinity {
            *term = widened(term).unwrap_or_else(|| term.clone());
        }
    }
}

/// The term for every namespace, if its selector holds for one without labels.
fn widened(term: &AffinityTerm) -> Option<AffinityTerm> {
    let selector = term.namespace_selector.as_ref()?;
    let everywhere = LabelSelector::default();
    let wide = *selector != everywhere && selector.matches(&Labels::new());
    wide.then(|| AffinityTerm { namespace_selector: Some(everywhere), ..term.clone() })
}

/// `labels` are those of a pod that is yet to be made: the API server merges them into its terms when it
/// is.
fn pod_term(
    term: core::PodAffinityTerm,
    own: &Arc<str>,
    labels: Option<&Labels>,
) -> Result<AffinityTerm, String> {
    let mut selector = term.label_selector.map(label_selector).transpose()?;
    if let (Some(selector), Some(labels)) = (&mut selector, labels) {
        merge(selector, term.match_label_keys.as_deref(), LabelOperator::In, labels);
        merge(selector, term.mismatch_label_keys.as_deref(), LabelOperator::NotIn, labels);
    }
    let namespace_selector = term.namespace_selector.map(label_selector).transpose()?;
    let mut namespaces: std::collections::BTreeSet<Arc<str>> =
        term.namespaces.into_iter().flatten().map(Arc::from).collect();
    if namespaces.is_empty() && namespace_selector.is_none() {
        namespaces.insert(own.clone());
    }
    Ok(AffinityTerm { selector, namespaces, namespace_selector, topology: term.topology_key.into() })
}

/// Adds what the pod's own labels say for these keys, once.
fn merge(selector: &mut LabelSelector, keys: Option<&[String]>, operator: LabelOperator, labels: &Labels) {
    for key in keys.into_iter().flatten() {
        let Some((key, value)) = labels.get_key_value(key.as_str()) else { continue };
        let more = LabelRequirement { key: key.clone(), operator, values: vec![value.clone()] };
        if !selector.requirements.contains(&more) {
            selector.requirements.push(more);
        }
    }
}

// ---- spread ----

/// How evenly the pod's like must lie. `matchLabelKeys` are merged here for every pod, as the scheduler
/// does it too.
pub(super) fn spread(
    list: Option<Vec<core::TopologySpreadConstraint>>,
    labels: &Labels,
    odd: &mut Option<String>,
) -> Vec<Spread> {
    let strict = list.into_iter().flatten().filter(|c| c.when_unsatisfiable == "DoNotSchedule");
    let mut all: Vec<_> = strict.filter_map(|c| known(constraint(c, labels), odd)).collect();
    all.sort();
    all.dedup();
    all
}

fn constraint(c: core::TopologySpreadConstraint, labels: &Labels) -> Result<Spread, String> {
    let mut selector = c.label_selector.map(label_selector).transpose()?;
    if let Some(selector) = &mut selector {
        merge(selector, c.match_label_keys.as_deref(), LabelOperator::In, labels);
    }
    let honors = |policy: Option<String>, unsaid: bool| policy.map_or(unsaid, |policy| policy == "Honor");
    Ok(Spread {
        topology: c.topology_key.into(),
        max_skew: u32::try_from(c.max_skew).map_err(|_| format!("a spread with the skew {}", c.max_skew))?,
        min_domains: c.min_domains.and_then(|n| u32::try_from(n).ok()).unwrap_or(0),
        selector,
        honor_affinity: honors(c.node_affinity_policy, true),
        honor_taints: honors(c.node_taints_policy, false),
    })
}
