//! A large cluster as its API server would show it: objects of the size that real ones have, most of which nobody
//! reads. Made on demand, so that they take no room.

use serde_json::{Value, json};

/// How many nodes and pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Large {
    /// Nodes, all ready and full.
    pub nodes: usize,
    /// Pods, all running, the same number on each node; the first of each node belongs to a DaemonSet.
    pub pods: usize,
}

/// The pool and the node group of the nodes.
pub const POOL: &str = "general";
/// Pods of a ReplicaSet.
const REPLICAS: usize = 250;
/// Every so-many-th ReplicaSet is a StatefulSet, whose pods have labels of their own.
const STATEFUL: usize = 10;
/// What pods ask for, in thousandths of a core: of the nine beside the DaemonSet's about 3.6 of 4 cores.
const SHAPES: [usize; 5] = [350, 380, 400, 420, 450];
const CONDITIONS: [&str; 5] =
    ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];
const MADE: &str = "2026-01-05T08:00:00Z";

impl Large {
    /// The id of the machine of the nth node.
    pub fn machine(n: usize) -> String {
        format!("cloud:///{POOL}/{}", node_name(n))
    }

    /// The nth node.
    pub fn node(n: usize) -> Value {
        let name = node_name(n);
        let zone = ["a", "b", "c"][n % 3];
        let condition = |kind: &str, status: &str, reason: &str| {
            json!({"type": kind, "status": status, "reason": reason, "message": format!("kubelet: {reason}"),
                "lastHeartbeatTime": "2026-01-05T09:00:00Z", "lastTransitionTime": MADE})
        };
        let images = |n: usize| {
            json!({"names": [format!("registry.example/team/app-{n}@sha256:{n:064}"),
                format!("registry.example/team/app-{n}:v1.{n}")], "sizeBytes": 120_000_000 + n})
        };
        let amounts = |cpu: &str| {
            json!({"cpu": cpu, "memory": "16Gi", "pods": "110", "ephemeral-storage": "100Gi",
                "hugepages-1Gi": "0", "hugepages-2Mi": "0"})
        };
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {
                "name": name, "uid": uid(1, n), "resourceVersion": "7", "creationTimestamp": MADE,
                "labels": {
                    "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
                    "node.kubernetes.io/instance-type": "general-4", "ostler.dev/pool": POOL,
                    "topology.kubernetes.io/zone": format!("zone-{zone}"), "topology.kubernetes.io/region": "region-1",
                },
                "annotations": {
                    "node.alpha.kubernetes.io/ttl": "0", "volumes.kubernetes.io/controller-managed-attach-detach": "true",
                },
                "managedFields": managed_fields(&["kubelet", "kube-controller-manager"], 24),
            },
            "spec": {"providerID": Self::machine(n), "podCIDR": "100.64.0.0/24", "podCIDRs": ["100.64.0.0/24"]},
            "status": {
                "capacity": amounts("4"), "allocatable": amounts("3920m"),
                "addresses": [{"type": "InternalIP", "address": format!("10.{}.{}.9", n >> 8, n & 255)},
                    {"type": "Hostname", "address": name}],
                "conditions": [condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
                    condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
                    condition("PIDPressure", "False", "KubeletHasSufficientPID"),
                    condition("Ready", "True", "KubeletReady")],
                "nodeInfo": {"architecture": "amd64", "operatingSystem": "linux", "kubeletVersion": "v1.37.2",
                    "kernelVersion": "6.18.0", "osImage": "an image", "machineID": uid(2, n), "systemUUID": uid(3, n),
                    "bootID": uid(4, n), "containerRuntimeVersion": "containerd://2.1", "kubeProxyVersion": ""},
                "images": (0..12).map(images).collect::<Vec<_>>(),
            },
        })
    }

    /// The nth pod; `round` changes a label of it.
    pub fn pod(&self, n: usize, round: usize) -> Value {
        let node = n % self.nodes;
        if n < self.nodes {
            return pod(n, node, round, "agent", ("DaemonSet", "agent".into()), 100);
        }
        let set = (n - self.nodes) / REPLICAS;
        let app = format!("app-{set}");
        let owner = match set % STATEFUL {
            0 => ("StatefulSet", app.clone()),
            _ => ("ReplicaSet", format!("{app}-5d8f7c9b64")),
        };
        pod(n, node, round, &app, owner, SHAPES[n / self.nodes % SHAPES.len()])
    }
}

fn node_name(n: usize) -> String {
    format!("node-{n:05}.region-1.example")
}

fn uid(kind: usize, n: usize) -> String {
    format!("{kind:08x}-0000-4000-8000-{n:012x}")
}

fn pod(n: usize, node: usize, round: usize, app: &str, owner: (&str, String), millis: usize) -> Value {
    let (kind, owner) = owner;
    let name = format!("{owner}-{n:05}");
    let mut labels = json!({"app": app, "pod-template-hash": "5d8f7c9b64", "team": "shop", "version": format!("v{round}")});
    if kind == "StatefulSet" {
        labels["statefulset.kubernetes.io/pod-name"] = name.as_str().into();
        labels["apps.kubernetes.io/pod-index"] = n.to_string().into();
    }
    let env =
        |n: usize| json!({"name": format!("SETTING_{n}"), "value": format!("some text that is setting {n}")});
    let probe = json!({"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "timeoutSeconds": 1,
        "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3});
    let bears = |key: &str| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300});
    let condition = |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": MADE});
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "shop", "uid": uid(5, n), "resourceVersion": (8 + round).to_string(),
            "generateName": format!("{owner}-"), "creationTimestamp": MADE, "labels": labels,
            "annotations": {"checksum/config": format!("{n:064x}")},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": uid_of(&owner),
                "controller": true, "blockOwnerDeletion": true}],
            "managedFields": managed_fields(&["kube-controller-manager", "kubelet"], 40),
        },
        "spec": {
            "nodeName": node_name(node), "schedulerName": "default-scheduler", "priority": 0, "restartPolicy": "Always",
            "serviceAccountName": "default", "serviceAccount": "default", "dnsPolicy": "ClusterFirst",
            "enableServiceLinks": true, "preemptionPolicy": "PreemptLowerPriority", "securityContext": {},
            "terminationGracePeriodSeconds": 30,
            "tolerations": [bears("node.kubernetes.io/not-ready"), bears("node.kubernetes.io/unreachable")],
            "containers": [{
                "name": "main", "image": format!("registry.example/team/{app}:v1"), "imagePullPolicy": "IfNotPresent",
                "resources": {"requests": {"cpu": format!("{millis}m"), "memory": "512Mi"}, "limits": {"memory": "1Gi"}},
                "env": (0..12).map(env).collect::<Vec<_>>(), "livenessProbe": probe, "readinessProbe": probe,
                "ports": [{"containerPort": 8080, "protocol": "TCP"}],
                "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
                "volumeMounts": [{"name": "token", "readOnly": true,
                    "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}],
            }],
            "volumes": [{"name": "token", "projected": {"defaultMode": 420, "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                {"downwardAPI": {"items": [{"path": "namespace",
                    "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
            ]}}],
        },
        "status": {
            "phase": "Running", "qosClass": "Burstable", "startTime": MADE, "hostIP": "10.0.0.9", "podIP": "100.64.0.9",
            "conditions": CONDITIONS.map(condition),
            "containerStatuses": [{"name": "main", "ready": true, "started": true, "restartCount": 0,
                "image": format!("registry.example/team/{app}:v1"),
                "imageID": format!("registry.example/team/{app}@sha256:{n:064x}"),
                "containerID": format!("containerd://{n:064x}"), "lastState": {},
                "state": {"running": {"startedAt": MADE}}}],
        },
    })
}

fn uid_of(owner: &str) -> String {
    let sum =
        owner.bytes().fold(7_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()) & 0xffff_ffff);
    uid(6, sum)
}

/// Who changed what: the larger part of most objects.
fn managed_fields(managers: &[&str], fields: usize) -> Value {
    let field = |n: usize| (format!("f:field-number-{n}"), json!({}));
    let all: serde_json::Map<String, Value> = (0..fields).map(field).collect();
    let one = |manager: &&str| {
        json!({"manager": manager, "operation": "Update", "apiVersion": "v1", "time": MADE, "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {"f:labels": {}}, "f:spec": all, "f:status": {}}})
    };
    managers.iter().map(one).collect()
}
