//! What a kubelet asks of the API server, each request idempotent.

use super::pod::{Container, Pod};
use super::world::Action;
use crate::node::{self, SITE};
use crate::provider::LEASES;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod as FullPod};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Client, Error, Resource, ResourceExt};
use ostler_model::{Millis, Timestamp};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// Leases of nodes that are gone are kept this long.
const KEPT: Millis = Millis::secs(3600);

/// One kubelet's hands.
#[derive(Clone)]
pub(super) struct Hands {
    pub(super) client: Client,
    pub(super) site: String,
}

impl Hands {
    /// Acts on a node.
    pub(super) async fn node(&self, name: &str, action: &Action) -> Result<(), Error> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        match action {
            Action::Boot => {
                self.renew(name).await?;
                let up = node::ready_condition(
                    ("True", "KubeletReady", "the kubelet of pretence is up"),
                    node::now(),
                );
                let patch = json!({ "status": { "conditions": [up] } });
                let patched =
                    nodes.patch_status(name, &PatchParams::default(), &Patch::Strategic(patch)).await;
                gone_is_fine(patched)
            }
            Action::Renew => self.renew(name).await,
            Action::Bury => self.renew(name).await,
            Action::Untaint { at, key } => {
                // Only if it is still that taint: somebody else may have changed the list.
                let place = format!("/spec/taints/{at}");
                let patch = json!([
                    { "op": "test", "path": format!("{place}/key"), "value": key },
                    { "op": "remove", "path": place },
                ]);
                let patch: kube::core::params::Patch<Value> =
                    Patch::Json(serde_json::from_value(patch).map_err(Error::SerdeError)?);
                gone_is_fine(nodes.patch(name, &PatchParams::default(), &patch).await)
            }
            Action::End => {
                // The lease first: it remembers the token when the node is gone.
                self.renew(name).await?;
                gone_is_fine(nodes.delete(name, &DeleteParams::default()).await)
            }
            Action::Run { .. } | Action::Ready | Action::Succeed | Action::Remove => Ok(()),
        }
    }

    /// Acts on a pod.
    pub(super) async fn pod(&self, pod: &Pod, action: &Action) -> Result<(), Error> {
        let namespace = pod.namespace().unwrap_or_default();
        let pods: Api<FullPod> = Api::namespaced(self.client.clone(), &namespace);
        let name = pod.name_any();
        let patch = match action {
            Action::Run { ready } => running(pod, *ready),
            Action::Ready => running(pod, true),
            Action::Succeed => over(pod, "Succeeded"),
            Action::Remove => {
                let held = pod.meta().finalizers.as_ref().is_some_and(|all| !all.is_empty());
                if held && !pod.is_over() {
                    // Whoever holds it (a Job) wants to see that it has ended.
                    self.patch_status(&pods, &name, over(pod, "Failed")).await?;
                }
                let same = Preconditions { uid: pod.uid(), resource_version: None };
                let now = DeleteParams::default().grace_period(0).preconditions(same);
                return match pods.delete(&name, &now).await {
                    // Another of the same name is not the one that was meant.
                    Err(Error::Api(status)) if status.code == 409 => Ok(()),
                    other => gone_is_fine(other),
                };
            }
            _ => return Ok(()),
        };
        self.patch_status(&pods, &name, patch).await
    }

    async fn patch_status(&self, pods: &Api<FullPod>, name: &str, mut patch: Value) -> Result<(), Error> {
        if let Some(version) = patch.as_object_mut().and_then(|patch| patch.remove("uid")) {
            patch["metadata"] = json!({ "uid": version });
        }
        let patched = pods.patch_status(name, &PatchParams::default(), &Patch::Strategic(patch)).await;
        match patched {
            Err(Error::Api(status)) if status.code == 409 => Ok(()),
            other => gone_is_fine(other),
        }
    }

    /// Renews a lease, and makes it if there is none.
    async fn renew(&self, name: &str) -> Result<(), Error> {
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), LEASES);
        let now = micro(node::now());
        let spec = json!({ "holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now });
        let patch = Patch::Merge(json!({ "spec": spec }));
        match leases.patch(name, &PatchParams::default(), &patch).await {
            Err(Error::Api(status)) if status.code == 404 => {}
            other => return other.map(|_| ()),
        }
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": { "name": name, "labels": { (SITE): self.site } },
            "spec": spec,
        });
        let lease: Lease = serde_json::from_value(lease).map_err(Error::SerdeError)?;
        match leases.create(&PostParams::default(), &lease).await {
            Err(Error::Api(status)) if status.code == 409 => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// Removes leases of nodes that are gone since long; the answer is the nodes that went not long ago.
    pub(super) async fn sweep(&self) -> Result<Vec<String>, Error> {
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), LEASES);
        let ours = ListParams::default().labels(&format!("{SITE}={}", self.site));
        // Leases first: a node that comes in between is seen to be there.
        let list = leases.list(&ours).await?;
        let there = Api::<Node>::all(self.client.clone()).list_metadata(&ours).await?;
        let there: BTreeSet<_> = there.items.iter().map(ResourceExt::name_any).collect();
        let (now, mut gone) = (node::now(), Vec::new());
        for lease in list.items.iter().filter(|lease| !there.contains(&lease.name_any())) {
            let renewed = lease.spec.as_ref().and_then(|spec| spec.renew_time.as_ref());
            let renewed = renewed.map_or(0, |time| u64::try_from(time.0.as_millisecond()).unwrap_or(0));
            if now.since(Timestamp(renewed)) > KEPT {
                gone_is_fine(leases.delete(&lease.name_any(), &DeleteParams::default()).await)?;
            } else {
                gone.push(lease.name_any());
            }
        }
        Ok(gone)
    }
}

/// The status of a pod that runs.
fn running(pod: &Pod, ready: bool) -> Value {
    let start = pod.status.start_time.clone().unwrap_or_else(|| node::time(node::now()));
    let address = address(pod);
    let truth = if ready { "True" } else { "False" };
    let container = |one: &Container| {
        json!({
            "name": one.name, "image": one.image, "imageID": "", "ready": ready, "started": true,
            "restartCount": 0, "state": { "running": { "startedAt": start } },
        })
    };
    let done = |one: &Container| {
        if one.restart_policy == "Always" { container(one) } else { terminated(one, 0, &json!(start)) }
    };
    json!({
        "uid": pod.uid(),
        "status": {
            "phase": "Running",
            "conditions": conditions(&[("Initialized", "True"), ("ContainersReady", truth), ("Ready", truth)], None),
            "containerStatuses": pod.spec.containers.iter().map(container).collect::<Vec<_>>(),
            "initContainerStatuses": pod.spec.init_containers.iter().map(done).collect::<Vec<_>>(),
            "hostIP": node::host_address(&pod.spec.node_name),
            "podIP": address,
            "podIPs": [{ "ip": address }],
            "startTime": start,
        },
    })
}

/// The status of a pod that has ended.
fn over(pod: &Pod, phase: &str) -> Value {
    let code = if phase == "Succeeded" { 0 } else { 137 };
    let start = json!(pod.status.start_time.clone().unwrap_or_else(|| node::time(node::now())));
    let statuses: Vec<_> = pod.spec.containers.iter().map(|one| terminated(one, code, &start)).collect();
    let reason = if code == 0 { "PodCompleted" } else { "NodeGone" };
    json!({
        "uid": pod.uid(),
        "status": {
            "phase": phase,
            "conditions": conditions(&[("ContainersReady", "False"), ("Ready", "False")], Some(reason)),
            "containerStatuses": statuses,
        },
    })
}

fn terminated(one: &Container, code: i32, start: &Value) -> Value {
    let reason = if code == 0 { "Completed" } else { "Error" };
    let end = node::time(node::now());
    json!({
        "name": one.name, "image": one.image, "imageID": "", "ready": code == 0, "started": false,
        "restartCount": 0,
        "state": { "terminated": { "exitCode": code, "reason": reason, "startedAt": start, "finishedAt": end } },
    })
}

fn conditions(list: &[(&str, &str)], reason: Option<&str>) -> Vec<Value> {
    let at = node::time(node::now());
    let condition = |(type_, status): &(&str, &str)| json!({ "type": type_, "status": status, "reason": reason, "lastTransitionTime": at });
    list.iter().map(condition).collect()
}

/// An address that is its own with good luck: nobody listens there.
fn address(pod: &Pod) -> String {
    let digest = Sha256::digest(pod.uid().unwrap_or_default());
    format!("100.{}.{}.{}", 64 + digest[0] % 64, digest[1], 1 + digest[2] % 254)
}

fn micro(at: Timestamp) -> String {
    let time = k8s_openapi::jiff::Timestamp::from_millisecond(at.0 as i64).unwrap_or_default();
    format!("{time:.6}")
}

/// What is not there any more needs nothing.
fn gone_is_fine<T>(result: Result<T, Error>) -> Result<(), Error> {
    match result {
        Err(Error::Api(status)) if status.code == 404 => Ok(()),
        other => other.map(|_| ()),
    }
}
