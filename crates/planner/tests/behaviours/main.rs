//! What the planner does in each of the situations that Ray's own autoscaler is tested in, and in those that go
//! wrong there. `docs/ray-behaviours.md` says which test shows which line.

#[path = "../scenario/mod.rs"]
mod scenario;

mod docs;
mod faults;
mod launches;
mod priority;
mod reconciler;
mod records;
mod scheduler;
mod surprises;

use scenario::{acts, check, launched, rounds};
