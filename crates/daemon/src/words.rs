//! A plan in words: for the journal, and for the workload's users.

use crate::clock::now;
use ostler_lifecycle::Event as Change;
use ostler_model::EndCause;
use ostler_planner::{Note, Plan, Reason, Severity, Step, Subject};
use ostler_store::JournalEntry;
use ostler_workload::{Event, Severity as Loudness};
use std::collections::BTreeMap;

/// What a step or a note says, for people.
pub(crate) struct Line {
    pub(crate) subject: ostler_store::Subject,
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

/// Each step and each note in words.
pub(crate) fn lines(plan: &Plan) -> impl Iterator<Item = Line> {
    plan.steps.iter().map(step_words).chain(plan.notes.iter().map(note_words))
}

/// The same as entries of the journal, with what programs need to know.
pub(crate) fn journal(plan: &Plan) -> Vec<JournalEntry> {
    let at = now();
    let data = plan.steps.iter().map(json).chain(plan.notes.iter().map(json));
    let entry = |(line, data): (Line, String)| {
        let Line { subject, code, message } = line;
        JournalEntry { at, subject, code: code.to_owned(), message, data }
    };
    lines(plan).zip(data).map(entry).collect()
}

fn step_words(step: &Step) -> Line {
    let change = step.event.as_ref().map_or("wanted", Change::code);
    Line {
        subject: ostler_store::Subject { kind: "instance".to_owned(), id: step.instance.to_string() },
        code: step.reason.code(),
        message: format!("pool {}, {change}: {}", step.pool, step.reason),
    }
}

fn note_words(note: &Note) -> Line {
    let (kind, id) = subject(&note.subject);
    Line {
        subject: ostler_store::Subject { kind: kind.to_owned(), id },
        code: note.reason.code(),
        message: note.reason.to_string(),
    }
}

fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// What a note is about, as a kind and a name.
pub(crate) fn subject(subject: &Subject) -> (&'static str, String) {
    match subject {
        Subject::Workload => ("workload", String::new()),
        Subject::Provider(id) => ("provider", id.to_string()),
        Subject::Pool(id) => ("pool", id.to_string()),
        Subject::Instance(id) => ("instance", id.to_string()),
        Subject::Node(id) => ("node", id.to_string()),
        Subject::Demand(words) => ("demand", words.clone()),
        Subject::Record(words) => ("record", words.clone()),
    }
}

/// What the workload's users should see: machines that come and go, launches that fail, demand that waits in
/// vain. Equal things are one line with a count.
pub(crate) fn events(plan: &Plan) -> Vec<Event> {
    let mut lines: BTreeMap<(u8, String), (u64, Loudness, String)> = BTreeMap::new();
    for step in &plan.steps {
        if let Some((rank, loudness, before, after)) = step_line(step) {
            let line =
                lines.entry((rank, format!("{before}{after}"))).or_insert((0, loudness, String::new()));
            line.0 += 1;
            let nodes = if line.0 == 1 { "node" } else { "nodes" };
            line.2 = format!("{before} {} {nodes} {after}", line.0);
        }
    }
    let at = now();
    let steps = lines.into_values().map(|(_, severity, text)| Event { at, severity, text });
    steps.chain(plan.notes.iter().filter_map(note_event)).collect()
}

fn step_line(step: &Step) -> Option<(u8, Loudness, &'static str, String)> {
    let pool = &step.pool;
    match (&step.event, &step.reason) {
        (None, reason @ Reason::Wanted { .. }) => {
            Some((0, Loudness::Info, "Adding", format!("of type {pool}: {reason}.")))
        }
        (Some(Change::LaunchFailed { failure }), _) => {
            Some((1, Loudness::Error, "Failed to launch", format!("of type {pool}: {failure}.")))
        }
        // The drain before it was announced already.
        (Some(Change::TerminationRequested { cause }), Reason::MachineLeftOver) if was_drained(*cause) => {
            None
        }
        (
            Some(
                Change::DrainRequested { .. }
                | Change::Withdrawn { .. }
                | Change::TerminationRequested { .. },
            ),
            reason,
        ) => Some((2, Loudness::Info, "Removing", format!("of type {pool}: {reason}."))),
        (Some(Change::MachineGone { .. }), reason @ Reason::MachineVanished) => {
            Some((3, Loudness::Warning, "Lost", format!("of type {pool}: {reason}.")))
        }
        _ => None,
    }
}

/// Causes that begin with a drain of ours.
const fn was_drained(cause: EndCause) -> bool {
    matches!(
        cause,
        EndCause::Idle | EndCause::MaxPerPool | EndCause::MaxTotal | EndCause::Outdated | EndCause::Asked
    )
}

fn note_event(note: &Note) -> Option<Event> {
    let severity = match note.severity {
        Severity::Info => Loudness::Info,
        Severity::Warning => Loudness::Warning,
        Severity::Error => Loudness::Error,
    };
    let text = match (&note.subject, &note.reason) {
        (Subject::Demand(demand), Reason::Infeasible { .. }) => {
            format!("No node type can take ({demand}): {}.", note.reason)
        }
        (Subject::Provider(_), reason) => format!("Nothing is launched there: {reason}."),
        _ => return None,
    };
    Some(Event { at: now(), severity, text })
}

/// Puts a plan into the log: a line for each thing that users should see, the rest for those who look closer.
pub(crate) fn log(workload: &ostler_model::WorkloadId, plan: &Plan, events: &[Event]) {
    for event in events {
        match event.severity {
            Loudness::Info => tracing::info!(%workload, "{}", event.text),
            Loudness::Warning => tracing::warn!(%workload, "{}", event.text),
            Loudness::Error => tracing::error!(%workload, "{}", event.text),
        }
    }
    for step in &plan.steps {
        let event = step.event.as_ref().map_or("wanted", Change::code);
        tracing::debug!(%workload, instance = %step.instance, pool = %step.pool, event, reason = step.reason.code(), "{}", step.reason);
    }
    for note in plan.notes.iter().filter(|note| note_event(note).is_none()) {
        let (kind, id) = subject(&note.subject);
        let code = note.reason.code();
        match note.severity {
            Severity::Info => tracing::info!(%workload, kind, id, code, "{}", note.reason),
            Severity::Warning => tracing::warn!(%workload, kind, id, code, "{}", note.reason),
            Severity::Error => tracing::error!(%workload, kind, id, code, "{}", note.reason),
        }
    }
}
