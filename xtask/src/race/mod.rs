//! `cargo xtask race`: plans a scenario file; `cargo xtask race-verify`: checks a plan without the planner.
//!
//! The files are those of `tools/bench-kubernetes/generate.py`, which says what is in them.

mod load;
mod run;
#[cfg(test)]
mod tests;
mod verify;

use std::path::{Path, PathBuf};

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What to plan.
#[derive(Debug, Args)]
pub(crate) struct Race {
    /// A scenario file.
    file: PathBuf,
    /// Print one JSON object instead of a line for people.
    #[arg(long)]
    json: bool,
    /// Write the plan here: which machines are new, which are gone, and where each pod is.
    #[arg(long)]
    plan: Option<PathBuf>,
}

/// What to check.
#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The scenario file.
    file: PathBuf,
    /// The plan that `race --plan` wrote for it.
    plan: PathBuf,
}

/// Where everything is after a plan. Nodes of the file have their place in it; new ones follow, in the order of
/// `new_nodes`.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// The name of the scenario.
    pub(crate) scenario: String,
    /// The type of each new node, by place.
    pub(crate) new_nodes: Vec<usize>,
    /// Nodes that are gone, by place; new ones too.
    pub(crate) removed: Vec<usize>,
    /// The node of each pod of the file, -1 if it has none.
    pub(crate) pods: Vec<i64>,
}

/// Plans a file and prints what came out.
pub(crate) fn run(race: &Race) -> Result<bool, String> {
    let scenario = load::Scenario::of(&read(&race.file)?).map_err(|e| mistake(&race.file, &e))?;
    let outcome = run::run(&scenario);
    let line = json!({
        "scenario": scenario.name,
        "plan_s": outcome.seconds,
        "new_nodes": outcome.plan.new_nodes.len(),
        "price": units(outcome.price),
        "left": outcome.left,
        "removed": outcome.plan.removed.len(),
        "saved": units(outcome.before) - units(outcome.after),
        "price_before": units(outcome.before),
        "price_after": units(outcome.after),
        "decisions": outcome.decisions,
        "peak_rss_mb": peak_mb(),
    });
    if race.json {
        println!("{line}");
    } else {
        println!(
            "{}: {} new nodes for {:.2}, {} removed, price {:.2} -> {:.2}, {} pods left, {:.4} s",
            scenario.name,
            outcome.plan.new_nodes.len(),
            units(outcome.price),
            outcome.plan.removed.len(),
            units(outcome.before),
            units(outcome.after),
            outcome.left,
            outcome.seconds
        );
    }
    if let Some(path) = &race.plan {
        let text = serde_json::to_string(&outcome.plan).map_err(|e| format!("cannot write the plan: {e}"))?;
        std::fs::write(path, text)
            .map_err(|e| format!("cannot write {}: {e} [XTASK-CASES-FILE]", path.display()))?;
    }
    Ok(true)
}

/// Checks a plan and prints what it found; `false` if the plan is wrong.
pub(crate) fn verify(verify: &Verify) -> Result<bool, String> {
    let verdict =
        verify::check(&read(&verify.file)?, &read(&verify.plan)?).map_err(|e| mistake(&verify.file, &e))?;
    for fault in &verdict.faults {
        println!("FAULT {fault}");
    }
    println!("{}", verdict.line());
    Ok(verdict.faults.is_empty())
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path)
        .map_err(|e| format!("cannot read {}: {e} [XTASK-CASES-FILE]", path.display()))
}

fn mistake(path: &Path, what: &str) -> String {
    format!("{}: {what} [XTASK-CASES-FORMAT]", path.display())
}

/// Millionths to units, for people.
fn units(price: u64) -> f64 {
    price as f64 / 1e6
}

/// Peak resident memory of this process in MiB; `None` where the system does not tell.
fn peak_mb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}
