//! Inputs in, outputs out, as text: `>` is what happened, the lines below it are what the engine asks for.

mod requests;
mod script;

use expect_test::expect;
use ostler_engine::Input;
use ostler_lifecycle::Instance;
use ostler_model::{EffectOutcome, NodeKind, NodeStatus, Timestamp};
use ostler_planner::{Reason, Step};
use script::{Loop, failure, machine, node, setup};

/// A loop in which one launch is committed and handed out: record `i-00000000-1`, epoch 1.
fn with_a_launch() -> Loop {
    let mut l = Loop::new(&["w/p"]);
    l.loaded("w", 0, vec![]);
    l.listed("p", vec![]);
    l.observed("w", 1, vec![]);
    l.planned("w");
    l.committed("w", 1);
    l
}

#[test]
fn effects_are_handed_out_once_and_after_their_commit() {
    let mut l = with_a_launch();
    l.tick(1);
    l.check(expect![[r#"
        > configured
          load w
        > loaded w at version 0
        > p lists 0 machines
        > 1 tasks wait in w
          plan w
        > planned w
          commit w at version 0: i-00000000-1 made, i-00000000-1 launch_requested
        > committed w
          run w: launch i-00000000-1.1
          publish w: 0 notes
        > 1 s later
          plan w
    "#]]);
}

#[test]
fn nothing_is_planned_before_everybody_was_looked_at_once() {
    let mut l = Loop::new(&["w/p"]);
    l.observed("w", 1, vec![]);
    l.loaded("w", 0, vec![]);
    l.tick(1);
    l.listed("p", vec![]);
    l.check(expect![[r#"
        > configured
          load w
        > 1 tasks wait in w
        > loaded w at version 0
        > 1 s later
        > p lists 0 machines
          plan w
    "#]]);
}

#[test]
fn what_happens_while_a_plan_is_made_is_planned_after_it() {
    let mut l = Loop::new(&["w/p"]);
    l.loaded("w", 0, vec![]);
    l.listed("p", vec![]);
    l.observed("w", 1, vec![]);
    l.observed("w", 2, vec![]);
    l.listed("p", vec![]);
    l.planned("w");
    l.observed("w", 2, vec![]);
    l.committed("w", 1);
    l.check(expect![[r#"
        > configured
          load w
        > loaded w at version 0
        > p lists 0 machines
        > 1 tasks wait in w
          plan w
        > 2 tasks wait in w
        > p lists 0 machines
        > planned w
          commit w at version 0: i-00000000-1 made, i-00000000-1 launch_requested
        > 2 tasks wait in w
        > committed w
          run w: launch i-00000000-1.1
          publish w: 0 notes
          plan w
    "#]]);
}

#[test]
fn a_refused_commit_is_loaded_and_planned_again() {
    let mut l = Loop::new(&["w/p"]);
    l.loaded("w", 0, vec![]);
    l.listed("p", vec![]);
    l.observed("w", 1, vec![]);
    l.planned("w");
    l.happened("the commit is refused", Input::CommitRefused { workload: "w".into() });
    l.observed("w", 1, vec![]);
    l.tick(1);
    l.loaded("w", 7, vec![]);
    l.planned("w");
    l.check(expect![[r#"
        > configured
          load w
        > loaded w at version 0
        > p lists 0 machines
        > 1 tasks wait in w
          plan w
        > planned w
          commit w at version 0: i-00000000-1 made, i-00000000-1 launch_requested
        > the commit is refused
          load w
        > 1 tasks wait in w
        > 1 s later
        > loaded w at version 7
          plan w
        > planned w
          commit w at version 7: i-00000000-1 made, i-00000000-1 launch_requested
    "#]]);
}

#[test]
fn a_failed_effect_is_planned_and_a_late_report_is_not() {
    let mut l = with_a_launch();
    l.ended("w", "i-00000000-1", 1, EffectOutcome::Failed(failure()));
    l.planned("w");
    l.committed("w", 2);
    l.ended("w", "i-00000000-1", 1, EffectOutcome::Failed(failure()));
    l.check(expect![[r#"
        > configured
          load w
        > loaded w at version 0
        > p lists 0 machines
        > 1 tasks wait in w
          plan w
        > planned w
          commit w at version 0: i-00000000-1 made, i-00000000-1 launch_requested
        > committed w
          run w: launch i-00000000-1.1
          publish w: 0 notes
        > effect 1 of i-00000000-1 ended
          look at provider p
          plan w with 1 reports
        > planned w
          commit w at version 1: i-00000000-1 launch_failed
        > committed w
          publish w: 1 notes
        > effect 1 of i-00000000-1 ended
    "#]]);
}

/// It is told with every plan until the record moves on, since the look that proves something may come later.
#[test]
fn an_accepted_launch_is_told_until_its_record_moves_on() {
    let mut l = with_a_launch();
    let listed_by = Timestamp(l.now + 500);
    l.ended("w", "i-00000000-1", 1, EffectOutcome::Launched { listed_by });
    l.listed("p", vec![]);
    l.planned("w");
    l.now += 1000;
    l.listed("p", vec![]);
    l.planned("w");
    l.committed("w", 2);
    l.tick(1);
    l.check(expect![[r#"
        > configured
          load w
        > loaded w at version 0
        > p lists 0 machines
        > 1 tasks wait in w
          plan w
        > planned w
          commit w at version 0: i-00000000-1 made, i-00000000-1 launch_requested
        > committed w
          run w: launch i-00000000-1.1
          publish w: 0 notes
        > effect 1 of i-00000000-1 ended
          look at provider p
        > p lists 0 machines
          plan w with 1 reports
        > planned w
          publish w: 0 notes
        > p lists 0 machines
          plan w with 1 reports
        > planned w
          commit w at version 1: i-00000000-1 launch_requeued, i-00000000-1 launch_requested
        > committed w
          run w: launch i-00000000-1.2
          publish w: 0 notes
        > 1 s later
          plan w
    "#]]);
}

#[test]
fn what_an_effect_did_shows_in_a_look() {
    let mut l = with_a_launch();
    l.ended("w", "i-00000000-1", 1, EffectOutcome::Done);
    l.listed("p", vec![machine("w", "c1", "i-00000000-1")]);
    l.planned("w");
    l.committed("w", 2);
    l.now += 1000;
    l.observed("w", 0, vec![node("n1", Some("c1"), NodeStatus::Running)]);
    l.planned("w");
    l.committed("w", 3);
    l.now += 1000;
    l.observed("w", 0, vec![node("n1", Some("c1"), NodeStatus::Idle)]);
    l.planned("w");
    l.committed("w", 4);
    l.ended("w", "i-00000000-1", 4, EffectOutcome::Done);
    l.check(expect![[r#"
        > configured
          load w
        > loaded w at version 0
        > p lists 0 machines
        > 1 tasks wait in w
          plan w
        > planned w
          commit w at version 0: i-00000000-1 made, i-00000000-1 launch_requested
        > committed w
          run w: launch i-00000000-1.1
          publish w: 0 notes
        > effect 1 of i-00000000-1 ended
          look at provider p
        > p lists 1 machines
          plan w
        > planned w
          commit w at version 1: i-00000000-1 allocated
        > committed w
          publish w: 0 notes
        > 0 tasks wait in w
          plan w
        > planned w
          commit w at version 2: i-00000000-1 node_up
        > committed w
          publish w: 0 notes
        > 0 tasks wait in w
          plan w
        > planned w
          commit w at version 3: i-00000000-1 drain_requested
        > committed w
          run w: drain n1
          publish w: 0 notes
        > effect 4 of i-00000000-1 ended
          look at workload w
    "#]]);
}

#[test]
fn a_workload_that_cannot_be_observed_holds_only_itself() {
    let mut l = Loop::new(&["v/p", "w/p"]);
    l.loaded("v", 0, vec![]);
    l.loaded("w", 0, vec![]);
    l.listed("p", vec![]);
    l.seen("v", Err(failure()), "v cannot be observed");
    l.observed("w", 1, vec![]);
    l.planned("v");
    l.planned("w");
    l.committed("w", 1);
    l.check(expect![[r#"
        > configured
          load v
          load w
        > loaded v at version 0
        > loaded w at version 0
        > p lists 0 machines
        > v cannot be observed
          plan v
        > 1 tasks wait in w
          plan w
        > planned v
          commit v at version 0: no steps
        > planned w
          commit w at version 0: i-00000000-1 made, i-00000000-1 launch_requested
        > committed w
          run w: launch i-00000000-1.1
          publish w: 0 notes
    "#]]);
}

#[test]
fn a_provider_that_cannot_be_listed_holds_only_its_pools() {
    let mut l = Loop::new(&["v/p", "w/q"]);
    l.loaded("v", 0, vec![]);
    l.loaded("w", 0, vec![]);
    l.not_listed("p");
    l.listed("q", vec![]);
    l.observed("v", 1, vec![]);
    l.observed("w", 1, vec![]);
    l.planned("v");
    l.planned("w");
    l.check(expect![[r#"
        > configured
          load v
          load w
        > loaded v at version 0
        > loaded w at version 0
        > p cannot be listed
        > q lists 0 machines
        > 1 tasks wait in v
          plan v
        > 1 tasks wait in w
          plan w
        > planned v
          commit v at version 0: no steps
        > planned w
          commit w at version 0: i-00000000-1 made, i-00000000-1 launch_requested
    "#]]);
}

#[test]
fn machines_of_another_workload_are_not_seen() {
    let mut l = Loop::new(&["v/p", "w/p"]);
    l.loaded("v", 0, vec![]);
    l.loaded("w", 0, vec![]);
    l.listed("p", vec![machine("w", "c1", "lost-1")]);
    l.observed("v", 0, vec![]);
    l.observed("w", 0, vec![]);
    l.planned("v");
    l.planned("w");
    l.check(expect![[r#"
        > configured
          load v
          load w
        > loaded v at version 0
        > loaded w at version 0
        > p lists 1 machines
        > 0 tasks wait in v
          plan v
        > 0 tasks wait in w
          plan w
        > planned v
          publish v: 0 notes
        > planned w
          commit w at version 0: i-00000000-1 made
    "#]]);
}

#[test]
fn a_plan_that_breaks_a_promise_is_dropped_and_the_others_go_on() {
    let mut l = Loop::new(&["v/p", "w/p"]);
    l.loaded("v", 0, vec![]);
    l.loaded("w", 0, vec![]);
    l.listed("p", vec![]);
    l.observed("v", 1, vec![]);
    l.observed("w", 1, vec![]);
    let mut forged = ostler_planner::plan(&l.planning["v"]);
    forged.steps.push(Step {
        instance: "i-00000000-1".into(),
        pool: "a".into(),
        event: Some(ostler_lifecycle::Event::DrainCancelled),
        reason: Reason::LaunchTurn,
    });
    l.plan_is("v", forged);
    l.planned("w");
    l.observed("v", 1, vec![]);
    l.check(expect![[r#"
        > configured
          load v
          load w
        > loaded v at version 0
        > loaded w at version 0
        > p lists 0 machines
        > 1 tasks wait in v
          plan v
        > 1 tasks wait in w
          plan w
        > planned v
          alarm v: plan dropped, instance i-00000000-1 cannot go on from requested by drain_cancelled [legal_events]
        > planned w
          commit w at version 0: i-00000000-1 made, i-00000000-1 launch_requested
        > 1 tasks wait in v
          plan v
    "#]]);
}

#[test]
fn a_planner_that_fails_costs_one_pass_of_one_workload() {
    let mut l = Loop::new(&["v/p", "w/p"]);
    l.loaded("v", 0, vec![]);
    l.loaded("w", 0, vec![]);
    l.listed("p", vec![]);
    l.observed("v", 1, vec![]);
    l.observed("w", 1, vec![]);
    l.happened("planning v fails", Input::PlanFailed { workload: "v".into(), message: "a fault".into() });
    l.planned("w");
    l.observed("v", 1, vec![]);
    l.check(expect![[r#"
        > configured
          load v
          load w
        > loaded v at version 0
        > loaded w at version 0
        > p lists 0 machines
        > 1 tasks wait in v
          plan v
        > 1 tasks wait in w
          plan w
        > planning v fails
          alarm v: a fault
        > planned w
          commit w at version 0: i-00000000-1 made, i-00000000-1 launch_requested
        > 1 tasks wait in v
          plan v
    "#]]);
}

#[test]
fn after_a_restart_everything_that_is_due_is_handed_out_again() {
    let l = with_a_launch();
    let records: Vec<Instance> = l.engine.records(&"w".into()).cloned().collect();
    let mut restarted = Loop::new(&["w/p"]);
    restarted.loaded("w", 1, records);
    restarted.tick(1);
    restarted.listed("p", vec![]);
    restarted.observed("w", 0, vec![]);
    restarted.planned("w");
    restarted.check(expect![[r#"
        > configured
          load w
        > loaded w at version 1
        > 1 s later
        > p lists 0 machines
        > 0 tasks wait in w
          plan w
        > planned w
          run w: launch i-00000000-1.1
          publish w: 0 notes
    "#]]);
}

#[test]
fn a_termination_that_is_refused_waits_before_it_is_asked_for_again() {
    let mut record =
        Instance::adopted("i1".into(), 1, "a".into(), NodeKind::Worker, "c1".into(), Timestamp(1));
    let end = ostler_lifecycle::Event::TerminationRequested { cause: ostler_model::EndCause::Idle };
    record.transition(&end, Timestamp(1)).expect("legal");
    let mut l = Loop::new(&["w/p"]);
    l.loaded("w", 0, vec![record]);
    l.listed("p", vec![machine("w", "c1", "i1")]);
    l.observed("w", 0, vec![]);
    l.ended("w", "i1", 1, EffectOutcome::Failed(failure()));
    l.planned("w");
    l.planned("w");
    l.committed("w", 1);
    l.tick(1);
    l.check(expect![[r#"
        > configured
          load w
        > loaded w at version 0
        > p lists 1 machines
        > 0 tasks wait in w
          plan w
        > effect 1 of i1 ended
          look at provider p
        > planned w
          run w: terminate c1
          publish w: 0 notes
          plan w with 1 reports
        > planned w
          commit w at version 0: i1 termination_failed, i1 termination_requested
        > committed w
          wake in 1 s
          publish w: 0 notes
        > 1 s later
          run w: terminate c1
          plan w
    "#]]);
}

#[test]
fn a_workload_that_leaves_the_configuration_is_left_alone() {
    let mut l = with_a_launch();
    l.happened("configured without w", Input::Configured(vec![setup("v/p")]));
    l.observed("w", 5, vec![]);
    l.ended("w", "i-00000000-1", 1, EffectOutcome::Done);
    l.tick(1);
    l.check(expect![[r#"
        > configured
          load w
        > loaded w at version 0
        > p lists 0 machines
        > 1 tasks wait in w
          plan w
        > planned w
          commit w at version 0: i-00000000-1 made, i-00000000-1 launch_requested
        > committed w
          run w: launch i-00000000-1.1
          publish w: 0 notes
        > configured without w
          load v
        > 5 tasks wait in w
        > effect 1 of i-00000000-1 ended
        > 1 s later
    "#]]);
}
