//! The control plane itself: it starts, keeps what it is told, and every server can be killed.
#![cfg(feature = "kube")]
#![allow(clippy::print_stdout, reason = "how long it took is worth knowing")]

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node};
use kube::api::{Api, ObjectMeta, PostParams};
use ostler_testkit::kube::{Component, Lab, client_of, wait_until};
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread")]
async fn starts_and_survives_the_death_of_each_server() {
    let begun = Instant::now();
    let lab = Lab::start().await;
    println!("ready in {:?}", begun.elapsed());
    let client = lab.client().await;
    let version = client.apiserver_version().await.expect("a version");
    assert!(version.git_version.starts_with("v1."), "stamped: {}", version.git_version);

    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let metadata = ObjectMeta { name: Some("kept".into()), ..ObjectMeta::default() };
    let map = ConfigMap { metadata, ..ConfigMap::default() };
    maps.create(&PostParams::default(), &map).await.expect("an object is made");
    for component in Component::ALL {
        lab.kill(component);
        lab.revive(component).await;
        maps.get("kept").await.unwrap_or_else(|error| panic!("after {component} was killed: {error}"));
    }
    // The controllers work again: a namespace gets its account.
    let metadata = ObjectMeta { name: Some("new".into()), ..ObjectMeta::default() };
    let new = Namespace { metadata, ..Namespace::default() };
    Api::all(client.clone()).create(&PostParams::default(), &new).await.expect("a namespace is made");
    let accounts: Api<k8s_openapi::api::core::v1::ServiceAccount> = Api::namespaced(client, "new");
    wait_until("an account", Duration::from_secs(60), async || {
        accounts.get("default").await.map(|_| ()).map_err(|error| error.to_string())
    })
    .await;

    // A service account has its own rights and no others.
    let poor = client_of(&lab.kubeconfig_of("default", "default").await).await;
    let refused = Api::<Node>::all(poor).list(&kube::api::ListParams::default()).await;
    assert!(matches!(refused, Err(kube::Error::Api(status)) if status.code == 403), "RBAC is on");

    let kubectl = lab.kubectl(&["get", "configmap", "kept", "-o", "name"]);
    assert_eq!(String::from_utf8_lossy(&kubectl.stdout), "configmap/kept\n", "{kubectl:?}");
    let directory = lab.directory().to_owned();
    drop(lab);
    assert!(!directory.exists(), "nothing is left");
}
