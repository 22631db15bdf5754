//! Who may ask.

use crate::config::{Config, Network, Token};
use crate::error::PolarsError;
use crate::tls::{Secured, TlsFiles};
use axum::http::{HeaderMap, header};
use std::net::{IpAddr, SocketAddr};

/// What keeps strangers out.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    token: Option<Token>,
    networks: Vec<Network>,
    /// How well a connection must be secured.
    secured: Secured,
}

impl Guard {
    /// The guard of an address. `secret_path`: its paths are a secret, too.
    pub(crate) fn new(config: &Config, address: SocketAddr, secret_path: bool) -> Result<Self, PolarsError> {
        let secured = match &config.tls {
            Some(TlsFiles { client_ca: Some(_), .. }) => Secured::Known,
            Some(_) => Secured::Encrypted,
            None => Secured::Plain,
        };
        let guard = Self { token: config.token.clone(), networks: config.networks.clone(), secured };
        let known = guard.token.is_some() || !guard.networks.is_empty() || secured == Secured::Known;
        let guarded = known || secret_path;
        if address.ip().is_loopback() || guarded || config.insecure {
            Ok(guard)
        } else {
            Err(PolarsError::Open { address })
        }
    }

    /// May a caller from there ask at all?
    pub(crate) fn admits(&self, peer: IpAddr) -> bool {
        self.networks.is_empty() || self.networks.iter().any(|network| network.contains(peer))
    }

    /// Is the connection secured well enough? One that is older than the configuration may not be.
    pub(crate) fn trusts(&self, secured: Secured) -> bool {
        secured >= self.secured
    }

    /// Does the request carry the token, if one is needed?
    pub(crate) fn knows(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let bearer = |text: &str| {
            let (scheme, rest) = text.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| equal(rest.trim().as_bytes(), token.0.as_bytes()))
        };
        given.and_then(bearer).unwrap_or(false)
    }
}

/// Takes as long for a wrong text as for the right one of that length.
fn equal(given: &[u8], wanted: &[u8]) -> bool {
    let differs = given.iter().zip(wanted).fold(0, |differs, (a, b)| differs | (a ^ b));
    given.len() == wanted.len() && differs == 0
}
