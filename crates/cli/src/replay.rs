//! `ostler replay`: plans recordings again.

use crate::args::{Format, FormatArgs, PolicyName};
use crate::difference::{Difference, difference};
use crate::exit::{Exit, Trouble, say};
use crate::files;
use crate::out::Out;
use crate::plan::{differences_text, planned};
use clap::Args;
use ostler_planner::{Plan, Reason};
use ostler_wire::Recording;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Arguments of `ostler replay`.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// A directory of recordings, or one of them
    #[arg(value_name = "DIR|FILE")]
    path: PathBuf,
    /// Compare options in this way, whatever the snapshots say
    #[arg(long, value_name = "POLICY")]
    policy: Option<PolicyName>,
    #[command(flatten)]
    format: FormatArgs,
}

/// One recording, planned again.
#[derive(Debug, Serialize)]
struct Replayed {
    file: String,
    /// Byte for byte? `None`: planning failed when it was recorded, and does not now.
    same: Option<bool>,
    /// Machines wanted by the recorded plan and by the new one.
    launches: [usize; 2],
    /// Machines removed by the recorded plan and by the new one.
    removals: [usize; 2],
    differences: Vec<Difference>,
}

/// Shows which plans differ from the recorded ones. A recording that cannot be read costs only itself.
pub(crate) fn replay(args: &ReplayArgs, out: &mut Out) -> Result<Exit, Trouble> {
    let (mut count, mut differ, mut unreadable) = (0, 0, 0);
    let (mut launches, mut removals) = ([0; 2], [0; 2]);
    for path in files::recordings(&args.path)? {
        let replayed = match files::recording(&path) {
            Ok(recording) => again(&path, &recording, args.policy),
            Err(trouble) => {
                say(&format!("error: {trouble}"));
                unreadable += 1;
                continue;
            }
        };
        count += 1;
        differ += usize::from(replayed.same == Some(false));
        launches = [launches[0] + replayed.launches[0], launches[1] + replayed.launches[1]];
        removals = [removals[0] + replayed.removals[0], removals[1] + replayed.removals[1]];
        show(&replayed, args.format.format, out)?;
    }
    if args.format.format == Format::Text {
        let bad = if unreadable > 0 { format!(", {unreadable} cannot be read") } else { String::new() };
        out.line(&format!("{count} planned again, {differ} differ{bad}"))?;
        out.line(&format!("machines wanted: {} recorded, {} now", launches[0], launches[1]))?;
        out.line(&format!("machines removed: {} recorded, {} now", removals[0], removals[1]))?;
    }
    Ok(match (unreadable, differ) {
        (0, 0) => Exit::Done,
        (0, _) => Exit::No,
        _ => Exit::Trouble,
    })
}

fn again(path: &Path, recording: &Recording, policy: Option<PolicyName>) -> Replayed {
    let now = planned(&recording.snapshot, policy);
    let recorded = recording.plan.as_ref();
    Replayed {
        file: path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        same: recorded.map(|recorded| Recording::plan_text(recorded) == Recording::plan_text(&now)),
        launches: [recorded.map_or(0, launches), launches(&now)],
        removals: [recorded.map_or(0, removals), removals(&now)],
        differences: recorded.map(|recorded| difference(recorded, &now)).unwrap_or_default(),
    }
}

fn show(replayed: &Replayed, format: Format, out: &mut Out) -> std::io::Result<()> {
    match (format, replayed.same) {
        (Format::Json, _) => out.json_line(replayed),
        (Format::Text, Some(true)) => Ok(()),
        (Format::Text, Some(false)) => {
            out.line(&format!("{} differs", replayed.file))?;
            differences_text(&replayed.differences, out)?;
            out.line("")
        }
        (Format::Text, None) => {
            out.line(&format!("{}: planning failed when it was recorded, and works now", replayed.file))
        }
    }
}

fn launches(plan: &Plan) -> usize {
    plan.steps.iter().filter(|step| matches!(step.reason, Reason::Wanted { .. })).count()
}

fn removals(plan: &Plan) -> usize {
    let mut removed: Vec<_> =
        plan.steps.iter().filter(|step| matches!(step.reason, Reason::Removed { .. })).collect();
    removed.sort_by_key(|step| &step.instance);
    removed.dedup_by_key(|step| &step.instance);
    removed.len()
}
