//! A plan in rows of words, and what differs between two.

use ostler_console::unfit;
use ostler_planner::{Plan, Reason, Subject};
use serde::Serialize;
use std::collections::BTreeMap;

/// A part of a plan: one row of cells for each thing.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) title: &'static str,
    pub(crate) heads: &'static [&'static str],
    pub(crate) rows: Vec<Vec<String>>,
}

/// What stands in one plan and not in the other.
#[derive(Debug, Serialize)]
pub(crate) struct Difference {
    /// The part of the plan.
    pub(crate) section: &'static str,
    /// Only in the first.
    pub(crate) removed: Vec<String>,
    /// Only in the second.
    pub(crate) added: Vec<String>,
}

/// The plan, part by part.
pub(crate) fn sections(plan: &Plan) -> Vec<Section> {
    vec![
        Section { title: "Steps", heads: &["INSTANCE", "POOL", "WHAT", "WHY"], rows: steps(plan) },
        Section { title: "Notes", heads: &["ABOUT", "HOW BAD", "WHAT"], rows: notes(plan) },
        Section {
            title: "Without a place",
            heads: &["DEMAND", "KIND", "COUNT", "WHY"],
            rows: unplaced(plan),
        },
        Section {
            title: "Machines after it",
            heads: &["INSTANCE", "POOL", "STATE", "WHY"],
            rows: machines(plan),
        },
    ]
}

/// What differs, part by part; nothing if the words are the same.
pub(crate) fn difference(from: &Plan, to: &Plan) -> Vec<Difference> {
    let pairs = sections(from).into_iter().zip(sections(to));
    let differ = pairs.map(|(from, to)| {
        let (from_rows, to_rows) = (joined(&from), joined(&to));
        Difference {
            section: from.title,
            removed: without(&from_rows, &to_rows),
            added: without(&to_rows, &from_rows),
        }
    });
    differ.filter(|difference| !difference.removed.is_empty() || !difference.added.is_empty()).collect()
}

fn joined(section: &Section) -> Vec<String> {
    section.rows.iter().map(|row| row.join("  ").trim_end().to_owned()).collect()
}

/// The rows of one that are not in the other, counted: a row that is there twice needs two partners.
fn without(rows: &[String], others: &[String]) -> Vec<String> {
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    for other in others {
        *counts.entry(other).or_default() += 1;
    }
    let mut left = Vec::new();
    for row in rows {
        match counts.get_mut(row).filter(|count| **count > 0) {
            Some(count) => *count -= 1,
            None => left.push(row.clone()),
        }
    }
    left
}

fn steps(plan: &Plan) -> Vec<Vec<String>> {
    let row = |step: &ostler_planner::Step| {
        let what = step.event.as_ref().map_or("created", ostler_lifecycle::Event::code);
        vec![step.instance.to_string(), step.pool.to_string(), what.to_owned(), coded(&step.reason)]
    };
    plan.steps.iter().map(row).collect()
}

fn notes(plan: &Plan) -> Vec<Vec<String>> {
    let severity = |severity| match severity {
        ostler_planner::Severity::Info => "info",
        ostler_planner::Severity::Warning => "warning",
        ostler_planner::Severity::Error => "error",
    };
    let row = |note: &ostler_planner::Note| {
        vec![about(&note.subject), severity(note.severity).to_owned(), coded(&note.reason)]
    };
    plan.notes.iter().map(row).collect()
}

fn unplaced(plan: &Plan) -> Vec<Vec<String>> {
    let row = |one: &ostler_planner::DemandReport| {
        let why: Vec<String> = one.why.iter().map(|(pool, why)| unfit(pool, why)).collect();
        vec![one.demand.clone(), one.kind.to_string(), one.count.to_string(), why.join("; ")]
    };
    plan.report.unplaced.iter().map(row).collect()
}

fn machines(plan: &Plan) -> Vec<Vec<String>> {
    let row = |one: &ostler_planner::InstanceReport| {
        let kept = one.kept.map(|why| Reason::Kept { why });
        let why = one.reason.as_ref().or(kept.as_ref()).map(coded).unwrap_or_default();
        vec![one.instance.to_string(), one.pool.to_string(), one.state.to_string(), why]
    };
    plan.report.instances.iter().map(row).collect()
}

fn about(subject: &Subject) -> String {
    match subject {
        Subject::Workload => "workload".to_owned(),
        Subject::Provider(id) => format!("provider {id}"),
        Subject::Pool(id) => format!("pool {id}"),
        Subject::Instance(id) => format!("instance {id}"),
        Subject::Node(id) => format!("node {id}"),
        Subject::Demand(words) => format!("demand {words}"),
        Subject::Record(words) => format!("record {words}"),
    }
}

fn coded(reason: &Reason) -> String {
    format!("{reason} [{}]", reason.code())
}
