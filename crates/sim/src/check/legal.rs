//! `legal`: no plan tries an edge that does not exist. Such a step costs its record only, and is a fault all the
//! same. (Plans that the audit drops, and panics, are told by the engine itself.)

use super::Check;
use ostler_planner::{Plan, Reason};

#[derive(Debug)]
pub(super) struct Legal;

impl Check for Legal {
    fn name(&self) -> &'static str {
        "legal"
    }

    fn published(&mut self, plan: &Plan) -> Result<(), String> {
        let illegal = plan.notes.iter().find(|note| matches!(note.reason, Reason::Illegal { .. }));
        illegal.map_or(Ok(()), |note| Err(format!("{:?}: {}", note.subject, note.reason)))
    }
}
