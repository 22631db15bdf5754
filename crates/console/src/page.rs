//! The page: one file without requests to anywhere else.

use axum::http::StatusCode;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use axum::response::{Html, IntoResponse, Response};
use sha2::{Digest, Sha256};

const HTML: &str = include_str!("page/index.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

/// The page and the policy that lets a browser run what is in it and nothing else.
#[derive(Debug)]
pub(crate) struct Page {
    html: String,
    policy: HeaderValue,
}

impl Page {
    pub(crate) fn assemble() -> Self {
        let html = HTML.replace("/*style*/", STYLE).replace("/*script*/", SCRIPT);
        let policy = format!(
            "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; connect-src 'self'; img-src data:; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            base64(&Sha256::digest(SCRIPT)),
            base64(&Sha256::digest(STYLE)),
        );
        Self { html, policy: HeaderValue::from_str(&policy).expect("hashes in base64 are plain ASCII") }
    }

    pub(crate) fn shown(&self) -> Response {
        let mut response = Html(self.html.clone()).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_SECURITY_POLICY, self.policy.clone());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        response
    }

    /// The page with the status of a refusal. It asks for the token, and sends it in the header as all others do.
    pub(crate) fn refused(&self) -> Response {
        let mut response = self.shown();
        *response.status_mut() = StatusCode::UNAUTHORIZED;
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        response
    }
}

/// Standard base64 with padding, for the hashes of a content security policy.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group =
            (0..3).fold(0_usize, |sum, n| (sum << 8) | usize::from(chunk.get(n).copied().unwrap_or(0)));
        for n in 0..4 {
            let digit = DIGITS[(group >> (18 - 6 * n)) & 63];
            text.push(if n <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_as_everybody_writes_it() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn the_page_asks_nobody_else() {
        let html = Page::assemble().html;
        for foreign in ["http://", "https://", "@import", "url(", " src=", "/*style*/", "/*script*/"] {
            assert!(!html.contains(foreign), "{foreign}");
        }
    }
}
