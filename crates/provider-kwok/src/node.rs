//! A machine as a Node object: how it is written, and what is read of it.

use crate::config::{Behaviour, KwokTemplate};
use k8s_openapi::api::core::v1::{Node, NodeAddress, NodeCondition, NodeStatus, NodeSystemInfo, Taint};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff;
use kube::api::ObjectMeta;
use ostler_model::{FailureClass, LaunchToken, Timestamp};
use ostler_provider::{LaunchSpec, ProviderError, tags};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// Label of each simulated node: the site.
pub const SITE: &str = "ostler.dev/kwok";
/// Label of each node that was launched for a pool: the pool.
pub const POOL: &str = "ostler.dev/pool";
/// Annotation: how a node behaves, as JSON of [`Behaviour`].
pub(crate) const BEHAVIOUR: &str = "ostler.dev/kwok-behaviour";
/// Annotation: the end of this node was asked for.
pub const ENDED: &str = "ostler.dev/kwok-ended";
/// Annotation: `dead` while the node's kubelet is to be dead.
pub const FAULT: &str = "ostler.dev/kwok-fault";

/// A simulated node, before it is made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeSpec {
    /// Its name.
    pub name: String,
    /// What it calls its machine; one of this provider if absent.
    pub provider_id: Option<String>,
    /// Labels, beside those that each node has.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// Taints that stay, `KEY=VALUE:Effect`.
    pub taints: Vec<String>,
    /// Taints until its startup is over.
    pub startup_taints: Vec<String>,
    /// What it has, as in Kubernetes (`cpu: "4"`, `memory: 16Gi`, `pods: "110"`).
    pub capacity: BTreeMap<String, String>,
    /// What pods may use of that, where it differs.
    pub allocatable: BTreeMap<String, String>,
    /// How it behaves.
    pub behaviour: Behaviour,
}

impl NodeSpec {
    /// The node of a launch.
    pub(crate) fn of_launch(
        site: &str,
        spec: &LaunchSpec,
        token: &LaunchToken,
        template: KwokTemplate,
    ) -> Result<Self, ProviderError> {
        let text =
            |(key, value): (&std::sync::Arc<str>, &std::sync::Arc<str>)| (key.to_string(), value.to_string());
        let mut labels: BTreeMap<_, _> = spec.labels.iter().map(text).collect();
        labels.insert(POOL.into(), label_value(spec.pool.as_str()));
        if !spec.instance_type.is_empty() {
            labels.insert("node.kubernetes.io/instance-type".into(), spec.instance_type.clone());
        }
        Ok(Self {
            name: name_of(spec.pool.as_str(), token),
            provider_id: None,
            labels,
            annotations: tags::write(site, spec, token)?,
            taints: template.taints,
            startup_taints: template.startup_taints,
            capacity: spec
                .resources
                .iter()
                .map(|(name, amount)| (name.to_string(), amount.to_string()))
                .collect(),
            allocatable: template.allocatable,
            behaviour: template.behaviour,
        })
    }

    /// As the API server wants it; `OSTLER-P201` if a taint cannot be read.
    pub(crate) fn object(self, site: &str, now: Timestamp) -> Result<Node, ProviderError> {
        let startup = self.startup_taints.iter().map(|text| taint(text)).collect::<Result<Vec<_>, _>>()?;
        let stay = self.taints.iter().map(|text| taint(text)).collect::<Result<Vec<_>, _>>()?;
        let startup_keys = startup.iter().map(|taint| taint.key.clone()).collect();
        let behaviour = Behaviour { startup_keys, asked_at: now.0, ..self.behaviour };
        let mut annotations = self.annotations;
        let text = serde_json::to_string(&behaviour).unwrap_or_default(); // plain data: it cannot fail
        annotations.insert(BEHAVIOUR.into(), text);
        let mut labels = BTreeMap::from(
            [("kubernetes.io/os", "linux"), ("kubernetes.io/arch", "amd64")]
                .map(|(k, v)| (k.into(), v.into())),
        );
        labels.insert("kubernetes.io/hostname".into(), self.name.clone());
        labels.extend(self.labels);
        labels.insert(SITE.into(), site.into());
        let amounts = |amounts: &BTreeMap<String, String>| {
            amounts
                .iter()
                .map(|(name, amount)| (name.clone(), Quantity(amount.clone())))
                .collect::<BTreeMap<_, _>>()
        };
        let capacity = amounts(&self.capacity);
        let mut allocatable = capacity.clone();
        allocatable.extend(amounts(&self.allocatable));
        let mut node = Node {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                labels: Some(labels),
                annotations: Some(annotations),
                ..ObjectMeta::default()
            },
            ..Node::default()
        };
        let spec = node.spec.get_or_insert_default();
        spec.provider_id = Some(self.provider_id.unwrap_or_else(|| id_of(site, &self.name)));
        spec.taints = Some(stay.into_iter().chain(startup).collect());
        let booting = ("False", "KwokBooting", "the node boots, as its behaviour says");
        node.status = Some(NodeStatus {
            capacity: Some(capacity),
            allocatable: Some(allocatable),
            addresses: Some(addresses(&self.name)),
            conditions: Some(vec![ready_condition(booting, now)]),
            node_info: Some(NodeSystemInfo {
                kubelet_version: "v1.37.2-ostler-kwok".into(),
                operating_system: "linux".into(),
                architecture: "amd64".into(),
                ..NodeSystemInfo::default()
            }),
            ..NodeStatus::default()
        });
        Ok(node)
    }
}

/// The `Ready` condition: its status, reason and message.
pub(crate) fn ready_condition(what: (&str, &str, &str), now: Timestamp) -> NodeCondition {
    NodeCondition {
        type_: "Ready".into(),
        status: what.0.into(),
        reason: Some(what.1.into()),
        message: Some(what.2.into()),
        last_heartbeat_time: Some(time(now)),
        last_transition_time: Some(time(now)),
    }
}

fn addresses(name: &str) -> Vec<NodeAddress> {
    let address = |type_: &str, address: String| NodeAddress { type_: type_.into(), address };
    vec![address("InternalIP", host_address(name)), address("Hostname", name.into())]
}

/// The address of a node, for people: nobody answers there.
pub(crate) fn host_address(name: &str) -> String {
    let digest = Sha256::digest(name);
    format!("198.18.{}.{}", digest[0], digest[1])
}

/// The machine's id: what the Node calls its provider's.
pub(crate) fn id_of(site: &str, name: &str) -> String {
    format!("kwok://{site}/{name}")
}

/// The name of the Node with this id, if it is of this site.
pub(crate) fn name_in<'a>(site: &str, id: &'a str) -> Option<&'a str> {
    let name = id.strip_prefix("kwok://")?.strip_prefix(site)?.strip_prefix('/')?;
    (!name.is_empty()).then_some(name)
}

/// The name of the node of a launch. Only the token decides, since a token is of one pool; the pool is for people.
fn name_of(pool: &str, token: &LaunchToken) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let pool: String = pool.chars().map(plain).take(40).collect();
    let digest = Sha256::digest(token.as_str());
    let hash: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{hash}", if pool.trim_matches('-').is_empty() { "node" } else { pool.trim_matches('-') })
}

/// As near to a name as a label's value may be.
fn label_value(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '.' };
    let text: String = name.chars().map(plain).take(63).collect();
    text.trim_matches(['-', '_', '.']).to_owned()
}

/// A taint from `KEY=VALUE:Effect` or `KEY:Effect`.
fn taint(text: &str) -> Result<Taint, ProviderError> {
    let read = || {
        let (name, effect) = text.rsplit_once(':')?;
        let known = ["NoSchedule", "PreferNoSchedule", "NoExecute"].contains(&effect);
        let (key, value) = name.split_once('=').map_or((name, None), |(key, value)| (key, Some(value)));
        (known && !key.is_empty()).then(|| Taint {
            key: key.into(),
            value: value.filter(|value| !value.is_empty()).map(str::to_owned),
            effect: effect.into(),
            time_added: None,
        })
    };
    read().ok_or_else(|| {
        let message = format!("{text:?} is no taint: write KEY=VALUE:NoSchedule, KEY:NoExecute …");
        ProviderError::new(FailureClass::Permanent, "OSTLER-P201", message)
    })
}

/// How a node behaves; the usual way if it does not say.
pub(crate) fn behaviour(metadata: &ObjectMeta) -> Behaviour {
    let text = metadata.annotations.as_ref().and_then(|all| all.get(BEHAVIOUR));
    let read = text.and_then(|text| serde_json::from_str(text).ok());
    let mut behaviour: Behaviour = read.unwrap_or_default();
    if behaviour.asked_at == 0 {
        behaviour.asked_at = metadata.creation_timestamp.as_ref().map_or(0, |time| moment(time).0);
    }
    behaviour
}

/// Has an annotation this value, or any if none is asked for?
pub(crate) fn annotated(metadata: &ObjectMeta, key: &str, value: Option<&str>) -> bool {
    let found = metadata.annotations.as_ref().and_then(|all| all.get(key));
    found.is_some_and(|found| value.is_none_or(|value| found == value))
}

/// Now.
pub(crate) fn now() -> Timestamp {
    Timestamp(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64)
}

/// As Kubernetes writes it.
pub(crate) fn time(at: Timestamp) -> Time {
    Time(jiff::Timestamp::from_millisecond(at.0 as i64).unwrap_or_default())
}

/// As Kubernetes wrote it.
pub(crate) fn moment(time: &Time) -> Timestamp {
    Timestamp(u64::try_from(time.0.as_millisecond()).unwrap_or(0))
}
