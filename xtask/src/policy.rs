//! Scoring policies that can be held against recorded decisions.

use clap::ValueEnum;
use ostler_packing::ray_exact;
use ostler_testkit::ray_case::{Case, Decider, RayExact, to_input};

/// A policy. A new one is a variant here, with who decides on cases, and how its planning call is made.
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

    /// The planning call on a case of one scene, with its input made ready; gives how many nodes it launches.
    pub(crate) fn planner(self, case: &Case) -> Box<dyn Fn() -> u64 + '_> {
        match self {
            Self::RayExact => {
                let input = to_input(&case.config, &case.scene);
                let memory = ray_exact::Memory::default();
                Box::new(move || {
                    let (decision, _) = ray_exact::decide(&input, &memory);
                    decision.launches.iter().map(|launch| launch.count).sum()
                })
            }
        }
    }
}
