//! A real control plane, nodes whose kubelets are pretended here, and the workload with no more rights than
//! `deploy/rbac.yaml` gives it.

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::events::v1::Event;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use ostler_model::kube::{Cluster, DrainRules, KubeNode};
use ostler_model::{Node as Worker, NodeId, NodeStatus, WorkloadState};
use ostler_testkit::kube::{Lab, client_of, wait_until};
use ostler_workload::{DrainAnswer, DrainCause, DrainRequest, Workload};
use ostler_workload_kubernetes::{Config, KubernetesWorkload};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, MutexGuard, OnceCell};
use tokio::task::JoinHandle;

/// A loaded machine may take this long for what is asked of it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);
/// Nodes with this label have a kubelet, as far as anybody can see.
const KUBELET: &str = "test/kubelet";

/// One at a time: an evictor empties every node that is marked, also those of another test.
static TURN: Mutex<()> = Mutex::const_new(());

pub(crate) struct World {
    pub(crate) lab: Arc<Lab>,
    pub(crate) admin: Client,
    pub(crate) account: PathBuf,
    kubelet: JoinHandle<()>,
    _turn: Option<MutexGuard<'static, ()>>,
}

impl Drop for World {
    fn drop(&mut self) {
        self.kubelet.abort();
    }
}

impl World {
    /// In the control plane that the tests of this process share.
    pub(crate) async fn shared() -> Self {
        static LAB: OnceCell<Arc<Lab>> = OnceCell::const_new();
        let turn = TURN.lock().await;
        let lab = LAB.get_or_init(async || Arc::new(Lab::start().await)).await.clone();
        Self::of(lab, Some(turn)).await
    }

    /// In one of its own, whose servers may be killed.
    pub(crate) async fn own() -> Self {
        Self::of(Arc::new(Lab::start().await), None).await
    }

    async fn of(lab: Arc<Lab>, turn: Option<MutexGuard<'static, ()>>) -> Self {
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/rbac.yaml");
        let applied = lab.kubectl(&["apply", "-f", manifest]);
        assert!(applied.status.success(), "{applied:?}");
        let admin = lab.client().await;
        let account = lab.kubeconfig_of("ostler", "ostler").await;
        let kubelet = tokio::spawn(kubelet(admin.clone()));
        Self { lab, admin, account, kubelet, _turn: turn }
    }

    pub(crate) fn config(&self) -> Config {
        Config {
            kubeconfig: Some(self.account.clone()),
            settle: Duration::from_millis(500),
            batch_idle: Duration::from_millis(100),
            batch_max: Duration::from_secs(1),
            outage: Duration::from_secs(4),
            rules: DrainRules { let_jobs_finish: true, ..DrainRules::default() },
            ..Config::default()
        }
    }

    pub(crate) fn workload(&self) -> KubernetesWorkload {
        KubernetesWorkload::start(self.config()).expect("it starts")
    }

    /// Makes objects from YAML documents, the status too if one is written down.
    pub(crate) async fn make(&self, yaml: &str) {
        for text in yaml.split("\n---\n").filter(|text| !text.trim().is_empty()) {
            let value: Value = serde_saphyr::from_str(text).expect("YAML");
            self.make_one(value).await;
        }
    }

    pub(crate) async fn make_one(&self, value: Value) {
        let api = self.api_of(&value);
        let name = value["metadata"]["name"].as_str().expect("a name").to_owned();
        let object: DynamicObject = serde_json::from_value(value.clone()).expect("an object");
        let made = api.create(&PostParams::default(), &object).await;
        made.unwrap_or_else(|error| panic!("{name}: {error}"));
        if let Some(status) = value.get("status") {
            let status = Patch::Merge(json!({ "status": status }));
            api.patch_status(&name, &PatchParams::default(), &status).await.expect("its status");
        }
    }

    fn api_of(&self, value: &Value) -> Api<DynamicObject> {
        let kind = value["kind"].as_str().expect("a kind");
        let (group, version) =
            value["apiVersion"].as_str().unwrap_or("v1").rsplit_once('/').unwrap_or(("", "v1"));
        let version = value["apiVersion"].as_str().map_or(version, |it| it.rsplit('/').next().unwrap());
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        match value["metadata"]["namespace"].as_str() {
            Some(namespace) => Api::namespaced_with(self.admin.clone(), namespace, &resource),
            None => Api::all_with(self.admin.clone(), &resource),
        }
    }

    /// A node that is ready, with four CPUs.
    pub(crate) async fn node(&self, name: &str) {
        self.node_with(name, json!({}), json!([])).await;
    }

    pub(crate) async fn node_with(&self, name: &str, mut labels: Value, taints: Value) {
        labels[KUBELET] = "yes".into();
        labels["kubernetes.io/hostname"] = name.into();
        let allocatable = json!({"cpu": "4", "memory": "16Gi", "pods": "110"});
        self.make_one(json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "spec": {"taints": taints, "providerID": format!("test://{name}")},
            "status": {
                "allocatable": allocatable, "capacity": allocatable,
                "conditions": [{"type": "Ready", "status": "True", "reason": "Test", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
                "addresses": [{"type": "InternalIP", "address": "10.9.8.7"}],
            },
        }))
        .await;
        // The node controller takes the taint of a node that is not ready away.
        self.seen(&format!("node {name} without the taint of its start"), async || {
            let node = Api::<Node>::all(self.admin.clone()).get(name).await.map_err(|e| e.to_string())?;
            let taints = node.spec.and_then(|spec| spec.taints).unwrap_or_default();
            let starting = taints.iter().any(|taint| taint.key.starts_with("node.kubernetes.io/"));
            if starting { Err(format!("{taints:?}")) } else { Ok(()) }
        })
        .await;
    }

    /// A ReplicaSet whose pods go to this node, with all of them running there.
    pub(crate) async fn replicas(&self, name: &str, node: &str, count: u32, pod: Value) {
        self.replicas_anywhere(name, count, pod, json!({"kubernetes.io/hostname": node})).await;
        self.seen(&format!("{count} pods of {name} on {node}"), async || {
            let pods = self.pods(name).await;
            let on = |pod: &&Pod| {
                pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()) == Some(node)
                    && pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Running")
            };
            let running = pods.iter().filter(on).count();
            if running == count as usize { Ok(()) } else { Err(format!("{running}")) }
        })
        .await;
    }

    pub(crate) async fn replicas_anywhere(&self, name: &str, count: u32, pod: Value, selector: Value) {
        let mut spec = json!({
            "containers": [{"name": "c", "image": "none", "resources": {"requests": {"cpu": "100m", "memory": "16Mi"}}}],
            "nodeSelector": selector,
            "terminationGracePeriodSeconds": 1,
        });
        let annotations = pod.get("annotations").cloned().unwrap_or(json!({}));
        if let Some(more) = pod.get("spec").and_then(Value::as_object) {
            for (key, value) in more {
                spec[key] = value.clone();
            }
        }
        let template =
            json!({"metadata": {"labels": {"app": name}, "annotations": annotations}, "spec": spec});
        self.make_one(json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"replicas": count, "selector": {"matchLabels": {"app": name}}, "template": template},
        }))
        .await;
    }

    /// Pods of a ReplicaSet of ours.
    pub(crate) async fn pods(&self, app: &str) -> Vec<Pod> {
        let of = ListParams::default().labels(&format!("app={app}"));
        Api::<Pod>::namespaced(self.admin.clone(), "default").list(&of).await.expect("pods").items
    }

    pub(crate) async fn seen(&self, what: &str, look: impl AsyncFn() -> Result<(), String>) {
        wait_until(what, PATIENCE, look).await;
    }

    /// Waits until the node is like this.
    pub(crate) async fn node_is(
        &self,
        workload: &dyn Workload,
        node: &str,
        what: &str,
        is: impl Fn(&Worker, &KubeNode) -> bool,
    ) {
        self.seen(&format!("node {node}: {what}"), async || {
            let state = workload.observe().await.map_err(|error| error.to_string())?;
            let found = state.nodes.iter().find(|n| n.id.as_str() == node).zip(kube_node(&state, node));
            match found {
                Some((worker, kube)) if is(worker, kube) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    }

    pub(crate) async fn status_is(&self, workload: &dyn Workload, node: &str, status: NodeStatus) {
        self.node_is(workload, node, &format!("{status:?}"), |worker, _| worker.status == status).await;
    }

    /// The taints and annotations of a node that are ours.
    pub(crate) async fn marks(&self, node: &str) -> Vec<String> {
        let node = Api::<Node>::all(self.admin.clone()).get(node).await.expect("the node");
        let taints = node.spec.and_then(|spec| spec.taints).unwrap_or_default();
        let taints = taints.into_iter().map(|taint| taint.key);
        let all = taints.chain(node.metadata.annotations.unwrap_or_default().into_keys());
        all.filter(|key| key.starts_with("ostler.dev/")).collect()
    }

    /// What events say about a thing, with their reasons.
    pub(crate) async fn events(&self, about: &str) -> Vec<String> {
        let events: Api<Event> = Api::all(self.admin.clone());
        let all = events.list(&ListParams::default()).await.expect("events").items;
        let of = all.into_iter().filter(|event| {
            event.reporting_controller.as_deref() == Some("ostler.dev/ostler")
                && event.regarding.as_ref().and_then(|on| on.name.as_deref()) == Some(about)
        });
        of.map(|event| format!("{}: {}", event.reason.unwrap_or_default(), event.note.unwrap_or_default()))
            .collect()
    }

    /// Removes nodes and ReplicaSets, so that the next test does not see them.
    pub(crate) async fn clean(&self, nodes: &[&str], sets: &[&str]) {
        for set in sets {
            self.delete(json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": set, "namespace": "default"}})).await;
        }
        for node in nodes {
            self.delete(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}})).await;
        }
    }

    pub(crate) async fn delete(&self, what: Value) {
        let name = what["metadata"]["name"].as_str().expect("a name");
        let _ = self.api_of(&what).delete(name, &DeleteParams::background()).await; // it may be gone
    }
}

pub(crate) fn cluster(state: &WorkloadState) -> &Cluster {
    state.cluster.as_ref().expect("a cluster")
}

pub(crate) fn kube_node<'a>(state: &'a WorkloadState, node: &str) -> Option<&'a KubeNode> {
    cluster(state).nodes.iter().find(|n| n.id.as_str() == node)
}

pub(crate) async fn drain(workload: &dyn Workload, node: &str, cause: DrainCause) -> DrainAnswer {
    drain_until(workload, node, cause, None).await
}

pub(crate) async fn drain_until(
    workload: &dyn Workload,
    node: &str,
    cause: DrainCause,
    within: Option<Duration>,
) -> DrainAnswer {
    let deadline = within.map(|span| {
        let at = std::time::SystemTime::now() + span;
        let since = at.duration_since(std::time::UNIX_EPOCH).expect("after 1970");
        ostler_model::Timestamp(u64::try_from(since.as_millis()).expect("soon"))
    });
    let request = DrainRequest { cause, message: "a test".into(), deadline };
    workload.drain(&NodeId::from(node), &request).await.expect("drain answers")
}

/// Pretends: pods run as soon as they are bound, and end when they are told to; nodes stay ready.
async fn kubelet(admin: Client) {
    let (nodes, pods): (Api<Node>, Api<Pod>) = (Api::all(admin.clone()), Api::all(admin.clone()));
    let mut beat = 0u32;
    loop {
        let ours = ListParams::default().labels(KUBELET);
        let list = nodes.list(&ours).await.map(|list| list.items).unwrap_or_default();
        let names: Vec<_> = list.into_iter().filter_map(|node| node.metadata.name).collect();
        if beat.is_multiple_of(25) {
            for name in &names {
                let now = k8s_openapi::jiff::Timestamp::now().to_string();
                let ready =
                    json!({"type": "Ready", "status": "True", "reason": "Test", "lastHeartbeatTime": now});
                let status = Patch::Strategic(json!({"status": {"conditions": [ready]}}));
                let _ = nodes.patch_status(name, &PatchParams::default(), &status).await; // the next beat
            }
        }
        beat = beat.wrapping_add(1);
        for pod in pods.list(&ListParams::default()).await.map(|list| list.items).unwrap_or_default() {
            let on = pod.spec.as_ref().and_then(|spec| spec.node_name.as_ref());
            if !on.is_some_and(|on| names.contains(on)) {
                continue;
            }
            tend(&admin, &pod).await;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

async fn tend(admin: &Client, pod: &Pod) {
    let (Some(namespace), Some(name)) = (&pod.metadata.namespace, &pod.metadata.name) else { return };
    let api: Api<Pod> = Api::namespaced(admin.clone(), namespace);
    if pod.metadata.deletion_timestamp.is_some() {
        let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
        let _ = api.delete(name, &now).await; // the next round
        return;
    }
    let status = pod.status.as_ref();
    if status.and_then(|status| status.phase.as_deref()) == Some("Pending") {
        let ready = json!({"type": "Ready", "status": "True"});
        let now = k8s_openapi::jiff::Timestamp::now().to_string();
        let running = Patch::Strategic(
            json!({"status": {"phase": "Running", "startTime": now, "conditions": [ready]}}),
        );
        let _ = api.patch_status(name, &PatchParams::default(), &running).await; // the next round
    }
}

/// The account's own client.
pub(crate) async fn as_ostler(world: &World) -> Client {
    client_of(&world.account).await
}
