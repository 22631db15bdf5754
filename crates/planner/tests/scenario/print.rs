//! The text of a plan: steps in order, notes, and what the report says of the rest.
//!
//! New records are called `new1`, `new2` … in the order of birth, counted over all rounds.

use ostler_lifecycle::{Act, Instance, due_effect};
use ostler_model::{InstanceId, LaunchCause};
use ostler_planner::{Note, Plan, Snapshot, Step, Subject};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A plan in words.
pub(crate) fn plan(snapshot: &Snapshot, plan: &Plan) -> String {
    let mut out = String::new();
    let mut records: BTreeMap<InstanceId, Instance> =
        snapshot.instances.iter().map(|i| (i.id().clone(), i.clone())).collect();
    for step in &plan.steps {
        writeln!(out, "{}", self::step(snapshot, &mut records, plan, step)).expect("a string");
    }
    for id in &plan.forgotten {
        writeln!(out, "{id}: forgotten").expect("a string");
    }
    for note in &plan.notes {
        writeln!(out, "{}", self::note(note)).expect("a string");
    }
    report(&mut out, plan);
    if out.is_empty() { "nothing\n".into() } else { named(&out) }
}

fn step(
    snapshot: &Snapshot,
    records: &mut BTreeMap<InstanceId, Instance>,
    plan: &Plan,
    step: &Step,
) -> String {
    let (id, code) = (&step.instance, step.reason.code());
    let Some(event) = &step.event else {
        let made = plan.changed.iter().find(|i| i.id() == id).expect("a birth is a change");
        records.insert(id.clone(), born(made, snapshot));
        return format!("{id}: new {} in {} [{code}]", records[id].state().name(), step.pool);
    };
    let record = records.get_mut(id).expect("a step has a record");
    let from = record.state().name();
    record.transition(event, snapshot.now).expect("the audit saw that it is legal");
    let cause = record.state().end_cause().map(|cause| format!(" for {cause}")).unwrap_or_default();
    format!("{id}: {from} -> {}{cause} [{code}]", record.state().name())
}

fn born(made: &Instance, snapshot: &Snapshot) -> Instance {
    let (id, serial, pool) = (made.id().clone(), made.serial(), made.pool().clone());
    match (made.launched_for(), made.state().cloud()) {
        (None, Some(cloud)) => Instance::adopted(id, serial, pool, made.kind(), cloud.clone(), snapshot.now),
        (cause, _) => Instance::queued(id, serial, pool, cause.unwrap_or(LaunchCause::Min), snapshot.now),
    }
}

fn note(note: &Note) -> String {
    let subject = match &note.subject {
        Subject::Workload => "workload".into(),
        Subject::Provider(id) => format!("provider {id}"),
        Subject::Pool(id) => format!("pool {id}"),
        Subject::Instance(id) => format!("record {id}"),
        Subject::Node(id) => format!("node {id}"),
        Subject::Demand(words) | Subject::Record(words) => words.clone(),
    };
    let severity = format!("{:?}", note.severity).to_lowercase();
    format!("{severity}: {subject}: {} [{}]", note.reason, note.reason.code())
}

fn report(out: &mut String, plan: &Plan) {
    let report = &plan.report;
    if let Some(hold) = &report.hold {
        writeln!(out, "hold: {hold}").expect("a string");
    }
    for pool in &report.pools {
        if let Some(until) = pool.backing_off_until {
            writeln!(out, "pool {}: backs off for {}", pool.pool, until.since(report.at)).expect("a string");
        }
    }
    for demand in &report.unplaced {
        writeln!(out, "unplaced {}: {} x {}", demand.kind, demand.count, demand.demand).expect("a string");
    }
    for record in &report.instances {
        let moved = plan.steps.iter().any(|step| step.instance == record.instance);
        let why = match (record.kept, &record.reason) {
            (_, Some(reason @ ostler_planner::Reason::LaunchHeld { .. })) => {
                format!("{reason} [{}]", reason.code())
            }
            _ if moved => continue,
            (Some(kept), _) => format!("stays, {}", ostler_planner::Reason::Kept { why: kept }),
            _ => continue,
        };
        writeln!(out, "{}: {} {why}", record.instance, record.state).expect("a string");
    }
}

/// The effects that records call for.
pub(crate) fn acts(records: &[Instance]) -> String {
    let mut out = String::new();
    for effect in records.iter().filter_map(due_effect) {
        let act = match &effect.act {
            Act::Launch { token, attempt } => format!("launch with token {token}, attempt {attempt}"),
            Act::Install { cloud } => format!("install {cloud}"),
            Act::Drain { node, cause, deadline } => {
                let by = deadline
                    .map_or("when it likes".into(), |at| format!("within {}", at.since(super::read::NOW)));
                format!("drain {node} for {cause} {by}")
            }
            Act::Undrain { node } => format!("undrain {node}"),
            Act::Terminate { cloud, cause } => format!("terminate {cloud} for {cause}"),
        };
        writeln!(out, "{}: {act}", effect.instance).expect("a string");
    }
    if out.is_empty() { "nothing\n".into() } else { named(&out) }
}

/// `i-00000000-7` is long and says little.
fn named(text: &str) -> String {
    text.replace("i-00000000-", "new")
}
