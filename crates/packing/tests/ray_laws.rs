//! `ray` beside Ray 2.60.0, and laws that hold whatever Ray does.
//!
//! `RAY_CASES=FILE[:FILE]` holds other recorded cases against the same laws.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use ostler_model::Strategy::{StrictPack, StrictSpread};
use ostler_model::{InstanceId, Quantity, Task};
use ostler_packing::problem::{Decision, Machine, Phase, Problem};
use ostler_packing::ray::decide;
use ostler_testkit::ray_case::Case;
use ostler_testkit::ray_problem::{breaches, launches, problem};

fn files() -> Vec<PathBuf> {
    if let Some(more) = std::env::var_os("RAY_CASES") {
        return std::env::split_paths(&more).collect();
    }
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    ["cases", "sequences", "surprises"]
        .iter()
        .map(|name| data.join(format!("ray-2.60.0-{name}.jsonl")))
        .collect()
}

/// Holds a law on every scene of every case; it says what breaks it.
fn check(law: impl Fn(&Problem, &Decision, &ostler_testkit::ray_case::Scene) -> Vec<String>) {
    let mut broken = Vec::new();
    for path in files() {
        let lines = BufReader::new(File::open(&path).unwrap()).lines();
        for case in lines.map(|line| serde_json::from_str::<Case>(&line.unwrap()).unwrap()) {
            for (n, scene) in case.scenes().iter().enumerate() {
                let problem = problem(&case, scene);
                let decision = decide(&problem);
                broken.extend(
                    law(&problem, &decision, scene).iter().map(|b| format!("{} step {n}: {b}", case.name)),
                );
            }
        }
    }
    assert!(broken.is_empty(), "{} breaches:\n{}", broken.len(), broken.join("\n"));
}

/// Nothing is left waiting that Ray places, and no case launches all that Ray launches and more.
#[test]
fn never_worse_than_ray() {
    check(|problem, decision, scene| breaches(scene, problem, decision));
}

/// Law I4: once the decision is carried out, there is nothing left to do.
#[test]
fn deciding_again_changes_nothing() {
    check(|problem, decision, _| {
        let again = decide(&applied(problem, decision));
        let mut out = Vec::new();
        if !again.launches.is_empty() {
            out.push(format!("launches {:?} after {:?}", again.launches, decision.launches));
        }
        if !again.removals.is_empty() {
            out.push(format!("removes {:?} after {:?}", again.removals, decision.removals));
        }
        out
    });
}

/// The same problem with the launches on their way and the removals leaving.
fn applied(problem: &Problem, decision: &Decision) -> Problem {
    let mut next = problem.clone();
    for removal in &decision.removals {
        next.machines[removal.machine].phase = Phase::Leaving;
    }
    for launch in &decision.launches {
        for _ in 0..launch.count {
            let n = next.machines.len();
            next.machines.push(Machine {
                instance: InstanceId::from(format!("new-{n:06}")),
                pool: next.pools[launch.pool].pool.id.clone(),
                kind: ostler_model::NodeKind::Worker,
                phase: Phase::Queued,
                outdated: false,
                keep: false,
                up: None,
            });
        }
    }
    next
}

/// Law I3: the order of machines decides nothing, nor that of requests and gangs unless they are equal in all that
/// they are sorted by: such equals are served as they came, as in Ray.
#[test]
fn order_of_the_input_decides_nothing() {
    check(|problem, decision, _| {
        let mut turned = problem.clone();
        turned.machines.reverse();
        turned.tasks.sort_by(|a, b| rank(a).cmp(&rank(b)));
        turned.gangs.sort_by_key(|gang| (matches!(gang.strategy, StrictPack | StrictSpread), gang.size()));
        let again = decide(&turned);
        if launches(problem, decision) == launches(&turned, &again) {
            return Vec::new();
        }
        vec![format!("{:?} or {:?}", launches(problem, decision), launches(&turned, &again))]
    });
}

/// What Ray sorts requests by.
fn rank(task: &Task) -> (usize, usize, Quantity, Vec<(&str, Quantity)>) {
    let resources = || task.shape.resources.iter();
    let terms = task.shape.selectors.first().map_or(0, |selector| selector.0.len());
    (
        terms,
        resources().count(),
        resources().map(|r| r.1).sum(),
        resources().map(|(k, q)| (&**k, q)).collect(),
    )
}
