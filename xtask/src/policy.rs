//! Scoring policies that can be held against recorded decisions.

use clap::ValueEnum;
use ostler_packing::{ray, ray_exact};
use ostler_testkit::ray_case::{Case, RayExact, Verdict, check, to_input};
use ostler_testkit::ray_problem::{breaches, problem};

/// A policy. A new one is a variant here, with how it is judged, and how its planning call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Policy {
    /// Every decision as Ray 2.60.0 makes it.
    RayExact,
    /// Ray's documented scoring with its oddities repaired: passes where it leaves nothing waiting that Ray places, and
    /// does not launch all that Ray launches and more.
    Ray,
}

impl Policy {
    pub(crate) fn judge(self, case: &Case) -> Verdict {
        match self {
            Self::RayExact => check(case, &mut RayExact::default()),
            Self::Ray => judge_ray(case),
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
            Self::Ray => {
                let problem = problem(case, &case.scene);
                Box::new(move || ray::decide(&problem).launches.iter().map(|launch| launch.count).sum())
            }
        }
    }
}

fn judge_ray(case: &Case) -> Verdict {
    let mut breached = String::new();
    for (index, scene) in case.scenes().iter().enumerate() {
        let problem = problem(case, scene);
        for breach in breaches(scene, &problem, &ray::decide(&problem)) {
            breached.push_str(&format!("\n  step {index}: {breach}"));
        }
    }
    if breached.is_empty() { Verdict::Passed(Vec::new()) } else { Verdict::Failed(breached) }
}
