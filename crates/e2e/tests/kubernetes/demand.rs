//! What pods ask for decides whether and where nodes come.

use crate::make::{Deployment, Pool};
use crate::watch::node_of;
use crate::world::World;
use kube::ResourceExt;
use serde_json::json;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_too_large_for_every_node_brings_none() {
    let mut world = World::new(&[Pool::of("general", 5)]).await;
    world.deploy(Deployment::of("huge", 2, "100")).await;
    world.throughout(Duration::from_secs(5), "no node comes", |seen| seen.nodes.is_empty()).await;
    let said = world.events("NotTriggerScaleUp").await;
    assert!(
        said.iter().any(|line| line.contains("general") && line.contains("cpu")),
        "they are told why: {said:?}"
    );
    // Hopeless pods stop nobody else, in neither direction.
    world.deploy(Deployment::of("web", 1, "3")).await;
    world.until("another pod gets its node", |seen| seen.running("web") == 1).await;
    world.scale("web", 0).await;
    world.until("and the node goes", |seen| seen.nodes.is_empty()).await;
    world.finish(&["huge"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_pools_with_different_taints() {
    let special = Pool::of("special", 3)
        .with("taints", json!(["dedicated=special:NoSchedule"]))
        .with("labels", json!({"kind": "special"}))
        .with("startup_taints", json!(["net.example/not-ready:NoSchedule"]))
        .with("template", json!({"boot": "1s", "startup": "1s"}))
        .with("price", json!(0.01));
    let other =
        Pool::of("other", 3).with("taints", json!(["dedicated=other:NoExecute"])).with("price", json!(0.02));
    let mut world = World::new(&[special, other, Pool::of("general", 3)]).await;
    let tolerates = |value: &str| json!([{"key": "dedicated", "operator": "Equal", "value": value}]);
    world.deploy(Deployment::of("plain", 1, "3")).await;
    world
        .deploy(
            Deployment::of("chosen", 2, "3").on("kind", "special").with("tolerations", tolerates("special")),
        )
        .await;
    world.deploy(Deployment::of("others", 1, "3").with("tolerations", tolerates("other"))).await;
    world
        .until("each has its nodes", |seen| {
            seen.running("plain") == 1 && seen.running("chosen") == 2 && seen.running("others") == 1
        })
        .await;
    // The cheapest that each tolerates: `plain` may use neither of the cheap ones.
    let counts = world.see(|seen| ["special", "other", "general"].map(|pool| seen.pool(pool).len()));
    assert_eq!(counts, [2, 1, 1], "{}", world.report());
    world.finish(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn spread_over_zones() {
    let zones = ["a", "b", "c"];
    let pools =
        [Pool::of("pa", 4).in_zone("a"), Pool::of("pb", 4).in_zone("b"), Pool::of("pc", 4).in_zone("c")];
    let mut world = World::new(&pools).await;
    let spread = json!([{
        "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }]);
    world.deploy(Deployment::of("web", 6, "3").with("topologySpreadConstraints", spread)).await;
    world.until("six pods run", |seen| seen.running("web") == 6).await;
    let per_zone = world.see(|seen| {
        zones.map(|zone| {
            let here = |name: &str| {
                seen.nodes[name].labels().get("topology.kubernetes.io/zone").is_some_and(|of| of == zone)
            };
            seen.app("web").into_iter().filter(|pod| node_of(pod).is_some_and(here)).count()
        })
    });
    assert_eq!(per_zone, [2, 2, 2]);
    assert_eq!(world.see(|seen| seen.nodes.len()), 6, "not one node more than needed: {}", world.report());
    world.finish(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn apart_and_together() {
    let mut world = World::new(&[Pool::of("general", 6)]).await;
    world.deploy(Deployment::of("lead", 3, "500m").apart()).await;
    let near = json!({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{
        "topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "lead"}},
    }]}});
    world.until("three pods run on three nodes", |seen| seen.running("lead") == 3).await;
    world.deploy(Deployment::of("follow", 3, "2").with("affinity", near)).await;
    world.until("they follow", |seen| seen.running("follow") == 3).await;
    assert_eq!(world.see(|seen| seen.pool("general").len()), 3, "there was room beside the leaders");
    world.finish(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn placeholders_give_way_and_bring_their_own_node() {
    let mut world = World::new(&[Pool::of("general", 4)]).await;
    let class = |name: &str, value: i32| {
        json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value,
        })
    };
    world.apply(class("placeholder", -5)).await;
    let room = Deployment::of("room", 1, "3").with("priorityClassName", json!("placeholder"));
    world.deploy(room.with("terminationGracePeriodSeconds", json!(0))).await;
    world.until("the placeholder runs", |seen| seen.running("room") == 1).await;
    let first = world.see(|seen| seen.pool("general")[0].name_any());
    world.deploy(Deployment::of("web", 1, "3")).await;
    world
        .until("the pod runs, and the placeholder on a node of its own", |seen| {
            seen.running("web") == 1 && seen.running("room") == 1
        })
        .await;
    let of_web = world.see(|seen| node_of(seen.app("web")[0]).map(str::to_owned));
    assert_eq!(of_web.as_ref(), Some(&first), "the pod took the placeholder's place at once");
    assert_eq!(world.see(|seen| seen.pool("general").len()), 2);
    world.finish(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_volume_draws_its_pod_into_its_zone() {
    let pools =
        [Pool::of("cheap", 3).in_zone("a").with("price", json!(0.01)), Pool::of("near", 3).in_zone("b")];
    let mut world = World::new(&pools).await;
    let volume = |name: &str, class: &str, claim: serde_json::Value| {
        json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {
                "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": class,
                "persistentVolumeReclaimPolicy": "Retain", "claimRef": claim,
                "csi": {"driver": "disk.example", "volumeHandle": name},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                    {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["b"]},
                ]}]}},
            },
        })
    };
    let name = format!("{}-disk", world.namespace);
    let bound_to = json!({"namespace": world.namespace, "name": "data"});
    world.apply(volume(&name, "by-hand", bound_to)).await;
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "by-hand", "volumeName": name,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    });
    world.apply(claim).await;
    let data = json!([{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]);
    world.deploy(Deployment::of("db", 1, "1").with("volumes", data)).await;
    world.until("the pod runs where its volume is", |seen| seen.running("db") == 1).await;
    let counts = world.see(|seen| ["cheap", "near"].map(|pool| seen.pool(pool).len()));
    assert_eq!(counts, [0, 1], "{}", world.report());
    world.finish(&[]).await;
}
