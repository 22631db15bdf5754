//! Records and memory as the store keeps them: JSON text.

use ostler_lifecycle::Instance;
use ostler_planner::{Memory, Plan};
use ostler_store::{Commit, Records, Term};

/// A plan as one commit. The journal is left out: nothing in the loop reads it.
pub(crate) fn commit(plan: &Plan, expected_version: u64, term: Term) -> Commit {
    let upsert = |i: &Instance| (i.id().clone(), text(i));
    Commit {
        workload: crate::world::workload(),
        expected_version,
        term,
        upserts: plan.changed.iter().map(upsert).collect(),
        deletes: plan.forgotten.clone(),
        memory: plan.memory.as_ref().map(text),
        journal: Vec::new(),
    }
}

/// One record; `None` if its text says nothing.
pub(crate) fn instance(text: &str) -> Option<Instance> {
    serde_json::from_str(text).ok()
}

/// All records and the memory; a store without memory gives one with this seed.
///
/// # Errors
/// The text that cannot be understood.
pub(crate) fn records(records: &Records, seed: u64) -> Result<(Vec<Instance>, Memory), String> {
    let read = |text: &String| instance(text).ok_or_else(|| text.clone());
    let instances = records.instances.iter().map(|(_, text)| read(text)).collect::<Result<_, _>>()?;
    let memory = match &records.memory {
        Some(text) => serde_json::from_str(text).map_err(|_| text.clone())?,
        None => Memory { seed, ..Memory::default() },
    };
    Ok((instances, memory))
}

fn text<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("words of the model have text keys and no floats")
}
