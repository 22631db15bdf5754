//! Is the plan allowed? Judges every plan against promises that users were given, written apart from the
//! planner so that one mistake is not made twice. A fatal finding drops the plan and raises an alarm.
//!
//! One promise, one file, one entry in [`PROMISES`].
#![no_std]

extern crate alloc;

mod promises;
mod world;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use ostler_planner::{Plan, Snapshot};
use serde::{Deserialize, Serialize};

pub use promises::PROMISES;

/// A promise that a plan would break.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Which promise, as a stable code.
    pub promise: String,
    /// How the plan would break it.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.message, self.promise)
    }
}

/// A promise with its code, what it says, and the judge of it.
#[derive(Debug, Clone, Copy)]
pub struct Promise {
    /// The stable code.
    pub code: &'static str,
    /// What is promised.
    pub says: &'static str,
    judge: fn(&world::World<'_>) -> Vec<String>,
}

/// Every promise that the plan would break; none for a good plan.
pub fn check(snapshot: &Snapshot, plan: &Plan) -> Vec<Finding> {
    let world = match world::World::replay(snapshot, plan) {
        Ok(world) => world,
        Err(message) => {
            return alloc::vec![Finding { promise: String::from("legal_events"), message }];
        }
    };
    let judge = |promise: &Promise| {
        let finding = |message| Finding { promise: promise.code.into(), message };
        (promise.judge)(&world).into_iter().map(finding).collect::<Vec<_>>()
    };
    PROMISES.iter().flat_map(judge).collect()
}
