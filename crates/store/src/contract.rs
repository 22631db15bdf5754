//! The contract of a store and the values that cross it.

use crate::error::{CommitError, LeaderError, StoreError};
use ostler_model::{InstanceId, Millis, Timestamp, WorkloadId};
use std::fmt;

/// Longest message of a journal entry; a longer one is cut. Enough for a sentence with several names in it.
pub const MAX_MESSAGE_BYTES: usize = 4 * 1024;
/// Largest data of a journal entry; larger data is left out and its size is noted in its place. With 100,000
/// entries the journal stays below 1.2 GB even if every entry is as large as it may be; usual is 30 MB.
pub const MAX_DATA_BYTES: usize = 8 * 1024;
/// Most entries that one query returns, whatever it asks for.
pub const MAX_QUERY_LIMIT: u32 = 10_000;

/// Keeps records, one writer at a time.
///
/// Calls block (SQLite waits for the disk): call them from a thread that may wait. Every method is all or
/// nothing: after an error nothing has changed, except that a failed [`commit`](Store::commit) whose error is
/// `Failed` may have been written (the disk may fail after the fact); load again before you decide anything.
pub trait Store: Send + fmt::Debug {
    /// The records of one workload. A workload that was never committed is empty, at version 0.
    fn load(&self, workload: &WorkloadId) -> Result<Records, StoreError>;

    /// Every workload that was ever committed, by name: also those that the configuration no longer knows, whose
    /// machines may still run.
    fn workloads(&self) -> Result<Vec<WorkloadId>, StoreError>;

    /// Writes one pass of one workload and returns the new version (always `expected_version + 1`). When it
    /// returns, the commit has reached the disk. Refused if the version or the term is no longer current.
    fn commit(&mut self, commit: &Commit) -> Result<u64, CommitError>;

    /// Becomes the one writer, until [`release`](Store::release) or until the process dies, and gets a term that
    /// is higher than any before it. The lease (`ttl` from `now`) is for holders on another host: one that died
    /// on this host is replaced at once, and one that lives is never replaced. Asking again as the holder begins
    /// a new term.
    fn acquire(&mut self, holder: &str, now: Timestamp, ttl: Millis) -> Result<Term, LeaderError>;

    /// Prolongs the lease by its `ttl`, counted from `now`.
    fn renew(&mut self, term: Term, now: Timestamp) -> Result<(), LeaderError>;

    /// Steps down, so that the next holder need not wait.
    fn release(&mut self, term: Term) -> Result<(), LeaderError>;

    /// Entries of the journal that match, in the order asked for.
    fn journal(&self, query: &JournalQuery) -> Result<Vec<JournalRecord>, StoreError>;
}

/// Counts the leaders of a store. A commit carries its term; an old one is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term(pub u64);

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// What is stored of one workload.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Records {
    /// Number of commits so far.
    pub version: u64,
    /// Instance records as JSON text, by id.
    pub instances: Vec<(InstanceId, String)>,
    /// What the planner remembers between passes, as JSON text; `None` until the first was committed.
    pub memory: Option<String>,
}

/// One pass of one workload: all of it is written, or nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Whose records.
    pub workload: WorkloadId,
    /// The version that the pass was planned from.
    pub expected_version: u64,
    /// The term of the writer.
    pub term: Term,
    /// Records to write, as JSON text.
    pub upserts: Vec<(InstanceId, String)>,
    /// Records to forget. One that is not there is no error. Deletes come before upserts.
    pub deletes: Vec<InstanceId>,
    /// What the planner remembers; `None` leaves it as it is.
    pub memory: Option<String>,
    /// What happened and why.
    pub journal: Vec<JournalEntry>,
}

/// What a journal entry is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    /// `instance`, `pool`, `node`, `demand`, `workload` …
    pub kind: String,
    /// Which one.
    pub id: String,
}

/// One fact or reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalEntry {
    /// When it was decided.
    pub at: Timestamp,
    /// What it is about.
    pub subject: Subject,
    /// Stable code of the event or reason.
    pub code: String,
    /// For people. Cut at [`MAX_MESSAGE_BYTES`].
    pub message: String,
    /// For programs, JSON text. Left out above [`MAX_DATA_BYTES`].
    pub data: String,
}

impl JournalEntry {
    /// The entry as it is kept: within the bounds on its size.
    pub(crate) fn bounded(&self) -> (&str, std::borrow::Cow<'_, str>) {
        let message = &self.message[..self.message.floor_char_boundary(MAX_MESSAGE_BYTES)];
        let data = if self.data.len() <= MAX_DATA_BYTES {
            self.data.as_str().into()
        } else {
            format!("{{\"omitted_bytes\":{}}}", self.data.len()).into()
        };
        (message, data)
    }
}

/// An entry as it is found in the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalRecord {
    /// Its number: grows by one with each entry of the store, is never used again.
    pub seq: u64,
    /// The workload whose pass wrote it.
    pub workload: WorkloadId,
    /// The entry.
    pub entry: JournalEntry,
}

/// Which entries to return. The default is the newest 100 of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalQuery {
    /// Only of this workload.
    pub workload: Option<WorkloadId>,
    /// Only about this.
    pub subject: Option<Subject>,
    /// Not older than this.
    pub since: Option<Timestamp>,
    /// Only with a greater number than this: to follow the journal, ask with the last number that you saw.
    pub after_seq: u64,
    /// At most so many, and never more than [`MAX_QUERY_LIMIT`].
    pub limit: u32,
    /// Which come first, and so which are left off when there are more than `limit`.
    pub order: Order,
}

impl Default for JournalQuery {
    fn default() -> Self {
        Self {
            workload: None,
            subject: None,
            since: None,
            after_seq: 0,
            limit: 100,
            order: Order::NewestFirst,
        }
    }
}

/// Direction of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The last thing that happened comes first.
    NewestFirst,
    /// As it happened.
    OldestFirst,
}
