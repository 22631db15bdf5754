//! Planning off the loop's thread, on an immutable snapshot. A panic of the pure ring costs one pass of one
//! workload: the snapshot is saved as a recording, and the others go on.

use crate::clock::{micros, now};
use ostler_engine::Input;
use ostler_planner::{Plan, Snapshot};
use ostler_wire::Recording;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Recordings that are kept; the oldest go. A day of a busy cluster's changes.
const RECORDINGS_MAX: usize = 2_000;

/// Plans, and records what was planned if told to.
#[derive(Debug, Clone)]
pub(crate) struct Planning {
    inputs: mpsc::Sender<Input>,
    /// Where every pass that changes something is recorded.
    record: Option<PathBuf>,
    /// Where a pass that failed is recorded.
    rescue: PathBuf,
}

impl Planning {
    pub(crate) fn new(inputs: mpsc::Sender<Input>, record: Option<PathBuf>, rescue: PathBuf) -> Self {
        Self { inputs, record, rescue }
    }

    /// Plans on a thread that may be busy for long. `took` hears how long it took.
    pub(crate) fn plan(
        &self,
        snapshot: Arc<Snapshot>,
        took: impl FnOnce(std::time::Duration) + Send + 'static,
    ) {
        let this = self.clone();
        tokio::task::spawn_blocking(move || {
            let begun = std::time::Instant::now();
            let planned = catch_unwind(AssertUnwindSafe(|| ostler_planner::plan(&snapshot)));
            took(begun.elapsed());
            let workload = snapshot.workload.clone();
            tracing::debug!(%workload, micros = micros(begun), "planned");
            let input = match planned {
                Ok(plan) => {
                    if let Some(dir) = &this.record {
                        record(dir, &snapshot, Some(&plan));
                    }
                    Input::Planned { workload, plan }
                }
                Err(panic) => {
                    record(&this.rescue, &snapshot, None);
                    let message = panic_text(panic.as_ref());
                    Input::PlanFailed { workload, message }
                }
            };
            let _ = this.inputs.blocking_send(input);
        });
    }

    /// Saves the snapshot of a plan that was dropped.
    pub(crate) fn rescue(&self, snapshot: &Snapshot) {
        record(&self.rescue, snapshot, None);
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

/// Writes a recording; trouble with that is said and costs nothing else. A pass that changes nothing is
/// recorded only as the newest of its workload.
fn record(dir: &Path, snapshot: &Snapshot, plan: Option<&Plan>) {
    let quiet = plan.is_some_and(Plan::is_empty);
    let name = if quiet {
        format!("{}-latest.json", snapshot.workload)
    } else {
        format!("{}-{:013}.json", snapshot.workload, now().0)
    };
    let text = Recording::new(snapshot.clone(), plan.cloned()).to_text();
    let written = std::fs::create_dir_all(dir).and_then(|()| {
        let part = dir.join(format!(".{name}.part"));
        std::fs::write(&part, text)?;
        std::fs::rename(part, dir.join(name))
    });
    if let Err(error) = written.and_then(|()| prune(dir)) {
        tracing::warn!(dir = %dir.display(), %error, "a pass could not be recorded");
    }
}

fn prune(dir: &Path) -> std::io::Result<()> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    let surplus = files.len().saturating_sub(RECORDINGS_MAX);
    if surplus > 0 {
        files.sort();
        for file in files.iter().filter(|f| !f.to_string_lossy().ends_with("-latest.json")).take(surplus) {
            std::fs::remove_file(file)?;
        }
    }
    Ok(())
}
