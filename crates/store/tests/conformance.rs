//! Both stores keep the contract.

use ostler_store::conformance::{self, JOURNAL_ENTRIES};
use ostler_store::{MemoryStore, SqliteStore};

#[test]
fn memory() {
    conformance::check(|| {
        let store = MemoryStore::new(JOURNAL_ENTRIES);
        Box::new(move || Box::new(store.another()))
    });
}

#[test]
fn sqlite() {
    conformance::check(|| {
        let directory = tempfile::tempdir().expect("a directory");
        Box::new(move || {
            let path = directory.path().join("made/on/the/way/ostler.db");
            Box::new(SqliteStore::open(&path, JOURNAL_ENTRIES).expect("opens"))
        })
    });
}
