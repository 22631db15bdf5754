//! How a command ends: the exit codes, and the errors with their codes.

use ostler_store::StoreError;
use ostler_wire::WireError;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

/// How a command ended. The numbers are part of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It was done.
    Done = 0,
    /// It was done, and the answer is no: mistakes, differences, nothing found.
    No = 1,
    /// It was called wrongly.
    Usage = 2,
    /// It could not be done.
    Trouble = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command could not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    #[error("{0}")]
    Configuration(String),
    #[error("{0}")]
    Daemon(String),
    #[error("cannot read {}: {reason}. Check the path and the rights [OSTLER-U001]", path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error(
        "no Ostler answers at {url}: {reason}. Is `ostler run` running, and is this its address (--api)? \
         [OSTLER-U002]"
    )]
    NoAnswer { url: String, reason: String },
    #[error("the Ostler at {url} wants its token: give the right one with --token-file [OSTLER-U003]")]
    Refused { url: String },
    #[error("what answers at {url} is not an Ostler of this kind: {reason}. Check --api [OSTLER-U004]")]
    NotOstler { url: String, reason: String },
    #[error(
        "{url} is no address of an API, which is plain HTTP: write `http://HOST:PORT` (--api) [OSTLER-U011]"
    )]
    NoUrl { url: String },
    #[error("there is no store to read in {}: say which with --store [OSTLER-U005]", place.display())]
    NoStore { place: PathBuf },
    #[error("there are several stores: say which with --store: {} [OSTLER-U006]", names.join(", "))]
    ManyStores { names: Vec<String> },
    #[error(
        "{} holds no plan, since planning failed when it was recorded: there is nothing to compare with. Give a \
         --policy to compare two policies [OSTLER-U007]",
        path.display()
    )]
    NothingToCompare { path: PathBuf },
    #[error("there are no recordings (*.json) in {}: `ostler run --record DIR` writes them [OSTLER-U008]", path.display())]
    NoRecordings { path: PathBuf },
    #[error("{}: {error}", path.display())]
    BadRecording { path: PathBuf, error: WireError },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the system refused: {0} [OSTLER-U009]")]
    Output(#[from] io::Error),
}

/// Tells what is wrong. A reader that went away is no trouble: `ostler journal | head` has all that it wants.
pub(crate) fn failed(trouble: &Trouble) -> Exit {
    if matches!(trouble, Trouble::Output(error) if error.kind() == io::ErrorKind::BrokenPipe) {
        return Exit::Done;
    }
    match trouble {
        // Each of its mistakes says itself whether it is an error.
        Trouble::Configuration(mistakes) => say(mistakes),
        trouble => say(&format!("error: {trouble}")),
    }
    Exit::Trouble
}

/// Help and version go to stdout and are no errors; everything else is one, with a code like all others.
pub(crate) fn usage(refusal: &clap::Error) -> Exit {
    if !refusal.use_stderr() {
        let _ = refusal.print();
        return Exit::Done;
    }
    say(&format!("{} [OSTLER-U000]", refusal.render().to_string().trim_end()));
    Exit::Usage
}

/// A line for people, on stderr. If stderr is closed there is nobody to tell.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
