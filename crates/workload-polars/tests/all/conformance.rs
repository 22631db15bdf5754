//! The contract of workloads.

use super::common::{Served, serve};
use async_trait::async_trait;
use ostler_model::{CloudInstance, CloudPhase, NodeId, NodeKind, NodeStatus, ProviderId};
use ostler_workload::conformance::{Subject, suite};
use ostler_workload::{Outcome, Workload};

/// Two workers that are ready, as a provider lists them.
struct Cluster(Served);

fn machine(name: &str, phase: CloudPhase) -> CloudInstance {
    CloudInstance {
        id: format!("m-{name}").as_str().into(),
        workload: "w".into(),
        pool: "a".into(),
        launched_for: Some((name.into(), 1)),
        kind: NodeKind::Worker,
        phase,
        created_at: None,
        address: "127.0.0.1".to_owned(),
    }
}

#[async_trait]
impl Subject for Cluster {
    fn workload(&self) -> &dyn Workload {
        &*self.0.workload
    }

    async fn idle_node(&self) -> NodeId {
        "i-1".into()
    }

    async fn busy_node(&self) -> NodeId {
        "i-2".into()
    }

    /// It is told of its machines, and goes nowhere where it could be cut off.
    async fn cut(&self) -> bool {
        false
    }

    async fn restore(&self) {}
}

#[tokio::test]
async fn it_keeps_the_contract() {
    let cluster = Cluster(serve(Outcome::Accepted, |_| {}));
    let provider = ProviderId::from("p");
    let listed = ["i-1", "i-2"].map(|name| machine(name, CloudPhase::Running));
    cluster.workload().machines(&provider, Some(&listed));
    let status = async || {
        let state = cluster.workload().observe().await.expect("it always can");
        state.nodes.iter().map(|node| (node.id.to_string(), node.status)).collect::<Vec<_>>()
    };
    let both = |first| vec![("i-1".to_owned(), first), ("i-2".to_owned(), NodeStatus::Running)];
    assert_eq!(status().await, both(NodeStatus::Running));
    suite(&cluster).await;
    assert_eq!(status().await, both(NodeStatus::Draining));
    // That it was asked to go is known for as long as its machine is there; another one is another one.
    cluster.workload().machines(&provider, Some(&listed[1..]));
    assert_eq!(status().await, both(NodeStatus::Running)[1..]);
}
