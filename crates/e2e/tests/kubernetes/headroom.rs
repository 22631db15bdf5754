//! Room that is kept free: nodes come for it, real pods use it at once, and it is made again.

use crate::make::{Deployment, Pool, buffer, template};
use crate::watch::{Seen, node_of};
use crate::world::World;
use kube::ResourceExt;
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;

/// Real pods take the room that is there, and as much comes again.
async fn used_and_refilled(world: &mut World, room: usize) {
    let ready = move |seen: &Seen| {
        seen.pool("general").len() == room
            && seen.pool("general").iter().all(|node| crate::watch::node_is_ready(node))
    };
    world.until("nodes come for room alone", ready).await;
    world.throughout(Duration::from_secs(3), "they stay", ready).await;
    let names = |seen: &Seen| -> BTreeSet<String> {
        seen.pool("general").iter().map(|node| node.name_any()).collect()
    };
    let before = world.see(names);
    world.deploy(Deployment::of("web", 1, "3")).await;
    world.until("a pod runs", |seen| seen.running("web") == 1).await;
    let home = world.see(|seen| node_of(seen.app("web")[0]).map(str::to_owned));
    assert!(home.as_ref().is_some_and(|node| before.contains(node)), "{home:?} of {before:?}");
    world.until("the room is there again", |seen| seen.pool("general").len() == room + 1).await;
    world.scale("web", 0).await;
    world.until("what is too much goes", |seen| seen.pool("general").len() == room).await;
    assert_eq!(world.see(|seen| seen.most["general"]), room + 1, "never more than needed");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_pool() {
    let room = json!({"count": 2, "shape": {"cpu": 3, "memory": "1Gi"}});
    let mut world = World::new(&[Pool::of("general", 5).with("headroom", room)]).await;
    used_and_refilled(&mut world, 2).await;
    world.finish(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_capacity_buffer() {
    let pools = [Pool::of("general", 5)];
    let mut world = World::without_ostler(&pools).await;
    world.serve_buffers().await;
    world.ostler.configure(world.config(&pools, json!({})));
    world.start();
    world.apply(template("like", "3")).await;
    world.apply(buffer("room", json!({"podTemplateRef": {"name": "like"}, "replicas": 1}))).await;
    used_and_refilled(&mut world, 1).await;
    world.delete("autoscaling.x-k8s.io/v1beta1", "CapacityBuffer", "room").await;
    world.until("nobody wants the room: its node goes", |seen| seen.nodes.is_empty()).await;
    world.finish(&[]).await;
}

/// A part of a Deployment's pods, one at least: 25 % of four.
#[tokio::test(flavor = "multi_thread")]
async fn of_a_capacity_buffer_like_a_deployment() {
    let pools = [Pool::of("general", 6)];
    let mut world = World::without_ostler(&pools).await;
    world.serve_buffers().await;
    world.ostler.configure(world.config(&pools, json!({})));
    world.start();
    world.deploy(Deployment::of("web", 4, "1900m")).await;
    world.until("four pods on two nodes", |seen| seen.running("web") == 4 && seen.nodes.len() == 2).await;
    let like = json!({"apiGroup": "apps", "kind": "Deployment", "name": "web"});
    world.apply(buffer("part", json!({"scalableRef": like, "percentage": 25}))).await;
    world.until("a node comes for a fifth", |seen| seen.nodes.len() == 3).await;
    world.finish(&[]).await;
}
