//! An API server that says what a real one hardly ever does: objects that make no sense, lines that are
//! none, a history that is gone, a right that is taken away, silence.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use ostler_model::kube::Cluster;
use ostler_model::{FailureClass, WorkloadState};
use ostler_workload::{PodNews, PodNotice, Published, Workload, WorkloadError};
use ostler_workload_kubernetes::{Config, KubernetesWorkload};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::broadcast;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::BroadcastStream;

const PATIENCE: Duration = Duration::from_secs(60);
const PODS: &str = "/api/v1/pods";
const BUDGETS: &str = "/apis/policy/v1/poddisruptionbudgets";

struct Server {
    script: Arc<Mutex<Script>>,
    workload: KubernetesWorkload,
    _dir: TempDir,
}

#[derive(Default)]
struct Script {
    lists: BTreeMap<String, Vec<Value>>,
    listed: BTreeMap<String, u32>,
    watches: BTreeMap<String, broadcast::Sender<Bytes>>,
    forbidden: BTreeSet<String>,
    missing: BTreeSet<String>,
    silent: bool,
    /// The minor version that it says it is; empty is a new one.
    minor: &'static str,
}

impl Server {
    async fn start(pods: Vec<Value>) -> Self {
        let node = json!({"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4", "pods": "10"},
            "conditions": [{"type": "Ready", "status": "True"}]}});
        let lists = [(PODS.to_owned(), pods), ("/api/v1/nodes".to_owned(), vec![node])].into();
        let script = Arc::new(Mutex::new(Script { lists, ..Script::default() }));
        let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = socket.local_addr().expect("an address");
        let router = Router::new().fallback(answer).with_state(script.clone());
        tokio::spawn(async move { axum::serve(socket, router).await });
        let dir = TempDir::new().expect("a directory");
        let kubeconfig = dir.path().join("kubeconfig");
        let text = json!({"apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": format!("http://{address}")}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {"token": "t"}}]});
        std::fs::write(&kubeconfig, text.to_string()).expect("a file");
        let config =
            Config { kubeconfig: Some(kubeconfig), outage: Duration::from_secs(4), ..Config::default() };
        Self { script, workload: KubernetesWorkload::start(config).expect("it starts"), _dir: dir }
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().expect("no panic before")
    }

    /// Sends a line to those who watch this, once somebody does.
    async fn send(&self, path: &str, line: &str) {
        let line = Bytes::from(format!("{line}\n"));
        let begun = std::time::Instant::now();
        loop {
            let sent = self.script().watches.get(path).is_some_and(|watch| watch.send(line.clone()).is_ok());
            if sent {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "nobody watches {path}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn sees(&self, what: &str, is: impl Fn(&Result<WorkloadState, WorkloadError>) -> bool) {
        let begun = std::time::Instant::now();
        loop {
            let seen = tokio::time::timeout(PATIENCE, self.workload.observe()).await.expect("an answer");
            if is(&seen) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "waited for {what}; last seen: {seen:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

async fn answer(State(script): State<Arc<Mutex<Script>>>, uri: Uri) -> Response {
    let (silent, minor) = {
        let script = script.lock().expect("no panic before");
        (script.silent, if script.minor.is_empty() { "37" } else { script.minor })
    };
    if silent {
        std::future::pending::<()>().await;
    }
    let status = |code: u16, reason: &str| {
        let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
            "reason": reason, "message": format!("{reason}: {}", uri.path())});
        (StatusCode::from_u16(code).expect("a code"), axum::Json(status)).into_response()
    };
    let (path, query) = (uri.path(), uri.query().unwrap_or_default());
    if path == "/version" {
        let names = [
            "major",
            "minor",
            "gitVersion",
            "gitCommit",
            "gitTreeState",
            "buildDate",
            "goVersion",
            "compiler",
            "platform",
        ];
        let mut version: BTreeMap<_, _> = names.into_iter().map(|name| (name, "1")).collect();
        version.insert("minor", minor);
        return axum::Json(version).into_response();
    }
    let mut script = script.lock().expect("no panic before");
    if path.contains("autoscaling.x-k8s.io") {
        return status(404, "NotFound");
    }
    if script.forbidden.contains(path) {
        return status(403, "Forbidden");
    }
    if script.missing.contains(path) {
        return status(404, "NotFound");
    }
    if query.contains("watch=true") {
        let watch = script.watches.entry(path.to_owned()).or_insert_with(|| broadcast::channel(64).0);
        let lines = BroadcastStream::new(watch.subscribe()).map(|line| line.map_err(io::Error::other));
        return Body::from_stream(lines).into_response();
    }
    *script.listed.entry(path.to_owned()).or_default() += 1;
    let items = script.lists.get(path).cloned().unwrap_or_default();
    let list =
        json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "7"}, "items": items});
    axum::Json(list).into_response()
}

fn pod(name: &str, cpu: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "default", "resourceVersion": "8"},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}})
}

fn event(kind: &str, object: &Value) -> String {
    json!({"type": kind, "object": object}).to_string()
}

fn cluster(seen: &Result<WorkloadState, WorkloadError>) -> &Cluster {
    seen.as_ref().expect("a look").cluster.as_ref().expect("a cluster")
}

fn pods(seen: &Result<WorkloadState, WorkloadError>) -> Vec<&str> {
    cluster(seen).pods.iter().map(|pod| &*pod.name).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_that_make_no_sense_cost_themselves_alone() {
    let server = Server::start(vec![pod("a", "1"), pod("b", "lots"), json!({"metadata": 7}), json!(7)]).await;
    server.sees("what can be read", |seen| pods(seen) == ["a"]).await;
    let state = server.workload.observe().await.expect("a look");
    let skipped = &state.skipped;
    assert!(
        skipped.iter().any(|text| text == "pod default/b: container c: cpu: \"lots\" is not an amount"),
        "{skipped:?}"
    );
    let held = state.cluster.as_ref().expect("a cluster").nodes[0].held.as_deref();
    assert_eq!(held, Some("pod default/b on it cannot be read"), "its node is not taken for empty");

    server
        .send(PODS, &event("ADDED", &json!({"metadata": {"name": "c", "namespace": "default", "resourceVersion": "8"}, "spec": "?"})))
        .await;
    server.send(PODS, &event("ADDED", &pod("d", "1"))).await;
    server.sees("the pod after the odd one", |seen| pods(seen) == ["a", "d"]).await;
    let skipped = server.workload.observe().await.expect("a look").skipped;
    assert!(skipped.iter().any(|text| text.starts_with("pod default/c: ")), "it is named: {skipped:?}");
    server.send(PODS, "this is no event").await;
    server.send(PODS, &event("MODIFIED", &pod("b", "1"))).await;
    server
        .sees("the pod after the odd line, and the odd one put right", |seen| pods(seen) == ["a", "b", "d"])
        .await;
    server.send(PODS, &event("DELETED", &pod("d", "1"))).await;
    server.sees("its end", |seen| pods(seen) == ["a", "b"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_that_is_gone_is_listed_anew() {
    let server = Server::start(vec![pod("a", "1")]).await;
    server.sees("the first list", |seen| pods(seen) == ["a"]).await;
    let listed = server.script().listed[PODS];
    server.script().lists.insert(PODS.to_owned(), vec![pod("z", "1")]);
    let gone = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410, "reason": "Expired",
        "message": "too old resource version: 7 (9)", "metadata": {}});
    server.send(PODS, &event("ERROR", &gone)).await;
    server.sees("the second list", |seen| pods(seen) == ["z"]).await;
    assert_eq!(server.script().listed[PODS], listed + 1);
    server.send(PODS, &event("ADDED", &pod("y", "1"))).await;
    server.sees("what comes after it", |seen| pods(seen) == ["y", "z"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_right_that_is_taken_away_is_named_until_it_is_back() {
    let server = Server::start(Vec::new()).await;
    server.sees("a look", Result::is_ok).await;
    server.script().forbidden.insert(BUDGETS.to_owned());
    let end = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410, "reason": "Expired",
        "message": "gone", "metadata": {}});
    server.send(BUDGETS, &event("ERROR", &end)).await;
    let denied = |seen: &Result<WorkloadState, WorkloadError>| {
        seen.as_ref()
            .is_err_and(|e| e.class == FailureClass::Denied && e.message.contains("poddisruptionbudgets"))
    };
    server.sees("the refusal", denied).await;
    server.script().forbidden.clear();
    server.sees("a look", Result::is_ok).await;
}

/// Nobody made the namespace of the status: that is said in the log, and pods are told all the same.
#[tokio::test(flavor = "multi_thread")]
async fn pods_are_told_without_a_place_for_the_status() {
    let server = Server::start(Vec::new()).await;
    server.sees("a look", Result::is_ok).await;
    server.script().missing.insert("/api/v1/namespaces/ostler/configmaps/ostler-status".to_owned());
    let news = PodNews::NotTriggerScaleUp;
    let notice = PodNotice {
        namespace: "default".into(),
        name: "a".into(),
        uid: "u".into(),
        news,
        text: "no pool".into(),
    };
    let published =
        Published { generation: 1, pods: vec![notice], status: "one pod".into(), ..Published::default() };
    server.workload.publish(&published).await.expect("it is told");
    let events = server.script().listed.get("/apis/events.k8s.io/v1/namespaces/default/events").copied();
    assert_eq!(events, Some(1), "an event is written: {:?}", server.script().listed);
}

/// Nodes declare features from 1.36 on: before, no pod may be kept from a node for want of one.
#[tokio::test(flavor = "multi_thread")]
async fn pods_are_read_by_the_rules_of_the_release_and_again_when_it_is_another() {
    let mut needs = pod("a", "1");
    needs["spec"]["hostNetwork"] = json!(true);
    needs["spec"]["hostUsers"] = json!(false);
    let features = |seen: &Result<WorkloadState, WorkloadError>| cluster(seen).specs[0].features.len();

    let server = Server::start(vec![needs]).await;
    server.sees("the pod as a new release reads it", |seen| features(seen) == 1).await;
    assert_eq!(server.script().listed[PODS], 1, "the first guess was right");

    server.script().minor = "35+";
    server.sees("the pod as an old release reads it", |seen| features(seen) == 0).await;
    server.script().minor = "36";
    server.sees("the pod after the control plane has moved on", |seen| features(seen) == 1).await;
    assert_eq!(server.script().listed[PODS], 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_is_an_outage() {
    let server = Server::start(Vec::new()).await;
    server.sees("a look", Result::is_ok).await;
    server.script().silent = true;
    let away = |seen: &Result<WorkloadState, WorkloadError>| {
        seen.as_ref().is_err_and(|e| e.class == FailureClass::Transient && e.code == "kubernetes.away")
    };
    server.sees("the silence", away).await;
    server.script().silent = false;
    server.sees("a look", Result::is_ok).await;
}
