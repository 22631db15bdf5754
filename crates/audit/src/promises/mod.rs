//! The promises, one file each.

mod bounds;
mod busy;
mod held;
mod ids;
mod kept;
mod minimum;
mod moved;
mod owed;

use crate::Promise;

/// Everything that a plan is judged by.
pub const PROMISES: &[Promise] = &[
    Promise {
        code: "bounds_kept",
        says: "No launch takes a pool, all pools together, or the launches under way above their maximum.",
        judge: bounds::judge,
    },
    Promise {
        code: "busy_nodes_stay",
        says: "A node at work is asked to go for a bound or a new configuration only, and is always drained first.",
        judge: busy::judge,
    },
    Promise {
        code: "kept_workers_stay",
        says: "A worker that must stay, as the one who asked last said, is not ended.",
        judge: kept::judge,
    },
    Promise {
        code: "minimum_kept",
        says: "No idle machine is removed below the minimum of its pool.",
        judge: minimum::judge,
    },
    Promise {
        code: "launches_owed",
        says: "Every launch is owed to a demand, a floor or a minimum that was seen.",
        judge: owed::judge,
    },
    Promise {
        code: "held_is_held",
        says: "Nothing is launched or removed for a workload or a provider that could not be seen.",
        judge: held::judge,
    },
    Promise {
        code: "pods_may_move",
        says: "No node is drained for thrift while a pod on it may not be moved; one that goes as empty is empty.",
        judge: moved::judge,
    },
    Promise {
        code: "ids_are_new",
        says: "A new record has an id and a serial number that were never used.",
        judge: ids::judge,
    },
];
