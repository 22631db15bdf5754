//! An object of any kind as JSON, with just enough of its metadata to be watched. Decoding it cannot fail,
//! so that one malformed object costs itself alone and never a list or a watch.

use kube::Resource;
use kube::core::{ApiResource, DynamicResourceScope, ObjectMeta};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// A kind, and where the API server has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) plural: &'static str,
}

const fn core(name: &'static str, plural: &'static str) -> Kind {
    Kind { name, group: "", version: "v1", plural }
}
const fn of(group: &'static str, name: &'static str, plural: &'static str) -> Kind {
    Kind { name, group, version: "v1", plural }
}

pub(crate) const PODS: Kind = core("Pod", "pods");
pub(crate) const NODES: Kind = core("Node", "nodes");
pub(crate) const NAMESPACES: Kind = core("Namespace", "namespaces");
pub(crate) const CLAIMS: Kind = core("PersistentVolumeClaim", "persistentvolumeclaims");
pub(crate) const VOLUMES: Kind = core("PersistentVolume", "persistentvolumes");
pub(crate) const TEMPLATES: Kind = core("PodTemplate", "podtemplates");
pub(crate) const CLASSES: Kind = of("storage.k8s.io", "StorageClass", "storageclasses");
pub(crate) const CSI_NODES: Kind = of("storage.k8s.io", "CSINode", "csinodes");
pub(crate) const DAEMONS: Kind = of("apps", "DaemonSet", "daemonsets");
pub(crate) const BUDGETS: Kind = of("policy", "PodDisruptionBudget", "poddisruptionbudgets");
/// Newest first.
pub(crate) const BUFFERS: [Kind; 2] = [
    Kind { version: "v1beta1", ..of("autoscaling.x-k8s.io", "CapacityBuffer", "capacitybuffers") },
    Kind { version: "v1alpha1", ..of("autoscaling.x-k8s.io", "CapacityBuffer", "capacitybuffers") },
];
/// Things that a CapacityBuffer may be like.
pub(crate) const SCALABLES: [Kind; 5] = [
    of("apps", "Deployment", "deployments"),
    of("apps", "ReplicaSet", "replicasets"),
    of("apps", "StatefulSet", "statefulsets"),
    of("batch", "Job", "jobs"),
    core("ReplicationController", "replicationcontrollers"),
];

impl Kind {
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
    /// As the client asks for it.
    pub(crate) fn resource(&self) -> ApiResource {
        ApiResource {
            group: self.group.to_owned(),
            version: self.version.to_owned(),
            api_version: self.api_version(),
            kind: self.name.to_owned(),
            plural: self.plural.to_owned(),
        }
    }
}

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    meta: ObjectMeta,
    /// All of it.
    pub(crate) value: Value,
}

impl Object {
    /// Namespace (empty if none) and name.
    pub(crate) fn key(&self) -> crate::map::Key {
        let text = |text: &Option<String>| Arc::from(text.as_deref().unwrap_or_default());
        (text(&self.meta.namespace), text(&self.meta.name))
    }
    /// A text in it.
    pub(crate) fn text(&self, pointer: &str) -> Option<&str> {
        self.value.pointer(pointer).and_then(Value::as_str)
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let text = |name: &str| value.get("metadata")?.get(name)?.as_str().map(str::to_owned);
        let meta = ObjectMeta {
            name: text("name"),
            namespace: text("namespace"),
            uid: text("uid"),
            resource_version: text("resourceVersion"),
            ..ObjectMeta::default()
        };
        Ok(Self { meta, value })
    }
}

impl Resource for Object {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;
    fn kind(kind: &ApiResource) -> Cow<'_, str> {
        kind.kind.as_str().into()
    }
    fn group(kind: &ApiResource) -> Cow<'_, str> {
        kind.group.as_str().into()
    }
    fn version(kind: &ApiResource) -> Cow<'_, str> {
        kind.version.as_str().into()
    }
    fn plural(kind: &ApiResource) -> Cow<'_, str> {
        kind.plural.as_str().into()
    }
    fn meta(&self) -> &ObjectMeta {
        &self.meta
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.meta
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::{ObjectList, WatchEvent};

    #[test]
    fn an_odd_object_breaks_neither_a_list_nor_a_watch() {
        let list = r#"{"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "7"}, "items": [
            {"metadata": {"name": "a", "namespace": "n", "creationTimestamp": "when?", "labels": [1]}, "spec": 4},
            {"metadata": 5}, 6, {"metadata": {"name": "b"}}]}"#;
        let list: ObjectList<Object> = serde_json::from_str(list).unwrap();
        let keys: Vec<_> = list.items.iter().map(|object| object.key().1.to_string()).collect();
        assert_eq!(keys, ["a", "", "", "b"]);

        let event =
            r#"{"type": "MODIFIED", "object": {"kind": "Pod", "metadata": {"name": 3}, "spec": null}}"#;
        assert!(matches!(serde_json::from_str(event).unwrap(), WatchEvent::<Object>::Modified(_)));
        let event = r#"{"object": {"kind": "Pod", "metadata": {"name": "c"}}, "type": "DELETED"}"#;
        assert!(
            matches!(serde_json::from_str(event).unwrap(), WatchEvent::<Object>::Deleted(o) if &*o.key().1 == "c")
        );
    }
}
