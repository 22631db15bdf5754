//! What the answers of a GCS that are not answers mean, and what to do about them.

use ostler_model::FailureClass;
use ostler_workload::WorkloadError;
use std::time::Duration;
use tonic::{Code, Status};

pub(crate) fn transient(code: &'static str, message: impl Into<String>) -> WorkloadError {
    WorkloadError::new(FailureClass::Transient, code, message)
}
pub(crate) fn denied(code: &'static str, message: impl Into<String>) -> WorkloadError {
    WorkloadError::new(FailureClass::Denied, code, message)
}
pub(crate) fn permanent(code: &'static str, message: impl Into<String>) -> WorkloadError {
    WorkloadError::new(FailureClass::Permanent, code, message)
}

/// The GCS is another one than the one we spoke to: it was restarted or replaced.
pub(crate) fn is_wrong_cluster(status: &Status) -> bool {
    status.code() == Code::Unauthenticated && status.message().contains("WrongClusterID")
}

/// Would another connection help?
pub(crate) fn is_connection_trouble(status: &Status) -> bool {
    use Code::{Cancelled, DeadlineExceeded, Internal, Unavailable, Unknown};
    matches!(status.code(), Unavailable | DeadlineExceeded | Internal | Unknown | Cancelled)
}

pub(crate) fn timed_out(address: &str, call: &str, limit: Duration) -> WorkloadError {
    transient("ray.timeout", format!("Ray's GCS at {address} did not answer {call} within {limit:?}"))
}

/// An error status in words.
pub(crate) fn explain(address: &str, call: &str, status: &Status) -> WorkloadError {
    let said = status.message();
    match status.code() {
        _ if is_wrong_cluster(status) => transient(
            "ray.restarted",
            format!("Ray's GCS at {address} changes its identity all the time ({call})"),
        ),
        Code::Unauthenticated | Code::PermissionDenied => denied(
            "ray.auth",
            format!(
                "Ray's GCS at {address} refuses our token ({said}); give the cluster's token, see docs/ray.md"
            ),
        ),
        Code::ResourceExhausted => WorkloadError::new(
            FailureClass::Throttled,
            "ray.exhausted",
            format!("Ray's GCS at {address} has no room for {call}: {said}"),
        ),
        Code::Unimplemented => permanent(
            "ray.unsupported",
            format!("what listens at {address} does not know {call}; is it the GCS of Ray 2.48 or newer?"),
        ),
        _ if is_connection_trouble(status) => transient(
            "ray.unreachable",
            format!("Ray's GCS at {address} cannot be reached ({call}: {})", cause(status)),
        ),
        code => {
            permanent("ray.protocol", format!("Ray's GCS at {address} answered {call} with {code:?}: {said}"))
        }
    }
}

/// The innermost reason, e.g. "Connection refused", which the status itself hides behind "transport error".
fn cause(status: &Status) -> String {
    let mut innermost: Option<&dyn std::error::Error> = std::error::Error::source(status);
    while let Some(deeper) = innermost.and_then(|e| e.source()) {
        innermost = Some(deeper);
    }
    innermost.map_or_else(|| status.message().to_owned(), ToString::to_string)
}
