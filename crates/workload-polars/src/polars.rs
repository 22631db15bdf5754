//! The workload.

use crate::config::Config;
use crate::error::PolarsError;
use crate::machines::Machines;
use crate::server::Servers;
use crate::sockets::Sockets;
use async_trait::async_trait;
use ostler_model::{CloudInstance, NodeId, ProviderId, WorkloadState};
use ostler_workload::{Capabilities, Door, DrainAnswer, DrainRequest, Published, Workload, WorkloadError};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A Polars cluster: its service, and the probes of its workers. Ends both when it is dropped.
#[derive(Debug)]
pub struct PolarsWorkload {
    door: Arc<Door>,
    machines: Machines,
    _servers: Servers,
}

impl PolarsWorkload {
    /// Begins to serve. `providers` are those of its pools. Needs a Tokio runtime.
    ///
    /// # Errors
    /// [`PolarsError`] if an address cannot be had, or would be open to strangers.
    pub fn start(
        config: Config,
        providers: BTreeSet<ProviderId>,
        sockets: &Sockets,
    ) -> Result<Self, PolarsError> {
        let door = Arc::new(Door::default());
        let servers = Servers::start(&config, &door, sockets)?;
        let machines = Machines::new(config.probe, providers, door.clone());
        Ok(Self { door, machines, _servers: servers })
    }
}

#[async_trait]
impl Workload for PolarsWorkload {
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    async fn observe(&self) -> Result<WorkloadState, WorkloadError> {
        Ok(WorkloadState { nodes: self.machines.ready().await.into(), ..WorkloadState::default() })
    }

    /// The scheduler has said which workers may go before it asked for fewer: there is nobody to ask.
    async fn drain(&self, node: &NodeId, _request: &DrainRequest) -> Result<DrainAnswer, WorkloadError> {
        self.machines.drain(node);
        Ok(DrainAnswer::Accepted)
    }

    async fn publish(&self, _status: &Published) -> Result<(), WorkloadError> {
        Ok(())
    }

    fn machines(&self, provider: &ProviderId, listed: Option<&[CloudInstance]>) {
        self.machines.listed(provider, listed);
    }

    fn door(&self) -> Option<&Door> {
        Some(&self.door)
    }
}
