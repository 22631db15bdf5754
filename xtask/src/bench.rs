//! `cargo xtask bench-ray`: how long a policy takes to decide. `tools/ray/bench.py` sets Ray's own times beside it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use ostler_testkit::ray_case::Case;
use serde_json::json;

use crate::policy::Policy;

/// Stop repeating after so long; the least time counts.
const ENOUGH: Duration = Duration::from_secs(1);
/// Repeat at least so often, however long it takes.
const LEAST_RUNS: u32 = 3;

/// What to measure.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// One case as JSON.
    file: PathBuf,
    /// Who decides.
    #[arg(long, value_enum, default_value = "ray-exact")]
    policy: Policy,
}

/// Prints one JSON object: seconds of the planning call alone, with its input in memory, and the peak memory of the
/// whole process.
pub(crate) fn run(bench: &Bench) -> Result<bool, String> {
    let at = bench.file.display();
    let text = std::fs::read(&bench.file).map_err(|e| format!("cannot read {at}: {e} [XTASK-CASES-FILE]"))?;
    let case: Case =
        serde_json::from_slice(&text).map_err(|e| format!("{at}: no case: {e} [XTASK-CASES-FORMAT]"))?;
    drop(text);
    let input_mb = peak_mb();
    let plan = bench.policy.planner(&case);
    let mut times = Vec::new();
    let (begin, cpu) = (Instant::now(), cpu_ns());
    let mut launched = 0;
    while times.len() < LEAST_RUNS as usize || begin.elapsed() < ENOUGH {
        let start = Instant::now();
        launched = plan();
        times.push(start.elapsed().as_secs_f64());
    }
    let cpu_s = cpu.zip(cpu_ns()).map(|(before, after)| (after - before) as f64 / 1e9 / times.len() as f64);
    times.sort_by(f64::total_cmp);
    let line = json!({
        "seconds": times[0], "median_seconds": times[times.len() / 2], "mean_cpu_seconds": cpu_s, "runs": times.len(), "launch": launched,
        "input_mb": input_mb, "peak_rss_mb": peak_mb(),
    });
    println!("{line}");
    Ok(true)
}

/// Time that this thread has spent on a processor, nanoseconds: says more than the clock on a busy machine. `None`
/// where the system does not tell.
fn cpu_ns() -> Option<u64> {
    std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split_whitespace().next()?.parse().ok()
}

/// Peak resident memory of this process in MiB; `None` where the system does not tell.
fn peak_mb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}
