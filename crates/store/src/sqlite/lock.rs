//! One writer for each file, as long as its process lives: an advisory lock that the system itself gives back when
//! the process ends, however it ends.
//!
//! It lies on a file of its own. On the database it would do harm: to close any descriptor of that file drops the
//! locks that SQLite holds on it.

use crate::error::StoreError;
use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) struct ProcessLock {
    path: PathBuf,
    held: Option<File>,
}

impl ProcessLock {
    /// The lock of the store at `path`; not taken yet.
    pub(super) fn beside(path: &Path) -> Self {
        let mut name = OsString::from(path);
        name.push("-lock");
        Self { path: name.into(), held: None }
    }

    pub(super) fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// Tries to take it, without waiting. `true`: it was free and is ours now.
    pub(super) fn take(&mut self) -> Result<bool, StoreError> {
        if self.is_held() {
            return Ok(false);
        }
        let failed =
            |error: std::io::Error| StoreError::Open { path: self.path.clone(), reason: error.to_string() };
        // Closed on exec, so that a machine which we start as a child process does not hold the lock after us.
        let file =
            File::options().write(true).create(true).truncate(false).open(&self.path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => self.held = Some(file),
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        Ok(true)
    }

    /// The file stays: to remove it would let two processes lock two files of one name.
    pub(super) fn give_back(&mut self) {
        self.held = None;
    }
}
