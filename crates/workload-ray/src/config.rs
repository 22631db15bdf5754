//! Where the GCS is and how we speak to it.

use crate::auth::TokenSource;
use std::time::Duration;

/// The largest state that is accepted. A node is about 1 KB in it, so this is far beyond what Ray can run; it is
/// Ray's own limit.
pub const MESSAGE_BYTES_MAX: usize = 512 << 20;

/// Where the GCS is and how we speak to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// `HOST:PORT` of the GCS (the head's port, by default 6379).
    pub address: String,
    /// Where the cluster's token comes from.
    pub token: TokenSource,
    /// A call that takes longer has failed, and gets a new connection the next time.
    pub call_timeout: Duration,
    /// Set the key that tells Ray's own tools that autoscaler v2 is at work, if it is not set. Without it
    /// `ray status` shows nothing of us and `request_resources` does not reach us.
    pub enable_v2: bool,
    /// `HOST:PORT` where our Prometheus metrics are, for Ray's dashboard to find them.
    pub metrics_address: Option<String>,
    /// Scaling events are printed by drivers.
    pub events_to_drivers: bool,
    /// Scaling events go to the session's event log, if the session's directory is on this host.
    pub events_to_log: bool,
}

impl Config {
    /// The defaults for a GCS at `HOST:PORT`.
    pub fn new(address: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            token: TokenSource::default(),
            call_timeout: Duration::from_secs(10),
            enable_v2: true,
            metrics_address: None,
            events_to_drivers: true,
            events_to_log: true,
        }
    }
}
