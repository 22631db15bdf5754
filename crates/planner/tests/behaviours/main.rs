//! What the planner does in each of the situations that Ray's own autoscaler is tested in, and in those that go
//! wrong there. `docs/ray-behaviours.md` says which test shows which line.

#[path = "../scenario/mod.rs"]
mod scenario;

mod decisions;
mod docs;
mod faults;
mod gangs;
mod labels;
mod launches;
mod machines_and_nodes;
mod mixtures;
mod nodes_and_bounds;
mod odd_looks;
mod on_their_way;
mod overdue;
mod priority;
mod records;
mod requests;
mod standing;
mod surprises;
mod targets;

use scenario::{acts, check, launched, rounds};
