//! What must survive a crash: the instance records, the planner's memory, the journal, and who may write them.
//!
//! - [`Store`] is the contract, [`conformance`] is the contract as code.
//! - [`SqliteStore`] keeps it in one file; [`MemoryStore`] keeps it in memory, for simulations.
//!
//! A commit is one transaction with two guards: the *version* of the workload (someone else planned from other
//! records) and the *term* of the leader (someone else is in charge now). Records travel as JSON text, so this
//! crate knows nothing of what is in them.

pub mod conformance;
mod contract;
mod error;
mod memory;
mod sqlite;

pub use contract::{
    Commit, JournalEntry, JournalQuery, JournalRecord, MAX_DATA_BYTES, MAX_MESSAGE_BYTES, MAX_QUERY_LIMIT,
    Order, Records, Store, Subject, Term,
};
pub use error::{CommitError, LeaderError, StoreError};
pub use memory::MemoryStore;
pub use sqlite::{DEFAULT_JOURNAL_ENTRIES, SqliteStore};
