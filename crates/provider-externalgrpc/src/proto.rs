//! The protocol as generated from `proto/`. These types stay in this crate and in scripted servers for tests.
#![allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated")]

tonic::include_proto!("clusterautoscaler.cloudprovider.v1.externalgrpc");
