//! A client of Cluster Autoscaler's external gRPC provider protocol.
pub mod proto;
