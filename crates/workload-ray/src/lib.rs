//! Ray clusters as a workload: a client of Ray's GCS in plain gRPC. No Python at run time.
//!
//! [`RayWorkload`] keeps the contract of [`ostler_workload::Workload`]. What goes over the wire was measured on
//! Ray 2.48.0 and 2.60.0 and is written down in `docs/ray-wire.md`; [`map`] and [`report`] translate, and
//! foreign types stop there.

pub mod auth;
pub mod config;
mod error;
mod events;
mod greeting;
mod link;
pub mod map;
pub mod proto;
mod ray;
pub mod report;

pub use auth::{Token, TokenSource};
pub use config::Config;
pub use ray::RayWorkload;
