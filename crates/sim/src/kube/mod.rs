//! A virtual Kubernetes cluster in virtual time: controllers that make pods again, a scheduler that places them by the
//! filters, nodes that boot, drains that evict, and Ostler's planner and audit in front of it.
//!
//! Every pass is looked at by the audit; a plan that breaks a promise ends the run. A crash loses whatever effect was
//! under way and asks for all of them again.

mod cloud;
mod cluster;
mod world;

pub use cloud::{Cloud, Habits};
pub use cluster::{App, PodState, VirtualCluster};
pub use world::KubeWorld;
