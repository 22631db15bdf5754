//! What many simulated nodes cost:   cargo run --release --package ostler-provider-kwok --example load [NODES [PODS]]
//!
//! Starts a control plane, launches nodes, lets Deployments fill them, then ends all nodes; prints times and the CPU
//! seconds of this process, which is the kubelet of pretence and its client alone. Default: 1,000 and 10,000.
#![allow(clippy::print_stdout, reason = "its purpose")]

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ListParams, Patch, PatchParams};
use ostler_model::{CloudId, LaunchToken, Quantity, Resources};
use ostler_provider::{LaunchSpec, Provider};
use ostler_provider_kwok::KwokProvider;
use ostler_testkit::kube::{Lab, wait_until};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const PATIENCE: Duration = Duration::from_secs(900);
/// Launches at a time, as an executor with many hands would ask.
const HANDS: usize = 32;
const PER_DEPLOYMENT: usize = 500;

#[tokio::main]
async fn main() {
    let number =
        |at, default| std::env::args().nth(at).map_or(default, |text| text.parse().expect("a number"));
    let (nodes, pods): (usize, usize) = (number(1, 1_000), number(2, 10_000));
    let lab = Lab::start().await;
    let client = lab.client().await;
    let provider = Arc::new(KwokProvider::with_client("load", client.clone()).expect("a good site"));

    let phase = Phase::begin(&format!("{nodes} launches"));
    let ids = launch_all(&provider, nodes).await;
    phase.end();

    let phase = Phase::begin("until all nodes are ready");
    let all_nodes = Api::<Node>::all(client.clone());
    wait_until("the nodes", PATIENCE, async || {
        let list = all_nodes.list(&ListParams::default()).await.map_err(|why| why.to_string())?;
        let ready = list.items.iter().filter(|node| is_ready(node)).count();
        if ready == nodes { Ok(()) } else { Err(format!("{ready} ready")) }
    })
    .await;
    phase.end();

    let phase = Phase::begin(&format!("until {pods} pods run"));
    for n in 0..pods.div_ceil(PER_DEPLOYMENT) {
        let name = format!("load-{n}");
        let replicas = PER_DEPLOYMENT.min(pods - n * PER_DEPLOYMENT);
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [
                    {"name": "c", "image": "none", "resources": {"requests": {"cpu": "100m"}}},
                ]},
            }},
        });
        let api: Api<Deployment> = Api::default_namespaced(client.clone());
        let made = api.patch(&name, &PatchParams::apply("load").force(), &Patch::Apply(&deployment)).await;
        made.expect("a Deployment is made");
    }
    // Counted by the controllers, so that the watcher of this loop costs nothing that is measured.
    let all = Api::<Deployment>::default_namespaced(client.clone());
    wait_until("the pods", PATIENCE, async || {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let list = all.list(&ListParams::default()).await.map_err(|why| why.to_string())?;
        let ready =
            |one: &Deployment| one.status.as_ref().and_then(|status| status.ready_replicas).unwrap_or(0);
        let count: i32 = list.items.iter().map(ready).sum();
        if usize::try_from(count) == Ok(pods) { Ok(()) } else { Err(format!("{count} run")) }
    })
    .await;
    phase.end();

    let phase = Phase::begin("a minute of rest");
    tokio::time::sleep(Duration::from_secs(60)).await;
    let list = all_nodes.list(&ListParams::default()).await.expect("a list");
    assert_eq!(list.items.iter().filter(|node| is_ready(node)).count(), nodes, "all stay ready");
    phase.end();

    let phase = Phase::begin("a listing of the provider");
    assert_eq!(provider.list().await.expect("a listing").instances.len(), nodes);
    phase.end();

    let phase = Phase::begin("until all nodes are gone");
    let mut ends = JoinSet::new();
    for id in ids {
        if ends.len() >= HANDS {
            ends.join_next().await;
        }
        let provider = provider.clone();
        ends.spawn(async move { provider.terminate(&id).await.expect("accepted") });
    }
    ends.join_all().await;
    wait_until("the end", PATIENCE, async || {
        let list = provider.list().await.map_err(|why| why.to_string())?;
        if list.instances.is_empty() { Ok(()) } else { Err(format!("{} left", list.instances.len())) }
    })
    .await;
    phase.end();
}

async fn launch_all(provider: &Arc<KwokProvider>, count: usize) -> Vec<CloudId> {
    let amount = |name: &str, n| (name.into(), Quantity::units(n));
    let amounts = [amount("cpu", 4), amount("memory", 16 << 30), amount("pods", 110)];
    let spec = LaunchSpec {
        workload: "w".into(),
        pool: "general".into(),
        instance: "i".into(),
        attempt: 1,
        kind: Default::default(),
        instance_type: String::new(),
        resources: Resources(BTreeMap::from(amounts)),
        labels: BTreeMap::new(),
        tags: BTreeMap::new(),
        template: json!({"boot": "2s"}),
        environment: BTreeMap::new(),
    };
    let (mut ids, mut launches) = (Vec::new(), JoinSet::new());
    for n in 0..count {
        if launches.len() >= HANDS {
            ids.extend(launches.join_next().await.map(|done| done.expect("a launch")));
        }
        let (provider, mut spec) = (provider.clone(), spec.clone());
        spec.instance = format!("i-{n}").as_str().into();
        let token = LaunchToken::of(&spec.instance, 1);
        launches.spawn(async move { provider.launch(&spec, &token).await.expect("accepted") });
    }
    ids.extend(launches.join_all().await);
    ids
}

fn is_ready(node: &Node) -> bool {
    let all = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    all.into_iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True")
}

struct Phase {
    what: String,
    begun: Instant,
    cpu: f64,
}

impl Phase {
    fn begin(what: &str) -> Self {
        Self { what: what.into(), begun: Instant::now(), cpu: cpu_seconds() }
    }
    fn end(self) {
        let (wall, cpu) = (self.begun.elapsed().as_secs_f64(), cpu_seconds() - self.cpu);
        println!("{:<32} {wall:7.1} s   own CPU {cpu:6.1} s", self.what);
    }
}

/// CPU time of this process so far, from the kernel's hundredths of a second.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<_> = text.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}
