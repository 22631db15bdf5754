//! An API server that shows a large cluster and tells of changes, as far as Ostler asks.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use ostler_testkit::kube::Large;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{broadcast, mpsc};
use tokio_stream::wrappers::ReceiverStream;

const PODS: &str = "/api/v1/pods";
const NODES: &str = "/api/v1/nodes";
/// Lines that a watch may be late by.
const BACKLOG: usize = 4096;

/// A running server on a free port of the loopback device.
pub(crate) struct Server {
    pub(crate) url: String,
    shared: Arc<Shared>,
}

struct Shared {
    large: Large,
    pods: broadcast::Sender<Bytes>,
    nodes: broadcast::Sender<Bytes>,
    /// Kinds of which nothing is ever told.
    quiet: broadcast::Sender<Bytes>,
    /// Requests that were no watch, and those of them that changed something.
    requests: AtomicU64,
    writes: AtomicU64,
    version: AtomicU64,
}

impl Server {
    pub(crate) async fn start(large: Large) -> Self {
        let line = || broadcast::channel(BACKLOG).0;
        let count = AtomicU64::default;
        let version = AtomicU64::new(100);
        let (pods, nodes, quiet) = (line(), line(), line());
        let shared =
            Arc::new(Shared { large, pods, nodes, quiet, requests: count(), writes: count(), version });
        let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", socket.local_addr().expect("an address"));
        let router = Router::new().fallback(answer).with_state(shared.clone());
        tokio::spawn(async move { axum::serve(socket, router).await });
        Self { url, shared }
    }

    /// Requests that were no watch, and those of them that changed something.
    pub(crate) fn requests(&self) -> (u64, u64) {
        (self.shared.requests.load(Ordering::Relaxed), self.shared.writes.load(Ordering::Relaxed))
    }

    /// The nth pod is gone, or there again.
    pub(crate) fn pod(&self, n: usize, kind: &str) {
        self.tell(&self.shared.pods, kind, self.shared.large.pod(n, 0));
    }

    /// The kubelet of the nth node says that it is well, as each does every five minutes.
    pub(crate) fn heartbeat(&self, n: usize, round: usize) {
        let mut node = Large::node(n);
        for condition in node["status"]["conditions"].as_array_mut().into_iter().flatten() {
            condition["lastHeartbeatTime"] = format!("2026-01-05T10:{:02}:00Z", round % 60).into();
        }
        self.tell(&self.shared.nodes, "MODIFIED", node);
    }

    fn tell(&self, to: &broadcast::Sender<Bytes>, kind: &str, mut object: Value) {
        let version = self.shared.version.fetch_add(1, Ordering::Relaxed) + 1;
        object["metadata"]["resourceVersion"] = version.to_string().into();
        let line = json!({"type": kind, "object": object});
        let _ = to.send(Bytes::from(format!("{line}\n"))); // nobody may watch just now
    }
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    Query(query): Query<BTreeMap<String, String>>,
    body: Bytes,
) -> Response {
    let path = uri.path();
    if query.get("watch").is_some_and(|watch| watch == "true") {
        let seconds = query.get("timeoutSeconds").and_then(|text| text.parse().ok()).unwrap_or(60);
        return watch(&shared, path, Duration::from_secs(seconds));
    }
    shared.requests.fetch_add(1, Ordering::Relaxed);
    if method != Method::GET {
        shared.writes.fetch_add(1, Ordering::Relaxed);
        let object: Value = serde_json::from_slice(&body).unwrap_or_default();
        return (StatusCode::CREATED, axum::Json(object)).into_response();
    }
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
        let version: BTreeMap<_, _> = names.into_iter().map(|name| (name, "1")).collect();
        return axum::Json(version).into_response();
    }
    if path.contains("autoscaling.x-k8s.io") {
        let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404,
            "reason": "NotFound", "message": "there are none"});
        return (StatusCode::NOT_FOUND, axum::Json(status)).into_response();
    }
    axum::Json(list(&shared, path, &query)).into_response()
}

/// A page of a list.
fn list(shared: &Shared, path: &str, query: &BTreeMap<String, String>) -> Value {
    let number = |key: &str| query.get(key).and_then(|text| text.parse::<usize>().ok());
    let all = match path {
        PODS => shared.large.pods,
        NODES => shared.large.nodes,
        _ => 0,
    };
    let from = number("continue").unwrap_or(0);
    let to = number("limit").map_or(all, |limit| (from + limit).min(all));
    let items: Vec<Value> = match path {
        PODS => (from..to).map(|n| shared.large.pod(n, 0)).collect(),
        NODES => (from..to).map(Large::node).collect(),
        "/api/v1/namespaces" => ["kube-system", "shop"].map(namespace).to_vec(),
        _ => Vec::new(),
    };
    let version = shared.version.load(Ordering::Relaxed).to_string();
    let more = if to < all { to.to_string() } else { String::new() };
    json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": version, "continue": more},
        "items": items})
}

fn namespace(name: &str) -> Value {
    json!({"metadata": {"name": name, "uid": format!("uid-of-{name}"), "resourceVersion": "5"}})
}

/// A watch that ends as the API server ends one.
fn watch(shared: &Shared, path: &str, lasts: Duration) -> Response {
    let mut news = match path {
        PODS => shared.pods.subscribe(),
        NODES => shared.nodes.subscribe(),
        _ => shared.quiet.subscribe(),
    };
    let (lines, body) = mpsc::channel::<Result<Bytes, io::Error>>(64);
    tokio::spawn(async move {
        let end = tokio::time::sleep(lasts);
        tokio::pin!(end);
        loop {
            let line = tokio::select! {
                line = news.recv() => line,
                () = &mut end => return,
            };
            // One that lags ends, and is begun anew.
            let Ok(line) = line else { return };
            if lines.send(Ok(line)).await.is_err() {
                return;
            }
        }
    });
    Body::from_stream(ReceiverStream::new(body)).into_response()
}
