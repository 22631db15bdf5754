//! `ostler plan`: plans a recorded snapshot and changes nothing.

use crate::args::{Format, FormatArgs, PolicyName};
use crate::difference::{Difference, difference, sections};
use crate::exit::{Exit, Trouble};
use crate::files;
use crate::out::Out;
use crate::table::table;
use clap::Args;
use ostler_console::utc;
use ostler_planner::{Plan, Snapshot};
use ostler_wire::Recording;
use serde::Serialize;
use std::io;
use std::path::PathBuf;

/// Arguments of `ostler plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// The recording, as `ostler run --record` writes it; `-` is stdin
    snapshot: PathBuf,
    /// Compare options in this way, whatever the snapshot says
    #[arg(long, value_name = "POLICY")]
    policy: Option<PolicyName>,
    /// What differs from the recorded plan; with --policy, what differs under that policy
    #[arg(long)]
    diff: bool,
    #[command(flatten)]
    format: FormatArgs,
}

/// Two plans, compared.
#[derive(Debug, Serialize)]
struct Comparison {
    /// Byte for byte?
    same: bool,
    /// What differs in words. Empty although they differ: only details do.
    differences: Vec<Difference>,
}

/// Shows the plan, or what differs.
pub(crate) fn plan(args: &PlanArgs, out: &mut Out) -> Result<Exit, Trouble> {
    let recording = files::recording(&args.snapshot)?;
    let planned = planned(&recording.snapshot, args.policy);
    if !args.diff {
        match args.format.format {
            Format::Json => out.verbatim(&Recording::plan_text(&planned))?,
            Format::Text => text(&recording.snapshot, &planned, out)?,
        }
        return Ok(Exit::Done);
    }
    let before = match (args.policy, recording.plan) {
        (Some(_), _) => self::planned(&recording.snapshot, None),
        (None, Some(recorded)) => recorded,
        (None, None) => return Err(Trouble::NothingToCompare { path: args.snapshot.clone() }),
    };
    let same = Recording::plan_text(&before) == Recording::plan_text(&planned);
    let comparison = Comparison { same, differences: difference(&before, &planned) };
    match args.format.format {
        Format::Json => out.json(&comparison)?,
        Format::Text if same => out.line("The plans are the same.")?,
        Format::Text => differences_text(&comparison.differences, out)?,
    }
    Ok(if same { Exit::Done } else { Exit::No })
}

/// The plan under a policy, or under the snapshot's own.
pub(crate) fn planned(snapshot: &Snapshot, policy: Option<PolicyName>) -> Plan {
    let Some(policy) = policy else { return ostler_planner::plan(snapshot) };
    let mut snapshot = snapshot.clone();
    snapshot.policy.scoring = policy.into();
    ostler_planner::plan(&snapshot)
}

fn text(snapshot: &Snapshot, plan: &Plan, out: &mut Out) -> io::Result<()> {
    out.line(&format!("Plan for {} at {}", snapshot.workload, utc(snapshot.now)))?;
    if let Some(hold) = &plan.report.hold {
        let why = ostler_planner::Reason::WorkloadHeld { why: hold.clone() };
        out.line(&format!("Nothing is decided: {hold} [{}]", why.code()))?;
    }
    if plan.is_empty() {
        out.line("Nothing is to be done.")?;
    }
    for section in sections(plan).iter().filter(|section| !section.rows.is_empty()) {
        out.line("")?;
        out.heading(section.title)?;
        out.lines(table(2, section.heads, &section.rows))?;
    }
    Ok(())
}

/// Lines with `-` are only in the first plan, lines with `+` only in the second.
pub(crate) fn differences_text(differences: &[Difference], out: &mut Out) -> io::Result<()> {
    if differences.is_empty() {
        return out.line("The plans differ in details only: compare them with --format json.");
    }
    for Difference { section, removed, added } in differences {
        out.heading(section)?;
        out.lines(removed.iter().map(|row| format!("- {row}")))?;
        out.lines(added.iter().map(|row| format!("+ {row}")))?;
    }
    Ok(())
}
