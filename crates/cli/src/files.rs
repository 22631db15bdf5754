//! Reading files, within bounds.

use crate::exit::Trouble;
use ostler_wire::Recording;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes of a recording. One of 10,000 nodes and 100,000 requests has about 20 MB.
const RECORDING_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Bytes of a configuration; one that is too large to be used is refused by its reader, with a better message.
const CONFIG_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Recordings that one directory is read for.
const RECORDINGS_MAX: usize = 100_000;

/// A file's text; `-` is stdin.
pub(crate) fn text(path: &Path, bytes_max: u64) -> Result<String, Trouble> {
    let failed = |reason: String| Trouble::Unreadable { path: path.to_owned(), reason };
    let source: Box<dyn Read> = if path == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        Box::new(File::open(path).map_err(|error| failed(error.to_string()))?)
    };
    let mut text = String::new();
    source.take(bytes_max + 1).read_to_string(&mut text).map_err(|error| failed(error.to_string()))?;
    if text.len() as u64 > bytes_max {
        return Err(failed(format!("it has more than {bytes_max} bytes")));
    }
    Ok(text)
}

/// A configuration's text.
pub(crate) fn config(path: &Path) -> Result<String, Trouble> {
    text(path, CONFIG_BYTES_MAX)
}

/// A recording.
pub(crate) fn recording(path: &Path) -> Result<Recording, Trouble> {
    let text = text(path, RECORDING_BYTES_MAX)?;
    Recording::from_text(&text).map_err(|error| Trouble::BadRecording { path: path.to_owned(), error })
}

/// The recordings of a directory by name, or the one file itself.
pub(crate) fn recordings(path: &Path) -> Result<Vec<PathBuf>, Trouble> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let failed =
        |error: std::io::Error| Trouble::Unreadable { path: path.to_owned(), reason: error.to_string() };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)?.take(RECORDINGS_MAX) {
        let file = entry.map_err(failed)?.path();
        if file.extension().is_some_and(|extension| extension == "json") {
            found.push(file);
        }
    }
    found.sort();
    if found.is_empty() { Err(Trouble::NoRecordings { path: path.to_owned() }) } else { Ok(found) }
}
