//! The fake keeps the contract.

use async_trait::async_trait;
use ostler_model::{FailureClass, Labels, Millis, Node, NodeId, NodeStatus, Resources};
use ostler_workload::conformance::{self, Subject};
use ostler_workload::{Workload, WorkloadError, fake::FakeWorkload};
use std::sync::Arc;

struct Fake(FakeWorkload);

impl Fake {
    fn node(&self, id: &str, status: NodeStatus) -> NodeId {
        let id = NodeId::from(id);
        let mut inner = self.0.lock();
        if !inner.state.nodes.iter().any(|n| n.id == id) {
            Arc::make_mut(&mut inner.state.nodes).push(Node {
                id: id.clone(),
                cloud: None,
                pool: None,
                head: false,
                status,
                idle: Millis(0),
                total: Resources::default(),
                available: Resources::default(),
                labels: Labels::default(),
                address: String::new(),
                instance_type: String::new(),
                activity: vec![],
            });
        }
        id
    }
}

#[async_trait]
impl Subject for Fake {
    fn workload(&self) -> &dyn Workload {
        &self.0
    }
    async fn idle_node(&self) -> NodeId {
        self.node("idle", NodeStatus::Idle)
    }
    async fn busy_node(&self) -> NodeId {
        self.node("busy", NodeStatus::Running)
    }
    async fn cut(&self) -> bool {
        self.0.lock().trouble = Some(WorkloadError::new(FailureClass::Transient, "fake.cut", "cut off"));
        true
    }
    async fn restore(&self) {
        self.0.lock().trouble = None;
    }
}

#[tokio::test]
async fn the_fake_keeps_the_contract() {
    conformance::suite(&Fake(FakeWorkload::default())).await;
}
