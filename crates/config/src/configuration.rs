//! The typed configuration: what every file becomes. Nothing behind this checks it again.

use crate::value::Command;
use ostler_model::{Millis, Policy, Pool, ProviderId, WorkloadId};
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Everything that Ostler is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// What asks for capacity, by name.
    pub workloads: Vec<WorkloadConfig>,
    /// Where machines come from.
    pub providers: BTreeMap<ProviderId, ProviderConfig>,
    /// What is kept, and where.
    pub store: StoreConfig,
    /// The HTTP API.
    pub api: ApiConfig,
    /// How long a call may take before it counts as failed.
    pub deadlines: Deadlines,
}

/// One thing that asks for capacity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadConfig {
    /// Its name (Ray: `cluster_name`).
    pub id: WorkloadId,
    /// What it is, and how it is reached.
    pub kind: WorkloadKind,
    /// How it wants to be scaled.
    pub policy: Policy,
    /// Its pools, in the order of the file (Ray decides by this order).
    pub pools: Vec<PoolConfig>,
}

/// The kinds of workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkloadKind {
    /// A Ray cluster.
    Ray(RayConfig),
    /// A Polars cluster.
    Polars(Box<PolarsConfig>),
    /// The nodes of a Kubernetes cluster.
    Kubernetes(Box<KubernetesConfig>),
}

/// How an API server is reached.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KubeConnection {
    /// The kubeconfig; `None`: `KUBECONFIG`, `~/.kube/config`, or what a pod in the cluster is given.
    pub kubeconfig: Option<PathBuf>,
    /// A context of it; `None`: the current one.
    pub context: Option<String>,
}

/// The nodes of a Kubernetes cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubernetesConfig {
    /// Which cluster.
    pub connection: KubeConnection,
    /// Where our own objects are: the status, the lease.
    pub namespace: String,
    /// Leader election, if there is more than one Ostler.
    pub lease: Option<KubeLease>,
    /// Between the taint of a node and the last look before its pods are evicted.
    pub settle: Millis,
    /// No event for this long ends a batch.
    pub batch_idle: Millis,
    /// The longest batch.
    pub batch_max: Millis,
}

/// Leader election by a Lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubeLease {
    /// Its name.
    pub name: String,
    /// A leader is believed to live this long without a word.
    pub duration: Millis,
}

/// A server that speaks Cluster Autoscaler's external gRPC provider protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalGrpcConfig {
    /// `HOST:PORT`.
    pub address: String,
    /// Certificates that the server's must be signed by; with it the connection is by TLS.
    pub ca_file: Option<PathBuf>,
    /// Our own certificate.
    pub cert_file: Option<PathBuf>,
    /// Its key.
    pub key_file: Option<PathBuf>,
    /// No answer within this is none.
    pub timeout: Millis,
}

/// The scaling service of a Polars cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolarsConfig {
    /// The service over REST.
    pub rest: Option<PolarsRest>,
    /// Where the service over gRPC listens.
    pub grpc: Option<SocketAddr>,
    /// Where certificates are, if it is served by TLS.
    pub tls: Option<PolarsTls>,
    /// The file with the token that callers must send.
    pub token_file: Option<PathBuf>,
    /// Whence callers may come; empty is from anywhere.
    pub networks: Vec<Network>,
    /// Others than this host may ask without any protection.
    pub insecure: bool,
    /// Bytes of a request at most.
    pub max_body_bytes: usize,
    /// When a worker is ready.
    pub probe: PolarsProbe,
}

/// The service over REST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolarsRest {
    /// Where it listens.
    pub listen: SocketAddr,
    /// What stands before the paths: empty, or begins with `/` and does not end so.
    pub path: String,
    /// The file with such a path that is a secret.
    pub secret_path_file: Option<PathBuf>,
}

/// Where certificates are. The configuration never holds them itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolarsTls {
    /// Our certificate.
    pub certificate_file: PathBuf,
    /// Its private key.
    pub key_file: PathBuf,
    /// Authorities, of one of which callers must have a certificate.
    pub client_ca_file: Option<PathBuf>,
}

/// Addresses that begin alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    /// One of its addresses.
    pub address: std::net::IpAddr,
    /// Bits that all of them share, from the left.
    pub bits: u8,
}

/// How a worker shows that it is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolarsProbe {
    /// What is asked.
    pub kind: PolarsProbeKind,
    /// Between two questions.
    pub interval: Millis,
    /// No answer within this is a no.
    pub timeout: Millis,
}

/// What is asked of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolarsProbeKind {
    /// Nothing: the provider says that its machine runs.
    Running,
    /// This port takes a connection.
    Tcp(u16),
    /// A GET of this path on this port gives a 2xx.
    Http(u16, String),
    /// This program ends with 0.
    Command(Command),
}

/// How a Ray cluster is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RayConfig {
    /// `HOST:PORT` of the GCS.
    pub address: String,
    /// How we prove who we are.
    pub auth: RayAuth,
    /// Time between two observations when nothing changes.
    pub poll_interval: Millis,
}

/// Where the token for Ray is. The configuration never holds the token itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RayAuth {
    /// No token is sent.
    None,
    /// In the environment variable of this name.
    Variable(String),
    /// In this file.
    File(PathBuf),
    /// In this file if it exists; else no token is sent. What Ray itself does if it is told nothing.
    FileIfThere(PathBuf),
}

/// A pool and how its machines are made. `Debug` leaves the template out: it may hold secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct PoolConfig {
    /// What planning knows of it.
    pub pool: Pool,
    /// The provider's part: for the local provider an object with `command` (text or list) and `environment`
    /// (object), each only if the pool overrides it.
    pub template: serde_json::Value,
}

impl fmt::Debug for PoolConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolConfig").field("pool", &self.pool).finish_non_exhaustive()
    }
}

/// Where machines come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderConfig {
    /// Process groups on this host.
    Local(LocalProvider),
    /// Simulated nodes: Node objects in this cluster.
    Kwok(KubeConnection),
    /// Whatever a server of Cluster Autoscaler's external gRPC protocol gives.
    ExternalGrpc(ExternalGrpcConfig),
}

/// Machines that are process groups on this host. `Debug` leaves the values of variables out: they may be secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct LocalProvider {
    /// What starts a machine; `None` if every pool has its own.
    pub command: Option<Command>,
    /// Variables that are added to each machine's environment.
    pub environment: BTreeMap<String, String>,
    /// From the polite signal to the hard one.
    pub stop_grace: Millis,
    /// Where it notes its machines and their output.
    pub state_dir: PathBuf,
    /// Machines that may exist at most.
    pub max_machines: u32,
}

impl fmt::Debug for LocalProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalProvider")
            .field("command", &self.command)
            .field("environment", &self.environment.keys())
            .field("stop_grace", &self.stop_grace)
            .field("state_dir", &self.state_dir)
            .field("max_machines", &self.max_machines)
            .finish()
    }
}

/// What is kept, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreConfig {
    /// The SQLite file.
    pub path: PathBuf,
    /// Entries of the journal that are kept.
    pub journal_entries: u32,
    /// How long a holder on another host is believed to live without a word.
    pub lease: Millis,
}

/// The HTTP API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiConfig {
    /// Where it listens.
    pub listen: SocketAddr,
    /// The file with the token that callers must send; always there if others than this host can call.
    pub token_file: Option<PathBuf>,
}

/// How long a call may take before it counts as failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// Observing a workload.
    pub observe: Millis,
    /// Reporting to a workload.
    pub publish: Millis,
    /// Asking a workload to drain a node.
    pub drain: Millis,
    /// Listing a provider's machines.
    pub list: Millis,
    /// Launching one machine.
    pub launch: Millis,
    /// Terminating one machine.
    pub terminate: Millis,
}

/// What the command line says over the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--address`: the GCS of the one Ray workload.
    pub address: Option<String>,
    /// `--store`: the store's file.
    pub store_path: Option<PathBuf>,
    /// `--listen`: where the API listens.
    pub listen: Option<SocketAddr>,
    /// `--policy`: how options are compared, for every workload.
    pub scoring: Option<ostler_model::Scoring>,
    /// The cluster is only looked at: who makes its machines does not matter, and may be anybody.
    pub look_only: bool,
    /// `--shadow`: for Kubernetes clusters nothing is done, only said.
    pub shadow: bool,
}
