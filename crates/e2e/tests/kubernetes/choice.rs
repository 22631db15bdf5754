//! Which of several pools, or shapes behind one pool, is taken.

use crate::make::{Deployment, Pool};
use crate::ostler::Ostler;
use crate::world::World;
use serde_json::json;
use std::time::Duration;

/// A shape that is refused costs nobody a pass: the next one is launched by the same plan. The pool's bound holds for
/// all of its shapes together.
#[tokio::test(flavor = "multi_thread")]
async fn the_next_shape_is_taken_and_the_pools_bound_holds() {
    let shape = |price: f64, template| {
        let resources = json!({"cpu": 4, "memory": "16Gi"});
        json!({"resources": resources, "price": price, "template": template})
    };
    let shapes = json!({
        "cheap": shape(0.01, json!({"boot": "1s", "refuse": "out_of_capacity"})),
        "dear": shape(0.2, json!({"boot": "1s", "startup": "1s"})),
    });
    let pool = Pool {
        name: "shapes",
        max: 2,
        body: json!({
            "provider": "sim", "max": 2, "offerings": shapes,
            "startup_taints": ["net.example/not-ready:NoSchedule"],
        }),
    };
    let mut world = World::with(&[pool], json!({"launch_backoff": "60s"})).await;
    world.deploy(Deployment::of("web", 3, "3")).await;
    world
        .until("two pods run on the dear shape", |seen| {
            seen.running("web") == 2 && seen.pool("shapes.dear").len() == 2
        })
        .await;
    world
        .throughout(Duration::from_secs(3), "that is all", |seen| {
            seen.nodes.len() == 2 && seen.most["shapes"] == 2 && !seen.most.contains_key("shapes.cheap")
        })
        .await;
    let said = world.events("NotTriggerScaleUp").await;
    let full = |line: &&String| line.contains("shapes/dear") && line.contains("maximum of 2");
    assert!(said.iter().any(|line| full(&line)), "{said:?}");

    let journal = Ostler::journal(&world.ostler.store());
    let first = |code: &str, pool: &str| {
        let of = |entry: &&serde_json::Value| {
            entry["code"] == code && entry["message"].as_str().is_some_and(|text| text.contains(pool))
        };
        let found = journal.iter().find(of).unwrap_or_else(|| panic!("no {code} of {pool}: {journal:#?}"));
        found["at"].clone()
    };
    // All that one plan decides is written at one time.
    assert_eq!(
        first("launch_refused", "shapes/cheap"),
        first("launch_demand", "shapes/dear"),
        "{journal:#?}"
    );
    world.scale("web", 2).await;
    world.finish(&[]).await;
}

/// Three pods of one CPU each, and which of the pools they bring and keep. Cheaper ones in their place are looked for
/// if `consolidate` says so.
async fn chosen(expander: &str, consolidate: bool, pools: &[Pool]) -> Vec<(&'static str, usize)> {
    let knobs = json!({"expander": expander, "scale_down": {"consolidate": consolidate}});
    let mut world = World::with(pools, knobs).await;
    world.deploy(Deployment::of("web", 3, "1")).await;
    world.until("three pods run", |seen| seen.running("web") == 3).await;
    let counts = |world: &World| -> Vec<_> {
        world.see(|seen| pools.iter().map(|pool| (pool.name, seen.pool(pool.name).len())).collect())
    };
    let first = counts(&world);
    world.throughout(Duration::from_secs(5), "it stays so", |_| true).await;
    assert_eq!(counts(&world), first, "it was chosen and then given up\n{}", world.report());
    world.finish(&[]).await;
    first
}

/// A pool of nodes with so many CPUs, and as many times 2 GiB.
fn shape(name: &'static str, cpu: u32, price: f64) -> Pool {
    let resources = json!({"cpu": cpu, "memory": format!("{}Gi", 2 * cpu), "pods": 110});
    Pool::of(name, 5).with("resources", resources).with("price", json!(price))
}

/// The first are preferred as long as there are any, though they are dear, and are not given up for cheaper ones.
#[tokio::test(flavor = "multi_thread")]
async fn by_priority() {
    let pools = [
        shape("cheap", 4, 0.01),
        shape("first", 2, 0.9).with("priority", json!(10)).with("max", json!(1)),
        shape("second", 1, 0.5).with("priority", json!(5)),
    ];
    assert_eq!(chosen("priority", true, &pools).await, [("cheap", 0), ("first", 1), ("second", 1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn by_least_waste() {
    let pools = [shape("cheap", 16, 0.01), shape("tight", 3, 0.9)];
    assert_eq!(chosen("least-waste", false, &pools).await, [("cheap", 0), ("tight", 1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn by_most_pods() {
    let pools = [shape("cheap", 1, 0.01), shape("wide", 16, 0.9)];
    assert_eq!(chosen("most-pods", false, &pools).await, [("cheap", 0), ("wide", 1)]);
}
