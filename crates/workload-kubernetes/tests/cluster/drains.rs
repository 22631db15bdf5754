//! Letting nodes go.

use crate::world::{World, drain, drain_until};
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{Api, Patch, PatchParams};
use ostler_model::{Millis, NodeId, NodeStatus};
use ostler_workload::{DrainAnswer, DrainCause, Workload};
use serde_json::json;
use std::time::{Duration, Instant};

const IDLE: DrainCause = DrainCause::Idle { unused: Millis(1) };
const AWAY: DrainCause = DrainCause::Preemption;

/// A budget for a ReplicaSet of ours, and the controller has counted.
async fn budget(world: &World, app: &str, min_available: u32, allowed: i32) {
    world
        .make_one(json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": app, "namespace": "default"},
            "spec": {"minAvailable": min_available, "selector": {"matchLabels": {"app": app}}},
        }))
        .await;
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(world.admin.clone(), "default");
    world
        .seen("the budget counts", async || {
            let status = budgets.get(app).await.map_err(|e| e.to_string())?.status.unwrap_or_default();
            if status.disruptions_allowed == Some(allowed) { Ok(()) } else { Err(format!("{status:?}")) }
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_leave_in_waves_within_their_budget_and_land_elsewhere() {
    let world = World::shared().await;
    world.node_with("wave-1", json!({"wave": "yes"}), json!([])).await;
    let anywhere = json!({"nodeSelector": {"wave": "yes"}});
    world.replicas("wave-a", "wave-1", 0, json!({})).await;
    world.replicas_anywhere("wave-b", 3, json!({ "spec": anywhere }), json!({"wave": "yes"})).await;
    world.make_one(json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "wave-high"}, "value": 1000})).await;
    world
        .replicas_anywhere(
            "wave-c",
            1,
            json!({"spec": {"priorityClassName": "wave-high", "nodeSelector": {"wave": "yes"}}}),
            json!({"wave": "yes"}),
        )
        .await;
    let on = async |node: &str, app: &str| {
        let pods = world.pods(app).await;
        pods.iter().filter(|pod| pod.spec.as_ref().and_then(|s| s.node_name.as_deref()) == Some(node)).count()
    };
    world
        .seen("all pods on the first node", async || {
            let all = on("wave-1", "wave-b").await + on("wave-1", "wave-c").await;
            if all == 4 { Ok(()) } else { Err(all.to_string()) }
        })
        .await;
    budget(&world, "wave-b", 2, 1).await;
    world.node_with("wave-2", json!({"wave": "yes"}), json!([])).await;
    let workload = world.workload();
    world.status_is(&workload, "wave-1", NodeStatus::Running).await;

    // Somebody who is not us counts: never fewer than two of wave-b, and wave-c stays until wave-b has
    // left.
    let watched = tokio::spawn({
        let pods: Api<Pod> = Api::namespaced(world.admin.clone(), "default");
        async move {
            let mut least = usize::MAX;
            for _ in 0..600 {
                let Ok(list) = pods.list(&Default::default()).await else { continue };
                let of = |pod: &&Pod, app: &str| {
                    pod.metadata.labels.as_ref().and_then(|l| l.get("app")).is_some_and(|a| a == app)
                };
                let healthy = |pod: &&Pod| {
                    pod.metadata.deletion_timestamp.is_none()
                        && pod
                            .status
                            .iter()
                            .flat_map(|s| s.conditions.iter().flatten())
                            .any(|c| c.type_ == "Ready" && c.status == "True")
                };
                let on =
                    |pod: &&Pod| pod.spec.as_ref().and_then(|s| s.node_name.as_deref()) == Some("wave-1");
                least = least.min(list.items.iter().filter(|p| of(p, "wave-b") && healthy(p)).count());
                let low = list.items.iter().filter(|p| of(p, "wave-b") && on(p)).count();
                let high = list
                    .items
                    .iter()
                    .filter(|p| of(p, "wave-c") && on(p) && p.metadata.deletion_timestamp.is_none())
                    .count();
                assert!(high == 1 || low == 0, "the higher priority left before the lower");
                if low + high == 0 {
                    return least;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            panic!("the pods stay")
        }
    });
    let begun = Instant::now();
    assert_eq!(drain(&workload, "wave-1", AWAY).await, DrainAnswer::Accepted);
    println!("drain accepted after {:?}", begun.elapsed());
    world.status_is(&workload, "wave-1", NodeStatus::Drained).await;
    println!("drained after {:?}", begun.elapsed());
    assert!(watched.await.expect("the watcher") >= 2, "the budget was kept");
    assert_eq!(
        on("wave-2", "wave-b").await + on("wave-2", "wave-c").await,
        4,
        "all landed on the other node"
    );
    // Asking again changes nothing; a node that is drained stays so.
    assert_eq!(drain(&workload, "wave-1", AWAY).await, DrainAnswer::Accepted);
    workload.undrain(&NodeId::from("wave-1")).await.expect("undrain answers");
    workload.undrain(&NodeId::from("wave-1")).await.expect("and twice is fine");
    world.status_is(&workload, "wave-1", NodeStatus::Idle).await;
    assert!(world.marks("wave-1").await.is_empty());
    workload.undrain(&NodeId::from("no-such-node")).await.expect("an unknown node is fine");
    world.delete(json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "wave-b", "namespace": "default"}})).await;
    world.clean(&["wave-1", "wave-2"], &["wave-a", "wave-b", "wave-c"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_that_allows_nothing_gives_the_node_back_in_time_and_says_so() {
    let world = World::shared().await;
    world.node_with("stuck-1", json!({}), json!([{"key": "foreign", "effect": "NoSchedule"}])).await;
    world.replicas("stuck", "stuck-1", 1, json!({"spec": {"tolerations": [{"operator": "Exists"}]}})).await;
    budget(&world, "stuck", 1, 0).await;
    let workload = world.workload();
    world.status_is(&workload, "stuck-1", NodeStatus::Running).await;
    let answer = drain_until(&workload, "stuck-1", AWAY, Some(Duration::from_secs(6))).await;
    assert_eq!(answer, DrainAnswer::Accepted);
    world.status_is(&workload, "stuck-1", NodeStatus::Draining).await;
    world
        .node_is(&workload, "stuck-1", "back at work", |node, kube| {
            node.status == NodeStatus::Running && !kube.draining
        })
        .await;
    assert!(world.marks("stuck-1").await.is_empty(), "nothing of ours is left");
    let node = Api::<Node>::all(world.admin.clone()).get("stuck-1").await.expect("the node");
    let taints = node.spec.and_then(|spec| spec.taints).unwrap_or_default();
    assert!(taints.iter().any(|taint| taint.key == "foreign"), "the taint of others stays");
    let pod = world.pods("stuck").await[0].metadata.name.clone().expect("a name");
    let events = world.events("stuck-1").await;
    assert!(
        events.iter().any(|text| text.starts_with("ScaleDownFailed: ")
            && text.contains(&pod)
            && text.contains("budget stuck")),
        "{events:?}"
    );
    world.delete(json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "stuck", "namespace": "default"}})).await;
    world.clean(&["stuck-1"], &["stuck"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_comes_before_the_last_check_stops_an_idle_drain() {
    let world = World::shared().await;
    world.node("race-1").await;
    let workload = KubernetesSlow::start(&world);
    world.status_is(&workload.0, "race-1", NodeStatus::Idle).await;
    let late = async {
        // The taint is there: this one was bound before the scheduler saw it.
        world
            .seen("the taint", async || {
                if world.marks("race-1").await.is_empty() { Err("none".into()) } else { Ok(()) }
            })
            .await;
        world.make_one(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "race-pod", "namespace": "default"},
            "spec": {"nodeName": "race-1", "containers": [{"name": "c", "image": "none"}]}})).await;
    };
    let (answer, ()) = tokio::join!(drain(&workload.0, "race-1", IDLE), late);
    assert_eq!(answer, DrainAnswer::Rejected("pod default/race-pod was placed on it".into()));
    world.status_is(&workload.0, "race-1", NodeStatus::Running).await;
    assert!(world.marks("race-1").await.is_empty());
    // Nothing would make it again: it is not evicted for another cause either.
    let answer = drain(&workload.0, "race-1", AWAY).await;
    assert_eq!(
        answer,
        DrainAnswer::Rejected(
            "pod default/race-pod may not be moved (no controller would make it again)".into()
        )
    );
    assert!(world.marks("race-1").await.is_empty());
    world.delete(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "race-pod", "namespace": "default"}})).await;
    world.clean(&["race-1"], &[]).await;
}

/// With time between the taint and the check, even on a loaded machine.
struct KubernetesSlow(ostler_workload_kubernetes::KubernetesWorkload);

impl KubernetesSlow {
    fn start(world: &World) -> Self {
        let config = ostler_workload_kubernetes::Config { settle: Duration::from_secs(3), ..world.config() };
        Self(ostler_workload_kubernetes::KubernetesWorkload::start(config).expect("it starts"))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_may_not_be_moved_and_comes_after_the_check_gives_the_node_back() {
    let world = World::shared().await;
    world.node("late-1").await;
    world.replicas("late", "late-1", 1, json!({})).await;
    budget(&world, "late", 1, 0).await;
    let workload = world.workload();
    world.status_is(&workload, "late-1", NodeStatus::Running).await;
    assert_eq!(drain(&workload, "late-1", AWAY).await, DrainAnswer::Accepted);
    world
        .make_one(
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "late-pod", "namespace": "default",
        "annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}},
        "spec": {"nodeName": "late-1", "containers": [{"name": "c", "image": "none"}]}}),
        )
        .await;
    world
        .node_is(&workload, "late-1", "back at work", |node, kube| {
            node.status == NodeStatus::Running && !kube.draining
        })
        .await;
    world
        .seen("the event", async || {
            let events = world.events("late-1").await;
            let told = events
                .iter()
                .any(|text| text.contains("default/late-pod may not be moved (an annotation forbids it)"));
            if told { Ok(()) } else { Err(format!("{events:?}")) }
        })
        .await;
    let left = world.pods("late").await;
    assert!(left.len() == 1 && left[0].metadata.deletion_timestamp.is_none(), "the other pod is untouched");
    world.delete(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "late-pod", "namespace": "default"}})).await;
    world.delete(json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "late", "namespace": "default"}})).await;
    world.clean(&["late-1"], &["late"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_goes_on_after_a_death_and_a_taint_alone_is_taken_back() {
    let world = World::shared().await;
    world.node("death-1").await;
    world.node("death-2").await;
    world.replicas("death", "death-1", 1, json!({})).await;
    budget(&world, "death", 1, 0).await;
    let workload = world.workload();
    world.status_is(&workload, "death-1", NodeStatus::Running).await;
    assert_eq!(drain(&workload, "death-1", AWAY).await, DrainAnswer::Accepted);
    // Another drain dies between its taint and its mark.
    let died = tokio::time::timeout(Duration::from_millis(300), drain(&workload, "death-2", AWAY)).await;
    assert!(died.is_err(), "settling takes longer");
    drop(workload);
    world
        .seen(
            "the taint",
            async || if world.marks("death-2").await.is_empty() { Err("none".into()) } else { Ok(()) },
        )
        .await;

    let workload = world.workload();
    world.status_is(&workload, "death-1", NodeStatus::Draining).await;
    world
        .node_is(&workload, "death-2", "tainted and at work", |node, kube| {
            node.status == NodeStatus::Idle && kube.draining
        })
        .await;
    workload.undrain(&NodeId::from("death-2")).await.expect("undrain answers");
    assert!(world.marks("death-2").await.is_empty());
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(world.admin.clone(), "default");
    let fewer = Patch::Merge(json!({"spec": {"minAvailable": 0}}));
    budgets.patch("death", &PatchParams::default(), &fewer).await.expect("a budget");
    world.status_is(&workload, "death-1", NodeStatus::Drained).await;
    world.delete(json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "death", "namespace": "default"}})).await;
    world.clean(&["death-1", "death-2"], &["death"]).await;
}
