//! The nodes and pods of a Kubernetes cluster as a workload: a client of its API server.
//!
//! [`KubernetesWorkload`] keeps the contract of [`ostler_workload::Workload`]. `watch` keeps a `cache` of
//! what is known, [`map`] translates, and foreign types stop there; `look` answers; `drain` and `evict` let nodes go,
//! `publish` tells what is planned, [`lease`] makes one of several Ostlers the leader. What it may do in
//! the cluster is in `deploy/rbac.yaml`.

mod cache;
mod client;
pub mod config;
mod drain;
mod error;
mod evict;
mod kubernetes;
pub mod lease;
mod look;
pub mod map;
mod object;
mod publish;
mod watch;

pub use config::Config;
pub use kubernetes::KubernetesWorkload;

/// The clock.
fn now() -> ostler_model::Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    ostler_model::Timestamp(since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)))
}
