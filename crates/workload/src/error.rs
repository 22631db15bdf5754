//! What can go wrong between us and a workload.

use ostler_model::{Failure, FailureClass};

/// A call that was not answered as it should be. Its text holds no secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} [{code}]")]
pub struct WorkloadError {
    /// What kind of trouble it is, which decides what to do next.
    pub class: FailureClass,
    /// What is wrong, where, and what to do.
    pub message: String,
    /// Stable code, e.g. `ray.auth`.
    pub code: &'static str,
}

impl WorkloadError {
    /// An error with its parts.
    pub fn new(class: FailureClass, code: &'static str, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), code }
    }
    /// Something that this kind of workload cannot do at all.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(FailureClass::Permanent, "workload.unsupported", message)
    }
}

impl From<WorkloadError> for Failure {
    fn from(error: WorkloadError) -> Self {
        Self { class: error.class, message: error.to_string() }
    }
}
