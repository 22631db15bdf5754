//! Letting a node go, and taking it back. Level-driven: all that is known of a drain is on the node itself.
//!
//! 1. The node is tainted, so that no more pods come. A taint alone is a drain that is being checked;
//!    whoever finds one without going on (a crash) takes it back.
//! 2. The scheduler is given time to see it.
//! 3. What is on the node is read afresh. If it may not be moved, the taint goes again, and the answer is
//!    no.
//! 4. The go-mark says until when pods are evicted. From here on the evictor (`evict`) does the rest, also
//!    after a restart.
//!
//! Taints and cordons of others are never touched; each change holds only for the node as it was read.

use crate::cache::Cache;
use crate::config::Config;
use crate::error::{explain, status};
use crate::map::{self, DRAIN_REASON, DRAIN_TAINT, EVICT_UNTIL, PodFacts};
use crate::now;
use crate::object::{self, Object};
use k8s_openapi::jiff;
use kube::Client;
use kube::api::{Api, ListParams, Patch, PatchParams};
use ostler_model::kube::{DrainRules, Pod};
use ostler_model::{NodeId, Timestamp};
use ostler_workload::{DrainAnswer, DrainCause, DrainRequest, WorkloadError};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

/// A change of a node is tried so often if others change it at the same time.
const TRIES: u32 = 10;
/// Room for a sentence in an annotation.
const REASON_MAX: usize = 200;

/// Marks nodes.
#[derive(Debug, Clone)]
pub(crate) struct Marks(Api<Object>);

impl Marks {
    pub(crate) fn new(client: Client) -> Self {
        Self(Api::all_with(client, &object::NODES.resource()))
    }

    /// Changes a node to what `change` makes of it, once more if somebody else changes it meanwhile. `None`
    /// from `change`: it is well as it is. Answers the node as it was read last, `None` if it is not there.
    async fn edit(
        &self,
        node: &NodeId,
        change: impl Fn(&Object) -> Option<Value>,
    ) -> Result<Option<Object>, kube::Error> {
        let mut tried = 0;
        loop {
            let Some(object) = self.0.get_opt(node.as_str()).await? else { return Ok(None) };
            let Some(mut patch) = change(&object) else { return Ok(Some(object)) };
            patch["metadata"]["resourceVersion"] = object.value["metadata"]["resourceVersion"].clone();
            match self.0.patch(node.as_str(), &PatchParams::default(), &Patch::Merge(&patch)).await {
                Ok(_) => return Ok(Some(object)),
                Err(error) if status(&error) == Some(404) => return Ok(None),
                Err(error) if status(&error) == Some(409) && tried < TRIES => {
                    tried += 1;
                    tokio::time::sleep(Duration::from_millis(20 * u64::from(tried))).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Taints it, unless it is.
    async fn taint(&self, node: &NodeId, cause: &str, reason: &str) -> Result<Option<Object>, kube::Error> {
        let end = (0..=REASON_MAX.min(reason.len())).rev().find(|&n| reason.is_char_boundary(n)).unwrap_or(0);
        let reason = &reason[..end];
        let change = |object: &Object| {
            if is_tainted(object) {
                return None;
            }
            let mut taints = taints(object);
            taints.push(json!({"key": DRAIN_TAINT, "value": cause, "effect": "NoSchedule"}));
            let marks = json!({ EVICT_UNTIL: null, DRAIN_REASON: reason });
            Some(json!({"metadata": {"annotations": marks}, "spec": {"taints": taints}}))
        };
        self.edit(node, change).await
    }

    /// Sets the go-mark; `false` if the taint has gone meanwhile.
    async fn go(&self, node: &NodeId, until: Timestamp) -> Result<Option<bool>, kube::Error> {
        let until = written(until);
        let change = |object: &Object| {
            is_tainted(object).then(|| json!({"metadata": {"annotations": {EVICT_UNTIL: until}}}))
        };
        Ok(self.edit(node, change).await?.map(|object| is_tainted(&object)))
    }

    /// Takes all our marks away.
    pub(crate) async fn clear(&self, node: &NodeId) -> Result<(), kube::Error> {
        let change = |object: &Object| {
            let marked = [EVICT_UNTIL, DRAIN_REASON].iter().any(|mark| annotation(object, mark).is_some());
            if !marked && !is_tainted(object) {
                return None;
            }
            let marks = json!({ EVICT_UNTIL: null, DRAIN_REASON: null });
            let mut patch = json!({"metadata": {"annotations": marks}});
            if is_tainted(object) {
                let mut taints = taints(object);
                taints.retain(|taint| !is_ours(taint));
                patch["spec"] = json!({ "taints": taints });
            }
            Some(patch)
        };
        self.edit(node, change).await.map(drop)
    }
}

fn taints(object: &Object) -> Vec<Value> {
    object.value.pointer("/spec/taints").and_then(Value::as_array).cloned().unwrap_or_default()
}

fn is_ours(taint: &Value) -> bool {
    taint.get("key").and_then(Value::as_str) == Some(DRAIN_TAINT)
}

fn is_tainted(object: &Object) -> bool {
    taints(object).iter().any(is_ours)
}

fn annotation<'a>(object: &'a Object, name: &str) -> Option<&'a str> {
    object
        .value
        .pointer("/metadata/annotations")
        .and_then(Value::as_object)
        .and_then(|all: &Map<_, _>| all.get(name).and_then(Value::as_str))
}

/// RFC 3339.
fn written(at: Timestamp) -> String {
    let at = i64::try_from(at.0).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    at.unwrap_or(jiff::Timestamp::MAX).to_string()
}

/// Drains, as they are asked for.
#[derive(Debug)]
pub(crate) struct Drains {
    marks: Marks,
    pods: Api<Object>,
    cache: Arc<Cache>,
    rules: DrainRules,
    settle: Duration,
    timeout: Duration,
}

impl Drains {
    pub(crate) fn new(client: Client, cache: Arc<Cache>, config: &Config) -> Self {
        Self {
            pods: Api::all_with(client.clone(), &object::PODS.resource()),
            marks: Marks::new(client),
            cache,
            rules: config.rules,
            settle: config.settle,
            timeout: config.drain_timeout,
        }
    }

    /// See the module.
    pub(crate) async fn drain(
        &self,
        node: &NodeId,
        request: &DrainRequest,
    ) -> Result<DrainAnswer, WorkloadError> {
        let failed = |error: kube::Error| explain(&format!("taint node {node}"), &error);
        let cause = match request.cause {
            DrainCause::Idle { .. } => "idle",
            DrainCause::Preemption => "preemption",
        };
        let Some(before) = self.marks.taint(node, cause, &request.message).await.map_err(failed)? else {
            return Ok(DrainAnswer::Accepted);
        };
        if is_tainted(&before) && annotation(&before, EVICT_UNTIL).is_some() {
            // It is on its way already; only another time may be told.
            if let Some(until) = request.deadline {
                self.marks.go(node, until).await.map_err(failed)?;
            }
            return Ok(DrainAnswer::Accepted);
        }
        tokio::time::sleep(self.settle).await;
        if let Some(why) = self.objection(node, request.cause).await? {
            self.marks.clear(node).await.map_err(failed)?;
            return Ok(DrainAnswer::Rejected(why));
        }
        let until = request.deadline.unwrap_or_else(|| {
            Timestamp(now().0.saturating_add(u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX)))
        });
        match self.marks.go(node, until).await.map_err(failed)? {
            Some(false) => Ok(DrainAnswer::Rejected(format!("the drain of node {node} was taken back"))),
            Some(true) | None => {
                self.cache.for_evictor.notify_one();
                Ok(DrainAnswer::Accepted)
            }
        }
    }

    /// Takes a drain back.
    pub(crate) async fn undrain(&self, node: &NodeId) -> Result<(), WorkloadError> {
        self.marks.clear(node).await.map_err(|error| explain(&format!("untaint node {node}"), &error))
    }

    /// Why the node must stay, by what the API server says now.
    async fn objection(&self, node: &NodeId, cause: DrainCause) -> Result<Option<String>, WorkloadError> {
        let on_it = ListParams::default().fields(&format!("spec.nodeName={node}"));
        let list = self
            .pods
            .list(&on_it)
            .await
            .map_err(|error| explain(&format!("list the pods of node {node}"), &error))?;
        let at = now();
        for object in list.items {
            let (namespace, name) = object.key();
            let pod = match map::pod(object.value, self.cache.release()) {
                Ok(None) => continue,
                Ok(Some(pod)) => plain(&pod),
                Err(why) => return Ok(Some(format!("pod {namespace}/{name} cannot be read: {why}"))),
            };
            let idle = matches!(cause, DrainCause::Idle { .. });
            if idle && pod.is_movable() {
                return Ok(Some(format!("pod {namespace}/{name} was placed on it")));
            }
            if let Some(hindrance) = pod.hindrance(&self.rules, at) {
                return Ok(Some(format!("pod {namespace}/{name} may not be moved ({hindrance})")));
            }
        }
        Ok(None)
    }
}

/// As far as a drain cares.
pub(crate) fn plain(pod: &PodFacts) -> Pod {
    Pod {
        name: pod.name.clone(),
        uid: pod.uid.clone(),
        spec: 0,
        node: pod.node.clone(),
        nominated: None,
        created_at: pod.created_at,
        terminating: pod.gone_by.is_some(),
        ignored: None,
        owner: pod.owner.clone(),
        eviction: pod.eviction.clone(),
    }
}
