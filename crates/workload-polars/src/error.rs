//! Why the service cannot begin.

use std::net::SocketAddr;

/// The service cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum PolarsError {
    /// An address cannot be listened on.
    #[error(
        "the scaling service cannot listen on {address}: {reason}. Is another program there? Choose another `listen` [OSTLER-L001]"
    )]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        reason: String,
    },
    /// A file with a secret cannot be used.
    #[error("{what} cannot be used: {reason} [OSTLER-L002]")]
    Secret {
        /// Which file.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A certificate or its key cannot be used.
    #[error(
        "TLS: {file} cannot be used: {reason}. Give PEM files: the certificate, its key, the callers' authority [OSTLER-L004]"
    )]
    Tls {
        /// Which file.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Others than this host could ask, and nothing keeps strangers out.
    #[error(
        "the scaling service would listen on {address}, for other hosts, without any protection. Give it `networks`, a `token_file`, a `client_ca_file` under `tls` or (REST) a `secret_path_file`, or say `insecure: true` [OSTLER-L003]"
    )]
    Open {
        /// Where.
        address: SocketAddr,
    },
}
