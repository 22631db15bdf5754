//! A GCS of Ray in memory: it answers what its script says, keeps what it was told, and has the faults of the
//! real one. Behaviour as measured in `docs/ray-wire.md`.

use ostler_workload_ray::proto::autoscaler::autoscaler_state_service_server as autoscaler_service;
use ostler_workload_ray::proto::autoscaler::{
    AutoscalingState, ClusterResourceState, DrainNodeReason, DrainNodeReply, DrainNodeRequest,
    GetClusterResourceStateReply, GetClusterResourceStateRequest, GetClusterStatusReply,
    GetClusterStatusRequest, NodeState, NodeStatus, ReportAutoscalingStateReply,
    ReportAutoscalingStateRequest,
};
use ostler_workload_ray::proto::gcs::{
    CheckAliveReply, CheckAliveRequest, GcsNodeInfo, GcsPublishReply, GcsPublishRequest, GcsStatus,
    GetAllNodeInfoReply, GetAllNodeInfoRequest, GetClusterIdReply, GetClusterIdRequest, InternalKvGetReply,
    InternalKvGetRequest, InternalKvPutReply, InternalKvPutRequest,
    internal_kv_gcs_service_server as kv_service, internal_pub_sub_gcs_service_server as pub_sub_service,
    node_info_gcs_service_server as node_service, observability_pub_sub_service_server as log_service,
};
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::service::InterceptorLayer;
use tonic::transport::Server;
use tonic::{Request, Response, Status};

/// What the server answers, and what it was told. Tests write and read it at any time.
#[derive(Debug, Clone)]
pub struct Script {
    /// Who the cluster is; callers that name another one are refused.
    pub cluster_id: Vec<u8>,
    /// Ray's version.
    pub ray_version: String,
    /// Callers must bring this token.
    pub token: Option<String>,
    /// The state; its version rises with each look.
    pub state: ClusterResourceState,
    /// What a node becomes when a drain of it is accepted.
    pub drained: NodeStatus,
    /// Every call fails as if the server were on its way up.
    pub unavailable: bool,
    /// Every answer is this late.
    pub delay: Duration,
    /// The key-value store, by namespace and key.
    pub kv: BTreeMap<(String, String), String>,
    /// The report with the highest version, as the real one keeps it.
    pub report: AutoscalingState,
    /// Drains that were asked for, oldest first.
    pub drains: Vec<DrainNodeRequest>,
    /// Log lines for drivers: the channel's number and the line.
    pub lines: Vec<(i32, String)>,
    /// Calls by method.
    pub calls: BTreeMap<&'static str, u64>,
}

impl Default for Script {
    fn default() -> Self {
        let session = "session_2026-01-01_00-00-00_000000_1".to_owned();
        Self {
            cluster_id: vec![1; 28],
            ray_version: "2.60.0".into(),
            token: None,
            state: ClusterResourceState { cluster_session_name: session, ..Default::default() },
            drained: NodeStatus::Dead,
            unavailable: false,
            delay: Duration::ZERO,
            kv: BTreeMap::new(),
            report: AutoscalingState::default(),
            drains: vec![],
            lines: vec![],
            calls: BTreeMap::new(),
        }
    }
}

const HEAD: &str = "node:__internal_head__";

/// The id of the `n`th node of a scripted cluster.
pub fn node_id(n: u8) -> Vec<u8> {
    vec![n; 28]
}

/// A worker as Ray shows it: `c-<n>` of a pool, with all of its CPUs free (idle) or used up (running).
pub fn worker(n: u8, pool: &str, cpus: f64, status: NodeStatus) -> NodeState {
    let amounts = |cpus: f64| [("CPU", cpus), ("memory", 8e9)].map(|(k, v)| (k.to_owned(), v)).into();
    let idle = status == NodeStatus::Idle;
    NodeState {
        node_id: node_id(n),
        instance_id: format!("c-{n}"),
        ray_node_type_name: pool.into(),
        total_resources: amounts(cpus),
        available_resources: if idle { amounts(cpus) } else { [("memory".to_owned(), 8e9)].into() },
        status: status.into(),
        idle_duration_ms: if idle { 60_000 } else { 0 },
        node_ip_address: format!("10.0.0.{n}"),
        ..NodeState::default()
    }
}

/// The head as Ray shows it, without CPUs.
pub fn head() -> NodeState {
    let total: BTreeMap<_, _> = [(HEAD.to_owned(), 1.0), ("memory".to_owned(), 8e9)].into();
    let plain = worker(255, "head", 0.0, NodeStatus::Idle);
    NodeState {
        instance_id: "head".into(),
        total_resources: total.clone(),
        available_resources: total,
        ..plain
    }
}

/// A running server on a free port of the loopback device. It ends when it is dropped.
#[derive(Debug)]
pub struct Gcs {
    address: SocketAddr,
    shared: Shared,
    runtime: Option<Runtime>,
}

impl Gcs {
    /// Starts a server with a script.
    pub fn start(script: Script) -> Self {
        let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
        let shared = Shared(Arc::new(Mutex::new(script)));
        let (address, runtime) = serve(any_port, shared.clone());
        Self { address, shared, runtime: Some(runtime) }
    }
    /// `HOST:PORT`.
    pub fn address(&self) -> String {
        self.address.to_string()
    }
    /// The script, to read and to write.
    pub fn lock(&self) -> MutexGuard<'_, Script> {
        self.shared.lock()
    }
    /// Ends the server and all of its connections; the script stays.
    pub fn stop(&mut self) {
        // In the background: tests stop it from within another runtime, which must not block.
        self.runtime.take().into_iter().for_each(Runtime::shutdown_background);
    }
    /// Starts it again on the same port, after [`Gcs::stop`].
    pub fn start_again(&mut self) {
        self.stop();
        let (_, runtime) = serve(self.address, self.shared.clone());
        self.runtime = Some(runtime);
    }
}

impl Drop for Gcs {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A runtime of its own, so that ending it ends every connection too.
fn serve(address: SocketAddr, shared: Shared) -> (SocketAddr, Runtime) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let listener = bind(address);
    let address = listener.local_addr().expect("a bound address");
    runtime.spawn(async move {
        let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
        let guard = shared.clone();
        let server = Server::builder()
            .layer(InterceptorLayer::new(move |request| guard.admit(request)))
            .add_service(autoscaler_service::AutoscalerStateServiceServer::new(shared.clone()))
            .add_service(kv_service::InternalKvGcsServiceServer::new(shared.clone()))
            .add_service(pub_sub_service::InternalPubSubGcsServiceServer::new(shared.clone()))
            .add_service(log_service::ObservabilityPubSubServiceServer::new(shared.clone()))
            .add_service(node_service::NodeInfoGcsServiceServer::new(shared));
        server.serve_with_incoming(TcpListenerStream::new(listener)).await.expect("the server serves");
    });
    (address, runtime)
}

/// The port of a server that just ended may take a moment to be free.
fn bind(address: SocketAddr) -> TcpListener {
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    loop {
        match TcpListener::bind(address) {
            Ok(listener) => {
                listener.set_nonblocking(true).expect("a nonblocking listener");
                return listener;
            }
            Err(error) => assert!(std::time::Instant::now() < deadline, "{address} cannot be bound: {error}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[derive(Debug, Clone)]
struct Shared(Arc<Mutex<Script>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Script> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The checks that come before every method, with Ray's words.
    fn admit(&self, request: Request<()>) -> Result<Request<()>, Status> {
        let script = self.lock();
        let header = |name| request.metadata().get(name).and_then(|value| value.to_str().ok());
        let id: String = script.cluster_id.iter().map(|byte| format!("{byte:02x}")).collect();
        if script.unavailable {
            return Err(Status::unavailable("the server is starting"));
        }
        if script.token.as_ref().is_some_and(|t| header("authorization") != Some(&format!("Bearer {t}"))) {
            return Err(Status::unauthenticated(
                "InvalidAuthToken: Authentication token is missing or incorrect",
            ));
        }
        if header("ray_cluster_id").is_some_and(|named| named != id) {
            return Err(Status::unauthenticated(
                "WrongClusterID: Perhaps the client is accessing GCS after it has restarted.",
            ));
        }
        drop(script);
        Ok(request)
    }

    async fn answer<T>(
        &self,
        method: &'static str,
        answer: impl FnOnce(&mut Script) -> T,
    ) -> Result<Response<T>, Status> {
        let delay = self.lock().delay;
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        let mut script = self.lock();
        *script.calls.entry(method).or_default() += 1;
        Ok(Response::new(answer(&mut script)))
    }

    async fn publish(&self, request: GcsPublishRequest) -> Result<Response<GcsPublishReply>, Status> {
        self.answer("GcsPublish", |script| {
            for message in request.pub_messages {
                let batches = [message.log_batch_2_48, message.log_batch_2_50, message.log_batch_2_57];
                let lines = batches.into_iter().flatten().flat_map(|batch| batch.lines);
                script.lines.extend(lines.map(|line| (message.channel_type, line)));
            }
            GcsPublishReply::default()
        })
        .await
    }
}

impl Script {
    fn drain(&mut self, request: DrainNodeRequest) -> DrainNodeReply {
        let drained = self.drained.into();
        let idle_only = request.reason == i32::from(DrainNodeReason::IdleTermination);
        let node = self.state.node_states.iter_mut().find(|n| n.node_id == request.node_id);
        self.drains.push(request);
        match node {
            Some(node) if idle_only && node.status() == NodeStatus::Running => DrainNodeReply {
                is_accepted: false,
                rejection_reason_message: "The node to be idle terminated is no longer idle.".into(),
            },
            Some(node) => {
                node.status = drained;
                DrainNodeReply { is_accepted: true, ..Default::default() }
            }
            None => DrainNodeReply { is_accepted: true, ..Default::default() },
        }
    }

    fn keep(&mut self, report: AutoscalingState) {
        if report.autoscaler_state_version >= self.report.autoscaler_state_version {
            self.report = report;
        }
    }
}

#[tonic::async_trait]
impl autoscaler_service::AutoscalerStateService for Shared {
    async fn get_cluster_resource_state(
        &self,
        _: Request<GetClusterResourceStateRequest>,
    ) -> Result<Response<GetClusterResourceStateReply>, Status> {
        self.answer("GetClusterResourceState", |script| {
            script.state.cluster_resource_state_version += 1;
            GetClusterResourceStateReply { cluster_resource_state: Some(script.state.clone()) }
        })
        .await
    }
    async fn report_autoscaling_state(
        &self,
        request: Request<ReportAutoscalingStateRequest>,
    ) -> Result<Response<ReportAutoscalingStateReply>, Status> {
        self.answer("ReportAutoscalingState", |script| {
            request.into_inner().autoscaling_state.into_iter().for_each(|report| script.keep(report));
            ReportAutoscalingStateReply {}
        })
        .await
    }
    async fn get_cluster_status(
        &self,
        _: Request<GetClusterStatusRequest>,
    ) -> Result<Response<GetClusterStatusReply>, Status> {
        self.answer("GetClusterStatus", |script| GetClusterStatusReply {
            autoscaling_state: Some(script.report.clone()),
        })
        .await
    }
    async fn drain_node(
        &self,
        request: Request<DrainNodeRequest>,
    ) -> Result<Response<DrainNodeReply>, Status> {
        self.answer("DrainNode", |script| script.drain(request.into_inner())).await
    }
}

#[tonic::async_trait]
impl node_service::NodeInfoGcsService for Shared {
    async fn get_cluster_id(
        &self,
        _: Request<GetClusterIdRequest>,
    ) -> Result<Response<GetClusterIdReply>, Status> {
        self.answer("GetClusterId", |s| GetClusterIdReply { status: None, cluster_id: s.cluster_id.clone() })
            .await
    }
    async fn get_all_node_info(
        &self,
        _: Request<GetAllNodeInfoRequest>,
    ) -> Result<Response<GetAllNodeInfoReply>, Status> {
        self.answer("GetAllNodeInfo", |script| {
            let heads = script.state.node_states.iter().filter(|n| n.total_resources.contains_key(HEAD));
            let info = |head: &NodeState| GcsNodeInfo {
                node_manager_address: head.node_ip_address.clone(),
                is_head_node: true,
                ..GcsNodeInfo::default()
            };
            GetAllNodeInfoReply { status: None, node_info_list: heads.map(info).collect() }
        })
        .await
    }
    async fn check_alive(&self, _: Request<CheckAliveRequest>) -> Result<Response<CheckAliveReply>, Status> {
        self.answer("CheckAlive", |s| CheckAliveReply { status: None, ray_version: s.ray_version.clone() })
            .await
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tonic::async_trait]
impl kv_service::InternalKvGcsService for Shared {
    async fn internal_kv_get(
        &self,
        request: Request<InternalKvGetRequest>,
    ) -> Result<Response<InternalKvGetReply>, Status> {
        let InternalKvGetRequest { key, namespace } = request.into_inner();
        self.answer("InternalKVGet", |script| match script.kv.get(&(text(&namespace), text(&key))) {
            Some(value) => InternalKvGetReply { status: None, value: value.clone().into_bytes() },
            None => InternalKvGetReply {
                status: Some(GcsStatus { code: 17, message: String::new() }),
                value: vec![],
            },
        })
        .await
    }
    async fn internal_kv_put(
        &self,
        request: Request<InternalKvPutRequest>,
    ) -> Result<Response<InternalKvPutReply>, Status> {
        let put = request.into_inner();
        self.answer("InternalKVPut", |script| {
            script.kv.insert((text(&put.namespace), text(&put.key)), text(&put.value));
            InternalKvPutReply::default()
        })
        .await
    }
}

#[tonic::async_trait]
impl pub_sub_service::InternalPubSubGcsService for Shared {
    async fn gcs_publish(
        &self,
        request: Request<GcsPublishRequest>,
    ) -> Result<Response<GcsPublishReply>, Status> {
        self.publish(request.into_inner()).await
    }
}

#[tonic::async_trait]
impl log_service::ObservabilityPubSubService for Shared {
    async fn gcs_publish(
        &self,
        request: Request<GcsPublishRequest>,
    ) -> Result<Response<GcsPublishReply>, Status> {
        self.publish(request.into_inner()).await
    }
}
