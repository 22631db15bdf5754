//! Final records are kept for a while, so that people and the workload can see how they ended.

use crate::draft::Draft;
use alloc::vec::Vec;
use ostler_model::Millis;

/// Long enough for somebody who was paged to look.
const KEEP_FOR: Millis = Millis::secs(30 * 60);
/// A provider that refuses thousands of launches must not fill the store with them.
const KEEP_AT_MOST: usize = 200;

/// Drops final records that are old, and of those that are too many the ones that ended first.
pub(crate) fn forget(draft: &mut Draft<'_>) {
    let mut finals: Vec<_> = draft.serials(|i| i.state().name().is_final());
    finals.sort_by_key(|serial| draft.instances[serial].since());
    let surplus = finals.len().saturating_sub(KEEP_AT_MOST);
    for (n, serial) in finals.into_iter().enumerate() {
        let age = draft.snapshot.now.since(draft.instances[&serial].since());
        if n < surplus || age > KEEP_FOR {
            draft.forget(serial);
        }
    }
}
