//! A pod as far as a kubelet of pretence cares. A cluster has many times more pods than nodes, and most of a pod's
//! text is who changed what; none of that is kept.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::Resource;
use kube::api::ObjectMeta;
use kube::core::ClusterResourceScope;
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// See the module.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Pod {
    #[serde(deserialize_with = "lean")]
    metadata: ObjectMeta,
    #[serde(default)]
    pub(crate) spec: Spec,
    #[serde(default)]
    pub(crate) status: Status,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Spec {
    pub(crate) node_name: String,
    pub(crate) containers: Vec<Container>,
    pub(crate) init_containers: Vec<Container>,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Container {
    pub(crate) name: String,
    pub(crate) image: String,
    pub(crate) restart_policy: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Status {
    pub(crate) phase: String,
    pub(crate) start_time: Option<Time>,
    pub(crate) conditions: Vec<Condition>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Condition {
    #[serde(rename = "type")]
    pub(crate) type_: String,
    pub(crate) status: String,
}

/// What is read of a pod's metadata.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Lean {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    deletion_timestamp: Option<Time>,
    deletion_grace_period_seconds: Option<i64>,
    #[serde(default)]
    annotations: Option<BTreeMap<String, String>>,
    #[serde(default)]
    finalizers: Option<Vec<String>>,
}

fn lean<'de, D: Deserializer<'de>>(from: D) -> Result<ObjectMeta, D::Error> {
    let lean = Lean::deserialize(from)?;
    Ok(ObjectMeta {
        name: lean.name,
        namespace: lean.namespace,
        uid: lean.uid,
        resource_version: lean.resource_version,
        deletion_timestamp: lean.deletion_timestamp,
        deletion_grace_period_seconds: lean.deletion_grace_period_seconds,
        annotations: lean.annotations,
        finalizers: lean.finalizers,
        ..ObjectMeta::default()
    })
}

impl Resource for Pod {
    type DynamicType = ();
    // All namespaces at once, and only read.
    type Scope = ClusterResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        "Pod".into()
    }
    fn group(_: &()) -> Cow<'_, str> {
        "".into()
    }
    fn version(_: &()) -> Cow<'_, str> {
        "v1".into()
    }
    fn plural(_: &()) -> Cow<'_, str> {
        "pods".into()
    }
    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl Pod {
    /// Does a condition hold?
    pub(crate) fn is(&self, condition: &str) -> bool {
        self.status.conditions.iter().any(|seen| seen.type_ == condition && seen.status == "True")
    }
    /// Has it come to its end by itself?
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.status.phase.as_str(), "Succeeded" | "Failed")
    }
    /// The value of an annotation.
    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.annotations.as_ref()?.get(key).map(String::as_str)
    }
}
