//! `ostler snapshot`: one look at a cluster that somebody else scales, written as a recording.

use crate::exit::{Exit, Trouble};
use crate::out::Out;
use crate::run::read_file;
use clap::Args;
use ostler_config::Overrides;
use ostler_wire::Recording;
use std::path::PathBuf;

/// Arguments of `ostler snapshot`.
#[derive(Debug, Args)]
pub(crate) struct SnapshotArgs {
    /// Ray's own cluster file, as it is; who makes its machines does not matter
    #[arg(long, value_name = "CLUSTER.YAML")]
    ray: PathBuf,
    /// The GCS [default: $RAY_ADDRESS, else 127.0.0.1:6379]
    #[arg(long, value_name = "HOST:PORT")]
    address: Option<String>,
}

/// Writes the recording to stdout.
pub(crate) fn snapshot(args: SnapshotArgs, out: &mut Out) -> Result<Exit, Trouble> {
    let overrides = Overrides { address: args.address, look_only: true, ..Overrides::default() };
    let text = read_file(&args.ray).map_err(Trouble::Configuration)?;
    let env = |name: &str| std::env::var(name).ok();
    let loaded = ostler_config::load_ray(&text, &args.ray, &env, &overrides)
        .map_err(|mistakes| Trouble::Configuration(mistakes.to_string()))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Trouble::Daemon(format!("the runtime cannot start: {error} [OSTLER-D010]")))?;
    let looked = runtime.block_on(ostler_daemon::look(&loaded.configuration));
    let snapshot = looked.map_err(|error| Trouble::Daemon(error.to_string()))?;
    out.verbatim(&Recording::new(snapshot, None).to_text())?;
    Ok(Exit::Done)
}
