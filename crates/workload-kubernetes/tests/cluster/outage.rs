//! The conformance suite and the death of the API server, in a control plane of its own.

use crate::world::{PATIENCE, World, cluster};
use async_trait::async_trait;
use ostler_model::{NodeId, NodeStatus};
use ostler_testkit::kube::Component;
use ostler_workload::Workload;
use ostler_workload::conformance::{Subject, suite};
use ostler_workload_kubernetes::KubernetesWorkload;
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// What the suite asks of the world. The world's own waits cannot be sent between threads, so they are done
/// beside it.
#[derive(Debug)]
enum Ask {
    Idle(oneshot::Sender<NodeId>),
    Busy(oneshot::Sender<NodeId>),
    Cut(oneshot::Sender<bool>),
    Restore(oneshot::Sender<()>),
}

struct Asking<'a> {
    workload: &'a KubernetesWorkload,
    asks: mpsc::Sender<Ask>,
}

impl Asking<'_> {
    async fn ask<T>(&self, ask: impl FnOnce(oneshot::Sender<T>) -> Ask) -> T {
        let (answer, answered) = oneshot::channel();
        self.asks.send(ask(answer)).await.expect("the world listens");
        answered.await.expect("an answer")
    }
}

#[async_trait]
impl Subject for Asking<'_> {
    fn workload(&self) -> &dyn Workload {
        self.workload
    }
    async fn idle_node(&self) -> NodeId {
        self.ask(Ask::Idle).await
    }
    async fn busy_node(&self) -> NodeId {
        self.ask(Ask::Busy).await
    }
    async fn cut(&self) -> bool {
        self.ask(Ask::Cut).await
    }
    async fn restore(&self) {
        self.ask(Ask::Restore).await;
    }
}

async fn serve(world: &World, workload: &KubernetesWorkload, mut asks: mpsc::Receiver<Ask>) {
    let mut made = 0;
    while let Some(ask) = asks.recv().await {
        made += 1;
        let name = format!("suite-{made}");
        match ask {
            Ask::Idle(answer) => {
                world.node(&name).await;
                world.status_is(workload, &name, NodeStatus::Idle).await;
                answer.send(NodeId::from(name)).expect("the suite listens");
            }
            Ask::Busy(answer) => {
                world.node(&name).await;
                world.replicas(&name, &name, 1, json!({})).await;
                world.status_is(workload, &name, NodeStatus::Running).await;
                answer.send(NodeId::from(name)).expect("the suite listens");
            }
            Ask::Cut(answer) => {
                world.lab.kill(Component::ApiServer);
                // For a while a look is answered from what is known.
                workload.observe().await.expect("an API server that is away for a moment is no outage");
                let begun = Instant::now();
                while workload.observe().await.is_ok() {
                    assert!(begun.elapsed() < PATIENCE, "the outage is not noticed");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                println!("the outage was noticed after {:?}", begun.elapsed());
                answer.send(true).expect("the suite listens");
            }
            Ask::Restore(answer) => {
                world.lab.revive(Component::ApiServer).await;
                answer.send(()).expect("the suite listens");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_contract_is_kept_and_a_restart_of_the_api_server_survived() {
    let world = World::own().await;
    let workload = world.workload();
    let (asks, asked) = mpsc::channel(1);
    let begun = Instant::now();
    let told = async {
        // The world stops listening when the suite is through.
        let asking = Asking { workload: &workload, asks };
        suite(&asking).await;
    };
    tokio::join!(told, serve(&world, &workload, asked));
    println!("the suite took {:?}", begun.elapsed());

    // Things change while nobody can tell: what the watches knew is too old for the new server (410).
    world.make_one(pod("before")).await;
    let sees = async |name: &str, there: bool| {
        world
            .seen(&format!("pod {name}: {there}"), async || {
                let state = workload.observe().await.map_err(|error| error.to_string())?;
                let found = cluster(&state).pods.iter().any(|pod| &*pod.name == name);
                if found == there { Ok(()) } else { Err(format!("there: {found}")) }
            })
            .await;
    };
    sees("before", true).await;
    world.lab.kill(Component::ApiServer);
    world.lab.revive(Component::ApiServer).await;
    world.delete(pod("before")).await;
    world.make_one(pod("after")).await;
    let begun = Instant::now();
    sees("after", true).await;
    sees("before", false).await;
    println!("all is known again {:?} after the API server was back", begun.elapsed());
}

fn pod(name: &str) -> serde_json::Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "none"}], "nodeSelector": {"no": "where"}}})
}
