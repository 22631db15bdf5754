//! The `ostler` command. Results go to stdout, talk to stderr; every error ends with its code.
//!
//! One file for each command; [`args`] says what can be called, [`exit`] what the exit codes mean.

mod args;
mod exit;
mod out;
mod run;

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

fn call(command: Command, _out: &mut Out) -> Result<Exit, Trouble> {
    match command {
        Command::Run(args) => run::run(args),
    }
}
