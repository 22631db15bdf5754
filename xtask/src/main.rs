//! Chores of the project: `cargo xtask --help`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what a chore finds goes to the terminal")]

mod bench;
mod kube_case;
mod oracle;
mod policy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Chores of the project.
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Compare decisions with those of another scheduler, recorded in a file.
    #[command(subcommand)]
    Oracle(oracle::Oracle),
    /// Measure how long a policy takes to decide on a case.
    BenchRay(bench::Bench),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().chore {
        Chore::Oracle(oracle) => oracle::run(oracle),
        Chore::BenchRay(bench) => bench::run(&bench),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(mistake) => {
            eprintln!("error: {mistake}");
            ExitCode::from(2)
        }
    }
}
