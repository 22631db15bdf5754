//! The control plane and Ostler, and what is asked of them.

use crate::meter::{self, Moment};
use crate::work::{self, Deployment, Size};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Client, ResourceExt};
use ostler_provider::tags;
use ostler_testkit::kube::Lab;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What Ostler may do in a cluster, as users apply it.
const RIGHTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/rbac.yaml");
/// FlowSchemas by which the API server counts requests.
const OSTLER: &str = "load-ostler";
const SIMULATOR: &str = "load-simulator";

/// See the module.
pub(crate) struct Cluster {
    lab: Lab,
    client: Client,
    ostler: Child,
    binary: PathBuf,
    dir: tempfile::TempDir,
}

impl Cluster {
    pub(crate) async fn start(binary: &Path, size: Size) -> Self {
        let lab = Lab::start().await;
        let client = lab.client().await;
        let applied = lab.kubectl(&["apply", "-f", RIGHTS]);
        assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
        let dir = tempfile::tempdir().expect("a directory");
        for object in accounts() {
            apply(&client, &object).await;
        }
        let ostler = lab.kubeconfig_of("ostler", "ostler").await;
        let simulator = lab.kubeconfig_of("default", "simulator").await;
        let socket = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let api = socket.expect("a free port").to_string();
        let config = work::configuration(size, &ostler, &simulator, &api);
        fs::write(dir.path().join("ostler.yaml"), config).expect("a configuration can be written");
        let mut command = Command::new(binary);
        command.args(["run", "--log-format", "json", "-f"]).arg(dir.path().join("ostler.yaml"));
        command.env("OSTLER_LOG", "info,ostler_daemon::planning=debug,ostler_daemon::sources=debug");
        let log = File::create(dir.path().join("log")).expect("a log file");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let ostler = command.spawn().unwrap_or_else(|why| panic!("{}: {why}", binary.display()));
        Self { lab, client, ostler, binary: binary.to_owned(), dir }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.ostler.id()
    }

    pub(crate) fn moment(&self) -> Moment {
        Moment::now(&self.lab, self.pid())
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.dir.path().join("log")
    }

    pub(crate) fn lines(&self) -> usize {
        meter::lines(&self.log())
    }

    pub(crate) fn ended(&mut self) -> Option<std::process::ExitStatus> {
        self.ostler.try_wait().expect("it can be asked")
    }

    /// The end of Ostler's log, without what it says of each look.
    pub(crate) fn last_words(&self) -> String {
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().filter(|line| !line.contains("\"DEBUG\"")).collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    /// Requests of Ostler, and of the simulator of machines, so far.
    pub(crate) async fn requests(&self) -> (f64, f64) {
        (meter::requests(&self.lab, OSTLER).await, meter::requests(&self.lab, SIMULATOR).await)
    }

    /// Makes or changes Deployments.
    pub(crate) async fn apply(&self, all: &[Deployment]) {
        for deployment in all {
            apply(&self.client, &deployment.object()).await;
        }
    }

    /// Pods that are made, and those that run, as the controllers count them: that costs the API server little.
    pub(crate) async fn replicas(&self) -> (usize, usize) {
        let api: Api<k8s_openapi::api::apps::v1::Deployment> = Api::default_namespaced(self.client.clone());
        let list = api.list(&ListParams::default().match_any()).await.expect("a list");
        let status = || list.items.iter().filter_map(|one| one.status.as_ref());
        let sum = |counts: &mut dyn Iterator<Item = Option<i32>>| counts.flatten().sum::<i32>() as usize;
        (sum(&mut status().map(|one| one.replicas)), sum(&mut status().map(|one| one.ready_replicas)))
    }

    /// Nodes that are there, and those of them that leave.
    pub(crate) async fn nodes(&self) -> (usize, usize) {
        let list = self.list().await;
        let leaves = |node: &&kube::core::PartialObjectMeta<Node>| {
            let marks = [ostler_workload_kubernetes::map::EVICT_UNTIL, ostler_provider_kwok::ENDED];
            marks.iter().any(|mark| node.annotations().contains_key(*mark))
        };
        (list.len(), list.iter().filter(leaves).count())
    }

    /// Nodes that are there by pool, and how many of them some record has twice.
    pub(crate) async fn bought(&self) -> (BTreeMap<String, u64>, usize) {
        let list = self.list().await;
        let mut pools: BTreeMap<String, u64> = BTreeMap::new();
        let mut records: BTreeMap<&str, u64> = BTreeMap::new();
        for node in &list {
            let pool = node.labels().get(ostler_provider_kwok::POOL).cloned().unwrap_or_default();
            *pools.entry(pool).or_default() += 1;
            let record = node.annotations().get(tags::INSTANCE).map_or("", |record| record.as_str());
            *records.entry(record).or_default() += 1;
        }
        (pools, records.values().map(|count| count - 1).sum::<u64>() as usize)
    }

    async fn list(&self) -> Vec<kube::core::PartialObjectMeta<Node>> {
        let api: Api<Node> = Api::all(self.client.clone());
        api.list_metadata(&ListParams::default().match_any()).await.expect("a list").items
    }

    /// Pods that are on no node.
    pub(crate) async fn pending(&self) -> usize {
        let api: Api<Pod> = Api::all(self.client.clone());
        let nowhere = ListParams::default().fields("spec.nodeName=");
        api.list_metadata(&nowhere).await.expect("a list").items.len()
    }

    /// When the last launch was handed to the provider, in milliseconds since 1970, as the journal has it.
    pub(crate) fn last_launch(&self) -> u64 {
        let mut command = Command::new(&self.binary);
        command.args(["journal", "--limit", "10000", "--format", "json", "--store"]);
        let output = command.arg(self.dir.path().join("ostler.db")).output().expect("the journal");
        let text = String::from_utf8_lossy(&output.stdout);
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let launches = lines.filter(|line| line["code"] == "launch_turn");
        launches.filter_map(|line| line["at"].as_u64()).max().unwrap_or(0)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.ostler.kill(); // it may have ended by itself
        let _ = self.ostler.wait();
    }
}

/// Who simulates machines, and how requests of the two are told apart.
fn accounts() -> Vec<Value> {
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": "simulator", "namespace": "default"}});
    let rights = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "simulator"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "simulator", "namespace": "default"}]});
    let schema = |name: &str, namespace: &str, account: &str| {
        let all = json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"],
            "clusterScope": true});
        json!({"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "FlowSchema", "metadata": {"name": name},
            "spec": {"matchingPrecedence": 500, "priorityLevelConfiguration": {"name": "workload-high"},
                "distinguisherMethod": {"type": "ByUser"},
                "rules": [{"resourceRules": [all], "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
                    "subjects": [{"kind": "ServiceAccount",
                        "serviceAccount": {"name": account, "namespace": namespace}}]}]}})
    };
    vec![account, rights, schema(OSTLER, "ostler", "ostler"), schema(SIMULATOR, "default", "simulator")]
}

async fn apply(client: &Client, object: &Value) {
    let text = |key: &str| object[key].as_str().expect("a text");
    let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, text("kind")));
    let of_namespace = ["Deployment", "ServiceAccount"].contains(&text("kind"));
    let api: Api<DynamicObject> = if of_namespace {
        Api::default_namespaced_with(client.clone(), &resource)
    } else {
        Api::all_with(client.clone(), &resource)
    };
    let name = object["metadata"]["name"].as_str().expect("a name");
    let force = PatchParams::apply("load").force();
    let done = api.patch(name, &force, &Patch::Apply(object)).await;
    done.unwrap_or_else(|why| panic!("{} {name}: {why}", text("kind")));
}
