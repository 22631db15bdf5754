//! A node goes only if all that is on it has a place elsewhere, and gently.

use crate::make::{Deployment, Pool, budget};
use crate::watch::taints;
use crate::world::World;
use kube::ResourceExt;
use serde_json::json;
use std::time::Duration;

/// The free room of all nodes together would do for a pod; that of no single node does.
#[tokio::test(flavor = "multi_thread")]
async fn room_in_pieces_is_no_room() {
    let mut world = World::new(&[Pool::of("general", 5)]).await;
    world.deploy(Deployment::of("big", 2, "2500m")).await;
    world
        .until("two pods run apart", |seen| seen.running("big") == 2 && seen.pool("general").len() == 2)
        .await;
    world.deploy(Deployment::of("small", 1, "1900m")).await;
    world.until("the third has its own node", |seen| seen.running("small") == 1).await;
    // Used for less than half, and 3 CPUs are free elsewhere: 1.5 and 1.5.
    world
        .throughout(Duration::from_secs(8), "its node stays", |seen| {
            seen.pool("general").len() == 3 && seen.nodes.values().all(|node| taints(node).is_empty())
        })
        .await;
    world.scale("big", 1).await;
    world.until("an empty node goes", |seen| seen.pool("general").len() == 2).await;
    world.scale("big", 0).await;
    world.until("one is left", |seen| seen.pool("general").len() == 1 && seen.running("small") == 1).await;
    world.finish(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_stops_a_drain_and_lets_go_later() {
    let mut world = World::new(&[Pool::of("general", 5)]).await;
    world.deploy(Deployment::of("ballast", 2, "2200m")).await;
    world
        .until("two nodes are there", |seen| seen.running("ballast") == 2 && seen.pool("general").len() == 2)
        .await;
    world.deploy(Deployment::of("web", 2, "1500m")).await;
    world.until("one pod on each", |seen| seen.running("web") == 2).await;
    world.apply(budget("web", 2)).await;
    world.scale("ballast", 0).await;
    world
        .throughout(Duration::from_secs(8), "both nodes stay, both pods run", |seen| {
            seen.pool("general").len() == 2 && seen.running("web") == 2
        })
        .await;
    world.apply(budget("web", 1)).await;
    world
        .until("the pods share a node", |seen| seen.pool("general").len() == 1 && seen.running("web") == 2)
        .await;
    world.finish(&[]).await;
}

/// More pods than the budget lets go at once: one after the other.
#[tokio::test(flavor = "multi_thread")]
async fn a_budget_is_kept_while_a_node_is_emptied() {
    let mut world = World::new(&[Pool::of("general", 5)]).await;
    world.deploy(Deployment::of("ballast", 2, "3200m")).await;
    world.until("two nodes are there", |seen| seen.running("ballast") == 2).await;
    world.deploy(Deployment::of("web", 6, "250m").annotated("ostler.dev/kwok-ready", "500ms")).await;
    world.until("three pods on each", |seen| seen.running("web") == 6).await;
    world.apply(budget("web", 5)).await;
    world.until("the budget is known", |seen| seen.running("web") == 6).await;
    world.scale("ballast", 0).await;
    world.until("one node is left", |seen| seen.pool("general").len() == 1 && seen.running("web") == 6).await;
    world.finish(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_that_say_no_keep_their_node() {
    let mut world = World::new(&[Pool::of("general", 5)]).await;
    let no = "cluster-autoscaler.kubernetes.io/safe-to-evict";
    world.deploy(Deployment::of("kept", 1, "500m").annotated(no, "false")).await;
    world.until("it runs", |seen| seen.running("kept") == 1).await;
    let home = world.see(|seen| seen.pool("general")[0].name_any());
    world.deploy(Deployment::of("ballast", 1, "3600m")).await;
    world.until("two nodes", |seen| seen.running("ballast") == 1 && seen.pool("general").len() == 2).await;
    world.deploy(Deployment::of("web", 1, "100m")).await;
    world.until("a third pod runs", |seen| seen.running("web") == 1).await;
    world.scale("ballast", 0).await;
    world.until("one node is left", |seen| seen.pool("general").len() == 1).await;
    let left = world.see(|seen| seen.pool("general")[0].name_any());
    assert_eq!(left, home, "the node of the pod that must not be moved");
    world.finish(&[]).await;
}

/// A Job's pod is left to finish; then its node goes.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_left_to_finish() {
    let mut world = World::new(&[Pool::of("general", 5)]).await;
    world.deploy(Deployment::of("web", 1, "3")).await;
    world.until("a node is there", |seen| seen.running("web") == 1).await;
    world
        .apply(json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "work"},
            "spec": {"template": {
                "metadata": {"labels": {"app": "work"}, "annotations": {"ostler.dev/kwok-run": "12s"}},
                "spec": {"restartPolicy": "Never", "containers": [
                    {"name": "c", "image": "example/none", "resources": {"requests": {"cpu": "1500m"}}},
                ]},
            }},
        }))
        .await;
    world
        .until("the job runs on a second node", |seen| {
            seen.running("work") == 1 && seen.pool("general").len() == 2
        })
        .await;
    let name = world.see(|seen| seen.app("work")[0].name_any());
    world.deploy(Deployment::of("web", 0, "3")).await;
    world
        .until("its pod has finished, the same one", |seen| {
            let pod = seen.app("work").into_iter().find(|pod| pod.name_any() == name);
            pod.and_then(|pod| pod.status.as_ref()?.phase.as_deref()) == Some("Succeeded")
        })
        .await;
    world.until("all nodes go", |seen| seen.nodes.is_empty()).await;
    world.finish(&[]).await;
}

/// Two half-empty nodes become one; then nothing moves any more.
#[tokio::test(flavor = "multi_thread")]
async fn several_nodes_become_one_cheaper() {
    let large = Pool::of("large", 3)
        .with("resources", json!({"cpu": 16, "memory": "64Gi", "pods": 110}))
        .with("price", json!(0.8));
    let mut world = World::new(&[large, Pool::of("small", 6)]).await;
    world.deploy(Deployment::of("wide", 1, "10")).await;
    world
        .until("a large node is there", |seen| seen.running("wide") == 1 && seen.pool("large").len() == 1)
        .await;
    world.deploy(Deployment::of("web", 1, "2")).await;
    world.until("the small one fits beside it", |seen| seen.running("web") == 1).await;
    world.scale("wide", 0).await;
    world
        .until("it moves to a small node", |seen| {
            seen.pool("large").is_empty() && seen.pool("small").len() == 1 && seen.running("web") == 1
        })
        .await;
    world.throughout(Duration::from_secs(5), "and stays there", |seen| seen.pool("small").len() == 1).await;
    world.finish(&[]).await;
}
