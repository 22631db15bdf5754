//! The store, for reading.

use crate::args::StoreArgs;
use crate::exit::Trouble;
use ostler_console::JournalLine;
use ostler_store::{JournalRecord, SqliteStore};
use std::path::{Path, PathBuf};

/// The store that is meant, opened for reading.
pub(crate) fn open(args: &StoreArgs) -> Result<SqliteStore, Trouble> {
    let path = match &args.store {
        Some(path) => path.clone(),
        None => only_one(&usual_place())?,
    };
    Ok(SqliteStore::open_to_read(&path)?)
}

/// Where `ostler run` keeps its stores unless it is told otherwise.
fn usual_place() -> PathBuf {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || variable("HOME").map(|home| home.join(".local/state"));
    variable("XDG_STATE_HOME").or_else(home).unwrap_or_else(|| "/var/lib".into()).join("ostler")
}

fn only_one(place: &Path) -> Result<PathBuf, Trouble> {
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "db")).collect();
    found.sort();
    match found.as_slice() {
        [] => Err(Trouble::NoStore { place: place.to_owned() }),
        [one] => Ok(one.clone()),
        many => {
            Err(Trouble::ManyStores { names: many.iter().map(|path| path.display().to_string()).collect() })
        }
    }
}

/// An entry as it is shown.
pub(crate) fn line(record: JournalRecord) -> JournalLine {
    let JournalRecord { seq, workload, entry } = record;
    let subject = match (entry.subject.kind, entry.subject.id) {
        (kind, id) if id.is_empty() => kind,
        (kind, id) => format!("{kind}:{id}"),
    };
    JournalLine {
        seq,
        at: entry.at,
        workload: workload.to_string(),
        subject,
        code: entry.code,
        message: entry.message,
    }
}
