//! The eye itself: what must never be is seen when it is.

use crate::make::{Deployment, Pool, budget};
use crate::watch::{Seen, node_of};
use crate::world::World;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams};
use ostler_model::CloudId;
use ostler_provider::Provider;
use ostler_provider_kwok::{KwokProvider, NodeSpec, POOL};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A node of pool `general` that nobody launched.
fn node(name: &str) -> NodeSpec {
    let text =
        |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    NodeSpec {
        name: name.into(),
        labels: BTreeMap::from([(POOL.to_owned(), "general".to_owned())]),
        capacity: text(&[("cpu", "4"), ("memory", "16Gi"), ("pods", "110")]),
        ..NodeSpec::default()
    }
}

async fn is_seen(world: &World, what: &str, look: impl Fn(&Seen) -> Vec<String>) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !world.see(&look).iter().any(|line| line.contains(what)) {
        assert!(Instant::now() < deadline, "nobody saw {what:?}: {:?}\n{}", world.see(&look), world.report());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_is_seen() {
    let mut world = World::without_ostler(&[Pool::of("general", 1)]).await;
    let provider = KwokProvider::with_client("eye", world.client.clone()).expect("a good site");
    let first = provider.add_node(node("eye-1")).await.expect("a node");
    world.deploy(Deployment::of("web", 2, "1")).await;
    world.until("two pods run", |seen| seen.running("web") == 2).await;
    assert_eq!(world.see(|seen| seen.wrong.clone()), [""; 0], "nothing is wrong so far");

    // A budget is broken by whoever does not ask.
    world.apply(budget("web", 2)).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let name = world.see(|seen| seen.app("web")[0].name_any());
    let pods: Api<Pod> = Api::namespaced(world.client.clone(), &world.namespace);
    pods.delete(&name, &DeleteParams::default()).await.expect("it is deleted");
    is_seen(&world, "budget", |seen| seen.wrong.clone()).await;

    // A second node is more than the pool may have.
    provider.add_node(node("eye-2")).await.expect("a node");
    is_seen(&world, "more than its max", |seen| seen.wrong.clone()).await;

    // A node goes with its pods.
    world.see(|seen| assert_eq!(seen.crushed(), [""; 0], "no node has gone so far"));
    let on_first = |seen: &Seen| seen.app("web").into_iter().any(|pod| node_of(pod) == Some("eye-1"));
    assert!(world.see(on_first), "a pod is there:\n{}", world.report());
    provider.terminate(&CloudId::new(first.as_str())).await.expect("accepted");
    is_seen(&world, "eye-1 was ended with", Seen::crushed).await;
}
