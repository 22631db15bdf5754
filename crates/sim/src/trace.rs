//! What happened, line by line, for whoever looks into a failure.

use crate::call::Call;
use crate::simulation::seconds;
use ostler_engine::Output;
use ostler_lifecycle::{Act, Effect};
use ostler_model::Timestamp;
use ostler_planner::Plan;
use std::fmt;

/// Lines, if they are wanted; collecting them costs more than the simulation itself.
#[derive(Debug, Default)]
pub struct Trace {
    /// Collect them?
    pub wanted: bool,
    lines: Vec<String>,
}

impl Trace {
    pub(crate) fn say(&mut self, at: Timestamp, line: impl FnOnce() -> String) {
        if self.wanted {
            self.lines.push(format!("{:>10}  {}", seconds(at), line()));
        }
    }

    /// Outputs that decide something; the others only say that time goes on.
    pub(crate) fn output(&mut self, at: Timestamp, number: u64, output: &Output) {
        match output {
            Output::Commit { plan, .. } => self.say(at, || format!("#{number} commit{}", steps(plan))),
            Output::Run { effect, .. } => self.say(at, || format!("#{number} run {}", act(effect))),
            Output::Load { .. } => self.say(at, || format!("#{number} load")),
            Output::Publish { plan, .. } => {
                for note in &plan.notes {
                    self.say(at, || format!("#{number} note {:?}: {}", note.subject, note.reason));
                }
            }
            _ => {}
        }
    }

    pub(crate) fn call(&mut self, at: Timestamp, call: &Call) {
        match call {
            Call::Act(effect, tries) => {
                self.say(at, || format!("arrives: {} (try {})", act(effect), tries + 1));
            }
            Call::Commit(commit) => self.say(at, || format!("arrives: commit by term {}", commit.term)),
            Call::Load | Call::Look(..) => {}
        }
    }
}

fn steps(plan: &Plan) -> String {
    let step = |step: &ostler_planner::Step| {
        let event = step.event.as_ref().map_or("made", |event| event.code());
        format!("\n              {} of {} {event}: {}", step.instance, step.pool, step.reason)
    };
    let memory = if plan.memory.is_some() { " (memory)" } else { "" };
    format!("{memory}{}", plan.steps.iter().map(step).collect::<String>())
}

fn act(effect: &Effect) -> String {
    let id = &effect.instance;
    match &effect.act {
        Act::Launch { token, .. } => format!("launch {token} of {}", effect.pool),
        Act::Install { cloud } => format!("install {cloud} of {id}"),
        Act::Drain { node, cause, .. } => format!("drain {node} of {id} for {cause}"),
        Act::Undrain { node } => format!("undrain {node} of {id}"),
        Act::Terminate { cloud, cause } => format!("terminate {cloud} of {id} for {cause}"),
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}
