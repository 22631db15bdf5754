//! Nodes that are there before Ostler knows of them: they are taken over as they are.

use crate::make::{Deployment, Pool};
use crate::watch::{Seen, node_of};
use crate::world::World;
use kube::ResourceExt;
use ostler_provider_kwok::Kubelet;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// Ostler dies, and its store with it.
fn lose_the_store(world: &mut World) {
    world.kill();
    let store = world.ostler.store();
    let name = store.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
    for entry in fs::read_dir(store.parent().expect("a directory")).expect("a directory").flatten() {
        if entry.file_name().to_str().is_some_and(|file| file.starts_with(&name)) {
            fs::remove_file(entry.path()).expect("it can be removed");
        }
    }
    assert!(!store.exists());
    world.say("Ostler and its store are gone");
}

/// The pods of an app that run, and where.
fn homes(seen: &Seen, app: &str) -> BTreeMap<String, Option<String>> {
    seen.app(app).into_iter().map(|pod| (pod.name_any(), node_of(pod).map(str::to_owned))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_are_adopted_when_the_store_is_lost() {
    let mut world = World::new(&[Pool::of("general", 3)]).await;
    world.deploy(Deployment::of("web", 2, "3")).await;
    world.deploy(Deployment::of("gone", 1, "2")).await;
    world.until("three nodes", |seen| seen.running("web") == 2 && seen.running("gone") == 1).await;
    let before = world.see(|seen| homes(seen, "web"));
    // Pods end while Ostler is away.
    let _kubelet = Kubelet::start("sim", world.client.clone());
    lose_the_store(&mut world);
    world.scale("gone", 0).await;
    world.deploy(Deployment::of("more", 2, "3")).await;
    world.until("one of two takes the room", |seen| seen.running("more") == 1).await;
    world.start();
    // The other one finds the pool full: what was adopted counts.
    world
        .throughout(Duration::from_secs(3), "three nodes", |seen| {
            seen.nodes.len() == 3 && homes(seen, "web") == before
        })
        .await;
    world.scale("more", 0).await;
    world.until("what is idle goes", |seen| seen.nodes.len() == 2).await;
    assert_eq!(world.see(|seen| homes(seen, "web")), before, "busy ones are not touched");
    assert_eq!(world.see(|seen| seen.most["general"]), 3);
    world.finish(&[]).await;
}

/// One that is not up yet is taken over too: nothing is bought twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_on_its_way_is_adopted_when_the_store_is_lost() {
    let pool = Pool::of("slow", 5).with("template", json!({"boot": "5s"}));
    let mut world = World::new(&[pool]).await;
    world.deploy(Deployment::of("web", 1, "3")).await;
    world.until("a node boots", |seen| seen.pool("slow").len() == 1).await;
    lose_the_store(&mut world);
    world.start();
    world.until("the pod runs", |seen| seen.running("web") == 1).await;
    world
        .throughout(Duration::from_secs(2), "one node", |seen| {
            seen.most["slow"] == 1 && seen.nodes.len() == 1
        })
        .await;
    world.finish(&[]).await;
}
