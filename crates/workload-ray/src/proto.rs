//! The protocol as generated from `proto/`. These types stay in this crate and in scripted servers for tests.
#![allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated")]

/// Package `ray.rpc`.
pub mod gcs {
    tonic::include_proto!("ray.rpc");
}
/// Package `ray.rpc.autoscaler`.
pub mod autoscaler {
    tonic::include_proto!("ray.rpc.autoscaler");
}
