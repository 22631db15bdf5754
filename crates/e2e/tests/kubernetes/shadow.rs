//! `ostler run --shadow`: it says what it would do, and does nothing.

use crate::faults::about_to_drain;
use crate::make::{Deployment, Pool};
use crate::ostler::Ostler;
use crate::rights::as_the_account;
use crate::watch::{Seen, is_marked};
use crate::world::World;
use std::collections::BTreeSet;
use std::time::Duration;

/// Beside another autoscaler, which here is a second Ostler with the same Lease.
#[tokio::test(flavor = "multi_thread")]
async fn a_shadow_says_what_it_would_do_and_does_nothing() {
    let pools = [Pool::of("general", 5)];
    let mut world = World::without_ostler(&pools).await;
    let (lab, before, mut config) = as_the_account(&world, &pools).await;
    lab.kubectl(&["delete", "-n", "ostler", "lease/ostler", "--ignore-not-found"]);
    config["workloads"]["prod"]["lease"] = serde_json::json!({"name": "ostler"});
    let mut shadow = Ostler::new();
    shadow.configure(config.clone());
    shadow.start(&["--shadow"]);
    world.deploy(Deployment::of("web", 2, "3")).await;
    shadow.until_said("would launch 2 for").await;
    world.throughout(Duration::from_secs(2), "no node comes", |seen| seen.nodes.is_empty()).await;
    let status = shadow.says("status");
    assert!(status.contains("would launch 2 for"), "{status}");

    // The other one acts, with an administrator's rights.
    config["workloads"]["prod"]["kubeconfig"] = lab.kubeconfig().display().to_string().into();
    world.ostler.configure(config);
    world.start();
    world.until("the other one brings two nodes", |seen| seen.running("web") == 2).await;
    world.ostler.stop();
    world.scale("web", 0).await;
    shadow.until_said("would remove it").await;
    let untouched = |seen: &Seen| seen.nodes.len() == 2 && !seen.nodes.values().any(is_marked);
    world.throughout(Duration::from_secs(2), "both nodes stay as they are", untouched).await;
    let status = shadow.says("status");
    assert!(status.contains("would remove it"), "{status}");
    world.start();
    world.until("the other one removes them", |seen| seen.nodes.is_empty()).await;

    assert!(!shadow.has_ended(), "{}", shadow.last_words());
    let requests = lab.requests_of("ostler", "ostler").split_off(before);
    let verbs: BTreeSet<&str> = requests.iter().map(|request| request.verb.as_str()).collect();
    let looks = BTreeSet::from(["get", "list", "watch"]);
    assert!(!verbs.is_empty() && verbs.is_subset(&looks), "it only looks: {verbs:?}");
    world.finish(&[]).await;
}

/// What it had begun before, it does not go on with in shadow: neither what its store says nor what nodes say.
#[tokio::test(flavor = "multi_thread")]
async fn a_shadow_goes_on_with_nothing() {
    let mut world = World::new(&[Pool::of("general", 5)]).await;
    about_to_drain(&mut world, "1s").await;
    let leaving = |pod: &k8s_openapi::api::core::v1::Pod| pod.metadata.deletion_timestamp.is_some();
    world.until("a node is marked", |seen| seen.nodes.values().any(is_marked)).await;
    world.kill();
    // The pods of the ballast end by themselves.
    world.until("nothing ends any more", |seen| !seen.pods.values().any(leaving)).await;
    let ours = |key: &str| key.contains("ostler");
    let marks = |seen: &Seen| -> Vec<_> {
        let of = |node: &k8s_openapi::api::core::v1::Node| {
            let annotations = node.metadata.annotations.clone().unwrap_or_default();
            let taints = node.spec.clone().and_then(|spec| spec.taints).unwrap_or_default();
            let annotations: Vec<_> = annotations.into_iter().filter(|(key, _)| ours(key)).collect();
            let taints: Vec<_> = taints.into_iter().filter(|taint| ours(&taint.key)).collect();
            (annotations, taints)
        };
        seen.nodes.values().map(of).collect()
    };
    let before = world.see(marks);
    world.ostler.start(&["--shadow"]);
    world.ostler.until_said("only says what it would do").await;
    world
        .throughout(Duration::from_secs(3), "nothing changes", |seen| {
            marks(seen) == before && seen.running("web") == 2 && !seen.pods.values().any(leaving)
        })
        .await;
    world.kill();
    world.start();
    world.until("the drain goes on", |seen| seen.nodes.len() == 1 && seen.running("web") == 2).await;
    world.finish(&[]).await;
}
