//! Records as they are stored: JSON with the number of the format in front.

use crate::error::WireError;
use ostler_lifecycle::Instance;
use ostler_planner::Memory;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The format of stored records and memories.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Envelope<T> {
    format: u32,
    #[serde(flatten)]
    body: T,
}

#[derive(Deserialize)]
struct Head {
    format: u32,
}

/// One record as text.
pub fn record_to_text(instance: &Instance) -> String {
    to_text(instance)
}

/// One record from its text.
///
/// # Errors
/// [`WireError`] if it is of another format or damaged. Only this record is lost by it: its machine is found
/// again in the provider's listing.
pub fn record_from_text(text: &str) -> Result<Instance, WireError> {
    from_text("the record", text)
}

/// The planner's memory as text.
pub fn memory_to_text(memory: &Memory) -> String {
    to_text(memory)
}

/// The planner's memory from its text.
///
/// # Errors
/// [`WireError`] if it is of another format or damaged.
pub fn memory_from_text(text: &str) -> Result<Memory, WireError> {
    from_text("the planner's memory", text)
}

fn to_text<T: Serialize>(body: &T) -> String {
    serde_json::to_string(&Envelope { format: FORMAT, body }).expect("our words have text keys only")
}

fn from_text<T: DeserializeOwned>(what: &'static str, text: &str) -> Result<T, WireError> {
    let unreadable = |e: serde_json::Error| WireError::Unreadable { what, reason: e.to_string() };
    let head: Head = serde_json::from_str(text).map_err(unreadable)?;
    if head.format != FORMAT {
        return Err(WireError::OtherFormat { what, found: head.format, known: FORMAT });
    }
    let envelope: Envelope<T> = serde_json::from_str(text).map_err(unreadable)?;
    Ok(envelope.body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_model::{LaunchCause, Timestamp};

    #[test]
    fn records_come_back_as_they_were() {
        let record = Instance::queued("i-1".into(), 1, "cpu".into(), LaunchCause::Gang, Timestamp(5));
        let text = record_to_text(&record);
        assert_eq!(record_from_text(&text).ok(), Some(record));
        let memory = Memory { seed: u64::MAX, serial: 7, ..Memory::default() };
        assert_eq!(memory_from_text(&memory_to_text(&memory)).ok(), Some(memory));
    }

    #[test]
    fn another_format_is_named() {
        let error = record_from_text(r#"{"format":9}"#).expect_err("another format");
        assert!(error.to_string().contains("format 9"), "{error}");
        assert!(record_from_text("{").expect_err("broken").to_string().ends_with("[OSTLER-W001]"));
    }
}
