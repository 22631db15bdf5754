//! What the answers of an API server that are not answers mean.

use kube::Error;
use ostler_model::FailureClass;
use ostler_workload::WorkloadError;

/// How the API server did not do what was asked.
pub(crate) fn explain(what: &str, error: &Error) -> WorkloadError {
    let (class, code, advice) = match status(error) {
        Some(401) => {
            (FailureClass::Denied, "kubernetes.auth", "; is the kubeconfig or the token still good?")
        }
        Some(403) => (FailureClass::Denied, "kubernetes.forbidden", "; grant what deploy/rbac.yaml lists"),
        Some(429) => (FailureClass::Throttled, "kubernetes.throttled", ""),
        Some(400 | 404 | 405 | 422) => (FailureClass::Permanent, "kubernetes.refused", ""),
        _ => (FailureClass::Transient, "kubernetes.unreachable", ""),
    };
    WorkloadError::new(class, code, format!("the API server cannot {what}: {}{advice}", reason(error)))
}

/// The HTTP status that the API server gave, if it did.
pub(crate) fn status(error: &Error) -> Option<u16> {
    match error {
        Error::Api(status) => Some(status.code),
        _ => None,
    }
}

/// The innermost words that help.
pub(crate) fn reason(error: &Error) -> String {
    if let Error::Api(status) = error {
        return status.message.clone();
    }
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        source = inner.source();
    }
    text
}
