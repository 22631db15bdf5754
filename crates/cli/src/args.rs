//! What can be called, and the arguments that several commands share.

use crate::check::CheckArgs;
use crate::explain::ExplainArgs;
use crate::journal::JournalArgs;
use crate::plan::PlanArgs;
use crate::replay::ReplayArgs;
use crate::snapshot::SnapshotArgs;
use crate::status::StatusArgs;
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use ostler_model::Scoring;
use std::net::SocketAddr;
use std::path::PathBuf;

/// An autoscaler: it watches what workloads ask for, decides which machines should exist, and makes it so.
#[derive(Debug, Parser)]
#[command(name = "ostler", version, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 done, 1 the answer is no (mistakes, differences, nothing found), \
                        2 called wrongly, 3 it could not be done.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Watch, decide and act, until stopped
    Run(RunArgs),
    /// Pools, machines, demand and the last plan of a running Ostler
    Status(StatusArgs),
    /// Why something waits, stays, goes, or was refused
    Explain(ExplainArgs),
    /// Look once at a Ray cluster that somebody else scales, for `ostler plan`; changes nothing
    Snapshot(SnapshotArgs),
    /// Plan a recorded snapshot; changes nothing
    Plan(PlanArgs),
    /// Plan recordings again and tell which plans differ
    Replay(ReplayArgs),
    /// What was decided and why, from the store, also while `ostler run` writes it
    Journal(JournalArgs),
    /// Every mistake of a configuration, with its place and a hint
    Check(CheckArgs),
}

/// How a running Ostler is reached.
#[derive(Debug, Args)]
pub(crate) struct ApiArgs {
    /// Its API
    #[arg(long, value_name = "URL", env = "OSTLER_API", default_value = "http://127.0.0.1:8270")]
    pub(crate) api: String,
    /// The file with the token of the API, if it asks for one
    #[arg(long, value_name = "PATH", env = "OSTLER_TOKEN_FILE")]
    pub(crate) token_file: Option<PathBuf>,
}

/// Where the store is.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// The store [default: the only one in ~/.local/state/ostler]
    #[arg(long, value_name = "PATH", env = "OSTLER_STORE")]
    pub(crate) store: Option<PathBuf>,
}

/// In which form the result is written.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct FormatArgs {
    /// Form of the result
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: Format,
}

/// Arguments of `ostler run`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("configuration").required(true).args(["file", "ray"])))]
pub(crate) struct RunArgs {
    /// The configuration
    #[arg(short, long, value_name = "OSTLER.YAML")]
    pub(crate) file: Option<PathBuf>,
    /// One Ray cluster: Ray's own cluster file, as it is
    #[arg(long, value_name = "CLUSTER.YAML")]
    pub(crate) ray: Option<PathBuf>,
    /// The GCS of the one Ray workload [default: the file's, else $RAY_ADDRESS, else 127.0.0.1:6379]
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) address: Option<String>,
    /// The store [default: the file's, else ~/.local/state/ostler/NAME.db]
    #[arg(long, value_name = "PATH")]
    pub(crate) store: Option<PathBuf>,
    /// Where the API listens [default: the file's, else 127.0.0.1:8270]
    #[arg(long, value_name = "IP:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Write each snapshot and its plan into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    /// How options are compared, for every workload [default: the file's]
    #[arg(long, value_name = "POLICY")]
    pub(crate) policy: Option<PolicyName>,
    /// Kubernetes clusters: only say what would be done, beside another autoscaler
    #[arg(long)]
    pub(crate) shadow: bool,
    /// Form of the log on stderr
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) log_format: Format,
}

/// A scoring policy by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PolicyName {
    /// Ray's documented scoring, with its oddities repaired
    Ray,
    /// Every decision as Ray 2.60.0 makes it
    RayExact,
}

impl From<PolicyName> for Scoring {
    fn from(name: PolicyName) -> Self {
        match name {
            PolicyName::Ray => Self::Ray,
            PolicyName::RayExact => Self::RayExact,
        }
    }
}

/// For people or for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Format {
    /// For people; may change
    #[default]
    Text,
    /// For programs; stays as it is within a version of the format
    Json,
}
