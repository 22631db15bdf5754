//! Small scenarios, planned and verified.

use super::load::Scenario;
use super::{run, units, verify};
use expect_test::{Expect, expect};

fn check(name: &str, expected: &Expect) {
    let path = format!("{}/tests/scenarios/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the scenario is there");
    let scenario = Scenario::of(&text).expect("it is one");
    let outcome = run::run(&scenario);
    let plan = serde_json::to_string(&outcome.plan).expect("plans can be written");
    let verdict = verify::check(&text, &plan).expect("both files can be read");
    assert_eq!(verdict.faults, Vec::<String>::new());
    // Both sides count on their own.
    assert_eq!((verdict.left, verdict.new_nodes), (outcome.left, outcome.plan.new_nodes.len()));
    assert_eq!(verdict.price * 100, outcome.price as i64);
    assert_eq!(verdict.after * 100, outcome.after as i64);
    let line = format!(
        "{} new for {:.4}, {} removed, {:.4} after, {} left",
        verdict.new_nodes,
        units(outcome.price),
        verdict.removed,
        units(outcome.after),
        verdict.left
    );
    expected.assert_eq(&line);
}

#[test]
fn growth() {
    check("up-XS-5", &expect!["7 new for 6.5676, 0 removed, 14.1141 after, 0 left"]);
    check("up-XS-50", &expect!["4 new for 0.5796, 0 removed, 3.9163 after, 0 left"]);
    check("up-S-5", &expect!["139 new for 47.0083, 0 removed, 99.4774 after, 0 left"]);
}

#[test]
fn growth_with_pods_that_must_lie_evenly() {
    check("up-XS-5-spread-s4", &expect!["50 new for 11.1297, 0 removed, 18.2783 after, 0 left"]);
}

#[test]
fn shrinking_to_the_end() {
    check("down-50-5", &expect!["2 new for 0.4484, 39 removed, 8.8896 after, 0 left"]);
}

#[test]
fn the_verifier_sees_what_is_wrong() {
    let path = format!("{}/tests/scenarios/up-XS-5.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the scenario is there");
    let outcome = run::run(&Scenario::of(&text).expect("it is one"));
    let faults = |change: &dyn Fn(&mut super::Plan)| {
        let mut plan = super::Plan {
            scenario: outcome.plan.scenario.clone(),
            new_nodes: outcome.plan.new_nodes.clone(),
            removed: outcome.plan.removed.clone(),
            pods: outcome.plan.pods.clone(),
        };
        change(&mut plan);
        let plan = serde_json::to_string(&plan).expect("plans can be written");
        verify::check(&text, &plan).expect("both files can be read").faults.len()
    };
    assert_eq!(faults(&|_| ()), 0);
    // Everything on one node; a node that is gone; a pod that lost its place.
    assert!(faults(&|plan| plan.pods.iter_mut().for_each(|node| *node = 0)) > 0);
    assert!(faults(&|plan| plan.removed.push(0)) > 0);
    assert!(faults(&|plan| *plan.pods.last_mut().expect("a pod") = -1) > 0);
}
