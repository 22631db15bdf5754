//! How a provider fails.

use ostler_model::{Failure, FailureClass};

/// A call that was refused, or of which nobody knows what it did ([`FailureClass::Transient`]).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} [{code}]")]
pub struct ProviderError {
    /// What kind of trouble it is, which decides what the caller does next.
    pub class: FailureClass,
    /// What is wrong, where, and what to do; for people, without secrets.
    pub message: String,
    /// Stable name of this trouble, e.g. `OSTLER-P001`.
    pub code: &'static str,
}

impl ProviderError {
    /// An error of this class.
    pub fn new(class: FailureClass, code: &'static str, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), code }
    }
}

impl From<ProviderError> for Failure {
    fn from(error: ProviderError) -> Self {
        Self { class: error.class, message: error.to_string() }
    }
}
