//! Which binary is tested.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// `OSTLER_BIN`, or else what Cargo builds now, once.
pub fn ostler_binary() -> &'static Path {
    static BINARY: LazyLock<PathBuf> =
        LazyLock::new(|| std::env::var_os("OSTLER_BIN").map_or_else(built, PathBuf::from));
    &BINARY
}

fn built() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--package=ostler-cli", "--message-format=json-render-diagnostics"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = output.stdout.split(|byte| *byte == b'\n');
    let messages = lines.filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok());
    let executable =
        messages.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back();
    executable.expect("cargo names the binary that it built")
}
