//! What SQLite says, in our words.

use crate::error::StoreError;
use rusqlite::{Error, ErrorCode};
use std::path::Path;

/// How long we wait for another program's lock. A backup of a store takes well below a second; longer is a shell
/// that someone left in a transaction.
pub(super) const BUSY_TIMEOUT_S: u64 = 5;

pub(super) fn explain(path: &Path, error: Error) -> StoreError {
    let path = path.to_owned();
    let detail = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => StoreError::NotOurs { path, found: "not an SQLite file".to_owned() },
        Some(ErrorCode::DatabaseCorrupt) => StoreError::Corrupt { path, detail },
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => StoreError::ReadOnly { path },
        Some(ErrorCode::DiskFull) => StoreError::Full { path },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Busy { path, waited_s: BUSY_TIMEOUT_S }
        }
        Some(ErrorCode::CannotOpen) => StoreError::Open { path, reason: detail },
        _ => StoreError::Other { path, detail },
    }
}
