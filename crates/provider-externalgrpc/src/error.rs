//! What can go wrong, and which class of trouble it is: pure, text in, class out.

use crate::proto::InstanceErrorInfo;
use ostler_model::FailureClass;
use ostler_provider::ProviderError;
use tonic::{Code, Status};

pub(crate) const CONFIG: &str = "OSTLER-P301";
pub(crate) const STATE: &str = "OSTLER-P302";
pub(crate) const TAKEN: &str = "OSTLER-P303";
pub(crate) const NOT_WRITTEN: &str = "OSTLER-P304";
pub(crate) const NO_ANSWER: &str = "OSTLER-P305";
pub(crate) const REFUSED: &str = "OSTLER-P306";
pub(crate) const NOT_SEEN: &str = "OSTLER-P307";
pub(crate) const FAILED: &str = "OSTLER-P308";
pub(crate) const FULL: &str = "OSTLER-P309";
pub(crate) const GIVEN_UP: &str = "OSTLER-P310";
pub(crate) const NOT_OURS: &str = "OSTLER-P311";
pub(crate) const TOO_MUCH: &str = "OSTLER-P312";
pub(crate) const STILL_THERE: &str = "OSTLER-P313";
pub(crate) const OVERTAKEN: &str = "OSTLER-P314";

/// The server's words, at most so many characters of them.
const TEXT_MAX: usize = 500;
/// In the core of Cluster Autoscaler: nothing to be had, or a quota.
const CLASS_OUT_OF_RESOURCES: i32 = 1;

pub(crate) fn refuse(class: FailureClass, code: &'static str, message: impl Into<String>) -> ProviderError {
    ProviderError::new(class, code, message)
}

/// The server did not do what it was asked, by its status.
pub(crate) fn of_status(address: &str, call: &str, status: &Status) -> ProviderError {
    let said = cut(status.message());
    let (class, code, help) = match status.code() {
        Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled => {
            (FailureClass::Transient, NO_ANSWER, "is it up, is the address right? Ostler goes on trying")
        }
        Code::ResourceExhausted => (FailureClass::OutOfCapacity, REFUSED, "it has no more of this group"),
        Code::OutOfRange => (FailureClass::Quota, REFUSED, "raise the group's bounds at the server"),
        Code::PermissionDenied | Code::Unauthenticated => {
            (FailureClass::Denied, REFUSED, "check cert_file and key_file, and what they may do there")
        }
        Code::InvalidArgument | Code::NotFound | Code::Unimplemented | Code::FailedPrecondition => {
            (FailureClass::Permanent, REFUSED, "check the group's name and the server's log")
        }
        _ => (FailureClass::Transient, REFUSED, "look at the server's log; Ostler goes on trying"),
    };
    refuse(class, code, format!("{address}: {call}: {:?}: {said}; {help}", status.code()))
}

/// What a machine that could not be made says of itself. Never transient: it was tried, and came to nothing.
pub(crate) fn of_creation(info: &InstanceErrorInfo) -> FailureClass {
    let says = |word: &str| info.error_code.to_ascii_lowercase().contains(word);
    if says("quota") {
        FailureClass::Quota
    } else if info.instance_error_class == CLASS_OUT_OF_RESOURCES {
        FailureClass::OutOfCapacity
    } else if says("permission") || says("denied") || says("unauthorized") {
        FailureClass::Denied
    } else {
        FailureClass::Permanent
    }
}

/// The words of somebody else, fit for a line: bounded, without control characters.
pub(crate) fn cut(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(TEXT_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_a_class() {
        use FailureClass::{Denied, OutOfCapacity, Permanent, Quota, Transient};
        for (code, class) in [
            (Code::Unavailable, Transient),
            (Code::DeadlineExceeded, Transient),
            (Code::Internal, Transient),
            (Code::Unknown, Transient),
            (Code::ResourceExhausted, OutOfCapacity),
            (Code::OutOfRange, Quota),
            (Code::PermissionDenied, Denied),
            (Code::Unauthenticated, Denied),
            (Code::InvalidArgument, Permanent),
            (Code::NotFound, Permanent),
            (Code::Unimplemented, Permanent),
        ] {
            let error = of_status("cloud:1", "NodeGroups", &Status::new(code, "so it is\n"));
            assert_eq!(error.class, class, "{error}");
            assert!(error.message.starts_with("cloud:1: NodeGroups: ") && !error.message.contains('\n'));
        }
        let long = of_status("cloud:1", "NodeGroups", &Status::internal("ä".repeat(100_000)));
        assert!(long.message.chars().count() < 700, "bounded");
    }

    #[test]
    fn a_failed_creation_has_a_class() {
        for (code, class, expected) in [
            ("STOCKOUT", 1, FailureClass::OutOfCapacity),
            ("QUOTA_EXCEEDED", 1, FailureClass::Quota),
            ("PERMISSIONS_ERROR", 99, FailureClass::Denied),
            ("BAD_IMAGE", 99, FailureClass::Permanent),
            ("odd", -3, FailureClass::Permanent),
        ] {
            let info = InstanceErrorInfo {
                error_code: code.into(),
                error_message: String::new(),
                instance_error_class: class,
            };
            assert_eq!(of_creation(&info), expected, "{code}");
        }
    }
}
