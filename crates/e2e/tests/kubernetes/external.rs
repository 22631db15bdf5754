//! Machines of a server of the external gRPC protocol, and nodes that join by themselves.

use crate::make::{Deployment, Pool};
use crate::watch::{Seen, node_is_ready, node_of, taints};
use crate::world::World;
use kube::Client;
use ostler_model::CloudId;
use ostler_provider::Provider;
use ostler_provider_externalgrpc::double::{Cloud, Fleet};
use ostler_provider_kwok::{Behaviour, KwokProvider, NodeSpec};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The taint that nodes of the cloud start with.
const STARTS: &str = "net.example/not-ready";

/// The cloud's side of the cluster: each machine that runs joins as a node, which says its machine's id and nothing of
/// any pool, and leaves with its machine.
struct Joiner(tokio::task::JoinHandle<()>);

impl Drop for Joiner {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Joiner {
    fn start(cloud: Arc<Cloud>, client: Client) -> Self {
        let kubelets = KwokProvider::with_client("cloud", client).expect("a good site");
        Self(tokio::spawn(async move {
            let mut joined = BTreeMap::new();
            loop {
                let running: BTreeSet<String> = cloud.world(|world| {
                    let now = Instant::now();
                    let up = world.fleets["g"].alive().filter(|machine| machine.ready <= now);
                    up.map(|machine| machine.id.clone()).collect()
                });
                for id in running.iter().filter(|id| !joined.contains_key(*id)).cloned().collect::<Vec<_>>() {
                    let node = kubelets.add_node(node(&id)).await.expect("it joins");
                    joined.insert(id, node);
                }
                for (_, node) in joined.extract_if(.., |id, _| !running.contains(id)) {
                    kubelets.terminate(&CloudId::new(node.as_str())).await.expect("it leaves");
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }))
    }
}

fn node(machine: &str) -> NodeSpec {
    let amounts = [("cpu", "4"), ("memory", "16Gi"), ("pods", "110")];
    NodeSpec {
        name: machine.rsplit('/').next().expect("a name").into(),
        provider_id: Some(machine.into()),
        startup_taints: vec![format!("{STARTS}:NoSchedule")],
        capacity: amounts.map(|(name, amount)| (name.to_owned(), amount.to_owned())).into(),
        behaviour: Behaviour {
            boot: ostler_model::Millis(500),
            startup: ostler_model::Millis(2_500),
            ..Behaviour::default()
        },
        ..NodeSpec::default()
    }
}

fn up(seen: &Seen) -> usize {
    seen.nodes.values().filter(|node| node_is_ready(node) && taints(node).is_empty()).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_of_an_external_cloud_grows_and_shrinks() {
    let fleet = Fleet { max: 5, boots: Duration::from_millis(500), ..Fleet::default() };
    let cloud = Arc::new(Cloud::start([("g", fleet.with(&["cloud:///g/old"]))]).await);
    let pool = Pool {
        name: "general",
        max: 5,
        body: json!({
            "provider": "cloud", "max": 5, "template": {"group": "g"},
            "resources": {"cpu": 4, "memory": "16Gi"}, "price": 0.2,
            "startup_taints": [format!("{STARTS}:NoSchedule")],
        }),
    };
    let mut world = World::without_ostler(&[]).await;
    let _joiner = Joiner::start(cloud.clone(), world.client.clone());
    world.deploy(Deployment::of("web", 1, "3")).await;
    world.until("a pod runs on a node of before", |seen| seen.running("web") == 1).await;
    let mut config = world.config(&[pool], json!({}));
    config["providers"] = json!({"cloud": {"type": "externalgrpc", "address": cloud.address()}});
    world.ostler.configure(config);
    world.start();
    world.deploy(Deployment::of("more", 2, "3")).await;
    world
        .until("two nodes join and wait for their start", |seen| seen.nodes.len() == 3 && up(seen) == 1)
        .await;
    world.until("two pods more run", |seen| seen.running("more") == 2 && up(seen) == 3).await;
    // Nothing was asked for twice while the nodes were starting.
    world.throughout(Duration::from_secs(2), "three nodes", |seen| seen.nodes.len() == 3).await;
    let changes = || cloud.world(|world| world.changes.clone());
    let grown: Vec<_> = changes().into_iter().filter(|line| line.starts_with("increase")).collect();
    assert!(grown == ["increase g +2"] || grown == ["increase g +1", "increase g +1"], "{:?}", changes());

    world.scale("more", 0).await;
    world.until("the two go", |seen| seen.nodes.len() == 1).await;
    assert_eq!(world.see(|seen| node_of(seen.app("web")[0]).map(str::to_owned)).as_deref(), Some("old"));
    world.scale("web", 0).await;
    world.until("the one of before goes too", |seen| seen.nodes.is_empty()).await;
    let mut ended: Vec<_> = changes().into_iter().filter(|line| line.starts_with("delete")).collect();
    ended.sort();
    assert_eq!(ended, ["delete g m-1", "delete g m-2", "delete g old"], "{:?}", changes());
    assert_eq!(cloud.world(|world| world.fleets["g"].target), 0, "{:?}", changes());
    world.finish(&[]).await;
}
