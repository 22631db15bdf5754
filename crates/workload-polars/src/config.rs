//! What the service is told.

use crate::tls::TlsFiles;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// One scaling service.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where REST is served; `None`: it is not.
    pub rest: Option<Rest>,
    /// Where gRPC is served; `None`: it is not. May be REST's address.
    pub grpc: Option<SocketAddr>,
    /// The certificate, if it is served by TLS.
    pub tls: Option<TlsFiles>,
    /// What callers must send as `authorization: Bearer …`.
    pub token: Option<Token>,
    /// Whence callers may come; empty is from anywhere.
    pub networks: Vec<Network>,
    /// Others than this host may ask without any protection.
    pub insecure: bool,
    /// Bytes of a request at most.
    pub max_body_bytes: usize,
    /// When a worker is ready.
    pub probe: Probe,
}

/// REST.
#[derive(Clone)]
pub struct Rest {
    /// Where it listens.
    pub listen: SocketAddr,
    /// What stands before the paths of the specification: empty, or `/` and text without `/` at its end.
    pub path: String,
    /// The path is known to the scheduler alone, and protects as a token does.
    pub secret: bool,
}

impl fmt::Debug for Rest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.secret { "(secret)" } else { &self.path };
        f.debug_struct("Rest").field("listen", &self.listen).field("path", &path).finish()
    }
}

/// A bearer token, never printed.
#[derive(Clone)]
pub struct Token(pub(crate) String);

impl Token {
    /// The text without blanks around it; `None` if nothing is left.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Addresses that begin alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    /// One of its addresses.
    pub address: IpAddr,
    /// Bits that all of them share, from the left.
    pub bits: u8,
}

impl Network {
    /// Is it one of them? An IPv4 address that comes over IPv6 counts as what it is.
    pub fn contains(&self, other: IpAddr) -> bool {
        let bits = |address: IpAddr| match address.to_canonical() {
            IpAddr::V4(v4) => (u128::from(v4.to_bits()) << 96, 32),
            IpAddr::V6(v6) => (v6.to_bits(), 128),
        };
        let ((ours, width), (theirs, other_width)) = (bits(self.address), bits(other));
        let shared = self.bits.min(width);
        width == other_width && (shared == 0 || (ours ^ theirs) >> (128 - u32::from(shared)) == 0)
    }
}

/// How a worker shows that it is ready.
#[derive(Debug, Clone)]
pub struct Probe {
    /// What is asked.
    pub kind: ProbeKind,
    /// Between two questions to a worker that is ready; one that is not yet is asked more often.
    pub interval: Duration,
    /// No answer within this is a no.
    pub timeout: Duration,
}

/// What is asked of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeKind {
    /// Nothing: the provider says that its machine runs.
    Running,
    /// Does this port take a connection?
    Tcp(u16),
    /// Does a GET of this path on this port give a 2xx?
    Http(u16, String),
    /// Does this program end with 0? It finds the worker's name and address in its environment.
    Command(Vec<String>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks() {
        let net = |address: &str, bits| Network { address: address.parse().expect("an address"), bits };
        let has = |net: Network, other: &str| net.contains(other.parse().expect("an address"));
        assert!(has(net("10.1.0.0", 16), "10.1.200.3"));
        assert!(!has(net("10.1.0.0", 16), "10.2.0.1"));
        assert!(has(net("10.1.0.0", 16), "::ffff:10.1.0.9"));
        assert!(has(net("0.0.0.0", 0), "8.8.8.8") && !has(net("0.0.0.0", 0), "fe80::1"));
        assert!(has(net("fd00::", 8), "fd12::1") && !has(net("fd00::", 8), "fe80::1"));
        assert!(has(net("10.0.0.7", 32), "10.0.0.7") && !has(net("10.0.0.7", 32), "10.0.0.6"));
    }
}
