//! `ostler run`: the daemon.

use crate::args::RunArgs;
use crate::exit::{Exit, Trouble};

/// Runs until it is stopped.
pub(crate) fn run(_args: RunArgs) -> Result<Exit, Trouble> {
    Err(Trouble::NoDaemon)
}
