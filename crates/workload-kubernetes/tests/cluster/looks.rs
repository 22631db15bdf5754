//! What is seen.

use crate::world::{PATIENCE, World, as_ostler, cluster, kube_node};
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ListParams, Patch, PatchParams};
use ostler_model::kube::VolumeNeed;
use ostler_model::{NodeStatus, Quantity};
use ostler_workload::Workload;
use serde_json::json;
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_seen() {
    let world = World::shared().await;
    world
        .node_with(
            "see-1",
            json!({"ostler.dev/pool": "general", "topology.kubernetes.io/zone": "a"}),
            json!([{"key": "dedicated", "value": "see", "effect": "NoSchedule"}]),
        )
        .await;
    world.replicas("see-busy", "see-1", 1, json!({"spec": {"tolerations": [{"operator": "Exists"}]}})).await;
    world.make(include_str!("things.yaml")).await;
    // The API server takes a while to serve a kind that is new.
    let buffers = format!(
        "{}\n---\n{}",
        BUFFER.replace("NAME", "see-good").replace("REPLICAS", "2"),
        BUFFER.replace("NAME", "see-odd").replace("REPLICAS", "many")
    );
    world
        .seen("the kind CapacityBuffer", async || {
            let list = world.lab.kubectl(&["get", "capacitybuffers", "-A"]);
            if list.status.success() { Ok(()) } else { Err(format!("{list:?}")) }
        })
        .await;
    world.make(&buffers).await;

    let workload = world.workload();
    let state = workload.observe().await.expect("a look");
    let seen = cluster(&state);
    assert!(!state.session.is_empty(), "the life of the cluster");
    let node = kube_node(&state, "see-1").expect("the node");
    assert_eq!(node.taints.iter().map(ToString::to_string).collect::<Vec<_>>(), ["dedicated=see:NoSchedule"]);
    assert!(node.ready && !node.draining && !node.unschedulable);
    assert_eq!(node.attach_limits.get("ebs.csi.aws.com"), Some(&5));
    let worker = state.nodes.iter().find(|n| n.id.as_str() == "see-1").expect("the worker");
    assert_eq!(worker.cloud.as_ref().map(|id| id.as_str()), Some("test://see-1"));
    assert_eq!(worker.pool.as_ref().map(|id| id.as_str()), Some("general"));
    assert_eq!((worker.status, worker.address.as_str()), (NodeStatus::Running, "10.9.8.7"));
    assert_eq!(worker.available.get("cpu").to_string(), "3.9");

    let find = |name: &str| {
        let pod = seen.pods.iter().find(|pod| &*pod.name == name).unwrap_or_else(|| panic!("pod {name}"));
        (pod, &seen.specs[pod.spec as usize])
    };
    let (odd, spec) = find("see-odd-amounts");
    assert_eq!(odd.node, None);
    assert_eq!(
        spec.requests.to_string(),
        "cpu 0.001, ephemeral-storage 1000, example.com/thing 3, memory 1073741825, pods 1"
    );
    let (_, spec) = find("see-volumes");
    assert!(
        matches!(&spec.volumes[..], [VolumeNeed::Unbound { driver, .. }, VolumeNeed::Missing { .. }] if &**driver == "ebs.csi.aws.com"),
        "{:?}",
        spec.volumes
    );
    assert_eq!(find("see-gated").0.ignored.as_deref(), Some("scheduling gates: example.com/wait"));
    assert!(find("see-device").1.unjudged.is_some());
    let (_, spec) = find("see-terms");
    assert_eq!(
        spec.anti_affinity[0].selector.as_ref().map(|s| s.requirements.len()),
        Some(1),
        "merged once: {spec:?}"
    );
    assert_eq!(
        spec.spread[0].selector.as_ref().map(|s| s.requirements.len()),
        Some(1),
        "merged once: {spec:?}"
    );

    assert!(seen.daemons.iter().any(|daemon| &*daemon.name == "default/see-daemon"));
    assert!(seen.budgets.iter().any(|budget| &*budget.name == "see-budget"));
    assert_eq!(seen.namespaces["see-space"].get("team").map(|team| &**team), Some("a"));
    let headroom =
        seen.headroom.iter().find(|headroom| &*headroom.name == "default/see-good").expect("the buffer");
    assert_eq!(
        (headroom.count, seen.specs[headroom.spec as usize].requests.get("cpu")),
        (2, Quantity::units(3))
    );
    let skipped: Vec<_> = state.skipped.iter().filter(|text| text.contains("see-")).collect();
    assert_eq!(skipped.len(), 1, "{skipped:?}");
    assert!(
        skipped[0].starts_with("CapacityBuffer default/see-odd: invalid type: string \"many\""),
        "{skipped:?}"
    );
    world.clean(&["see-1"], &["see-busy"]).await;
    world.lab.kubectl(&[
        "delete",
        "pods,daemonsets,pdb,pvc",
        "-n",
        "default",
        "-l",
        "see=yes",
        "--wait=false",
    ]);
}

const BUFFER: &str = "apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: NAME, namespace: default}
spec: {podTemplateRef: {name: see-template}, replicas: REPLICAS}";

#[tokio::test(flavor = "multi_thread")]
async fn a_change_knocks_and_a_heartbeat_does_not() {
    let world = World::shared().await;
    world.node("knock-1").await;
    let workload = world.workload();
    workload.observe().await.expect("a look");
    let door = workload.door().expect("a door");
    // What began before the first look is over after this.
    while tokio::time::timeout(Duration::from_secs(2), door.knocked()).await.is_ok() {}
    let nodes: Api<Node> = Api::all(world.admin.clone());
    let beat = json!({"status": {"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-02-02T00:00:00Z"}]}});
    nodes
        .patch_status("knock-1", &PatchParams::default(), &Patch::Strategic(beat))
        .await
        .expect("a heartbeat");
    let quiet = tokio::time::timeout(Duration::from_secs(2), door.knocked()).await;
    assert!(quiet.is_err(), "a heartbeat changes nothing");

    let before = workload.observe().await.expect("a look").version;
    let begun = Instant::now();
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "knock-pod", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "none"}], "nodeSelector": {"no": "where"}}});
    world.make_one(pod.clone()).await;
    tokio::time::timeout(PATIENCE, door.knocked()).await.expect("a pod knocks");
    println!("knocked {:?} after the pod was asked for", begun.elapsed());
    let after = workload.observe().await.expect("a look");
    assert!(after.version > before);
    assert!(cluster(&after).pods.iter().any(|pod| &*pod.name == "knock-pod"));
    world.delete(pod).await;
    world.clean(&["knock-1"], &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_granted_is_refused() {
    let world = World::shared().await;
    let poor = as_ostler(&world).await;
    let secrets: Api<k8s_openapi::api::core::v1::Secret> = Api::all(poor.clone());
    let refused = secrets.list(&ListParams::default()).await;
    assert!(
        matches!(refused, Err(kube::Error::Api(status)) if status.code == 403),
        "the account is not an admin"
    );
    let pods: Api<k8s_openapi::api::core::v1::Pod> = Api::namespaced(poor, "default");
    let refused = pods.delete("any", &Default::default()).await;
    assert!(
        matches!(refused, Err(kube::Error::Api(status)) if status.code == 403),
        "pods are evicted, never deleted"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn without_rights_the_look_says_what_to_grant() {
    let world = World::shared().await;
    let kubeconfig = Some(world.lab.kubeconfig_of("default", "default").await);
    let config = ostler_workload_kubernetes::Config { kubeconfig, ..world.config() };
    let workload = ostler_workload_kubernetes::KubernetesWorkload::start(config).expect("it starts");
    let error =
        tokio::time::timeout(PATIENCE, workload.observe()).await.expect("an answer").expect_err("no rights");
    assert_eq!(
        (error.class, error.code),
        (ostler_model::FailureClass::Denied, "kubernetes.forbidden"),
        "{error}"
    );
    assert!(error.message.contains("deploy/rbac.yaml"), "{error}");
}
