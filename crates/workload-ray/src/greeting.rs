//! What is asked and said once in each life of a GCS.

use crate::config::{Config, MESSAGE_BYTES_MAX};
use crate::events::{EventLog, LogLayout};
use crate::link::{Caller, odd, refused};
use crate::map::hex;
use crate::proto::autoscaler::GetClusterStatusRequest;
use crate::proto::autoscaler::autoscaler_state_service_client::AutoscalerStateServiceClient as Autoscaler;
use crate::proto::gcs::internal_kv_gcs_service_client::InternalKvGcsServiceClient as Kv;
use crate::proto::gcs::node_info_gcs_service_client::NodeInfoGcsServiceClient as Nodes;
use crate::proto::gcs::{
    CheckAliveRequest, GcsNodeInfo, GetAllNodeInfoRequest, GetClusterIdRequest, InternalKvGetRequest,
    InternalKvPutRequest, NodeSelector,
};
use ostler_workload::WorkloadError;
use std::path::PathBuf;

const V2_NAMESPACE: &[u8] = b"__autoscaler";
const V2_KEY: &[u8] = b"__autoscaler_v2_enabled";
const METRICS_KEY: &[u8] = b"AutoscalerMetricsAddress";
const SESSION_NAMESPACE: &[u8] = b"session";

/// What we know of one life of a GCS.
#[derive(Debug)]
pub(crate) struct Greeting {
    /// Ray's version, e.g. `2.60.0`.
    pub(crate) ray_version: String,
    /// The highest report version that this GCS has seen; ours must not be lower.
    pub(crate) report_floor: i64,
    /// How log lines reach its drivers; `None`: not known for this version.
    pub(crate) layout: Option<LogLayout>,
    /// Address of the head; drivers on it show log lines without saying where they come from.
    pub(crate) head_address: String,
    /// The event log, if it is on this host.
    pub(crate) log: Option<EventLog>,
}

/// Learns who is there, and says that an autoscaler is. The caller comes back with the cluster's id.
pub(crate) async fn greet(config: &Config, mut caller: Caller) -> Result<(Caller, Greeting), WorkloadError> {
    caller.cluster = Some(cluster_id(config, &caller).await?);
    let ray_version = ray_version(config, &caller).await?;
    let layout = LogLayout::of(&ray_version);
    if config.enable_v2 {
        enable_v2(config, &caller).await?;
    }
    if let Some(address) = &config.metrics_address {
        put(config, &caller, METRICS_KEY, b"", address.as_bytes()).await?;
    }
    let head = head(config, &caller).await?;
    let session_dir = session_dir(config, &caller, &head).await?;
    let log =
        session_dir.filter(|_| config.events_to_log).and_then(|dir| EventLog::of(&dir, layout.is_some()));
    let report_floor = report_floor(config, &caller).await?;
    tracing::info!(address = config.address, ray_version, "connected to Ray's GCS");
    let head_address = head.node_manager_address;
    Ok((caller, Greeting { ray_version, report_floor, layout, head_address, log }))
}

async fn cluster_id(
    config: &Config,
    caller: &Caller,
) -> Result<tonic::metadata::MetadataValue<tonic::metadata::Ascii>, WorkloadError> {
    let asked =
        Nodes::new(caller.channel.clone()).get_cluster_id(caller.request(GetClusterIdRequest {})).await;
    let id = asked.map_err(refused(config, "GetClusterId"))?.into_inner().cluster_id;
    if id.is_empty() {
        return Err(odd(config, "a cluster id"));
    }
    hex(&id).parse().map_err(|_| odd(config, "a cluster id"))
}

async fn ray_version(config: &Config, caller: &Caller) -> Result<String, WorkloadError> {
    let asked = Nodes::new(caller.channel.clone()).check_alive(caller.request(CheckAliveRequest {})).await;
    Ok(asked.map_err(refused(config, "CheckAlive"))?.into_inner().ray_version)
}

/// Reports below what this GCS has seen are dropped by it without a word. Whoever reported before us (Ray's own
/// autoscaler, an Ostler with another clock) must not silence us.
async fn report_floor(config: &Config, caller: &Caller) -> Result<i64, WorkloadError> {
    let mut client = Autoscaler::new(caller.channel.clone()).max_decoding_message_size(MESSAGE_BYTES_MAX);
    let asked = client.get_cluster_status(caller.request(GetClusterStatusRequest {})).await;
    let status = asked.map_err(refused(config, "GetClusterStatus"))?.into_inner();
    Ok(status.autoscaling_state.map_or(0, |state| state.autoscaler_state_version))
}

async fn enable_v2(config: &Config, caller: &Caller) -> Result<(), WorkloadError> {
    if get(config, caller, V2_KEY, V2_NAMESPACE).await? == b"1" {
        return Ok(());
    }
    tracing::warn!(
        address = config.address,
        "this head was started without RAY_enable_autoscaler_v2=1; turning it on for everyone who asks from now on"
    );
    put(config, caller, V2_KEY, V2_NAMESPACE, b"1").await
}

/// The head that is alive; empty if it has not registered yet.
async fn head(config: &Config, caller: &Caller) -> Result<GcsNodeInfo, WorkloadError> {
    let request = GetAllNodeInfoRequest { node_selectors: vec![NodeSelector { is_head_node: true }] };
    let mut client = Nodes::new(caller.channel.clone()).max_decoding_message_size(MESSAGE_BYTES_MAX);
    let asked = client.get_all_node_info(caller.request(request)).await;
    let nodes = asked.map_err(refused(config, "GetAllNodeInfo"))?.into_inner().node_info_list;
    Ok(nodes.into_iter().find(|node| node.is_head_node && node.state == 0).unwrap_or_default())
}

async fn session_dir(
    config: &Config,
    caller: &Caller,
    head: &GcsNodeInfo,
) -> Result<Option<PathBuf>, WorkloadError> {
    let dir = match head.session_dir.as_str() {
        "" => String::from_utf8(get(config, caller, b"session_dir", SESSION_NAMESPACE).await?)
            .unwrap_or_default(),
        dir => dir.to_owned(),
    };
    Ok(Some(PathBuf::from(dir)).filter(|dir| dir.is_absolute()))
}

async fn get(
    config: &Config,
    caller: &Caller,
    key: &[u8],
    namespace: &[u8],
) -> Result<Vec<u8>, WorkloadError> {
    let request = InternalKvGetRequest { key: key.to_vec(), namespace: namespace.to_vec() };
    let asked = Kv::new(caller.channel.clone()).internal_kv_get(caller.request(request)).await;
    Ok(asked.map_err(refused(config, "InternalKVGet"))?.into_inner().value)
}

async fn put(
    config: &Config,
    caller: &Caller,
    key: &[u8],
    namespace: &[u8],
    value: &[u8],
) -> Result<(), WorkloadError> {
    let (key, namespace, value) = (key.to_vec(), namespace.to_vec(), value.to_vec());
    let request = InternalKvPutRequest { key, namespace, value, overwrite: true };
    let asked = Kv::new(caller.channel.clone()).internal_kv_put(caller.request(request)).await;
    asked.map(drop).map_err(refused(config, "InternalKVPut"))
}
