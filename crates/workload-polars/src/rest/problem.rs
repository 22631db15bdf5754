//! What is wrong with a request, as `application/problem+json` (RFC 9457), each with a stable code.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// One problem.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    status: StatusCode,
    code: &'static str,
    detail: String,
    /// Which field of the request it is about.
    field: Option<String>,
}

impl Problem {
    fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self { status, code, detail: detail.into(), field: None }
    }

    pub(crate) fn not_found() -> Self {
        let detail = "there is /scale_config, /scale_to and /openapi.json below the service's path";
        Self::new(StatusCode::NOT_FOUND, "OSTLER-L012", detail)
    }

    pub(crate) fn method_not_allowed() -> Self {
        let detail = "GET /scale_config and /openapi.json, POST /scale_to";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "OSTLER-L013", detail)
    }

    pub(crate) fn forbidden() -> Self {
        Self::new(StatusCode::FORBIDDEN, "OSTLER-L010", "this address may not ask; see `networks`")
    }

    pub(crate) fn unsecured() -> Self {
        let detail = "the connection is older than the configuration: connect by TLS";
        Self::new(StatusCode::FORBIDDEN, "OSTLER-L015", detail)
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "OSTLER-L011", "the bearer token is missing or wrong")
    }

    pub(crate) fn not_json() -> Self {
        let detail = "the body must be JSON: send content-type application/json";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "OSTLER-L020", detail)
    }

    pub(crate) fn malformed(reason: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "OSTLER-L021", format!("the body is not a JSON object: {reason}"))
    }

    pub(crate) fn too_large(max: usize) -> Self {
        let detail = format!("the body has more than {max} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "OSTLER-L022", detail)
    }

    pub(crate) fn too_slow() -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "OSTLER-L028", "the body did not come in time")
    }

    /// A field that is not what it must be.
    pub(crate) fn field(field: impl Into<String>, what: &str) -> Self {
        let field = field.into();
        let detail = format!("`{field}` {what}");
        let problem = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "OSTLER-L023", detail);
        Self { field: Some(field), ..problem }
    }

    pub(crate) fn too_many_names() -> Self {
        let detail = "a list has more names than can be remembered";
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "OSTLER-L024", detail)
    }

    pub(crate) fn conflict(why: &str) -> Self {
        Self::new(StatusCode::CONFLICT, "OSTLER-L025", format!("{why}; nothing has changed"))
    }

    pub(crate) fn unavailable() -> Self {
        let detail = "not now: nothing could be written; ask again at the next decision";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "OSTLER-L026", detail)
    }

    pub(crate) fn overloaded() -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "OSTLER-L027", "too many ask at once; ask again in a second")
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut document = json!({
            "type": "about:blank",
            "title": self.status.canonical_reason().unwrap_or_default(),
            "status": self.status.as_u16(),
            "detail": self.detail,
            "code": self.code,
        });
        if let Some(field) = self.field {
            document["field"] = field.into();
        }
        let kind = HeaderValue::from_static("application/problem+json");
        let mut response =
            (self.status, [(header::CONTENT_TYPE, kind)], document.to_string()).into_response();
        if self.status == StatusCode::TOO_MANY_REQUESTS {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
