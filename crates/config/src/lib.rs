//! Text to typed configuration: every mistake at once, each with its place, a code and a hint.
//!
//! - [`load`] reads `ostler.yaml`, the general form. [`load_ray`] reads Ray's own cluster file as it is.
//! - Both give a [`Configuration`]; what it holds is checked once, here, and nowhere again.
//! - What is known is in tables (`table/`). The reader, the schema for editors ([`schema`]) and the page of
//!   documentation ([`reference_page`]) are made from the same tables.
//!
//! No file is read and no variable is asked for behind the caller's back: both come in as functions.

mod configuration;
mod document;
mod environment;
mod general;
mod hash;
mod knob;
mod kubernetes;
mod mistake;
mod polars;
mod pools;
mod providers;
mod ray;
mod read;
mod service;
mod table;
mod tree;
mod value;

pub use configuration::{
    ApiConfig, Configuration, Deadlines, ExternalGrpcConfig, KubeConnection, KubeLease, KubernetesConfig,
    LocalProvider, Network, Overrides, PolarsConfig, PolarsProbe, PolarsProbeKind, PolarsRest, PolarsTls,
    PoolConfig, ProviderConfig, RayAuth, RayConfig, StoreConfig, WorkloadConfig, WorkloadKind,
};
pub use document::{error_table, reference_page, schema};
pub use mistake::{Code, Mistake, Mistakes, Place, Severity};
pub use value::Command;

use environment::Host;
use mistake::Notes;
use std::path::Path;

/// A configuration that can be used, and what we think of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// What Ostler is told.
    pub configuration: Configuration,
    /// Mistakes that do not stop us.
    pub warnings: Vec<Mistake>,
}

/// Reads `ostler.yaml`. Paths in it are relative to the directory of `file`. `env` looks up an environment
/// variable; `read` reads a file that the configuration names (a cluster file of Ray), its error is a sentence.
pub fn load(
    text: &str,
    file: &Path,
    env: &dyn Fn(&str) -> Option<String>,
    read: &dyn Fn(&Path) -> Result<String, String>,
    overrides: &Overrides,
) -> Result<Loaded, Mistakes> {
    let name = file.display().to_string();
    let notes = Notes::on(&name, text);
    let host = Host { env, file, overrides };
    let configuration = tree::parse(text, &notes).map(|root| general::read(&notes, root, &host, read));
    finish(configuration, notes)
}

/// Reads Ray's cluster file, with Ray's defaults and Ray's environment variables.
pub fn load_ray(
    text: &str,
    file: &Path,
    env: &dyn Fn(&str) -> Option<String>,
    overrides: &Overrides,
) -> Result<Loaded, Mistakes> {
    let name = file.display().to_string();
    let notes = Notes::on(&name, text);
    let host = Host { env, file, overrides };
    let configuration = tree::parse(text, &notes).map(|root| ray::read(&notes, root, &host));
    finish(configuration, notes)
}

fn finish(configuration: Option<Configuration>, notes: Notes<'_>) -> Result<Loaded, Mistakes> {
    let warnings = notes.verdict()?;
    let configuration = configuration.expect("a text that could not be read has left an error in the notes");
    Ok(Loaded { configuration, warnings })
}
