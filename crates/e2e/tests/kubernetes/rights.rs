//! Ostler with the rights of `deploy/rbac.yaml`: they are enough, and none is too much.

use crate::deploy::manifest;
use crate::make::{Deployment, Pool, buffer};
use crate::world::World;
use ostler_testkit::kube::{Lab, Request};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Rights that no request shows by itself, and why they are needed.
const UNSEEN: [(&str, &str); 1] = [
    // An apply is a `patch`; of an object that is not there the API server also wants the right to create it.
    ("create", "configmaps"),
];

/// A right, as a rule grants it: verb, group, resource, and the names that it is limited to (empty: all).
type Right = (String, String, String, BTreeSet<String>);

fn rights(lab: &Lab, role: &[&str]) -> BTreeSet<Right> {
    let output = lab.kubectl(&[&["get", "-o", "json"], role].concat());
    let role: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|why| panic!("{why}: {output:?}"));
    let texts = |rule: &Value, key: &str| -> Vec<String> {
        let list = rule[key].as_array().into_iter().flatten();
        list.map(|text| text.as_str().expect("a text").to_owned()).collect()
    };
    let mut rights = BTreeSet::new();
    for rule in role["rules"].as_array().expect("rules") {
        let names: BTreeSet<String> = texts(rule, "resourceNames").into_iter().collect();
        for verb in texts(rule, "verbs") {
            for group in texts(rule, "apiGroups") {
                for resource in texts(rule, "resources") {
                    rights.insert((verb.clone(), group.clone(), resource, names.clone()));
                }
            }
        }
    }
    rights
}

fn is_used(right: &Right, namespace: &str, requests: &[Request]) -> bool {
    let (verb, group, resource, names) = right;
    requests.iter().any(|one| {
        (&one.verb, &one.group, &one.resource) == (verb, group, resource)
            && (namespace.is_empty() || one.namespace == namespace)
            && (names.is_empty() || names.contains(&one.name))
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rights_of_the_manifest_are_enough_and_all_needed() {
    let pools = [Pool::of("general", 5)];
    let mut world = World::without_ostler(&pools).await;
    let (lab, before, mut config) = as_the_account(&world, &pools).await;
    // As if it had never been there.
    for object in ["lease/ostler", "configmap/ostler-status"] {
        lab.kubectl(&["delete", "-n", "ostler", object, "--ignore-not-found"]);
    }
    config["workloads"]["prod"]["lease"] = json!({"name": "ostler"});
    world.serve_buffers().await;
    // Buffers may be like anything that has pods; whether it is there does not matter.
    for (group, kind) in [
        ("apps", "Deployment"),
        ("apps", "ReplicaSet"),
        ("apps", "StatefulSet"),
        ("batch", "Job"),
        ("", "ReplicationController"),
    ] {
        let like = json!({"apiGroup": group, "kind": kind, "name": "web"});
        let spec = json!({"scalableRef": like, "replicas": 0});
        world.apply(buffer(&format!("like-a-{}", kind.to_lowercase()), spec)).await;
    }
    world.ostler.configure(config);
    world.start();
    world.deploy(Deployment::of("ballast", 2, "2200m")).await;
    world.until("two nodes", |seen| seen.running("ballast") == 2 && seen.nodes.len() == 2).await;
    world.deploy(Deployment::of("web", 2, "1500m")).await;
    world.until("one pod on each", |seen| seen.running("web") == 2).await;
    world.scale("ballast", 0).await;
    world.until("one is emptied and goes", |seen| seen.nodes.len() == 1 && seen.running("web") == 2).await;
    world.scale("web", 0).await;
    world.until("the last one goes", |seen| seen.nodes.is_empty()).await;

    let requests = lab.requests_of("ostler", "ostler").split_off(before);
    let refused: Vec<_> = requests.iter().filter(|one| matches!(one.code, 401 | 403)).collect();
    assert!(refused.is_empty(), "{refused:#?}");
    let log = world.ostler.log();
    assert!(!log.contains("orbidden"), "{log}");

    let cluster = rights(lab, &["clusterrole", "ostler"]);
    let own = rights(lab, &["role", "ostler", "-n", "ostler"]);
    assert!(cluster.len() > 20 && own.len() > 4, "{cluster:?} {own:?}");
    let idle = cluster.iter().filter(|right| !is_used(right, "", &requests));
    let idle = idle.chain(own.iter().filter(|right| !is_used(right, "ostler", &requests)));
    let idle: Vec<_> = idle.map(|(verb, _, what, _)| (verb.as_str(), what.as_str())).collect();
    assert_eq!(idle, UNSEEN, "rights that a whole life of Ostler does not use");
    world.finish(&[]).await;
}

/// The lab with the manifest applied, the number of requests that its account has made so far, and a configuration
/// with its rights. The nodes of pretence are made with an administrator's: no real provider makes Node objects.
pub(crate) async fn as_the_account(world: &World, pools: &[Pool]) -> (&'static Lab, usize, Value) {
    let applied = world.lab.kubectl(&["apply", "--server-side", "-f", &manifest("rbac.yaml")]);
    assert!(applied.status.success(), "{applied:?}");
    let account = world.lab.kubeconfig_of("ostler", "ostler").await;
    let mut config = world.config(pools, json!({"namespace": "ostler"}));
    config["workloads"]["prod"]["kubeconfig"] = account.display().to_string().into();
    (world.lab, world.lab.requests_of("ostler", "ostler").len(), config)
}
