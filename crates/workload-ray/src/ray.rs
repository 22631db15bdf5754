//! The contract, kept by a Ray cluster.

use crate::config::{Config, MESSAGE_BYTES_MAX};
use crate::error::permanent;
use crate::events;
use crate::link::{Link, Session, odd};
use crate::map::{self, unhex};
use crate::proto::autoscaler::autoscaler_state_service_client::AutoscalerStateServiceClient as Autoscaler;
use crate::proto::autoscaler::{
    DrainNodeReason, DrainNodeReply, DrainNodeRequest, GetClusterResourceStateRequest,
    ReportAutoscalingStateRequest,
};
use crate::report::autoscaling_state;
use async_trait::async_trait;
use ostler_model::{NodeId, Timestamp, WorkloadState};
use ostler_workload::{
    Capabilities, DrainAnswer, DrainCause, DrainRequest, Published, Workload, WorkloadError,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tonic::transport::Channel;

/// A Ray cluster, through its GCS.
#[derive(Debug)]
pub struct RayWorkload {
    link: Link,
    /// The highest generation that was told; an older one is ignored.
    told: AtomicU64,
}

impl RayWorkload {
    /// A client of the GCS at an address. Connects with its first call.
    pub fn new(config: Config) -> Self {
        Self { link: Link::new(config), told: AtomicU64::new(0) }
    }

    /// The version of Ray that answers, e.g. `2.60.0`.
    pub async fn ray_version(&self) -> Result<String, WorkloadError> {
        self.link.session().await.map(|session| session.greeting.ray_version.clone())
    }

    async fn report(&self, status: &Published) -> Result<(), WorkloadError> {
        let generation = i64::try_from(status.generation).unwrap_or(i64::MAX);
        let send = |session: Arc<Session>| {
            let state = autoscaling_state(status, generation.max(session.greeting.report_floor));
            let request =
                session.caller.request(ReportAutoscalingStateRequest { autoscaling_state: Some(state) });
            async move { client(&session).report_autoscaling_state(request).await }
        };
        self.link.call("ReportAutoscalingState", send).await.map(drop)
    }

    async fn tell_events(&self, status: &Published) -> Result<(), WorkloadError> {
        if status.events.is_empty() {
            return Ok(());
        }
        let lines = events::lines(&status.events);
        let session = self.link.session().await?;
        if let Some(log) = &session.greeting.log {
            log.append(&lines).await;
        }
        match session.greeting.layout {
            Some(layout) if self.link.config().events_to_drivers => {
                let send = |session: Arc<Session>| {
                    let lines = lines.clone();
                    async move {
                        layout.publish(&session.caller, session.greeting.head_address.clone(), lines).await
                    }
                };
                self.link.call("GcsPublish", send).await.map(drop)
            }
            _ => Ok(()),
        }
    }
}

fn client(session: &Session) -> Autoscaler<Channel> {
    Autoscaler::new(session.caller.channel.clone()).max_decoding_message_size(MESSAGE_BYTES_MAX)
}

#[async_trait]
impl Workload for RayWorkload {
    fn capabilities(&self) -> Capabilities {
        Capabilities { undrain: false, rejects_busy_drain: true, waits_for_deadline: true }
    }

    async fn observe(&self) -> Result<WorkloadState, WorkloadError> {
        let look = |session: Arc<Session>| {
            let request = session.caller.request(GetClusterResourceStateRequest {});
            async move { client(&session).get_cluster_resource_state(request).await }
        };
        let reply = self.link.call("GetClusterResourceState", look).await?;
        let state = reply.cluster_resource_state.ok_or_else(|| odd(self.link.config(), "a cluster state"))?;
        Ok(map::workload_state(state))
    }

    /// Both causes go to the autoscaler's own drain, which lets the work on the node end until the deadline.
    /// Ray's autoscaler ends busy nodes through another method, which kills what runs on them at once.
    async fn drain(&self, node: &NodeId, request: &DrainRequest) -> Result<DrainAnswer, WorkloadError> {
        let message = drain_request(node, request)?;
        let send = |session: Arc<Session>| {
            let request = session.caller.request(message.clone());
            async move { client(&session).drain_node(request).await }
        };
        let DrainNodeReply { is_accepted, rejection_reason_message } =
            self.link.call("DrainNode", send).await?;
        Ok(if is_accepted { DrainAnswer::Accepted } else { DrainAnswer::Rejected(rejection_reason_message) })
    }

    async fn publish(&self, status: &Published) -> Result<(), WorkloadError> {
        if status.generation < self.told.fetch_max(status.generation, Ordering::Relaxed) {
            return Ok(());
        }
        self.report(status).await?;
        self.tell_events(status).await
    }
}

fn drain_request(node: &NodeId, request: &DrainRequest) -> Result<DrainNodeRequest, WorkloadError> {
    let unreadable =
        || permanent("ray.node_id", format!("{node} is not the id of a Ray node: it is not hex"));
    let reason = match request.cause {
        DrainCause::Idle { .. } => DrainNodeReason::IdleTermination,
        DrainCause::Preemption => DrainNodeReason::Preemption,
    };
    Ok(DrainNodeRequest {
        node_id: unhex(node.as_str()).filter(|bytes| !bytes.is_empty()).ok_or_else(unreadable)?,
        reason: reason.into(),
        reason_message: request.message.clone(),
        deadline_timestamp_ms: request
            .deadline
            .map_or(0, |Timestamp(ms)| i64::try_from(ms).unwrap_or(i64::MAX)),
    })
}
