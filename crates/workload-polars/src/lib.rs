//! Polars clusters as a workload: the scaling service that a Polars scheduler asks, over REST and gRPC.
//!
//! The scheduler names a number of workers, and those that must stay or go first. Here that is checked for its
//! form, handed to the loop through the [`Door`](ostler_workload::Door), and answered once the loop has written
//! it. Nothing about machines is decided here. A worker is ready when its [`Probe`] says so.

mod config;
mod error;
mod grpc;
mod guard;
mod machines;
mod polars;
mod probe;
pub mod proto;
mod rest;
mod server;
mod sockets;
mod timely;
mod tls;

pub use config::{Config, Network, Probe, ProbeKind, Rest, Token};
pub use error::PolarsError;
pub use polars::PolarsWorkload;
pub use sockets::Sockets;
pub use tls::TlsFiles;

/// The variable by which a Polars node learns the name that it registers with (its `instance_id`).
pub const NAME_VARIABLE: &str = "PC_CUBLET__instance_id";
