//! doc later
mod book;
mod client;
mod config;
#[cfg(feature = "server")]
pub mod double;
mod error;
mod group;
mod ledger;
mod look;
#[cfg(feature = "server")]
pub mod proto;
#[cfg(not(feature = "server"))]
mod proto;
mod provider;

pub use config::{Config, Group, Timing, Tls, group_of};
pub use ledger::{FileStorage, Storage};
pub use provider::ExternalGrpcProvider;
