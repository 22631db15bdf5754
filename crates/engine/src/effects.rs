//! Which effects are outstanding. In memory only: after a restart every effect that a record calls for is run
//! again, and does nothing the second time.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use ostler_lifecycle::{Effect, Instance, due_effect};
use ostler_model::{InstanceId, Timestamp};

/// Effects that were handed out, by record, with the transition that called for each.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    handed_out: BTreeMap<InstanceId, u32>,
}

/// What to do now, and when to look again.
pub(crate) struct Due {
    pub(crate) now: Vec<Effect>,
    pub(crate) next: Option<Timestamp>,
}

impl Effects {
    /// Effects that the records call for and that were not handed out yet.
    pub(crate) fn due<'i>(&mut self, records: impl Iterator<Item = &'i Instance>, now: Timestamp) -> Due {
        let mut due = Due { now: Vec::new(), next: None };
        let mut current = BTreeMap::new();
        for effect in records.filter_map(due_effect) {
            let known = self.handed_out.get(&effect.instance) == Some(&effect.epoch);
            if !known && effect.not_before > now {
                due.next = Some(due.next.map_or(effect.not_before, |next| next.min(effect.not_before)));
                continue;
            }
            current.insert(effect.instance.clone(), effect.epoch);
            if !known {
                due.now.push(effect);
            }
        }
        // Whatever a record no longer calls for is forgotten.
        self.handed_out = current;
        due
    }
}
