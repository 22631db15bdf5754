//! The walls between the rooms, and the rules that the tree keeps by itself. See `ARCHITECTURE.md`.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Rings from the inside out. A crate depends on crates of lower rings, and on those of its own ring only where
/// `may_also` says so.
const RINGS: &[&[&str]] = &[
    &["ostler-model"],
    &["ostler-packing", "ostler-lifecycle"],
    &["ostler-planner", "ostler-audit"],
    &["ostler-engine"],
    &["ostler-wire", "ostler-config", "ostler-store", "ostler-provider", "ostler-workload"],
    &[
        "ostler-provider-externalgrpc",
        "ostler-provider-kwok",
        "ostler-provider-local",
        "ostler-workload-kubernetes",
        "ostler-workload-polars",
        "ostler-workload-ray",
    ],
    &["ostler-console", "ostler-daemon", "ostler-cli", "ostler-sim", "ostler-testkit", "ostler-e2e", "xtask"],
];

/// Steps within a ring that are meant.
const MAY_ALSO: &[(&str, &str)] = &[
    ("ostler-audit", "ostler-planner"),  // it judges plans
    ("ostler-daemon", "ostler-console"), // it fills the read model
    ("ostler-cli", "ostler-daemon"),
    ("ostler-cli", "ostler-console"),
    ("ostler-e2e", "ostler-testkit"),
    ("xtask", "ostler-testkit"),
];

/// The pure rings: no clock, no IO, no randomness, no hash order.
const PURE: &[&str] = &[
    "ostler-model",
    "ostler-packing",
    "ostler-lifecycle",
    "ostler-planner",
    "ostler-audit",
    "ostler-engine",
];
/// What the pure rings may use of others: none of these does IO.
const PURE_MAY_USE: &[&str] = &["serde", "libm"];

/// A file longer than this is split: the only limit on sizes, the rest is a habit.
const LINES_MAX: usize = 600;

struct Package {
    name: String,
    root: PathBuf,
    /// Dependencies of the built crate, without those of its tests.
    uses: BTreeSet<String>,
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_owned()
}

fn packages() -> Vec<Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version=1", "--offline"])
        .current_dir(workspace())
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let list = metadata["packages"].as_array().expect("it lists packages").iter();
    list.map(|package| Package {
        name: text(&package["name"]),
        root: Path::new(&text(&package["manifest_path"]))
            .parent()
            .expect("a manifest lies somewhere")
            .to_owned(),
        uses: package["dependencies"]
            .as_array()
            .expect("it lists dependencies")
            .iter()
            .filter(|dependency| dependency["kind"].is_null())
            .map(|dependency| text(&dependency["name"]))
            .collect(),
    })
    .collect()
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

fn ring_of(name: &str) -> Option<usize> {
    RINGS.iter().position(|ring| ring.contains(&name))
}

#[test]
fn every_crate_has_a_ring_and_depends_inwards() {
    let packages = packages();
    let ours: BTreeMap<&str, usize> =
        packages.iter().filter_map(|p| Some((p.name.as_str(), ring_of(&p.name)?))).collect();
    let mut found = Vec::new();
    for package in &packages {
        let Some(ring) = ring_of(&package.name) else {
            found.push(format!("{} has no ring: add it to RINGS and to ARCHITECTURE.md", package.name));
            continue;
        };
        for used in package.uses.iter().filter(|used| ours.contains_key(used.as_str())) {
            let inward = ours[used.as_str()] < ring;
            if !inward && !MAY_ALSO.contains(&(package.name.as_str(), used)) {
                found.push(format!("{} may not depend on {used}", package.name));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_pure_rings_use_nothing_that_does_io() {
    let mut found = Vec::new();
    for package in packages().iter().filter(|package| PURE.contains(&package.name.as_str())) {
        for used in &package.uses {
            if ring_of(used).is_none() && !PURE_MAY_USE.contains(&used.as_str()) {
                found.push(format!(
                    "{} uses {used}, which is not on the list of the pure rings",
                    package.name
                ));
            }
        }
        let lib =
            std::fs::read_to_string(package.root.join("src/lib.rs")).expect("a pure crate is a library");
        if !lib.contains("#![no_std]") {
            found.push(format!("{} is not no_std", package.name));
        }
        for file in sources(&package.root.join("src")) {
            let source = std::fs::read_to_string(&file).expect("a source can be read");
            for (n, line) in source.lines().enumerate() {
                let for_tests =
                    n > 0 && source.lines().nth(n - 1).is_some_and(|before| before.trim() == "#[cfg(test)]");
                if line.trim() == "extern crate std;" && !for_tests {
                    found.push(format!("{}:{}: std outside of tests", file.display(), n + 1));
                }
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn providers_and_workloads_never_meet() {
    for package in packages() {
        let of = |prefix: &str| package.uses.iter().any(|used| used.starts_with(prefix));
        if package.name.starts_with("ostler-provider") {
            assert!(!of("ostler-workload"), "{} knows a workload", package.name);
        }
        if package.name.starts_with("ostler-workload") {
            assert!(!of("ostler-provider"), "{} knows a provider", package.name);
        }
    }
}

#[test]
fn every_crate_has_the_lints_of_the_workspace() {
    for package in packages() {
        let manifest =
            std::fs::read_to_string(package.root.join("Cargo.toml")).expect("a manifest can be read");
        assert!(manifest.contains("[lints]\nworkspace = true"), "{} has lints of its own", package.name);
    }
}

#[test]
fn no_source_is_too_long_and_nothing_is_left_to_do() {
    let mut found = Vec::new();
    for package in packages() {
        for file in sources(&package.root) {
            let source = std::fs::read_to_string(&file).expect("a source can be read");
            let lines = source.lines().count();
            if lines > LINES_MAX {
                found.push(format!("{}: {lines} lines, split it", file.display()));
            }
            for mark in [concat!("FIX", "ME"), concat!("TO", "DO"), concat!("XX", "X:")] {
                if source.contains(mark) {
                    found.push(format!(
                        "{}: holds {mark}: do it, or say in the documents why not",
                        file.display()
                    ));
                }
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn links_between_documents_lead_somewhere() {
    let root = workspace();
    let mut documents: Vec<PathBuf> = files(&root.join("docs"), "md");
    documents.extend(["README.md", "ARCHITECTURE.md", "CHANGELOG.md"].map(|name| root.join(name)));
    let mut found = Vec::new();
    for document in documents {
        let text =
            std::fs::read_to_string(&document).unwrap_or_else(|e| panic!("{}: {e}", document.display()));
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or("");
            let outside = link.contains("://") || link.starts_with("mailto:") || target.is_empty();
            if !outside && !document.parent().expect("a document lies somewhere").join(target).exists() {
                found.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(found.is_empty(), "links that lead nowhere:\n{}", found.join("\n"));
}

#[test]
fn every_code_of_an_error_is_in_the_documents() {
    let root = workspace();
    let pages = files(&root.join("docs"), "md")
        .into_iter()
        .map(|page| std::fs::read_to_string(page).unwrap_or_default());
    let pages: String = pages.collect();
    let mut missing = BTreeSet::new();
    for package in packages() {
        for file in sources(&package.root.join("src")) {
            let source = std::fs::read_to_string(&file).expect("a source can be read");
            for after in source.split("OSTLER-").skip(1) {
                let code: String = after.chars().take_while(char::is_ascii_alphanumeric).collect();
                let is_code = code.len() == 4 && code[1..].bytes().all(|b| b.is_ascii_digit());
                if is_code && !pages.contains(&format!("OSTLER-{code}")) {
                    missing.insert(format!("OSTLER-{code} ({})", file.display()));
                }
            }
        }
    }
    assert!(missing.is_empty(), "put these into docs/reference/errors.md: {missing:#?}");
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    files(dir, "rs")
}

fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}
