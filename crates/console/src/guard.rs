//! Who may ask, and what every answer carries.

use crate::problem::Problem;
use crate::routes::Shared;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HOST};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

/// A token. It is never shown.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Wraps a token; white space around it (the line break of a file) is no part of it. `None` if nothing is left.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// The token itself, to be sent.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Compares in a time that depends on the lengths alone.
    fn is(&self, other: &str) -> bool {
        let (ours, theirs) = (self.0.as_bytes(), other.as_bytes());
        let differing = ours.iter().zip(theirs).fold(0, |sum, (a, b)| std::hint::black_box(sum | (a ^ b)));
        ours.len() == theirs.len() && differing == 0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Lets a request through or refuses it, and adds the headers of safety to whatever comes out.
pub(crate) async fn guard(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let refusal = match &shared.token {
        _ if request.uri().path() == "/healthz" => None,
        Some(token) => (!carries(request.headers(), token)).then_some(Problem::NoToken),
        None => (!names_this_host(request.headers())).then_some(Problem::ForeignHost),
    };
    let mut response = match refusal {
        None => next.run(request).await,
        // The page holds no data. It comes with the refusal, so that a person in a browser can enter the token.
        Some(Problem::NoToken) if request.uri().path() == "/" => shared.page.refused(),
        Some(problem) => problem.into_response(),
    };
    for (name, value) in SAFETY {
        response
            .headers_mut()
            .entry(HeaderName::from_static(name))
            .or_insert(HeaderValue::from_static(value));
    }
    response
}

const SAFETY: [(&str, &str); 7] = [
    ("cache-control", "no-store"),
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
];

fn carries(headers: &HeaderMap, token: &Secret) -> bool {
    let value = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match value.split_once(' ') {
        Some((scheme, sent)) => scheme.eq_ignore_ascii_case("bearer") && token.is(sent.trim()),
        None => false,
    }
}

/// A page of a foreign site that has its own name point to 127.0.0.1 sends that name.
fn names_this_host(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => host.split(':').next(),
    };
    name.is_some_and(|name| name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_compared_whole_and_never_shown() {
        let secret = Secret::new(" s3cret\n").expect("not empty");
        assert!(secret.is("s3cret"));
        for other in ["", "s3cre", "s3crets", "S3cret"] {
            assert!(!secret.is(other), "{other}");
        }
        assert_eq!(format!("{secret:?}"), "***");
        assert!(Secret::new(" \n").is_none());
    }

    #[test]
    fn this_host_is_an_address_or_localhost() {
        let named = |host: &str| {
            let value = HeaderValue::from_str(host).expect("a header");
            names_this_host(&HeaderMap::from_iter([(HOST, value)]))
        };
        for host in ["127.0.0.1:4280", "localhost", "LOCALHOST:1", "[::1]:4280", "10.0.0.7"] {
            assert!(named(host), "{host}");
        }
        for host in ["", "evil.example", "127.0.0.1.evil.example:4280", "localhost.evil.example"] {
            assert!(!named(host), "{host}");
        }
        assert!(!names_this_host(&HeaderMap::new()));
    }
}
