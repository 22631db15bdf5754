//! The `ostler` command. Results go to stdout, talk to stderr; every error ends with its code.
//!
//! One file for each command; [`args`] says what can be called, [`exit`] what the exit codes mean.

mod api;
mod args;
mod check;
mod difference;
mod exit;
mod explain;
mod files;
mod journal;
mod out;
mod plan;
mod replay;
mod run;
mod snapshot;
mod status;
mod store;
mod table;

use args::{Cli, Command};
use clap::Parser;
use exit::{Exit, Trouble};
use out::Out;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(refusal) => return exit::usage(&refusal).into(),
    };
    let mut out = Out::stdout();
    match call(cli.command, &mut out) {
        Ok(exit) => exit.into(),
        Err(trouble) => exit::failed(&trouble).into(),
    }
}

fn call(command: Command, out: &mut Out) -> Result<Exit, Trouble> {
    let exit = match command {
        Command::Run(args) => run::run(args),
        Command::Status(args) => status::status(&args, out),
        Command::Explain(args) => explain::explain(&args, out),
        Command::Snapshot(args) => snapshot::snapshot(args, out),
        Command::Plan(args) => plan::plan(&args, out),
        Command::Replay(args) => replay::replay(&args, out),
        Command::Journal(args) => journal::journal(&args, out),
        Command::Check(args) => check::check(&args, out),
    }?;
    out.flush()?;
    Ok(exit)
}

#[cfg(test)]
mod reference;
