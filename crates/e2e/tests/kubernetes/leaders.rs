//! Two Ostlers for one cluster: one leads, and who led before does nothing more.

use crate::faults::about_to_drain;
use crate::make::{Deployment, Pool};
use crate::ostler::Ostler;
use crate::watch::is_marked;
use crate::world::World;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A Lease of this scenario.
fn lease() -> Value {
    json!({"lease": {"name": "lead", "duration": "5s"}})
}

/// A world whose own Ostler waits for one that leads.
async fn two(pools: &[Pool], knobs: &Value, shared_store: bool) -> (World, Ostler) {
    let mut world = World::without_ostler(pools).await;
    let mut first = Ostler::new();
    let mut config = world.config(pools, lease());
    for (key, value) in knobs.as_object().into_iter().flatten() {
        config["workloads"]["prod"][key] = value.clone();
    }
    first.configure(config.clone());
    if shared_store {
        config["store"]["path"] = first.store().display().to_string().into();
    }
    world.ostler.configure(config);
    first.start(&[]);
    first.until_said("leads by its lease").await;
    world.start();
    world.ostler.until_said("waiting to lead").await;
    (world, first)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_takes_over_from_one_that_was_killed() {
    let (mut world, mut first) = two(&[Pool::of("general", 5)], &json!({}), true).await;
    about_to_drain(&mut world, "1s").await;
    world.until("a node is marked", |seen| seen.nodes.values().any(is_marked)).await;
    assert!(!world.ostler.log().contains("leads by its lease"), "{}", world.ostler.last_words());
    first.kill();
    world.say("the first is dead");
    world.until("the second goes on", |seen| seen.nodes.len() == 1 && seen.running("web") == 2).await;
    assert_eq!(world.see(|seen| seen.most["general"]), 2, "nothing was doubled");
    world.finish(&[]).await;
}

/// The first sleeps from the moment at which it has seen a pod that needs a node, over the end of its term. The two
/// have stores of their own, as on two hosts: nothing but the Lease stands between them.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_slept_over_its_term_does_nothing_more() {
    // Long enough for the first to be put to sleep before it decides.
    let batch = json!({"batch": {"idle": "1500ms", "max": "3s"}});
    let (mut world, mut first) = two(&[Pool::of("general", 5)], &batch, false).await;
    world.deploy(Deployment::of("web", 1, "3")).await;
    world.until("the first brings a node", |seen| seen.running("web") == 1).await;
    let decided = Ostler::journal(&first.store()).len();
    world.deploy(Deployment::of("more", 1, "3")).await;
    world.until("a pod waits", |seen| seen.app("more").len() == 1).await;
    first.signal("STOP");
    world.say("the first sleeps");
    world.until("the second brings a node", |seen| seen.running("more") == 1).await;
    world.scale("more", 2).await;
    world.until("and one more", |seen| seen.running("more") == 2).await;
    first.signal("CONT");
    world.say("the first wakes up");
    let deadline = Instant::now() + Duration::from_secs(30);
    while !first.has_ended() {
        assert!(Instant::now() < deadline, "it goes on:\n{}", first.last_words());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let log = first.log();
    let says_why =
        log.contains("another Ostler leads now") || log.contains("the Lease could not be renewed within");
    assert!(says_why, "{}", first.last_words());
    let journal = Ostler::journal(&first.store());
    assert_eq!(journal.len(), decided, "it committed after its term: {:#?}", journal.last());
    world.throughout(Duration::from_secs(2), "three nodes, no more", |seen| seen.most["general"] == 3).await;
    world.finish(&[]).await;
}
