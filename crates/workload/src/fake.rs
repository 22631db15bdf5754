//! A workload in memory, for tests of whatever stands on the contract. Its state is a plain value that the
//! test writes; the only rules it knows are those of the contract.

use crate::{Capabilities, DrainAnswer, DrainCause, DrainRequest, Published, Workload, WorkloadError};
use async_trait::async_trait;
use ostler_model::{NodeId, NodeStatus, WorkloadState};
use std::sync::{Arc, Mutex, MutexGuard};

/// A workload in memory. Clones share one state.
#[derive(Debug, Clone, Default)]
pub struct FakeWorkload(Arc<Mutex<Inner>>);

/// What a [`FakeWorkload`] is and has been told.
#[derive(Debug, Default)]
pub struct Inner {
    /// What the next look sees. `version` rises by itself.
    pub state: WorkloadState,
    /// Every call fails with this while it is there.
    pub trouble: Option<WorkloadError>,
    /// Drains that were asked for, oldest first, with their answers.
    pub drains: Vec<(NodeId, DrainRequest, DrainAnswer)>,
    /// What was told last.
    pub published: Published,
    /// All events that were told, oldest first.
    pub events: Vec<crate::Event>,
}

impl FakeWorkload {
    /// The state, to read and to write.
    pub fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
    fn reach(&self) -> Result<MutexGuard<'_, Inner>, WorkloadError> {
        let inner = self.lock();
        match &inner.trouble {
            Some(trouble) => Err(trouble.clone()),
            None => Ok(inner),
        }
    }
}

impl Inner {
    fn drain(&mut self, node: &NodeId, request: &DrainRequest) -> DrainAnswer {
        let Some(node) = Arc::make_mut(&mut self.state.nodes).iter_mut().find(|n| n.id == *node) else {
            return DrainAnswer::Accepted;
        };
        match (request.cause, node.status) {
            (DrainCause::Idle { .. }, NodeStatus::Running) => {
                DrainAnswer::Rejected(format!("node {} is no longer idle", node.id))
            }
            (_, NodeStatus::Dead) => DrainAnswer::Accepted,
            _ => {
                node.status = NodeStatus::Draining;
                DrainAnswer::Accepted
            }
        }
    }
}

#[async_trait]
impl Workload for FakeWorkload {
    fn capabilities(&self) -> Capabilities {
        Capabilities { undrain: true, rejects_busy_drain: true, waits_for_deadline: true }
    }
    async fn observe(&self) -> Result<WorkloadState, WorkloadError> {
        let mut inner = self.reach()?;
        inner.state.version += 1;
        Ok(inner.state.clone())
    }
    async fn drain(&self, node: &NodeId, request: &DrainRequest) -> Result<DrainAnswer, WorkloadError> {
        let mut inner = self.reach()?;
        let answer = inner.drain(node, request);
        inner.drains.push((node.clone(), request.clone(), answer.clone()));
        Ok(answer)
    }
    async fn undrain(&self, node: &NodeId) -> Result<(), WorkloadError> {
        let mut inner = self.reach()?;
        for node in Arc::make_mut(&mut inner.state.nodes)
            .iter_mut()
            .filter(|n| n.id == *node && n.status == NodeStatus::Draining)
        {
            node.status = NodeStatus::Running;
        }
        Ok(())
    }
    async fn publish(&self, status: &Published) -> Result<(), WorkloadError> {
        let mut inner = self.reach()?;
        if status.generation >= inner.published.generation {
            inner.published = status.clone();
            inner.events.extend(status.events.iter().cloned());
        }
        Ok(())
    }
}
