//! The files that people begin with have no mistake in them, and nothing to warn of.

use crate::common::env;
use ostler_config::{Overrides, load, load_ray};
use std::fs::{read_dir, read_to_string};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn accepted(file: &Path, text: &str) {
    let (env, read) =
        (env(&[("HOME", "/home/me")]), |path: &Path| Err(format!("{} is asked for", path.display())));
    let ray = file.file_stem().is_some_and(|stem| stem.to_string_lossy().starts_with("ray"));
    let loaded = match ray {
        true => load_ray(text, file, &env, &Overrides::default()),
        false => load(text, file, &env, &read, &Overrides::default()),
    };
    let loaded = loaded.unwrap_or_else(|mistakes| panic!("{}: {mistakes}", file.display()));
    assert_eq!(loaded.warnings, [], "{}", file.display());
}

#[test]
fn examples_are_accepted() {
    let files = read_dir(root().join("examples")).expect("there are examples");
    let mut seen = 0;
    for file in files.map(|file| file.expect("a file").path()) {
        accepted(&file, &read_to_string(&file).expect("a text"));
        seen += 1;
    }
    assert!(seen >= 4, "{seen}");
}

/// The configuration stands in a ConfigMap, indented under `ostler.yaml: |`.
#[test]
fn what_is_deployed_is_accepted() {
    let file = root().join("deploy/ostler.yaml");
    let text = read_to_string(&file).expect("a text");
    let (_, after) = text.split_once("  ostler.yaml: |\n").expect("a configuration");
    let (inner, _) = after.split_once("\n---").expect("more objects");
    let inner: Vec<&str> = inner.lines().map(|line| line.strip_prefix("    ").expect("indented")).collect();
    accepted(&file, &inner.join("\n"));
}
