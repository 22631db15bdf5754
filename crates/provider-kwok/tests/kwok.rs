//! Simulated nodes in front of a real API server, scheduler and controller-manager.

use async_trait::async_trait;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod, PodCondition};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, Resource, ResourceExt};
use ostler_model::{CloudId, CloudPhase, FailureClass, LaunchToken, Millis, Quantity, Resources};
use ostler_provider::{LaunchSpec, Provider, conformance};
use ostler_provider_kwok::{FAULT, KwokProvider, NodeSpec};
use ostler_testkit::kube::{Component, Lab, wait_until};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(90);

/// Nodes of one site in the shared cluster; its pods find only them.
struct Place {
    client: Client,
    site: &'static str,
    provider: Arc<KwokProvider>,
}

impl Place {
    async fn new(site: &'static str) -> Self {
        Self::within(Lab::shared().await, site).await
    }

    async fn within(lab: &Lab, site: &'static str) -> Self {
        let client = lab.client().await;
        let provider = KwokProvider::with_client(site, client.clone()).expect("a good site");
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": site}});
        let namespace: Namespace = serde_json::from_value(namespace).expect("a namespace");
        Api::all(client.clone()).create(&PostParams::default(), &namespace).await.expect("a new namespace");
        let accounts: Api<k8s_openapi::api::core::v1::ServiceAccount> = Api::namespaced(client.clone(), site);
        wait_until("the account of pods", PATIENCE, async || {
            accounts.get("default").await.map(|_| ()).map_err(|why| why.to_string())
        })
        .await;
        Self { client, site, provider: Arc::new(provider) }
    }

    fn spec(&self, instance: &str, template: Value) -> LaunchSpec {
        LaunchSpec { template, ..spec(self.site, instance) }
    }
    async fn launch(&self, instance: &str, template: Value) -> (CloudId, String) {
        let spec = self.spec(instance, template);
        let id = self.provider.launch(&spec, &token(&spec)).await.expect("a good launch");
        let name = id.as_str().rsplit('/').next().expect("a name").to_owned();
        (id, name)
    }
    async fn node(&self, name: &str) -> Option<Node> {
        Api::<Node>::all(self.client.clone()).get_opt(name).await.expect("it can be asked")
    }
    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), self.site)
    }
    /// A pod that only nodes of this place take.
    async fn pod(&self, name: &str, annotations: Value) {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "annotations": annotations},
            "spec": {
                "nodeSelector": {"place": self.site},
                "containers": [{"name": "c", "image": "none", "resources": {"requests": {"cpu": "100m"}}}],
            },
        });
        let pod = serde_json::from_value(pod).expect("a pod");
        self.pods().create(&PostParams::default(), &pod).await.expect("the pod is made");
    }
    async fn until_pod(&self, name: &str, what: &str, so: impl Fn(Option<&Pod>) -> bool) {
        wait_until(&format!("{name} {what}"), PATIENCE, async || {
            let pod = self.pods().get_opt(name).await.expect("it can be asked");
            if so(pod.as_ref()) { Ok(()) } else { Err(format!("{pod:?}")) }
        })
        .await;
    }
    async fn until_node(&self, name: &str, what: &str, so: impl Fn(Option<&Node>) -> bool) {
        wait_until(&format!("{name} {what}"), PATIENCE, async || {
            let node = self.node(name).await;
            if so(node.as_ref()) { Ok(()) } else { Err(format!("{node:?}")) }
        })
        .await;
    }
}

fn spec(site: &str, instance: &str) -> LaunchSpec {
    let amount = |name: &str, n| (name.into(), Quantity::units(n));
    LaunchSpec {
        workload: "w".into(),
        pool: "general".into(),
        instance: format!("{site}-{instance}").as_str().into(),
        attempt: 1,
        kind: Default::default(),
        instance_type: "m.large".into(),
        resources: Resources(BTreeMap::from([
            amount("cpu", 4),
            amount("memory", 1 << 34),
            amount("pods", 110),
        ])),
        labels: BTreeMap::from([("place".into(), site.into())]),
        tags: BTreeMap::from([("team".into(), "blue".into())]),
        template: json!({"boot": "0s"}),
        environment: BTreeMap::new(),
    }
}

fn token(spec: &LaunchSpec) -> LaunchToken {
    LaunchToken::of(&spec.instance, spec.attempt)
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|one| one.type_ == "Ready" && one.status == "True")
}

fn taints(node: &Node) -> Vec<String> {
    node.spec.iter().flat_map(|spec| spec.taints.iter().flatten()).map(|taint| taint.key.clone()).collect()
}

fn phase(pod: Option<&Pod>) -> Option<&str> {
    pod?.status.as_ref()?.phase.as_deref()
}

fn is_up(pod: &Pod) -> bool {
    let status = pod.status.clone().unwrap_or_default();
    let ready = |one: &PodCondition| one.type_ == "Ready" && one.status == "True";
    status.pod_ip.is_some() && status.conditions.iter().flatten().any(ready)
}

struct Subject {
    ours: &'static str,
    client: Client,
    other: Place,
    unmanaged: CloudId,
}

#[async_trait]
impl conformance::Subject for Subject {
    async fn connect(&self) -> Arc<dyn Provider> {
        Arc::new(KwokProvider::with_client(self.ours, self.client.clone()).expect("a good site"))
    }
    fn spec(&self) -> LaunchSpec {
        spec(self.ours, "i")
    }
    fn refused(&self) -> Option<LaunchSpec> {
        Some(LaunchSpec { template: json!({"refuse": "out_of_capacity"}), ..spec(self.ours, "i") })
    }
    async fn foreign(&self) -> Vec<CloudId> {
        let (id, _) = self.other.launch("theirs", json!({"boot": "0s"})).await;
        vec![id, self.unmanaged.clone()]
    }
    async fn foreign_lives(&self) -> bool {
        let theirs = self.other.provider.list().await.expect("a listing").instances.len();
        let name = self.unmanaged.as_str().rsplit('/').next().expect("a name");
        theirs == 1 && self.other.node(name).await.is_some()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keeps_the_contract() {
    let other = Place::new("other").await;
    let unmanaged = NodeSpec { name: "other-by-hand".into(), ..NodeSpec::default() };
    let unmanaged = other.provider.add_node(unmanaged).await.expect("a node");
    let subject = Subject { ours: "contract", client: other.client.clone(), other, unmanaged };
    conformance::suite(&subject).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_boots_takes_pods_and_goes_with_them() {
    let place = Place::new("life").await;
    let begun = Instant::now();
    let template = json!({
        "boot": "2s", "startup": "1s", "taints": ["dedicated=special:PreferNoSchedule"],
        "startup_taints": ["net.example/agent-not-ready:NoSchedule"],
    });
    let (id, name) = place.launch("a", template).await;
    assert_eq!(place.provider.list().await.expect("a listing").instances[0].phase, CloudPhase::Pending);
    place.pod("p", json!({})).await;
    place.until_node(&name, "is ready", |node| node.is_some_and(is_ready)).await;
    assert!(begun.elapsed() >= Duration::from_secs(2), "it boots for two seconds: {:?}", begun.elapsed());
    place.until_pod("p", "runs", |pod| phase(pod) == Some("Running")).await;
    assert!(begun.elapsed() >= Duration::from_secs(3), "startup is over first: {:?}", begun.elapsed());

    let node = place.node(&name).await.expect("it is there");
    assert_eq!(taints(&node), ["dedicated"]);
    assert_eq!(node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()), Some(id.as_str()));
    let labels = node.labels();
    assert_eq!(labels.get("kubernetes.io/hostname"), Some(&name));
    assert_eq!(labels.get("ostler.dev/pool").map(String::as_str), Some("general"));
    assert_eq!(labels.get("node.kubernetes.io/instance-type").map(String::as_str), Some("m.large"));
    assert_eq!(node.annotations().get("team").map(String::as_str), Some("blue"));
    assert_eq!(place.provider.list().await.expect("a listing").instances[0].phase, CloudPhase::Running);
    place.until_pod("p", "is ready", |pod| pod.is_some_and(is_up)).await;

    // What a controller does that took the node for dead; the kubelet says that its pod works.
    let down = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
    let patched = place.pods().patch_status("p", &PatchParams::default(), &Patch::Strategic(down)).await;
    assert!(!is_up(&patched.expect("a status can be set")));
    place.until_pod("p", "is ready again", |pod| pod.is_some_and(is_up)).await;

    place.provider.terminate(&id).await.expect("accepted");
    place.until_node(&name, "is gone", |node| node.is_none()).await;
    place.until_pod("p", "is gone", |pod| pod.is_none()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_end_in_their_time() {
    let place = Place::new("ends").await;
    place.launch("a", json!({"boot": "0s"})).await;
    place.pod("slow", json!({"ostler.dev/kwok-stop": "3s"})).await;
    place.pod("late", json!({"ostler.dev/kwok-ready": "2s"})).await;
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "work"},
        "spec": {"template": {
            "metadata": {"annotations": {"ostler.dev/kwok-run": "2s"}},
            "spec": {"restartPolicy": "Never", "nodeSelector": {"place": "ends"},
                     "containers": [{"name": "c", "image": "none"}]},
        }},
    });
    let jobs: Api<Job> = Api::namespaced(place.client.clone(), place.site);
    let job = serde_json::from_value(job).expect("a job");
    jobs.create(&PostParams::default(), &job).await.expect("the job is made");

    place.until_pod("slow", "runs", |pod| phase(pod) == Some("Running")).await;
    place.pods().delete("slow", &DeleteParams::default()).await.expect("it is deleted");
    let begun = Instant::now();
    place.until_pod("slow", "is gone", |pod| pod.is_none()).await;
    // The API server counts in whole seconds.
    assert!(begun.elapsed() >= Duration::from_secs(2), "it ends in its own time: {:?}", begun.elapsed());
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "long before its grace is over: {:?}",
        begun.elapsed()
    );
    let ready = |pod: Option<&Pod>| {
        let conditions = pod.and_then(|pod| pod.status.as_ref()?.conditions.as_ref());
        conditions.into_iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True")
    };
    place.until_pod("late", "is ready", ready).await;
    wait_until("the job to be done", PATIENCE, async || {
        let status = jobs.get("work").await.expect("a job").status;
        if status.as_ref().and_then(|s| s.succeeded) == Some(1) { Ok(()) } else { Err(format!("{status:?}")) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_come_as_ordered() {
    let place = Place::new("faults").await;
    let refused = place.spec("no", json!({"refuse": "quota"}));
    let error = place.provider.launch(&refused, &token(&refused)).await.expect_err("refused");
    assert_eq!((error.class, error.code), (FailureClass::Quota, "OSTLER-P203"));
    let (_, never) = place.launch("never", json!({"boot": "0s", "never_ready": true})).await;
    let (id, dead) = place.launch("dead", json!({"boot": "0s"})).await;
    place.until_node(&dead, "is ready", |node| node.is_some_and(is_ready)).await;
    assert!(!is_ready(&place.node(&never).await.expect("it is there")), "never ready");
    let listed = place.provider.list().await.expect("a listing").instances;
    assert!(
        listed.iter().all(|machine| machine.phase == CloudPhase::Running),
        "both machines run: {listed:?}"
    );

    // A dead kubelet starts nothing; when it is back it does.
    let fault = |value: Value| Patch::Merge(json!({"metadata": {"annotations": {(FAULT): value}}}));
    let nodes: Api<Node> = Api::all(place.client.clone());
    nodes.patch(&dead, &PatchParams::default(), &fault(json!("dead"))).await.expect("it dies");
    place.pod("p", json!({})).await;
    let bound = |pod: Option<&Pod>| pod.and_then(|pod| pod.spec.as_ref()?.node_name.as_ref()).is_some();
    place.until_pod("p", "is bound", bound).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    place.until_pod("p", "waits", |pod| phase(pod) == Some("Pending")).await;
    nodes.patch(&dead, &PatchParams::default(), &fault(Value::Null)).await.expect("it lives");
    place.until_pod("p", "runs", |pod| phase(pod) == Some("Running")).await;

    // Somebody else removes the node: its token is spent.
    nodes.delete(&dead, &DeleteParams::default()).await.expect("it is deleted");
    place.until_pod("p", "is gone", |pod| pod.is_none()).await;
    let leases: Api<k8s_openapi::api::coordination::v1::Lease> =
        Api::namespaced(place.client.clone(), "kube-node-lease");
    assert!(leases.get_opt(&dead).await.expect("it can be asked").is_some(), "the lease remembers it");
    let spec = place.spec("dead", json!({"boot": "0s"}));
    assert_eq!(place.provider.launch(&spec, &token(&spec)).await, Ok(id), "the ended machine's id");
    assert!(place.node(&dead).await.is_none(), "no other is made");
}

#[tokio::test(flavor = "multi_thread")]
async fn restarts_lose_nothing() {
    let lab = Lab::start().await;
    let mut place = Place::within(&lab, "again").await;
    let (id, name) = place.launch("a", json!({"boot": "3s"})).await;
    // A new provider goes on with the boot of the old one.
    place.provider = Arc::new(KwokProvider::with_client("again", place.client.clone()).expect("a good site"));
    place.until_node(&name, "is ready", |node| node.is_some_and(is_ready)).await;
    lab.kill(Component::ApiServer);
    place.provider.list().await.expect_err("nobody answers");
    lab.revive(Component::ApiServer).await;
    place.pod("p", json!({})).await;
    place.until_pod("p", "runs", |pod| phase(pod) == Some("Running")).await;
    place.provider.terminate(&id).await.expect("accepted");
    place.provider = Arc::new(KwokProvider::with_client("again", place.client.clone()).expect("a good site"));
    place.until_node(&name, "is gone", |node| node.is_none()).await;
    let left = place.pods().list(&ListParams::default()).await.expect("a list").items;
    assert!(left.iter().all(|pod| pod.meta().deletion_timestamp.is_some()), "no pod is left: {left:?}");
    assert_eq!(place.provider.capabilities().appears_within, Millis(0));
}
