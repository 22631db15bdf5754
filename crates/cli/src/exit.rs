//! How a command ends: the exit codes, and the errors with their codes.

use std::fmt::Write as _;
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
    #[error("this build has no daemon [OSTLER-U009]")]
    NoDaemon,
    #[error("cannot read {}: {reason}. Check the path and the rights [OSTLER-U001]", path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error(transparent)]
    Output(#[from] io::Error),
}

/// Tells what is wrong. A reader that went away is no trouble: `ostler journal | head` has all that it wants.
pub(crate) fn failed(trouble: &Trouble) -> Exit {
    if matches!(trouble, Trouble::Output(error) if error.kind() == io::ErrorKind::BrokenPipe) {
        return Exit::Done;
    }
    say(&format!("error: {trouble}"));
    Exit::Trouble
}

/// Help and version go to stdout and are no errors; everything else is one, with a code like all others.
pub(crate) fn usage(refusal: &clap::Error) -> Exit {
    if !refusal.use_stderr() {
        let _ = refusal.print();
        return Exit::Done;
    }
    let mut text = refusal.render().to_string();
    text.truncate(text.trim_end().len());
    let _ = write!(text, " [OSTLER-U000]");
    say(&text);
    Exit::Usage
}

/// A line for people, on stderr. If stderr is closed there is nobody to tell.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
