//! One scenario: a namespace in the shared control plane, an Ostler, an eye on both, and the end of it all.

use crate::make::{Deployment, Pool, buffer_kind};
use crate::ostler::Ostler;
use crate::watch::{Seen, Watch, taints};
use k8s_openapi::api::core::v1::{Event, Namespace, Node, Pod, ServiceAccount};
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use kube::{Client, ResourceExt};
use ostler_provider_kwok::FAULT;
use ostler_testkit::kube::Lab;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, MutexGuard};

/// What is waited for comes within this time, on a loaded machine too.
const PATIENCE: Duration = Duration::from_secs(90);
/// A cluster that has found its rest changes no node for this long.
const REST: Duration = Duration::from_secs(3);

/// One scenario at a time: an Ostler sees the whole cluster.
static TURN: Mutex<()> = Mutex::const_new(());

/// See the module.
pub(crate) struct World {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    pub(crate) lab: &'static Lab,
    pub(crate) ostler: Ostler,
    watch: Watch,
    begun: Instant,
    deployments: Vec<Deployment>,
    cluster_objects: Vec<Value>,
    /// Nodes that died with their pods.
    dead: Vec<String>,
    _turn: MutexGuard<'static, ()>,
}

impl World {
    /// A cluster without nodes, and an Ostler with these pools that runs.
    pub(crate) async fn new(pools: &[Pool]) -> Self {
        Self::with(pools, json!({})).await
    }

    /// The same, with more knobs of the workload.
    pub(crate) async fn with(pools: &[Pool], knobs: Value) -> Self {
        let mut world = Self::without_ostler(pools).await;
        world.ostler.configure(world.config(pools, knobs));
        world.start();
        world
    }

    /// A cluster without nodes that nobody scales.
    pub(crate) async fn without_ostler(pools: &[Pool]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let turn = TURN.lock().await;
        let lab = Lab::shared().await;
        let client = lab.client().await;
        empty(&client).await;
        let namespace = format!("scenario-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let bounds = pools.iter().map(|pool| (pool.name.to_owned(), pool.max)).collect();
        let watch = Watch::start(client.clone(), bounds);
        let world = Self {
            client,
            namespace,
            lab,
            ostler: Ostler::new(),
            watch,
            begun: Instant::now(),
            deployments: Vec::new(),
            cluster_objects: Vec::new(),
            dead: Vec::new(),
            _turn: turn,
        };
        world.make_namespace().await;
        world
    }

    async fn make_namespace(&self) {
        let name = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}});
        let namespace: Namespace = serde_json::from_value(name).expect("a namespace");
        Api::all(self.client.clone())
            .create(&PostParams::default(), &namespace)
            .await
            .expect("a namespace is made");
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), &self.namespace);
        let deadline = Instant::now() + PATIENCE;
        while accounts.get_opt("default").await.expect("it can be asked").is_none() {
            assert!(Instant::now() < deadline, "no account for pods");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// A configuration for an Ostler of this scenario, with more knobs of the workload.
    pub(crate) fn config(&self, pools: &[Pool], knobs: Value) -> Value {
        let pools: serde_json::Map<_, _> =
            pools.iter().map(|pool| (pool.name.to_owned(), pool.body.clone())).collect();
        let kubeconfig = self.lab.kubeconfig();
        let mut workload = json!({
            "kind": "kubernetes", "kubeconfig": kubeconfig, "namespace": self.namespace,
            "scale_down": {"unneeded": "2s", "unready": "10s", "delay_after_add": "1s", "delay_after_failure": "2s"},
            "drain": {"settle": "500ms", "timeout": "30s"},
            "batch": {"idle": "200ms", "max": "2s"},
            "launch_backoff": "2s",
            "pools": pools,
        });
        for (key, value) in knobs.as_object().into_iter().flatten() {
            match (workload[key].as_object_mut(), value.as_object()) {
                (Some(there), Some(more)) => there.extend(more.clone()),
                _ => workload[key] = value.clone(),
            }
        }
        json!({
            "workloads": {"prod": workload},
            "providers": {"sim": {"type": "kwok", "kubeconfig": kubeconfig}},
        })
    }

    /// Starts Ostler.
    pub(crate) fn start(&mut self) {
        self.ostler.start(&[]);
    }

    /// `kill -9` of Ostler.
    pub(crate) fn kill(&mut self) {
        self.ostler.kill();
    }

    /// What is there.
    pub(crate) fn see<T>(&self, look: impl FnOnce(&Seen) -> T) -> T {
        look(&self.watch.seen())
    }

    /// Waits until it is so. Nothing forbidden may happen meanwhile.
    pub(crate) async fn until(&mut self, what: &str, so: impl Fn(&Seen) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !self.see(&so) {
            self.still_right();
            let ended = self.ostler.has_ended();
            let why = if ended { "Ostler ended" } else { "that took too long" };
            assert!(!ended && Instant::now() < deadline, "waiting for {what}: {why}\n{}", self.report());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        self.say(&format!("{what}: so"));
    }

    /// Waits until a command of `ostler` says so of the one that runs.
    pub(crate) async fn until_ostler_says(&mut self, command: &str, what: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.ostler.says(command).contains(what) {
            self.still_right();
            assert!(Instant::now() < deadline, "`ostler {command}` does not say {what:?}\n{}", self.report());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        self.say(&format!("`ostler {command}` says {what:?}"));
    }

    /// It stays so for a while.
    pub(crate) async fn throughout(&self, span: Duration, what: &str, so: impl Fn(&Seen) -> bool) {
        let until = Instant::now() + span;
        while Instant::now() < until {
            assert!(self.see(&so), "{what}: no more\n{}", self.report());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        self.say(&format!("{what}: for {span:?}"));
    }

    /// Makes or changes a Deployment.
    pub(crate) async fn deploy(&mut self, deployment: Deployment) {
        self.apply(deployment.object()).await;
        self.deployments.retain(|known| known.name != deployment.name);
        self.deployments.push(deployment);
    }

    /// Changes how many replicas there are.
    pub(crate) async fn scale(&self, name: &str, replicas: u32) {
        self.say(&format!("scale {name} to {replicas}"));
        let api: Api<k8s_openapi::api::apps::v1::Deployment> =
            Api::namespaced(self.client.clone(), &self.namespace);
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        api.patch(name, &PatchParams::default(), &patch).await.expect("it can be scaled");
    }

    /// Makes or changes any object; in this namespace if it is of one.
    pub(crate) async fn apply(&mut self, object: Value) {
        let text = |key: &str| object[key].as_str().expect("a text").to_owned();
        let (version, kind, name) = (text("apiVersion"), text("kind"), object["metadata"]["name"].as_str());
        let api = self.api_of(&version, &kind);
        let name = name.expect("a name").to_owned();
        let force = PatchParams::apply("scenario").force();
        api.patch(&name, &force, &Patch::Apply(&object))
            .await
            .unwrap_or_else(|why| panic!("{kind} {name}: {why}"));
        if !is_namespaced(&kind) {
            self.cluster_objects.push(object);
        }
    }

    /// Has the API server serve CapacityBuffers until the end of the scenario.
    pub(crate) async fn serve_buffers(&mut self) {
        let served = || self.lab.kubectl(&["get", "capacitybuffers", "--all-namespaces"]).status.success();
        let deadline = Instant::now() + PATIENCE;
        // Of a scenario before: it is on its way out.
        while served() {
            assert!(Instant::now() < deadline, "the kind does not go");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        self.apply(buffer_kind()).await;
        while !self.lab.kubectl(&["get", "capacitybuffers", "--all-namespaces"]).status.success() {
            assert!(Instant::now() < deadline, "the kind does not come");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Removes an object, of this namespace if it is of one.
    pub(crate) async fn delete(&self, version: &str, kind: &str, name: &str) {
        let deleted = self.api_of(version, kind).delete(name, &DeleteParams::default()).await;
        deleted.unwrap_or_else(|why| panic!("{kind} {name}: {why}"));
    }

    /// The kubelet of this node is dead from now on, and the cluster says so at once; the node controller would take
    /// its usual 50 seconds.
    pub(crate) async fn let_die(&mut self, node: &str) {
        self.say(&format!("the kubelet of {node} dies"));
        self.dead.push(node.to_owned());
        let (nodes, how): (Api<Node>, _) = (Api::all(self.client.clone()), PatchParams::default());
        let fault = Patch::Merge(json!({"metadata": {"annotations": {(FAULT): "dead"}}}));
        nodes.patch(node, &how, &fault).await.expect("it is marked");
        let silent = json!({
            "type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown",
            "lastTransitionTime": Timestamp::now().to_string(),
        });
        let silent = Patch::Strategic(json!({"status": {"conditions": [silent]}}));
        nodes.patch_status(node, &how, &silent).await.expect("its condition is written");
    }

    fn api_of(&self, version: &str, kind: &str) -> Api<DynamicObject> {
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        if is_namespaced(kind) {
            Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
        } else {
            Api::all_with(self.client.clone(), &resource)
        }
    }

    /// Events of a reason in this namespace, as `object: message`.
    pub(crate) async fn events(&self, reason: &str) -> Vec<String> {
        let events: Api<Event> = Api::namespaced(self.client.clone(), &self.namespace);
        let list =
            events.list(&ListParams::default().fields(&format!("reason={reason}"))).await.expect("a list");
        let line = |event: Event| {
            let object = event.involved_object.name.unwrap_or_default();
            format!("{object}: {}", event.message.unwrap_or_default())
        };
        list.items.into_iter().map(line).collect()
    }

    /// The end of a scenario: all that must be true after each. Pods of these apps cannot run.
    pub(crate) async fn finish(mut self, hopeless: &[&str]) {
        let names: Vec<_> = self.deployments.iter().map(|one| one.name.clone()).collect();
        let api: Api<k8s_openapi::api::apps::v1::Deployment> =
            Api::namespaced(self.client.clone(), &self.namespace);
        for name in names.iter().filter(|name| !hopeless.contains(&name.as_str())) {
            let wanted = api.get(name).await.expect("a deployment").spec.replicas.unwrap_or(1);
            self.until(&format!("{name} has its {wanted} pods"), |seen| {
                seen.running(name) == wanted as usize && seen.app(name).len() == wanted as usize
            })
            .await;
        }
        let rest = |seen: &Seen| seen.nodes_changed.is_none_or(|at| at.elapsed() > REST);
        self.until("the nodes are at rest", rest).await;
        self.still_right();
        let mut crushed = self.see(Seen::crushed);
        crushed.retain(|line| !self.dead.iter().any(|node| line.contains(node)));
        assert_eq!(crushed, [""; 0], "no node ends with pods on it\n{}", self.report());
        let marked = self.see(|seen| {
            let ours = |node: &&Node| taints(node).iter().any(|key| key.contains("ostler"));
            seen.nodes.values().filter(ours).map(ResourceExt::name_any).collect::<Vec<_>>()
        });
        assert_eq!(marked, [""; 0], "no mark of a drain is left\n{}", self.report());
        self.kill();
        for object in std::mem::take(&mut self.cluster_objects) {
            let text = |key: &str| object[key].as_str().expect("a text").to_owned();
            let name = object["metadata"]["name"].as_str().expect("a name");
            let _ =
                self.api_of(&text("apiVersion"), &text("kind")).delete(name, &DeleteParams::default()).await;
        }
        self.say("done");
    }

    /// Nothing forbidden has happened so far.
    fn still_right(&self) {
        let wrong = self.see(|seen| seen.wrong.clone());
        assert_eq!(wrong, [""; 0], "what must never be\n{}", self.report());
    }

    /// What there is to say when something is wrong.
    pub(crate) fn report(&self) -> String {
        let (words, status) = (self.ostler.last_words(), self.ostler.says("status"));
        let journal = self.ostler.decisions();
        let picture = self.see(Seen::picture);
        format!("{picture}\n--- Ostler:\n{words}\n--- its journal:\n{journal}\n--- its status:\n{status}")
    }

    /// A line with the time, for whoever reads along (`--nocapture`).
    #[allow(clippy::print_stdout, reason = "tests are read along")]
    pub(crate) fn say(&self, text: &str) {
        println!("{:6.1} s  {text}", self.begun.elapsed().as_secs_f32());
    }
}

fn is_namespaced(kind: &str) -> bool {
    !matches!(kind, "Node" | "PriorityClass" | "PersistentVolume" | "Namespace" | "CustomResourceDefinition")
}

/// Removes all nodes, and what scenarios before left in their namespaces.
async fn empty(client: &Client) {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let mine = |name: &str| name.starts_with("scenario-");
    for namespace in namespaces.list(&ListParams::default()).await.expect("a list") {
        if mine(&namespace.name_any()) && namespace.metadata.deletion_timestamp.is_none() {
            let _ = namespaces.delete(&namespace.name_any(), &DeleteParams::default()).await;
        }
    }
    let nodes: Api<Node> = Api::all(client.clone());
    let deadline = Instant::now() + PATIENCE;
    loop {
        let pods = Api::<Pod>::all(client.clone()).list(&ListParams::default()).await.expect("a list").items;
        for pod in pods.iter() {
            let api: Api<Pod> = Api::namespaced(client.clone(), &pod.namespace().unwrap_or_default());
            let _ = api.delete(&pod.name_any(), &DeleteParams::default().grace_period(0)).await;
        }
        let left = nodes.list(&ListParams::default()).await.expect("a list").items;
        for node in &left {
            let _ = nodes.delete(&node.name_any(), &DeleteParams::default()).await;
        }
        if pods.is_empty() && left.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "{} pods and {} nodes do not go", pods.len(), left.len());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
