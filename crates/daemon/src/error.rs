//! Why the daemon stops.

use ostler_store::{LeaderError, StoreError};

/// The daemon cannot go on. Nothing was launched or lost by it.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The store cannot be opened or read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another Ostler holds the store, or took it over.
    #[error(transparent)]
    Leader(#[from] LeaderError),
    /// Something of the configuration cannot be used as it is.
    #[error("{0}")]
    Rim(String),
    /// The API cannot listen.
    #[error(
        "the API cannot listen on {address}: {reason}. Is another Ostler running? Choose another `api.listen` [OSTLER-D001]"
    )]
    Listen {
        /// Where.
        address: std::net::SocketAddr,
        /// What the system says.
        reason: String,
    },
    /// A part that must not end ended.
    #[error("{0} ended unexpectedly; this is a fault in Ostler [OSTLER-D002]")]
    Part(&'static str),
}
