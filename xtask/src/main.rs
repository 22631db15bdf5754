//! Chores of the project: `cargo xtask --help`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what a chore finds goes to the terminal")]

mod bench;
mod kube_case;
mod kube_weigh;
mod oracle;
mod policy;
mod race;

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
    /// Plan the nodes of a Kubernetes cluster for a scenario file.
    Race(race::Race),
    /// Recompute fit, price and pods left of a plan that `race --plan` wrote, from the two files alone.
    RaceVerify(race::Verify),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().chore {
        Chore::Oracle(oracle) => oracle::run(oracle),
        Chore::BenchRay(bench) => bench::run(&bench),
        Chore::Race(race) => race::run(&race),
        Chore::RaceVerify(verify) => race::verify(&verify),
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
