//! What can go wrong with a store: what, where, what to do, and a stable code (`docs/reference/errors.md`).

use crate::contract::Term;
use ostler_model::Timestamp;
use std::path::PathBuf;

/// The store cannot do what was asked. Nothing was overwritten.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// `OSTLER-S001`
    #[error(
        "cannot open the store {}: {reason}. Check that its directory can be written [OSTLER-S001]",
        path.display()
    )]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// `OSTLER-S002`
    #[error(
        "{} is not a store of Ostler ({found}). It was left as it is: choose another `store.path` [OSTLER-S002]",
        path.display()
    )]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        found: String,
    },
    /// `OSTLER-S003`
    #[error(
        "the store {} has format {found}, this Ostler knows formats up to {known}. It was left as it is: run the \
         newer Ostler that wrote it, or choose another `store.path` [OSTLER-S003]",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest that we know.
        known: u32,
    },
    /// `OSTLER-S004`
    #[error(
        "the store {} is damaged: {detail}. It was left as it is: put a copy back, or move it away; with an empty \
         store Ostler adopts the machines that carry its tags [OSTLER-S004]",
        path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What SQLite found.
        detail: String,
    },
    /// `OSTLER-S005`
    #[error("the store {} cannot be written: it is open for reading only [OSTLER-S005]", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// `OSTLER-S006`
    #[error("the disk of the store {} is full. Make room; Ostler tries again [OSTLER-S006]", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// `OSTLER-S007`
    #[error(
        "the store {} was locked by another program for more than {waited_s} s. End that program (a backup, an \
         SQLite shell); Ostler tries again [OSTLER-S007]",
        path.display()
    )]
    Busy {
        /// The file.
        path: PathBuf,
        /// Seconds that we waited.
        waited_s: u64,
    },
    /// `OSTLER-S008`
    #[error("the store {} failed: {detail} [OSTLER-S008]", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        detail: String,
    },
}

impl StoreError {
    /// Its stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Open { .. } => "OSTLER-S001",
            Self::NotOurs { .. } => "OSTLER-S002",
            Self::Newer { .. } => "OSTLER-S003",
            Self::Corrupt { .. } => "OSTLER-S004",
            Self::ReadOnly { .. } => "OSTLER-S005",
            Self::Full { .. } => "OSTLER-S006",
            Self::Busy { .. } => "OSTLER-S007",
            Self::Other { .. } => "OSTLER-S008",
        }
    }
}

/// Why a commit was not taken.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// `OSTLER-S010` The records changed since they were read: throw the plan away and observe again.
    #[error("the records changed meanwhile: they are at version {found} [OSTLER-S010]")]
    Stale {
        /// The version that the store is at.
        found: u64,
    },
    /// `OSTLER-S011` Another one is in charge now: stop.
    #[error("another Ostler has taken over this store: its term is {current} [OSTLER-S011]")]
    TermLost {
        /// The newest term.
        current: Term,
    },
    /// The store itself failed.
    #[error(transparent)]
    Failed(#[from] StoreError),
}

impl CommitError {
    /// Its stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Stale { .. } => "OSTLER-S010",
            Self::TermLost { .. } => "OSTLER-S011",
            Self::Failed(error) => error.code(),
        }
    }
}

/// Why one is not, or no longer, the writer.
#[derive(Debug, thiserror::Error)]
pub enum LeaderError {
    /// `OSTLER-S012` A second Ostler on the same store.
    #[error(
        "this store is in use by {holder} (lease until {} ms since 1970). Stop that Ostler first, or give this one \
         another `store.path` [OSTLER-S012]",
        until.0
    )]
    HeldBy {
        /// Who.
        holder: String,
        /// Its lease; one that has run out is still held if its process lives.
        until: Timestamp,
    },
    /// `OSTLER-S011` Another one is in charge now: stop.
    #[error("another Ostler has taken over this store: its term is {current} [OSTLER-S011]")]
    TermLost {
        /// The newest term.
        current: Term,
    },
    /// The store itself failed.
    #[error(transparent)]
    Failed(#[from] StoreError),
}

impl LeaderError {
    /// Its stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::HeldBy { .. } => "OSTLER-S012",
            Self::TermLost { .. } => "OSTLER-S011",
            Self::Failed(error) => error.code(),
        }
    }
}
