//! Errors as problem documents (RFC 9457).

use axum::Json;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Why a request has no other answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    /// No token, or another one.
    NoToken,
    /// Named by a name that may be anybody's.
    ForeignHost,
    /// There is no such path.
    NoSuchPath,
    /// The path is there to be read only.
    ReadOnly,
    /// Not everything has been looked at yet.
    NotReady(String),
    /// The loop does not turn.
    NotAlive(String),
    /// A fault in Ostler.
    Broken(String),
}

impl Problem {
    fn parts(&self) -> (StatusCode, &'static str, &'static str, &str) {
        match self {
            Self::NoToken => (
                StatusCode::UNAUTHORIZED,
                "OSTLER-A001",
                "a token is needed",
                "Send the token of `api.token_file` as `Authorization: Bearer TOKEN`.",
            ),
            Self::ForeignHost => (
                StatusCode::MISDIRECTED_REQUEST,
                "OSTLER-A002",
                "this host has another name",
                "Ask by an IP address or as `localhost`, or set `api.token_file`.",
            ),
            Self::NoSuchPath => (
                StatusCode::NOT_FOUND,
                "OSTLER-A003",
                "there is no such path",
                "The paths are /, /api/v1/status, /api/v1/view, /healthz, /readyz and /metrics.",
            ),
            Self::ReadOnly => {
                (StatusCode::METHOD_NOT_ALLOWED, "OSTLER-A004", "this can only be read", "Use GET or HEAD.")
            }
            Self::NotReady(what) => {
                (StatusCode::SERVICE_UNAVAILABLE, "OSTLER-A005", "not everything has been seen yet", what)
            }
            Self::NotAlive(what) => {
                (StatusCode::SERVICE_UNAVAILABLE, "OSTLER-A006", "the loop does not turn", what)
            }
            Self::Broken(what) => {
                (StatusCode::INTERNAL_SERVER_ERROR, "OSTLER-A007", "a fault in Ostler", what)
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, code, title, detail) = self.parts();
        let body = json!({
            "type": "about:blank",
            "title": title,
            "status": status.as_u16(),
            "detail": detail,
            "code": code,
        });
        let mut response = (status, Json(body)).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
