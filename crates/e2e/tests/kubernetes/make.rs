//! Objects of Kubernetes as tests write them.

use serde_json::{Value, json};

/// A Deployment whose pods are of one container.
#[derive(Debug, Clone)]
pub(crate) struct Deployment {
    pub(crate) name: String,
    replicas: u32,
    requests: Value,
    pod: Value,
    annotations: Value,
}

impl Deployment {
    /// So many pods that ask for this CPU each.
    pub(crate) fn of(name: &str, replicas: u32, cpu: &str) -> Self {
        let requests = json!({"cpu": cpu, "memory": "128Mi"});
        Self { name: name.into(), replicas, requests, pod: json!({}), annotations: json!({}) }
    }
    /// More of a pod's spec.
    pub(crate) fn with(mut self, key: &str, value: Value) -> Self {
        self.pod[key] = value;
        self
    }
    /// Only on nodes with this label.
    pub(crate) fn on(self, key: &str, value: &str) -> Self {
        self.with("nodeSelector", json!({ (key): value }))
    }
    /// An annotation of its pods.
    pub(crate) fn annotated(mut self, key: &str, value: &str) -> Self {
        self.annotations[key] = value.into();
        self
    }
    /// No two of its pods on one node.
    pub(crate) fn apart(self) -> Self {
        let term = json!({
            "topologyKey": "kubernetes.io/hostname",
            "labelSelector": {"matchLabels": {"app": self.name}},
        });
        self.with(
            "affinity",
            json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}),
        )
    }
    /// As the API server wants it.
    pub(crate) fn object(&self) -> Value {
        let mut pod = self.pod.clone();
        pod["containers"] =
            json!([{"name": "main", "image": "example/none", "resources": {"requests": self.requests}}]);
        let labels = json!({"app": self.name});
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": self.name},
            "spec": {
                "replicas": self.replicas,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels, "annotations": self.annotations}, "spec": pod},
            },
        })
    }
}

/// A disruption budget for the pods of a Deployment.
pub(crate) fn budget(app: &str, min_available: u32) -> Value {
    json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": app},
        "spec": {"minAvailable": min_available, "selector": {"matchLabels": {"app": app}}},
    })
}

/// The kind CapacityBuffer, as far as the API server must know it.
pub(crate) fn buffer_kind() -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "capacitybuffers.autoscaling.x-k8s.io",
            // A group of the Kubernetes community: the API server asks for this.
            "annotations": {"api-approved.kubernetes.io": "unapproved, a test"},
        },
        "spec": {
            "group": "autoscaling.x-k8s.io", "scope": "Namespaced",
            "names": {
                "kind": "CapacityBuffer", "listKind": "CapacityBufferList",
                "plural": "capacitybuffers", "singular": "capacitybuffer",
            },
            "versions": [{
                "name": "v1beta1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}

/// Room for more pods: as `spec` says.
pub(crate) fn buffer(name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "autoscaling.x-k8s.io/v1beta1", "kind": "CapacityBuffer",
        "metadata": {"name": name}, "spec": spec,
    })
}

/// What a buffer may be like.
pub(crate) fn template(name: &str, cpu: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": name},
        "template": {"spec": {"containers": [
            {"name": "main", "image": "example/none", "resources": {"requests": {"cpu": cpu, "memory": "128Mi"}}},
        ]}},
    })
}

/// A pool of Ostler's configuration.
#[derive(Debug, Clone)]
pub(crate) struct Pool {
    pub(crate) name: &'static str,
    pub(crate) max: u32,
    pub(crate) body: Value,
}

impl Pool {
    /// Nodes of 4 CPUs that boot in a second.
    pub(crate) fn of(name: &'static str, max: u32) -> Self {
        let body = json!({
            "provider": "sim", "max": max, "resources": {"cpu": 4, "memory": "16Gi", "pods": 110},
            "price": 0.2, "template": {"boot": "1s"},
        });
        Self { name, max, body }
    }
    /// Sets a knob.
    pub(crate) fn with(mut self, key: &str, value: Value) -> Self {
        self.body[key] = value;
        self
    }
    /// In a zone.
    pub(crate) fn in_zone(self, zone: &str) -> Self {
        self.with("labels", json!({"topology.kubernetes.io/zone": zone}))
    }
}
