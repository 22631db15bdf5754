//! Scoring policies that can be held against recorded decisions.

use clap::ValueEnum;
use ostler_testkit::ray_case::{Decider, RayExact};

/// A policy. A new one is a variant here, and a `Decider` for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Policy {
    /// Every decision as Ray 2.60.0 makes it.
    RayExact,
}

impl Policy {
    pub(crate) fn decider(self) -> Box<dyn Decider> {
        match self {
            Self::RayExact => Box::new(RayExact::default()),
        }
    }
}
