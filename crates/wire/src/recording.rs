//! A recorded pass: the snapshot and the plan that was made of it.

use crate::error::WireError;
use ostler_planner::{Plan, Snapshot};
use serde::{Deserialize, Serialize};

/// One pass. `ostler plan` makes the same plan of it again, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// The number of the format.
    pub format: u32,
    /// What the plan was made of.
    pub snapshot: Snapshot,
    /// The plan; absent if planning failed.
    pub plan: Option<Plan>,
}

impl Recording {
    /// The format that this version writes and reads.
    pub const FORMAT: u32 = 1;

    /// Records a pass.
    pub fn new(snapshot: Snapshot, plan: Option<Plan>) -> Self {
        Self { format: Self::FORMAT, snapshot, plan }
    }

    /// As text, for a file: JSON over several lines, one line break at the end.
    pub fn to_text(&self) -> String {
        pretty(self)
    }

    /// From a file's text.
    ///
    /// # Errors
    /// [`WireError`] if it is of another format or damaged.
    pub fn from_text(text: &str) -> Result<Self, WireError> {
        let unreadable =
            |e: serde_json::Error| WireError::Unreadable { what: "the recording", reason: e.to_string() };
        let value: serde_json::Value = serde_json::from_str(text).map_err(unreadable)?;
        match value.get("format").and_then(serde_json::Value::as_u64) {
            Some(found) if found == u64::from(Self::FORMAT) => {
                serde_json::from_value(value).map_err(unreadable)
            }
            Some(found) => Err(WireError::OtherFormat {
                what: "the recording",
                found: u32::try_from(found).unwrap_or(u32::MAX),
                known: Self::FORMAT,
            }),
            None => Err(WireError::Unreadable {
                what: "the recording",
                reason: "it has no \"format\"".to_string(),
            }),
        }
    }

    /// The plan alone as text, as `ostler plan --format json` prints it.
    pub fn plan_text(plan: &Plan) -> String {
        pretty(plan)
    }
}

fn pretty<T: Serialize>(value: &T) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("our words have text keys only");
    text.push('\n');
    text
}
