//! What breaks: Ostler, the API server, machines. Nothing is lost, and nothing is doubled.

use crate::make::{Deployment, Pool};
use crate::watch::{Seen, is_marked, node_is_ready, node_of, taints};
use crate::world::World;
use kube::ResourceExt;
use ostler_testkit::kube::Component;
use serde_json::json;
use std::time::{Duration, Instant};

/// Two nodes with a pod each that takes so long to end, and one node's worth of room.
pub(crate) async fn about_to_drain(world: &mut World, stop: &str) {
    world.deploy(Deployment::of("ballast", 2, "2200m")).await;
    world
        .until("two nodes are there", |seen| seen.running("ballast") == 2 && seen.pool("general").len() == 2)
        .await;
    world.deploy(Deployment::of("web", 2, "1500m").annotated("ostler.dev/kwok-stop", stop)).await;
    world.until("one pod on each", |seen| seen.running("web") == 2).await;
    world.scale("ballast", 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_during_a_drain() {
    let mut world = World::new(&[Pool::of("general", 5)]).await;
    about_to_drain(&mut world, "6s").await;
    world.until("a node is marked", |seen| seen.nodes.values().any(is_marked)).await;
    world.kill();
    world.throughout(Duration::from_secs(1), "Ostler is dead", |seen| seen.nodes.len() == 2).await;
    world.start();
    world.until("the drain goes on", |seen| seen.nodes.len() == 1 && seen.running("web") == 2).await;
    world.finish(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_while_pods_end() {
    let mut world = World::new(&[Pool::of("general", 5)]).await;
    about_to_drain(&mut world, "6s").await;
    let leaving = |pod: &k8s_openapi::api::core::v1::Pod| {
        pod.metadata.deletion_timestamp.is_some()
            && pod.metadata.labels.as_ref().is_some_and(|l| l["app"] == "web")
    };
    world.until("a pod is evicted", |seen| seen.pods.values().any(leaving)).await;
    world.kill();
    world.start();
    world.until("the drain goes on", |seen| seen.nodes.len() == 1 && seen.running("web") == 2).await;
    world.finish(&[]).await;
}

/// A crash left a mark, and the node is wanted again when Ostler is back.
#[tokio::test(flavor = "multi_thread")]
async fn a_mark_that_is_left_behind_is_cleaned() {
    let mut world = World::new(&[Pool::of("general", 5)]).await;
    about_to_drain(&mut world, "6s").await;
    world.until("a node is marked", |seen| seen.nodes.values().any(is_marked)).await;
    world.kill();
    world.scale("ballast", 2).await;
    world.start();
    world.until("all run again", |seen| seen.running("web") == 2 && seen.running("ballast") == 2).await;
    world.finish(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_server_is_away_for_a_while() {
    let mut world = World::new(&[Pool::of("general", 5)]).await;
    world.deploy(Deployment::of("web", 2, "3")).await;
    world.until("two nodes", |seen| seen.running("web") == 2).await;
    world.lab.kill(Component::ApiServer);
    world.say("the API server is dead");
    tokio::time::sleep(Duration::from_secs(5)).await;
    world.lab.revive(Component::ApiServer).await;
    world.say("the API server is back");
    assert_eq!(world.see(|seen| seen.nodes.len()), 2, "nothing was removed in the dark");
    world.scale("web", 3).await;
    world.until("a third pod gets its node", |seen| seen.running("web") == 3).await;
    world.scale("web", 0).await;
    world.until("all nodes go", |seen| seen.nodes.is_empty()).await;
    world.finish(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_never_becomes_ready_is_replaced_elsewhere() {
    let broken =
        Pool::of("broken", 2).with("price", json!(0.01)).with("template", json!({"never_ready": true}));
    let knobs = json!({"node_timeout": "5s", "launch_backoff": "60s"});
    let mut world = World::with(&[broken, Pool::of("good", 2)], knobs).await;
    world.deploy(Deployment::of("web", 1, "3")).await;
    world.until("the cheap pool is tried", |seen| seen.pool("broken").len() == 1).await;
    world
        .until("the pod runs on a good node", |seen| seen.running("web") == 1 && seen.pool("good").len() == 1)
        .await;
    world.until("the broken one is gone", |seen| seen.pool("broken").is_empty()).await;
    world
        .throughout(Duration::from_secs(4), "it is not tried again", |seen| seen.pool("broken").is_empty())
        .await;
    world.finish(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_that_is_refused_rests_and_its_pods_go_elsewhere() {
    let empty = Pool::of("empty", 2)
        .with("price", json!(0.01))
        .with("template", json!({"refuse": "out_of_capacity"}));
    let mut world = World::with(&[empty, Pool::of("good", 2)], json!({"launch_backoff": "60s"})).await;
    world.deploy(Deployment::of("web", 2, "3")).await;
    world.until("the pods run", |seen| seen.running("web") == 2 && seen.pool("good").len() == 2).await;
    assert_eq!(world.see(|seen| seen.most.get("empty").copied()), None);
    world.finish(&[]).await;
}

/// A node whose kubelet died: its pods are made again as soon as they are evicted (usually after five minutes) and get
/// a new node; the old one goes once it has been silent for `unready`.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_died_goes_after_its_time_and_its_pods_get_another() {
    const UNREADY: Duration = Duration::from_secs(8);
    let mut world = World::with(&[Pool::of("general", 3)], json!({"scale_down": {"unready": "8s"}})).await;
    world.deploy(Deployment::of("web", 2, "3")).await;
    world.until("two nodes", |seen| seen.running("web") == 2 && seen.pool("general").len() == 2).await;
    world.until_ostler_says("status", "2 running").await;
    let (pod, victim) = world.see(|seen| {
        let pod = seen.app("web")[0];
        (pod.name_any(), node_of(pod).expect("it runs").to_owned())
    });
    let died = Instant::now();
    world.let_die(&victim).await;
    world.delete("v1", "Pod", &pod).await;
    world
        .until("a new pod runs on a new node", |seen| {
            seen.running("web") == 2 && seen.app("web").iter().all(|one| node_of(one) != Some(&victim))
        })
        .await;
    let there = |seen: &Seen| seen.pool("general").iter().any(|node| node.name_any() == victim);
    world.until("the dead one goes", |seen| !there(seen)).await;
    // Kubernetes cuts times to whole seconds.
    assert!(died.elapsed() > UNREADY - Duration::from_secs(1), "after {:?}", died.elapsed());
    assert_eq!(world.see(|seen| seen.most["general"]), 3, "one in its place, no more");
    world.finish(&[]).await;
}

/// A provider that promises more than its nodes have: no endless row of nodes.
#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_lies_about_its_nodes() {
    let liar = Pool::of("liar", 4)
        .with("price", json!(0.01))
        .with("template", json!({"boot": "1s", "allocatable": {"cpu": "2"}}));
    let mut world =
        World::with(&[liar, Pool::of("good", 2)], json!({"node_timeout": "5s", "launch_backoff": "60s"}))
            .await;
    world.deploy(Deployment::of("web", 1, "3")).await;
    world.until("the pod runs on an honest node", |seen| seen.running("web") == 1).await;
    assert!(world.see(|seen| seen.most["liar"]) <= 2, "{}", world.report());
    world.finish(&[]).await;
}

/// A node that is ready and has its startup taints still counts as on its way.
#[tokio::test(flavor = "multi_thread")]
async fn startup_taints_are_waited_for() {
    let pool = Pool::of("slow", 3)
        .with("startup_taints", json!(["net.example/not-ready:NoSchedule"]))
        .with("template", json!({"boot": "1s", "startup": "4s"}));
    let mut world = World::new(&[pool]).await;
    world.deploy(Deployment::of("web", 1, "3")).await;
    world
        .until("the node is ready and not yet open", |seen| {
            seen.pool("slow")
                .iter()
                .any(|node| node_is_ready(node) && taints(node).contains(&"net.example/not-ready"))
        })
        .await;
    world.until("the pod runs", |seen| seen.running("web") == 1).await;
    assert_eq!(world.see(|seen| seen.most["slow"]), 1, "no second node for the same pod");
    world.finish(&[]).await;
}
