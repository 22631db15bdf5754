//! Clusters in a few words a line, for tests:
//!
//! ```text
//! node n1 zone=a rack=1 cpu:4 memory:8 taint:dedicated=db:NoSchedule cordoned limit:csi=2 feature:F
//! pod p1 on:n1 app=web ns:red cpu:1 port:80 terminating nominated:n1 priority:5
//! daemon d1 cpu:1
//! ask q1 want:tier=gold in:zone=a,b near:zone:app=web apart:zone:app=web spread:zone:1 bear:dedicated=db
//! ```
//!
//! A word with `=` before any `:` is a label.
#![allow(dead_code, reason = "each test uses its part")]

use ostler_model::kube::{
    AffinityTerm, Cluster, Compare, Daemon, Eviction, Field, HostPort, KubeNode, LabelSelector, NodeOperator,
    NodeRequirement, NodeSelector, NodeSelectorTerm, Pod, PodSpec, Protocol, Spread, Taint, TaintEffect,
    Toleration, VolumeNeed,
};
use ostler_model::{NodeId, Quantity, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a text says.
#[derive(Debug, Default, Clone)]
pub(crate) struct World {
    pub(crate) cluster: Cluster,
    /// What is asked about: name and place in the specs.
    pub(crate) asks: Vec<(String, u32)>,
}

/// Reads a text; a word that is not known is a mistake in the test.
pub(crate) fn world(text: &str) -> World {
    let mut world = World::default();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let mut words = line.split_whitespace();
        let (kind, name) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        match kind {
            "node" => world.cluster.nodes.push(node(name, words)),
            "namespace" => {
                let labels = words.map(|word| split(word, '=')).collect();
                world.cluster.namespaces.insert(name.into(), labels);
            }
            "pod" | "ask" | "daemon" => pod(&mut world, kind, name, words.collect()),
            other => panic!("{other:?} begins no line: {line}"),
        }
    }
    world
}

fn split(word: &str, at: char) -> (Arc<str>, Arc<str>) {
    let (left, right) = word.split_once(at).unwrap_or((word, ""));
    (left.into(), right.into())
}

fn amount(text: &str) -> Quantity {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn node<'t>(name: &str, words: impl Iterator<Item = &'t str>) -> KubeNode {
    let mut node = bare_node(name);
    for word in words {
        let (verb, rest) = word.split_once(':').unwrap_or((word, ""));
        if verb.contains('=') {
            let (key, value) = split(word, '=');
            node.labels.insert(key, value);
            continue;
        }
        match verb {
            "taint" => node.taints.push(taint(rest)),
            "cordoned" => node.unschedulable = true,
            "limit" => {
                let (driver, limit) = split(rest, '=');
                node.attach_limits.insert(driver, limit.parse().unwrap());
            }
            "feature" => {
                node.features.insert(rest.into());
            }
            "nameless" => {
                node.labels.remove("kubernetes.io/hostname");
            }
            "bare" => node.allocatable = Default::default(),
            resource => {
                node.allocatable.0.insert(resource.into(), amount(rest));
            }
        }
    }
    node
}

/// A ready node with its own host name and room for 110 pods.
pub(crate) fn bare_node(name: &str) -> KubeNode {
    KubeNode {
        id: NodeId::new(name),
        labels: [("kubernetes.io/hostname".into(), name.into())].into(),
        taints: Vec::new(),
        unschedulable: false,
        allocatable: [("pods", Quantity::units(110))].into_iter().collect(),
        attach_limits: BTreeMap::new(),
        features: BTreeSet::new(),
        ready: true,
        ready_since: Timestamp::default(),
        created_at: Timestamp::default(),
        draining: false,
        held: None,
    }
}

fn taint(text: &str) -> Taint {
    let (what, effect) = text.rsplit_once(':').expect("KEY=VALUE:EFFECT");
    let (key, value) = split(what, '=');
    Taint { key, value, effect: effect_of(effect) }
}

fn effect_of(text: &str) -> TaintEffect {
    match text {
        "NoSchedule" => TaintEffect::NoSchedule,
        "NoExecute" => TaintEffect::NoExecute,
        "PreferNoSchedule" => TaintEffect::PreferNoSchedule,
        other => panic!("{other:?} is no effect"),
    }
}

fn pod(world: &mut World, kind: &str, name: &str, words: Vec<&str>) {
    let mut spec =
        PodSpec { namespace: "default".into(), scheduler: "default-scheduler".into(), ..PodSpec::default() };
    spec.requests.0.insert("pods".into(), Quantity::ONE);
    let (mut on, mut nominated, mut terminating) = (None, None, false);
    for word in words {
        let (verb, rest) = word.split_once(':').unwrap_or((word, ""));
        match verb {
            "on" => on = Some(NodeId::new(rest)),
            "nominated" => nominated = Some(NodeId::new(rest)),
            "terminating" => terminating = true,
            label if label.contains('=') => {
                let (key, value) = split(word, '=');
                spec.labels.insert(key, value);
            }
            _ => spec_word(&mut spec, verb, rest),
        }
    }
    let at = world.cluster.specs.iter().position(|one| *one == spec).unwrap_or_else(|| {
        world.cluster.specs.push(spec);
        world.cluster.specs.len() - 1
    }) as u32;
    match kind {
        "ask" => world.asks.push((name.to_owned(), at)),
        "daemon" => world.cluster.daemons.push(Daemon { name: name.into(), spec: at }),
        _ => world.cluster.pods.push(Pod { terminating, nominated, ..seated(name, at, on) }),
    }
}

/// A pod on a node.
pub(crate) fn seated(name: &str, spec: u32, node: Option<NodeId>) -> Pod {
    Pod {
        name: name.into(),
        uid: name.into(),
        spec,
        node,
        nominated: None,
        created_at: Timestamp::default(),
        terminating: false,
        ignored: None,
        owner: None,
        eviction: Eviction::default(),
    }
}

fn spec_word(spec: &mut PodSpec, verb: &str, rest: &str) {
    match verb {
        "ns" => spec.namespace = rest.into(),
        "priority" => spec.priority = rest.parse().unwrap(),
        "want" => {
            let (key, value) = split(rest, '=');
            spec.node_selector.insert(key, value);
        }
        "in" | "notin" | "gt" | "lt" | "exists" | "absent" | "name" | "noname" => require(spec, verb, rest),
        "or" => spec.node_affinity.get_or_insert_default().0.push(NodeSelectorTerm::default()),
        "bear" => spec.tolerations.push(toleration(rest)),
        "port" => spec.ports.push(port(rest)),
        "near" => spec.affinity.push(term(&spec.namespace, rest)),
        "apart" => spec.anti_affinity.push(term(&spec.namespace, rest)),
        "avoids" => spec.avoids.push(term(&spec.namespace, rest)),
        "spread" => spec.spread.push(spread(rest, spec)),
        "volume" | "claim" | "zone" | "missing" => spec.volumes.push(volume(verb, rest)),
        "feature" => {
            spec.features.insert(rest.into());
        }
        "unjudged" => spec.unjudged = Some(rest.into()),
        resource => {
            spec.requests.0.insert(resource.into(), amount(rest));
        }
    }
}

fn requirement(verb: &str, rest: &str) -> NodeRequirement {
    let (key, values) = split(rest, '=');
    let list = |text: &str| text.split(',').filter(|one| !one.is_empty()).map(Arc::from).collect();
    let (field, operator, values) = match verb {
        "name" => (Field::Name, NodeOperator::In, list(rest)),
        "noname" => (Field::Name, NodeOperator::NotIn, list(rest)),
        "in" => (Field::Label(key), NodeOperator::In, list(&values)),
        "notin" => (Field::Label(key), NodeOperator::NotIn, list(&values)),
        "gt" => (Field::Label(key), NodeOperator::Gt, list(&values)),
        "lt" => (Field::Label(key), NodeOperator::Lt, list(&values)),
        "exists" => (Field::Label(key), NodeOperator::Exists, list(&values)),
        _ => (Field::Label(key), NodeOperator::DoesNotExist, list(&values)),
    };
    NodeRequirement { field, operator, values }
}

fn require(spec: &mut PodSpec, verb: &str, rest: &str) {
    let terms = &mut spec.node_affinity.get_or_insert_default().0;
    if terms.is_empty() {
        terms.push(NodeSelectorTerm::default());
    }
    if let Some(term) = terms.last_mut() {
        term.requirements.push(requirement(verb, rest));
    }
}

/// `zone=a,b` as the place of a volume.
fn place(text: &str) -> NodeSelector {
    let verb = if text.starts_with("name=") { "name" } else { "in" };
    let text = text.strip_prefix("name=").unwrap_or(text);
    NodeSelector(vec![NodeSelectorTerm { requirements: vec![requirement(verb, text)] }])
}

/// `*`, `key`, `key=value`, `key>3`, `key<3`, each with `:EFFECT` if only one is meant.
fn toleration(text: &str) -> Toleration {
    let (what, effect) = match text.split_once(':') {
        Some((what, effect)) => (what, Some(effect_of(effect))),
        None => (text, None),
    };
    let compared = [('>', Compare::Greater), ('<', Compare::Less)];
    for (sign, compare) in compared {
        if what.contains(sign) {
            let (key, value) = split(what, sign);
            return Toleration { key: Some(key), value: Some(value), effect, compare: Some(compare) };
        }
    }
    let key = (what != "*").then(|| split(what, '=').0);
    let value = what.contains('=').then(|| split(what, '=').1);
    Toleration { key, value, effect, compare: None }
}

/// `80`, `80/udp`, `10.0.0.1:80`.
fn port(text: &str) -> HostPort {
    let (text, protocol) = match text.split_once('/') {
        Some((text, "udp")) => (text, Protocol::Udp),
        Some((text, _)) => (text, Protocol::Sctp),
        None => (text, Protocol::Tcp),
    };
    let (address, port) = text.rsplit_once(':').unwrap_or(("", text));
    HostPort { address: address.into(), protocol, port: port.parse().unwrap() }
}

fn selector(text: &str) -> Option<LabelSelector> {
    let labels = text.split('+').filter(|one| !one.is_empty()).map(|one| split(one, '=')).collect();
    (text != "none").then(|| LabelSelector { labels, requirements: Vec::new() })
}

/// `TOPOLOGY:SELECTOR[:NAMESPACES]`; namespaces are names divided by commas, or `{team=x}`.
fn term(own: &Arc<str>, text: &str) -> AffinityTerm {
    let mut parts = text.split(':');
    let (topology, means) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let spaces = parts.next().unwrap_or("");
    let inner = spaces.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    let names = match inner {
        Some(_) => BTreeSet::new(),
        None if spaces.is_empty() => [own.clone()].into(),
        None => spaces.split(',').map(Arc::from).collect(),
    };
    AffinityTerm {
        selector: selector(means),
        namespaces: names,
        namespace_selector: inner.and_then(selector),
        topology: topology.into(),
    }
}

/// `TOPOLOGY:MAX_SKEW[:WORDS]` over the pod's own label `app`; words: `min=3`, `taints`, `anywhere`, `sel=SELECTOR`.
fn spread(text: &str, spec: &PodSpec) -> Spread {
    let mut parts = text.split(':');
    let topology = parts.next().unwrap_or("").into();
    let own = spec.labels.iter().filter(|(key, _)| &***key == "app");
    let mut spread = Spread {
        topology,
        max_skew: parts.next().unwrap_or("1").parse().unwrap(),
        min_domains: 0,
        selector: Some(LabelSelector {
            labels: own.map(|(key, value)| (key.clone(), value.clone())).collect(),
            requirements: Vec::new(),
        }),
        honor_affinity: true,
        honor_taints: false,
    };
    for word in parts {
        match split(word, '=') {
            (key, value) if &*key == "min" => spread.min_domains = value.parse().unwrap(),
            (key, _) if &*key == "taints" => spread.honor_taints = true,
            (key, _) if &*key == "anywhere" => spread.honor_affinity = false,
            _ => spread.selector = selector(word.strip_prefix("sel=").expect("a word of a spread")),
        }
    }
    spread
}

/// `NAME[:DRIVER[:PLACE[:alone]]]`.
fn volume(verb: &str, text: &str) -> VolumeNeed {
    let mut parts = text.split(':');
    let mut next = || parts.next().unwrap_or("");
    let (name, driver, at, alone): (Arc<str>, Arc<str>, _, _) =
        (next().into(), next().into(), next(), next() == "alone");
    let nodes = (!at.is_empty()).then(|| place(at));
    match verb {
        "volume" => VolumeNeed::Bound { volume: name, driver, nodes, exclusive: alone },
        "claim" => VolumeNeed::Unbound { claim: name, driver, nodes, exclusive: alone },
        "zone" => VolumeNeed::Zone { volume: name, nodes: nodes.unwrap_or_default() },
        _ => VolumeNeed::Missing { what: name },
    }
}
