//! Cases with the decision that Ray's scheduler made on them, one JSON object a line.
//!
//! `tools/ray/README.md` describes the format. A case is one decision, or a sequence of `steps` with one scheduler.

mod check;
mod exact;
mod format;

pub use check::{Answer, Blamed, Decider, Part, Verdict, check};
pub use exact::{RayExact, to_input};
pub use format::{
    Availabilities, Case, Config, Constraint, Expected, Gang, Instance, NodeType, Pairs, PlacementConstraint,
    RayError, RayNode, Request, Rule, Scene, Termination,
};
