//! A snapshot as text in, its plan as text out, and three laws after every scenario.
//!
//! The languages of both are in `read` and `print`. The laws: the audit finds nothing; the same snapshot in any
//! order of its lists gives the same bytes; a plan that was applied leaves nothing to plan.

mod print;
mod read;
mod world;

use expect_test::Expect;
use ostler_model::Scoring;
use ostler_planner::{Plan, Snapshot, plan};
use std::sync::Arc;

/// Plans one snapshot.
pub(crate) fn check(text: &str, expect: Expect) {
    let snapshot = read::snapshot(text);
    let plan = planned(&snapshot);
    expect.assert_eq(&print::plan(&snapshot, &plan));
}

/// What the records call for once the plan is committed.
pub(crate) fn acts(text: &str, expect: Expect) {
    let mut snapshot = read::snapshot(text);
    let plan = planned(&snapshot);
    world::apply(&mut snapshot, &plan);
    expect.assert_eq(&print::acts(&snapshot.instances));
}

/// How many queued launches the plan lets through.
pub(crate) fn launched(text: &str) -> usize {
    let plan = plan(&read::snapshot(text));
    plan.steps.iter().filter(|step| step.reason == ostler_planner::Reason::LaunchTurn).count()
}

/// Plans `rounds` times, five seconds apart, in a world that does what it is asked at once.
pub(crate) fn rounds(text: &str, rounds: usize, expect: Expect) {
    let mut snapshot = read::snapshot(text);
    let mut found = String::new();
    for round in 1..=rounds {
        let plan = planned(&snapshot);
        let plan_in_words = print::plan(&snapshot, &plan).replace('\n', "\n  ");
        found += &format!("round {round}\n  {}\n", plan_in_words.trim_end());
        world::go_on(&mut snapshot, &plan);
    }
    expect.assert_eq(&found);
}

/// The plan, after the laws were seen to hold.
fn planned(snapshot: &Snapshot) -> Plan {
    let plan = plan(snapshot);
    let findings = ostler_audit::check(snapshot, &plan);
    assert!(findings.is_empty(), "the audit found {findings:?} in\n{}", print::plan(snapshot, &plan));
    let bytes = bytes(&plan);
    for seed in 1..=5 {
        let shuffled = ostler_planner::plan(&shuffled(snapshot, seed));
        assert_eq!(bytes, self::bytes(&shuffled), "another order gave\n{}", print::plan(snapshot, &shuffled));
    }
    let mut applied = snapshot.clone();
    world::apply(&mut applied, &plan);
    let again = ostler_planner::plan(&applied);
    // Ray gives demand to machines that it ends in the same breath, so its way may find more unplaced afterwards.
    let exact = snapshot.policy.scoring == Scoring::RayExact;
    assert!(
        again.is_empty() || (exact && again.changed.is_empty()),
        "a second plan changes\n{}after\n{}{:?}\n{:?}",
        print::plan(&applied, &again),
        print::plan(snapshot, &plan),
        applied.memory,
        again.memory
    );
    plan
}

/// The plan as it is stored. Where a demand stands in the list that it came in is all that may follow the order.
fn bytes(plan: &Plan) -> String {
    let mut plan = plan.clone();
    plan.report.unplaced.iter_mut().for_each(|demand| demand.index = 0);
    serde_json::to_string(&plan).expect("a plan is JSON")
}

/// The same snapshot with every list in another order, but those whose order is said to matter: the pools', and
/// for Ray's own decisions the demand's.
fn shuffled(snapshot: &Snapshot, seed: u64) -> Snapshot {
    let mut draw = seed;
    let mut snapshot = snapshot.clone();
    shuffle(&mut snapshot.instances, &mut draw);
    shuffle(&mut snapshot.reports, &mut draw);
    for look in snapshot.listings.values_mut() {
        look.result.iter_mut().for_each(|machines| shuffle(machines, &mut draw));
    }
    if let Some(Ok(state)) = snapshot.state.as_mut().map(|look| &mut look.result) {
        shuffle(Arc::make_mut(&mut state.nodes).as_mut_slice(), &mut draw);
        if snapshot.policy.scoring == Scoring::Ray {
            shuffle(&mut state.demand.tasks, &mut draw);
            shuffle(&mut state.demand.gangs, &mut draw);
        }
        shuffle(&mut state.skipped, &mut draw);
    }
    snapshot
}

/// Fisher and Yates, on the multiplier of Knuth's MMIX.
fn shuffle<T>(list: &mut [T], draw: &mut u64) {
    for n in (1..list.len()).rev() {
        *draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        list.swap(n, (*draw >> 33) as usize % (n + 1));
    }
}
