//! The words of a line, and what they say about nodes and pods.

use super::world::NOW;
use ostler_model::kube::{
    AffinityTerm, Field, HOSTNAME, HostPort, KubeNode, LabelSelector, NodeOperator, NodeRequirement,
    NodeSelector, NodeSelectorTerm, PODS, PodSpec, Protocol, Spread, Taint, TaintEffect, Toleration,
    VolumeNeed, ZONE,
};
use ostler_model::{Millis, Price, Quantity, Resources, Timestamp};
use ostler_packing::kube::problem::RemovalCause;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The words of one line.
pub(crate) struct Words<'t> {
    line: &'t str,
    pub(crate) list: Vec<&'t str>,
}

impl<'t> Words<'t> {
    pub(crate) fn of(line: &'t str, list: &[&'t str]) -> Self {
        Self { line, list: list.to_vec() }
    }

    pub(crate) fn has(&self, word: &str) -> bool {
        self.list.contains(&word)
    }

    pub(crate) fn text(&self, key: &str) -> Option<&'t str> {
        self.list.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    /// The values of every word with this key.
    fn all(&self, key: &str) -> impl Iterator<Item = &'t str> {
        self.list.iter().filter_map(move |word| word.strip_prefix(key)?.strip_prefix('='))
    }

    pub(crate) fn number<N: std::str::FromStr>(&self, key: &str) -> Option<N> {
        self.text(key)
            .map(|text| text.parse().unwrap_or_else(|_| panic!("no number for {key}: {}", self.line)))
    }

    /// `cpu=`, `mem=`, `pods=`, `gpu=`.
    pub(crate) fn amounts(&self) -> Resources {
        let mut found = Resources::default();
        for (key, name, each) in
            [("cpu", "cpu", 1), ("mem", "memory", 1 << 30), ("pods", PODS, 1), ("gpu", "example.com/gpu", 1)]
        {
            if let Some(text) = self.text(key) {
                let amount: Quantity = text.parse().unwrap_or_else(|_| panic!("no amount: {}", self.line));
                found.0.insert(name.into(), amount.times(each));
            }
        }
        found
    }

    /// `select.key=value` and the like: what follows a prefix.
    fn pairs(&self, prefix: &str) -> BTreeMap<Arc<str>, Arc<str>> {
        let pair = |word: &&str| {
            let (key, value) = word.strip_prefix(prefix)?.split_once('=')?;
            Some((label_key(key), value.into()))
        };
        self.list.iter().filter_map(pair).collect()
    }
}

pub(crate) fn label_key(key: &str) -> Arc<str> {
    match key {
        "zone" => ZONE.into(),
        "host" => HOSTNAME.into(),
        other => other.into(),
    }
}

pub(crate) fn price(text: &str) -> Price {
    let amount: Quantity = text.parse().expect("a price");
    Price((amount.as_ten_thousandths() * 100) as u64)
}

pub(crate) fn ago(seconds: u64) -> Timestamp {
    NOW - Millis::secs(seconds)
}

pub(crate) fn cause(text: &str) -> RemovalCause {
    serde_json::from_str(&format!("{text:?}")).unwrap_or_else(|_| panic!("no cause {text}"))
}

pub(crate) fn of_app(app: &str) -> LabelSelector {
    LabelSelector { labels: [("app".into(), app.into())].into(), requirements: Vec::new() }
}

/// `zone=`, `label.key=`, `taint=key`, `volumes.driver=`, and amounts.
pub(crate) fn node(name: &str, words: &Words<'_>) -> KubeNode {
    let mut allocatable = words.amounts();
    allocatable.0.entry(PODS.into()).or_insert(Quantity::units(110));
    let mut labels = words.pairs("label.");
    if let Some(zone) = words.text("zone") {
        labels.insert(ZONE.into(), zone.into());
    }
    let taint = |key: &str| Taint { key: key.into(), value: "".into(), effect: TaintEffect::NoSchedule };
    let limits = words.pairs("volumes.").into_iter();
    KubeNode {
        id: name.into(),
        labels,
        taints: words.text("taint").map(taint).into_iter().collect(),
        unschedulable: false,
        allocatable,
        attach_limits: limits.map(|(driver, limit)| (driver, limit.parse().expect("a limit"))).collect(),
        features: [].into(),
        ready: true,
        ready_since: Timestamp(0),
        created_at: Timestamp(0),
        draining: false,
        held: None,
    }
}

/// `select.key=`, `tolerate=key`, `tolerate-all`, `spread=zone:1` (`spread=zone:1:3`: at least three of them),
/// `apart=host`, `together=zone` (`zone:app`: of another app), `port=`, `volume=driver/name` (`name@zone`: it is there
/// already), `priority=`, `unjudged`.
pub(crate) fn spec(app: &str, words: &Words<'_>) -> PodSpec {
    let mut requests = words.amounts();
    requests.0.insert(PODS.into(), Quantity::ONE);
    let term = |text: &str| {
        let (key, of) = text.split_once(':').unwrap_or((text, app));
        AffinityTerm {
            selector: Some(of_app(of)),
            namespaces: ["default".into()].into(),
            namespace_selector: None,
            topology: label_key(key),
        }
    };
    let spread = |text: &str| {
        let mut parts = text.split(':');
        let mut next = || parts.next();
        let key = next().expect("spread=key:skew");
        let mut number = || next().map(|text| text.parse().expect("a number"));
        Spread {
            topology: label_key(key),
            max_skew: number().expect("a skew"),
            min_domains: number().unwrap_or(0),
            selector: Some(of_app(app)),
            honor_affinity: true,
            honor_taints: false,
        }
    };
    let bears =
        |key: Option<&str>| Toleration { key: key.map(Into::into), value: None, effect: None, compare: None };
    let mut tolerations: Vec<Toleration> =
        words.text("tolerate").map(|key| bears(Some(key))).into_iter().collect();
    if words.has("tolerate-all") {
        tolerations.push(bears(None));
    }
    let volume = |text: &str| {
        let (driver, name) = text.split_once('/').expect("volume=driver/name");
        let (driver, exclusive) = (driver.into(), false);
        match name.split_once('@') {
            None => VolumeNeed::Unbound { claim: name.into(), driver, nodes: None, exclusive },
            Some((name, zone)) => {
                VolumeNeed::Bound { volume: name.into(), driver, nodes: Some(in_zone(zone)), exclusive }
            }
        }
    };
    let port = |port: u16| HostPort { address: "".into(), protocol: Protocol::Tcp, port };
    PodSpec {
        namespace: "default".into(),
        labels: [("app".into(), app.into())].into(),
        requests,
        node_selector: words.pairs("select."),
        tolerations,
        ports: words.number("port").map(port).into_iter().collect(),
        affinity: words.all("together").map(term).collect(),
        anti_affinity: words.all("apart").map(term).collect(),
        spread: words.all("spread").map(spread).collect(),
        volumes: words.all("volume").map(volume).collect(),
        priority: words.number("priority").unwrap_or(0),
        scheduler: words.text("scheduler").unwrap_or("default-scheduler").into(),
        unjudged: words.has("unjudged").then(|| "a device claim".into()),
        ..PodSpec::default()
    }
}

fn in_zone(zone: &str) -> NodeSelector {
    let requirement = NodeRequirement {
        field: Field::Label(ZONE.into()),
        operator: NodeOperator::In,
        values: vec![zone.into()],
    };
    NodeSelector(vec![NodeSelectorTerm { requirements: vec![requirement] }])
}
