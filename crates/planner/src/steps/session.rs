//! Is it still the same control plane? What it cannot tell us is said here too.

use crate::draft::Draft;
use crate::plan::{Severity, Subject};
use crate::reason::Reason;
use ostler_model::WorkloadState;

/// Notes a new control plane, and records of the look that could not be understood.
pub(crate) fn session(draft: &mut Draft<'_>, state: &WorkloadState) {
    if draft.memory.session != state.session {
        if !draft.memory.session.is_empty() {
            let reason = Reason::SessionChanged { session: state.session.clone() };
            draft.announce(Subject::Workload, Severity::Warning, reason);
            // Its nodes have yet to tell the new control plane of themselves.
            draft.memory.missing_since.clear();
        }
        draft.memory.session = state.session.clone();
    }
    for record in &state.skipped {
        let reason = Reason::Unreadable { record: record.clone() };
        draft.note(Subject::Record(record.clone()), Severity::Warning, reason);
    }
}
