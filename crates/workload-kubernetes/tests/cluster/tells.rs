//! What is told, and who leads.

use crate::world::{PATIENCE, World};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::Api;
use ostler_model::{NodeId, Timestamp};
use ostler_workload::{Event, NodeNews, NodeNotice, PodNews, PodNotice, Published, Severity, Workload};
use ostler_workload_kubernetes::lease::{Lease, Loss};
use serde_json::json;
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread")]
async fn events_and_the_status_are_written_once() {
    let world = World::shared().await;
    world.make_one(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "tell-pod", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "none"}], "nodeSelector": {"no": "where"}}})).await;
    let workload = world.workload();
    let pods: Api<k8s_openapi::api::core::v1::Pod> = Api::namespaced(world.admin.clone(), "default");
    let uid = pods.get("tell-pod").await.expect("the pod").metadata.uid.expect("a uid");
    let notice = |news, text: &str| PodNotice {
        namespace: "default".into(),
        name: "tell-pod".into(),
        uid: uid.as_str().into(),
        news,
        text: text.into(),
    };
    let why = "no pool has room: general: node selector no=where; gpu: node selector no=where";
    let told = |generation, pods: Vec<PodNotice>, status: &str| Published {
        generation,
        pods,
        nodes: vec![NodeNotice {
            node: NodeId::from("tell-node"),
            news: NodeNews::ScaleDown,
            text: "unneeded".into(),
        }],
        status: status.to_owned(),
        ..Published::default()
    };
    let first = told(1, vec![notice(PodNews::NotTriggerScaleUp, why)], "two nodes");
    for _ in 0..3 {
        workload.publish(&first).await.expect("publish answers");
    }
    assert_eq!(world.events("tell-pod").await, [format!("NotTriggerScaleUp: {why}")]);
    assert_eq!(world.events("tell-node").await, ["ScaleDown: unneeded"]);
    let maps: Api<ConfigMap> = Api::namespaced(world.admin.clone(), "ostler");
    let map = maps.get("ostler-status").await.expect("the status");
    assert_eq!(map.data.expect("data")["status"], "two nodes");

    let mut second = told(2, vec![notice(PodNews::TriggeredScaleUp, "general 0→1")], "three nodes");
    second.events =
        vec![Event { at: Timestamp(1), severity: Severity::Warning, text: "a launch failed".into() }];
    workload.publish(&second).await.expect("publish answers");
    workload.publish(&first).await.expect("an old generation is ignored");
    let mut events = world.events("tell-pod").await;
    events.sort();
    assert_eq!(events, [format!("NotTriggerScaleUp: {why}"), "TriggeredScaleUp: general 0→1".into()]);
    assert_eq!(world.events("ostler-status").await, ["Ostler: a launch failed"]);
    // Its place is another one for a plan, and none for the next.
    let another = told(3, vec![notice(PodNews::TriggeredScaleUp, "gpu 0→1")], "three nodes");
    for told in [another, told(4, Vec::new(), "three nodes"), Published { generation: 5, ..second }] {
        workload.publish(&Published { events: Vec::new(), ..told }).await.expect("publish answers");
    }
    let told_of_growth = world.events("tell-pod").await.iter().filter(|e| e.starts_with("Triggered")).count();
    assert_eq!(told_of_growth, 1, "a pod is told once");
    assert_eq!(maps.get("ostler-status").await.expect("it").data.expect("data")["status"], "three nodes");
    let described = world.lab.kubectl(&["describe", "pod", "tell-pod"]);
    assert!(String::from_utf8_lossy(&described.stdout).contains("TriggeredScaleUp"), "{described:?}");
    world.delete(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "tell-pod", "namespace": "default"}})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_notices_is_told_bit_by_bit() {
    let world = World::shared().await;
    let workload = world.workload();
    let notice = |n: u32| PodNotice {
        namespace: "default".into(),
        name: format!("flood-{n}").into(),
        uid: format!("flood-{n}").into(),
        news: PodNews::NotTriggerScaleUp,
        text: "x".repeat(5000),
    };
    let published = Published { generation: 1, pods: (0..120).map(notice).collect(), ..Published::default() };
    for expected in [50, 100, 120, 120] {
        workload.publish(&published).await.expect("publish answers");
        let mut told = 0;
        for n in 0..120 {
            told += usize::from(n < expected);
        }
        let events: Api<k8s_openapi::api::events::v1::Event> =
            Api::namespaced(world.admin.clone(), "default");
        let all = events.list(&Default::default()).await.expect("events").items;
        let flood = all.iter().filter(|e| {
            e.regarding.as_ref().and_then(|on| on.name.as_deref()).is_some_and(|n| n.starts_with("flood-"))
        });
        assert_eq!(flood.count(), told);
    }
}

/// Whoever slept over the end of its term knows it before anybody tells it.
#[tokio::test]
async fn a_claim_ends_by_our_own_clock() {
    let world = World::shared().await;
    let lease = Lease { name: "ostler".into(), holder: "sleeper".into(), lasts: Duration::from_secs(6) };
    let held = lease.hold(&world.config()).await.expect("the Lease");
    let claim = held.claim();
    tokio::time::sleep(Duration::from_secs(8)).await;
    assert!(claim.holds(), "it is renewed");
    // Nothing of this runtime runs meanwhile.
    std::thread::sleep(Duration::from_millis(4500));
    assert!(!claim.holds(), "two thirds are over");
    let loss = tokio::time::timeout(PATIENCE, held.lost()).await.expect("the loss is told");
    assert_eq!(loss, Loss::NotRenewed);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_leads_at_a_time_and_the_term_rises() {
    let world = World::shared().await;
    let config = world.config();
    let lease =
        |holder: &str| Lease { name: "ostler".into(), holder: holder.into(), lasts: Duration::from_secs(3) };
    let first = lease("a").hold(&config).await.expect("the Lease");
    let waiting = tokio::time::timeout(Duration::from_secs(6), lease("b").hold(&config)).await;
    assert!(waiting.is_err(), "the first renews it");
    let term = first.term();
    first.release().await;
    let begun = Instant::now();
    let second =
        tokio::time::timeout(PATIENCE, lease("b").hold(&config)).await.expect("in time").expect("the Lease");
    println!("taken over {:?} after it was given up", begun.elapsed());
    assert!(second.term() > term);

    // The second dies without a word.
    let term = second.term();
    drop(second);
    let begun = Instant::now();
    let third =
        tokio::time::timeout(PATIENCE, lease("c").hold(&config)).await.expect("in time").expect("the Lease");
    println!("taken over {:?} after its holder died", begun.elapsed());
    assert!(third.term() > term && begun.elapsed() >= Duration::from_secs(2));

    // Somebody takes it by force: the third hears of it.
    let leases: Api<k8s_openapi::api::coordination::v1::Lease> =
        Api::namespaced(world.admin.clone(), "ostler");
    let forced = json!({"spec": {"holderIdentity": "x", "leaseTransitions": 99}});
    leases.patch("ostler", &Default::default(), &kube::api::Patch::Merge(forced)).await.expect("a patch");
    let loss = tokio::time::timeout(PATIENCE, third.lost()).await.expect("the loss is told");
    assert_eq!(loss, Loss::Taken);
}
