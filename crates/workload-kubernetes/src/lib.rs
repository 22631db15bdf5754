//! The nodes and pods of a Kubernetes cluster as a workload.

pub mod config;
pub mod map;

pub use config::{Config, Pools, Promise};
