//! What only a file can do wrong. Each mistake is one clear error, and the file stays as it was.

use super::*;
use expect_test::{Expect, expect};
use rusqlite::Connection;

/// Opens a file with this content and compares the error; the file must not have changed.
fn check_refused(make: impl FnOnce(&Path), expected: Expect) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("ostler.db");
    make(&path);
    let before = std::fs::read(&path).ok();
    let error = SqliteStore::open(&path, 10).expect_err("refused").to_string();
    expected.assert_eq(&error.replace(&format!("{}/", directory.path().display()), ""));
    assert_eq!(std::fs::read(&path).ok(), before, "the file was changed");
    let entries = std::fs::read_dir(directory.path()).expect("lists").count();
    assert!(entries <= 1, "nothing was put beside it");
}

fn ours(path: &Path) -> SqliteStore {
    SqliteStore::open(path, 10).expect("opens")
}

#[test]
fn a_text_file_is_refused() {
    check_refused(
        |path| std::fs::write(path, "dear diary ".repeat(100)).expect("writes"),
        expect![
            "ostler.db is not a store of Ostler (not an SQLite file). It was left as it is: choose another `store.path` [OSTLER-S002]"
        ],
    );
}

#[test]
fn a_database_of_another_program_is_refused() {
    check_refused(
        |path| {
            let other = Connection::open(path).expect("opens");
            other.execute_batch("CREATE TABLE bookmarks (url TEXT)").expect("makes");
        },
        expect![
            "ostler.db is not a store of Ostler (a database of another program). It was left as it is: choose another `store.path` [OSTLER-S002]"
        ],
    );
}

#[test]
fn a_directory_is_refused() {
    check_refused(
        |path| std::fs::create_dir(path).expect("makes"),
        expect![
            "ostler.db is not a store of Ostler (a directory). It was left as it is: choose another `store.path` [OSTLER-S002]"
        ],
    );
}

#[test]
fn a_newer_format_is_refused() {
    check_refused(
        |path| ours(path).connection.pragma_update(None, "user_version", 99).expect("sets"),
        expect![
            "the store ostler.db has format 99, this Ostler knows formats up to 1. It was left as it is: run the newer Ostler that wrote it, or choose another `store.path` [OSTLER-S003]"
        ],
    );
}

#[test]
fn a_damaged_file_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("ostler.db");
    drop(ours(&path));
    let mut bytes = std::fs::read(&path).expect("reads");
    bytes[4096..].fill(0xA5);
    std::fs::write(&path, &bytes).expect("writes");
    let error = SqliteStore::open(&path, 10).expect_err("refused");
    assert_eq!(error.code(), "OSTLER-S004", "{error}");
    assert_eq!(std::fs::read(&path).expect("reads"), bytes, "the file was changed");
}

#[test]
fn a_path_that_cannot_be_made_is_refused() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    for open in [
        SqliteStore::open(&file.path().join("ostler.db"), 10),
        SqliteStore::open_to_read("/no/such".as_ref()),
    ] {
        assert_eq!(open.expect_err("refused").code(), "OSTLER-S001");
    }
}

fn commit_of(bytes: usize, term: Term, version: u64) -> Commit {
    Commit {
        workload: "w".into(),
        expected_version: version,
        term,
        upserts: vec![("i".into(), "x".repeat(bytes))],
        deletes: Vec::new(),
        memory: None,
        journal: Vec::new(),
    }
}

#[test]
fn a_full_disk_is_a_clean_error_and_goes_on_when_there_is_room() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut store = ours(&directory.path().join("ostler.db"));
    let term = store.acquire("h", Timestamp(0), Millis::secs(1)).expect("free");
    store.commit(&commit_of(10, term, 0)).expect("fits");
    let set_pages = |store: &SqliteStore, pages: u32| {
        store.connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).expect("sets");
    };
    set_pages(&store, 20);
    let error = store.commit(&commit_of(1 << 20, term, 1)).expect_err("full");
    assert_eq!(error.code(), "OSTLER-S006", "{error}");
    let records = store.load(&"w".into()).expect("loads");
    assert_eq!((records.version, records.instances[0].1.len()), (1, 10));
    set_pages(&store, 10_000);
    assert_eq!(store.commit(&commit_of(1 << 20, term, 1)).expect("room again"), 2);
}

#[test]
fn a_store_opened_to_read_reads_and_does_not_write() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("ostler.db");
    let mut writer = ours(&path);
    let term = writer.acquire("h", Timestamp(0), Millis::secs(1)).expect("free");
    writer.commit(&commit_of(10, term, 0)).expect("commits");
    let mut reader = SqliteStore::open_to_read(&path).expect("opens beside the writer");
    assert_eq!(reader.load(&"w".into()).expect("loads").version, 1);
    let error = reader.commit(&commit_of(10, term, 1)).expect_err("refused");
    assert_eq!(error.code(), "OSTLER-S005", "{error}");
    drop((writer, reader));
    let reader = SqliteStore::open_to_read(&path).expect("opens with no writer");
    assert_eq!(reader.load(&"w".into()).expect("loads").version, 1);
}

#[test]
fn a_lock_of_another_program_is_a_clean_error() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("ostler.db");
    let mut store = ours(&path);
    let term = store.acquire("h", Timestamp(0), Millis::secs(1)).expect("free");
    let other = Connection::open(&path).expect("opens");
    other.execute_batch("BEGIN IMMEDIATE").expect("locks");
    store.connection.busy_timeout(std::time::Duration::ZERO).expect("sets");
    assert_eq!(store.commit(&commit_of(1, term, 0)).expect_err("busy").code(), "OSTLER-S007");
    other.execute_batch("ROLLBACK").expect("unlocks");
    store.commit(&commit_of(1, term, 0)).expect("free again");
}

#[test]
fn a_lease_of_another_host_is_waited_for() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("ostler.db");
    let mut elsewhere = ours(&path);
    elsewhere.host = "elsewhere".into();
    let old = elsewhere.acquire("theirs", Timestamp(1000), Millis::secs(15)).expect("free");
    drop(elsewhere); // as if this host did not see their lock
    let mut here = ours(&path);
    let held = here.acquire("mine", Timestamp(2000), Millis::secs(15)).expect_err("their lease runs");
    assert!(
        matches!(&held, LeaderError::HeldBy { holder, until: Timestamp(16_000) } if holder == "theirs"),
        "{held}"
    );
    let new = here.acquire("mine", Timestamp(16_000), Millis::secs(15)).expect("their lease has run out");
    assert!(new > old);
}
