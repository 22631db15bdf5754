//! Opening: is the file there, is it ours, do we know its format, is it whole? Nothing is written before all of
//! this is known.

use super::failure::{BUSY_TIMEOUT_S, explain};
use crate::error::StoreError;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

/// Marks our files in the header of SQLite ("OSTL").
const APPLICATION_ID: i32 = 0x4F53_544C;

/// What brings a file from format n to n + 1. A released step is never changed; a new format is a new step.
const MIGRATIONS: &[&str] = &[include_str!("format_1.sql")];

/// The format that we write.
pub(super) const FORMAT: u32 = MIGRATIONS.len() as u32;

pub(super) fn read_write(path: &Path) -> Result<Connection, StoreError> {
    look(path)?;
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        std::fs::create_dir_all(directory)
            .map_err(|error| StoreError::Open { path: path.to_owned(), reason: error.to_string() })?;
    }
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = connect(path, flags)?;
    prepare(path, &mut connection)?;
    Ok(connection)
}

pub(super) fn read_only(path: &Path) -> Result<Connection, StoreError> {
    if !look(path)? {
        return Err(StoreError::Open { path: path.to_owned(), reason: "there is no such store".to_owned() });
    }
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    let found = format(&connection).map_err(|error| explain(path, error))?;
    known(path, found)?;
    if found < FORMAT {
        let found = format!("its format {found} is older: let `ostler run` open it once");
        return Err(StoreError::NotOurs { path: path.to_owned(), found });
    }
    Ok(connection)
}

/// Reads the first bytes ourselves, since SQLite would already touch a foreign database by opening it (it plays
/// back journals, empties write-ahead logs). `false`: there is nothing yet.
fn look(path: &Path) -> Result<bool, StoreError> {
    let failed =
        |error: std::io::Error| StoreError::Open { path: path.to_owned(), reason: error.to_string() };
    let not_ours = |found: &str| Err(StoreError::NotOurs { path: path.to_owned(), found: found.to_owned() });
    let mut header = Vec::new();
    match File::open(path) {
        Ok(file) if file.metadata().map_err(failed)?.is_dir() => return not_ours("a directory"),
        Ok(file) => file.take(100).read_to_end(&mut header).map_err(failed)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(failed(error)),
    };
    if header.is_empty() {
        return Ok(false);
    }
    if header.len() < 100 || !header.starts_with(b"SQLite format 3\0") {
        return not_ours("not an SQLite file");
    }
    if header[68..72] != APPLICATION_ID.to_be_bytes() {
        return not_ours("a database of another program");
    }
    known(path, u32::from_be_bytes([header[60], header[61], header[62], header[63]]))?;
    Ok(true)
}

fn known(path: &Path, found: u32) -> Result<(), StoreError> {
    if found > FORMAT {
        return Err(StoreError::Newer { path: path.to_owned(), found, known: FORMAT });
    }
    Ok(())
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let connect = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(Duration::from_secs(BUSY_TIMEOUT_S))?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        Ok(connection)
    };
    connect().map_err(|error| explain(path, error))
}

/// Checks the whole file, migrates it, and switches to the write-ahead log.
fn prepare(path: &Path, connection: &mut Connection) -> Result<(), StoreError> {
    let failed = |error| explain(path, error);
    let found = format(connection).map_err(failed)?;
    known(path, found)?;
    let verdict: String =
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(failed)?;
    if verdict != "ok" {
        return Err(StoreError::Corrupt { path: path.to_owned(), detail: verdict });
    }
    // A store that is as it should be is not written to: its holder may be busy with it.
    if found < FORMAT {
        migrate(connection).map_err(failed)?;
    }
    // After the first migration, so that the mark is in the file itself and not only in the log beside it.
    let mode: String =
        connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).map_err(failed)?;
    if mode != "wal" {
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).map_err(failed)?;
    }
    Ok(())
}

fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = format(&transaction)?;
    if found >= FORMAT {
        return Ok(());
    }
    for step in &MIGRATIONS[found as usize..] {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    transaction.commit()
}

fn format(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}
