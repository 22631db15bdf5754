//! Telling the cluster's users what is planned: events on pods and nodes, and a ConfigMap with the status.

use crate::config::Config;
use crate::error::{explain, status};
use k8s_openapi::api::core::v1::{ConfigMap, ObjectReference};
use k8s_openapi::api::events::v1::Event as KubeEvent;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff;
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use ostler_model::NodeId;
use ostler_workload::{NodeNews, NodeNotice, PodNews, PodNotice, Published, Severity, WorkloadError};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Who speaks.
const WE: &str = "ostler";
/// The ConfigMap.
pub(crate) const STATUS: &str = "ostler-status";
/// Events of one publication; the rest is told with the next one.
const EVENTS_MAX: usize = 50;
/// What is still so is told again after this, since events are forgotten after an hour.
const AGAIN: Duration = Duration::from_secs(20 * 60);
/// A pod is told once of the node that comes for it, whatever its place is in the plans that follow: the scheduler
/// decides in the end. What is told is forgotten after [`AGAIN`], so that this may be told again then.
const ONCE: &str = "TriggeredScaleUp";
/// The API server takes no longer text in an event.
const NOTE_MAX: usize = 1000;
/// A ConfigMap may have 1 MiB.
const STATUS_MAX: usize = 500_000;

/// What an event is about.
#[derive(Debug, Clone)]
pub(crate) enum On {
    Pod { namespace: Arc<str>, name: Arc<str>, uid: Arc<str> },
    Node(NodeId),
    Status,
}

/// What an event says.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    warning: bool,
    reason: &'static str,
    text: String,
}

impl Line {
    pub(crate) fn warning(reason: &'static str, text: String) -> Self {
        Self { warning: true, reason, text }
    }
    fn normal(reason: &'static str, text: String) -> Self {
        Self { warning: false, reason, text }
    }
}

/// Writes events.
#[derive(Clone)]
pub(crate) struct Events {
    client: Client,
    namespace: String,
    made: Arc<AtomicU64>,
}

impl Events {
    /// Writes one; that it cannot be written is logged, nothing depends on it.
    pub(crate) async fn tell(&self, on: &On, line: &Line) -> bool {
        let regarding = self.regarding(on);
        let namespace = regarding.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let event = self.event(&namespace, regarding, line);
        let events: Api<KubeEvent> = Api::namespaced(self.client.clone(), &namespace);
        match events.create(&PostParams::default(), &event).await {
            Ok(_) => true,
            Err(error) => {
                tracing::debug!(%error, reason = line.reason, text = line.text, "an event could not be written");
                false
            }
        }
    }

    fn regarding(&self, on: &On) -> ObjectReference {
        let of = |kind: &str, namespace: Option<&str>, name: &str, uid: &str| ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some(kind.to_owned()),
            namespace: namespace.map(str::to_owned),
            name: Some(name.to_owned()),
            uid: Some(uid.to_owned()).filter(|uid| !uid.is_empty()),
            ..ObjectReference::default()
        };
        match on {
            On::Pod { namespace, name, uid } => of("Pod", Some(namespace), name, uid),
            // As the kubelet does it: a node's events go by its name.
            On::Node(node) => of("Node", None, node.as_str(), node.as_str()),
            On::Status => of("ConfigMap", Some(&self.namespace), STATUS, ""),
        }
    }

    fn event(&self, namespace: &str, regarding: ObjectReference, line: &Line) -> KubeEvent {
        let at = jiff::Timestamp::now();
        let unique = self.made.fetch_add(1, Ordering::Relaxed);
        let name = regarding.name.as_deref().unwrap_or(WE);
        let name = format!("{}.{:x}.{unique:x}", cut(name, 200), at.as_nanosecond());
        KubeEvent {
            metadata: ObjectMeta {
                name: Some(name),
                namespace: Some(namespace.to_owned()),
                ..ObjectMeta::default()
            },
            action: Some(line.reason.to_owned()),
            reason: Some(line.reason.to_owned()),
            note: Some(cut(&line.text, NOTE_MAX).to_owned()),
            type_: Some(if line.warning { "Warning" } else { "Normal" }.to_owned()),
            event_time: Some(MicroTime(at)),
            regarding: Some(regarding),
            reporting_controller: Some(format!("{WE}.dev/{WE}")),
            reporting_instance: Some(WE.to_owned()),
            ..KubeEvent::default()
        }
    }
}

fn cut(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|&n| text.is_char_boundary(n)).unwrap_or(0);
    &text[..end]
}

/// What was told of a thing, by its id and the event's reason.
type Told = BTreeMap<(Arc<str>, &'static str), (String, Instant)>;

/// Tells.
pub(crate) struct Publisher {
    events: Events,
    /// The highest generation that was told; an older one is ignored.
    generation: AtomicU64,
    told: Mutex<Told>,
    status: tokio::sync::Mutex<Option<String>>,
    /// The namespace of the status is not there, and that has been said.
    homeless: AtomicBool,
}

impl Publisher {
    pub(crate) fn new(client: Client, config: &Config) -> Self {
        let events = Events { client, namespace: config.namespace.clone(), made: Arc::default() };
        Self {
            events,
            generation: AtomicU64::new(0),
            told: Mutex::default(),
            status: tokio::sync::Mutex::default(),
            homeless: AtomicBool::new(false),
        }
    }

    pub(crate) fn events(&self) -> Events {
        self.events.clone()
    }

    pub(crate) async fn publish(&self, status: &Published) -> Result<(), WorkloadError> {
        if status.generation < self.generation.fetch_max(status.generation, Ordering::Relaxed) {
            return Ok(());
        }
        self.write_status(&status.status).await?;
        for (on, line, key) in self.due(status) {
            if self.events.tell(&on, &line).await
                && let Some(key) = key
            {
                self.told().insert(key, (line.text, Instant::now()));
            }
        }
        Ok(())
    }

    /// Writes the ConfigMap if it is not what was written last. Nothing to say writes nothing.
    async fn write_status(&self, text: &str) -> Result<(), WorkloadError> {
        let mut last = self.status.lock().await;
        if text.is_empty() || last.as_deref() == Some(text) {
            return Ok(());
        }
        let maps: Api<ConfigMap> = Api::namespaced(self.events.client.clone(), &self.events.namespace);
        let map = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": STATUS},
            "data": {"status": cut(text, STATUS_MAX)},
        });
        match maps.patch(STATUS, &PatchParams::apply(WE).force(), &Patch::Apply(&map)).await {
            Ok(_) => {
                self.homeless.store(false, Ordering::Relaxed);
                *last = Some(text.to_owned());
                Ok(())
            }
            // What is made by applying it can only be not found because its namespace is not: the rest is told.
            Err(error) if status(&error) == Some(404) => {
                self.say_homeless();
                Ok(())
            }
            Err(error) => Err(explain(&format!("write the ConfigMap {STATUS}"), &error)),
        }
    }

    /// Says once that the status has no place, until it has one.
    fn say_homeless(&self) {
        let namespace = &self.events.namespace;
        if !self.homeless.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "there is no namespace {namespace}, so the ConfigMap {STATUS} is not written: create it (kubectl create \
                 namespace {namespace}), or set `namespace` [kubernetes.namespace]"
            );
        }
    }

    /// What has not been told yet, or not for long; no more than a bounded number.
    #[allow(clippy::type_complexity, reason = "a private helper's answer")]
    fn due(&self, status: &Published) -> Vec<(On, Line, Option<(Arc<str>, &'static str)>)> {
        let mut told = self.told();
        let notices = status.pods.iter().map(of_pod).chain(status.nodes.iter().map(of_node));
        let notices: Vec<_> = notices.collect();
        let now: std::collections::BTreeSet<_> =
            notices.iter().map(|(_, line, id)| (id.clone(), line.reason)).collect();
        told.retain(|key, (_, at)| (now.contains(key) || key.1 == ONCE) && at.elapsed() < AGAIN);
        let new = notices.into_iter().filter_map(|(on, line, id)| {
            let key = (id, line.reason);
            let known = told.get(&key).is_some_and(|(text, _)| *text == line.text || key.1 == ONCE);
            (!known).then_some((on, line, Some(key)))
        });
        let events = status.events.iter().map(|event| {
            let text = event.text.clone();
            let line = if event.severity > Severity::Info {
                Line::warning("Ostler", text)
            } else {
                Line::normal("Ostler", text)
            };
            (On::Status, line, None)
        });
        events.chain(new).take(EVENTS_MAX).collect()
    }

    // A map is whole whoever panicked.
    fn told(&self) -> std::sync::MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn of_pod(notice: &PodNotice) -> (On, Line, Arc<str>) {
    let on =
        On::Pod { namespace: notice.namespace.clone(), name: notice.name.clone(), uid: notice.uid.clone() };
    let reason = match notice.news {
        PodNews::TriggeredScaleUp => ONCE,
        PodNews::NotTriggerScaleUp => "NotTriggerScaleUp",
    };
    (on, Line::normal(reason, notice.text.clone()), notice.uid.clone())
}

fn of_node(notice: &NodeNotice) -> (On, Line, Arc<str>) {
    let line = match notice.news {
        NodeNews::ScaleDown => Line::normal("ScaleDown", notice.text.clone()),
        NodeNews::ScaleDownFailed => Line::warning("ScaleDownFailed", notice.text.clone()),
    };
    (On::Node(notice.node.clone()), line, notice.node.as_str().into())
}
