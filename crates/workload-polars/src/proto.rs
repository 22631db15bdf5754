//! The protocol, as generated from `proto/`.
#![allow(missing_docs, unreachable_pub, clippy::all, reason = "generated")]

tonic::include_proto!("compute_scaling.client.v1");

/// The compiled description of the protocol, for server reflection.
pub(crate) const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
