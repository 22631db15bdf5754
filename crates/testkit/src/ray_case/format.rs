//! The format, as it is written.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A JSON object in the order in which it is written: Ray adds up in this order.
#[derive(Debug, Clone, PartialEq)]
pub struct Pairs<T>(pub Vec<(String, T)>);

impl<T> Default for Pairs<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Pairs<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for InOrder<T> {
            type Value = Pairs<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(InOrder(PhantomData))
    }
}

impl<T: Serialize> Serialize for Pairs<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// A case: one scene, or a sequence of them.
#[derive(Debug, Clone, Deserialize)]
pub struct Case {
    /// Its label.
    pub name: String,
    /// The cluster's configuration.
    pub config: Config,
    /// The sequence, if it is one.
    #[serde(default)]
    pub steps: Vec<Scene>,
    /// The scene, if it is one.
    #[serde(flatten)]
    pub scene: Scene,
}

impl Case {
    /// Its scenes, in order.
    pub fn scenes(&self) -> &[Scene] {
        if self.steps.is_empty() { std::slice::from_ref(&self.scene) } else { &self.steps }
    }
}

/// The configuration. Times in seconds.
#[derive(Debug, Clone, Deserialize)]
pub struct Config {
    /// By name.
    pub node_types: Pairs<NodeType>,
    /// Names in the order of the configuration, which decides ties; absent: as they are written.
    #[serde(default)]
    pub node_type_order: Vec<String>,
    /// The type of the head.
    pub head_node_type: String,
    /// Workers at most.
    #[serde(default)]
    pub max_workers: Option<u64>,
    /// Idle nodes end after this; absent: never.
    #[serde(default)]
    pub idle_timeout_s: Option<f64>,
    /// Nodes on their way that nothing needs end after this; absent: never.
    #[serde(default)]
    pub pending_idle_timeout_s: Option<f64>,
    /// Keep nodes that were launched with another configuration.
    #[serde(default = "yes")]
    pub disable_launch_config_check: bool,
}

fn yes() -> bool {
    true
}

fn one() -> u64 {
    1
}

/// A type of node.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "the names of Ray's own configuration")]
pub struct NodeType {
    pub resources: Pairs<f64>,
    pub labels: Pairs<String>,
    pub min_workers: u64,
    pub max_workers: u64,
    pub idle_timeout_s: Option<f64>,
    pub priority: i64,
    pub launch_config_hash: String,
}

/// What one decision is made on, and what Ray decided.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Scene {
    /// Seconds of a pretended clock.
    pub now_s: f64,
    /// Records of the instance manager, oldest first.
    pub instances: Vec<Instance>,
    /// Demand of tasks and actors.
    pub pending_resource_requests: Vec<Request>,
    /// Demand of placement groups.
    pub gang_requests: Vec<Gang>,
    /// At most one.
    pub cluster_constraints: Vec<Constraint>,
    /// By type.
    pub cloud_resource_availabilities: Availabilities,
    /// By type.
    pub recoverable_resource_availabilities: Availabilities,
    /// What Ray decided.
    pub expected: Option<Expected>,
    /// What else Ray decided when it ran again.
    pub expected_alternatives: Vec<Expected>,
}

/// By type, 0 to 1; absent is 1.
pub type Availabilities = BTreeMap<String, f64>;

/// A record of the instance manager.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "the names of Ray's own records")]
pub struct Instance {
    pub instance_id: String,
    pub node_type: String,
    pub status: String,
    pub node_kind: String,
    pub launch_config_hash: String,
    pub ray_node_id: String,
    pub ray_node: Option<RayNode>,
}

/// A node as the GCS reports it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "the names of Ray's own messages")]
pub struct RayNode {
    pub idle_duration_ms: i64,
    pub total_resources: Pairs<f64>,
    pub available_resources: Pairs<f64>,
    pub labels: Pairs<String>,
    pub dynamic_labels: Pairs<String>,
}

/// Equal requests.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Request {
    /// What one needs.
    pub resources: Pairs<f64>,
    /// How many.
    #[serde(default = "one")]
    pub count: u64,
    /// In order of preference; all rules of one must hold.
    pub label_selectors: Vec<Vec<Rule>>,
    /// Together, or apart.
    pub placement_constraints: Vec<PlacementConstraint>,
}

/// A rule of a selector.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Rule {
    /// The label.
    pub key: String,
    /// `in` or `not_in`.
    pub op: String,
    /// With what it is compared.
    #[serde(default)]
    pub values: Vec<String>,
}

/// A placement constraint.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PlacementConstraint {
    /// `affinity` or `anti_affinity`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The label that marks the group.
    pub label: String,
    /// Its value.
    #[serde(default)]
    pub value: String,
}

/// A placement group.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Gang {
    /// Its bundles.
    pub requests: Vec<Request>,
    /// Which fields of the message carry them: `requests`, `bundle_selectors`, or both (absent).
    pub encoding: Option<String>,
    /// Bundles to fall back to. Ray does not try them.
    pub fallbacks: Vec<Vec<Request>>,
    /// For people, and to tell groups apart.
    pub details: String,
}

/// What the cluster must be able to hold.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Constraint {
    /// All of this at once.
    pub resource_requests: Vec<Request>,
}

/// What Ray decided.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Expected {
    /// By type: how many to launch.
    pub to_launch: BTreeMap<String, u64>,
    /// What ends.
    pub to_terminate: Vec<Termination>,
    /// What no node took.
    pub infeasible_resource_requests: Vec<Request>,
    /// Indices of gangs.
    pub infeasible_gang: Vec<usize>,
    /// 0 or 1.
    pub infeasible_constraints: u64,
    /// Ray raised this instead.
    pub error: Option<RayError>,
}

/// The end of a node.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Termination {
    /// Empty for a node that was only about to be launched.
    pub instance_id: String,
    /// Why.
    pub cause: String,
}

/// An error of Ray's.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct RayError {
    /// Its type in Python.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its message.
    pub message: String,
}
