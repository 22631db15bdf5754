//! Pods without a place bring nodes, and nodes that nothing needs go.

use crate::make::{Deployment, Pool};
use crate::watch::node_is_ready;
use crate::world::World;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn from_zero_up_and_back_to_zero() {
    let mut world = World::new(&[Pool::of("general", 5)]).await;
    world
        .throughout(Duration::from_secs(2), "nothing is wanted, nothing is made", |seen| {
            seen.nodes.is_empty()
        })
        .await;
    world.deploy(Deployment::of("web", 3, "3")).await;
    world
        .until("three pods run on three nodes", |seen| {
            seen.running("web") == 3 && seen.pool("general").len() == 3
        })
        .await;
    let said = world.events("TriggeredScaleUp").await;
    assert_eq!(said.len(), 3, "each pod is told that a node comes for it: {said:?}");
    world.scale("web", 0).await;
    world.until("the nodes go", |seen| seen.nodes.is_empty()).await;
    world.scale("web", 1).await;
    world.until("one comes again", |seen| seen.running("web") == 1 && seen.pool("general").len() == 1).await;
    world.finish(&[]).await;
}

/// The three layers together: replicas rise as an autoscaler of pods would have it, nodes follow, and both fall.
#[tokio::test(flavor = "multi_thread")]
async fn replicas_rise_and_fall_and_nodes_follow() {
    let mut world = World::new(&[Pool::of("general", 6)]).await;
    world.deploy(Deployment::of("web", 4, "1900m")).await;
    world
        .until("four pods run on two nodes", |seen| {
            seen.running("web") == 4 && seen.pool("general").len() == 2
        })
        .await;
    world.scale("web", 8).await;
    world
        .until("eight pods run on four nodes", |seen| {
            seen.running("web") == 8 && seen.pool("general").len() == 4
        })
        .await;
    world.scale("web", 2).await;
    world
        .until("few nodes are left", |seen| seen.running("web") == 2 && seen.pool("general").len() <= 2)
        .await;
    world
        .until("two pods share one node", |seen| seen.running("web") == 2 && seen.pool("general").len() == 1)
        .await;
    world.finish(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_on_their_way_are_not_bought_twice() {
    let slow = Pool::of("slow", 9).with("template", serde_json::json!({"boot": "5s"}));
    let mut world = World::new(&[slow]).await;
    world.deploy(Deployment::of("web", 2, "3")).await;
    world.until("two nodes boot", |seen| seen.pool("slow").len() == 2).await;
    world.deploy(Deployment::of("more", 1, "3")).await;
    world.until("all run", |seen| seen.running("web") == 2 && seen.running("more") == 1).await;
    assert_eq!(world.see(|seen| seen.most["slow"]), 3, "never more than needed");
    world.finish(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_is_never_over_its_bound() {
    let mut world = World::new(&[Pool::of("general", 2).with("min", 1.into())]).await;
    world.until("the least is there", |seen| seen.pool("general").len() == 1).await;
    world.deploy(Deployment::of("web", 4, "3")).await;
    world.until("two pods run", |seen| seen.running("web") == 2).await;
    world.throughout(Duration::from_secs(4), "no third node", |seen| seen.pool("general").len() == 2).await;
    world.scale("web", 0).await;
    world.until("the least stays", |seen| seen.pool("general").len() == 1).await;
    world
        .throughout(Duration::from_secs(4), "it stays", |seen| {
            seen.pool("general").iter().all(|n| node_is_ready(n))
        })
        .await;
    world.finish(&[]).await;
}
