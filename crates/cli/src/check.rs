//! `ostler check`: every mistake of a configuration.

use crate::args::{Format, FormatArgs};
use crate::exit::{Exit, Trouble};
use crate::files;
use crate::out::Out;
use clap::Args;
use ostler_config::{Mistake, Mistakes, Overrides, Severity, load, load_ray};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Arguments of `ostler check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The configuration
    file: PathBuf,
    /// It is a cluster file of Ray
    #[arg(long)]
    ray: bool,
    #[command(flatten)]
    format: FormatArgs,
}

/// What was found, for programs.
#[derive(Debug, Serialize)]
struct Verdict<'m> {
    ok: bool,
    mistakes: Vec<Found<'m>>,
    /// More mistakes than are shown.
    left_off: usize,
}

#[derive(Debug, Serialize)]
struct Found<'m> {
    severity: &'static str,
    code: &'static str,
    file: &'m str,
    line: Option<usize>,
    column: Option<usize>,
    message: &'m str,
    hint: &'m str,
}

/// Shows them all at once. Warnings alone are no reason to refuse a file.
pub(crate) fn check(args: &CheckArgs, out: &mut Out) -> Result<Exit, Trouble> {
    let text = files::config(&args.file)?;
    let env = |name: &str| std::env::var(name).ok();
    let read = |path: &Path| files::config(path).map_err(|trouble| trouble.to_string());
    let overrides = Overrides::default();
    let loaded = if args.ray {
        load_ray(&text, &args.file, &env, &overrides)
    } else {
        load(&text, &args.file, &env, &read, &overrides)
    };
    let (ok, mistakes) = match loaded {
        Ok(loaded) => (true, Mistakes { all: loaded.warnings, left_off: 0 }),
        Err(mistakes) => (false, mistakes),
    };
    match args.format.format {
        Format::Json => {
            let found = mistakes.all.iter().map(found).collect();
            out.json(&Verdict { ok, mistakes: found, left_off: mistakes.left_off })?;
        }
        Format::Text if mistakes.all.is_empty() => out.line(&format!("{} is right", args.file.display()))?,
        Format::Text => out.lines(mistakes.to_string().lines())?,
    }
    Ok(if ok { Exit::Done } else { Exit::No })
}

fn found(mistake: &Mistake) -> Found<'_> {
    Found {
        severity: if mistake.severity == Severity::Error { "error" } else { "warning" },
        code: mistake.code.text(),
        file: &mistake.file,
        line: mistake.place.map(|place| place.line),
        column: mistake.place.map(|place| place.column),
        message: &mistake.message,
        hint: &mistake.hint,
    }
}
