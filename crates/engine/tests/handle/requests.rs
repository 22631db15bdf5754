//! Requests from outside: the answer comes after the commit of what they change, and waits for nothing else.

use super::script::{Loop, failure};
use expect_test::expect;
use ostler_engine::Input;

/// Loaded; nobody has looked anywhere yet.
fn fresh() -> Loop {
    let mut l = Loop::new(&["target/p"]);
    l.loaded("target", 0, vec![]);
    l
}

#[test]
fn the_answer_comes_after_the_commit_though_nobody_has_looked_yet() {
    let mut l = fresh();
    l.asked(1, 3, &[], 4000);
    l.committed("target", 1);
    l.asked(2, 3, &[], 4000); // the same again changes nothing
    l.asked(3, 12, &[], 4000); // above the maximum
    l.committed("target", 2);
    l.check(expect![[r#"
        > configured
          load target
        > loaded target at version 0
        > request 1: 3 workers
          commit target at version 0: no steps
          shows 0 desired, 0 available, 0 to 9
        > committed target
          reply 1: Ok(())
        > request 2: 3 workers
          reply 2: Ok(())
          shows 3 desired, 0 available, 0 to 9
        > request 3: 12 workers
          commit target at version 1: no steps
          shows 3 desired, 0 available, 0 to 9
        > committed target
          reply 3: Ok(())
    "#]]);
}

#[test]
fn a_request_waits_for_the_commit_under_way_and_later_ones_go_together() {
    let mut l = fresh();
    l.listed("p", vec![]);
    l.seen("target", Ok(Default::default()), "seen");
    l.planned("target");
    l.asked(1, 1, &[], 4000);
    l.asked(2, 2, &[], 4000);
    l.asked(3, 3, &[], 4000);
    l.committed("target", 1);
    l.shown();
    l.committed("target", 2);
    l.planned("target");
    l.check(expect![[r#"
        > configured
          load target
        > loaded target at version 0
        > p lists 0 machines
        > seen
          plan target
        > planned target
          commit target at version 0: no steps
        > request 1: 1 workers
          shows 0 desired, 0 available, 0 to 9
        > request 2: 2 workers
          shows 0 desired, 0 available, 0 to 9
        > request 3: 3 workers
          shows 0 desired, 0 available, 0 to 9
        > committed target
          publish target: 1 notes
          commit target at version 1: no steps
          shows 0 desired, 0 available, 0 to 9
        > committed target
          reply 1: Ok(())
          reply 2: Ok(())
          reply 3: Ok(())
          plan target
        > planned target
          commit target at version 2: i-00000000-1 made, i-00000000-2 made, i-00000000-3 made, i-00000000-1 launch_requested, i-00000000-2 launch_requested, i-00000000-3 launch_requested
    "#]]);
}

#[test]
fn a_plan_gives_way_to_what_was_asked_meanwhile_but_not_twice_in_a_row() {
    let mut l = fresh();
    l.asked(1, 1, &[], 4000);
    l.committed("target", 1);
    l.listed("p", vec![]);
    l.seen("target", Ok(Default::default()), "seen");
    l.asked(2, 2, &[], 4000);
    l.planned("target");
    l.committed("target", 2);
    l.asked(3, 3, &[], 4000);
    l.planned("target");
    l.committed("target", 3);
    l.committed("target", 4);
    l.check(expect![[r#"
        > configured
          load target
        > loaded target at version 0
        > request 1: 1 workers
          commit target at version 0: no steps
          shows 0 desired, 0 available, 0 to 9
        > committed target
          reply 1: Ok(())
        > p lists 0 machines
        > seen
          plan target
        > request 2: 2 workers
          shows 1 desired, 0 available, 0 to 9
        > planned target
          commit target at version 1: no steps
        > committed target
          reply 2: Ok(())
          plan target
        > request 3: 3 workers
          shows 2 desired, 0 available, 0 to 9
        > planned target
          commit target at version 2: i-00000000-1 made, i-00000000-2 made, i-00000000-1 launch_requested, i-00000000-2 launch_requested
        > committed target
          run target: launch i-00000000-1.1
          run target: launch i-00000000-2.1
          publish target: 1 notes
          commit target at version 3: no steps
        > committed target
          reply 3: Ok(())
          plan target
    "#]]);
}

#[test]
fn what_was_not_written_is_judged_again_after_the_records_were_read() {
    let mut l = fresh();
    l.asked(1, 2, &[], 4000);
    l.happened("refused", Input::CommitRefused { workload: "target".into() });
    l.loaded("target", 5, vec![]);
    l.committed("target", 6);
    l.check(expect![[r#"
        > configured
          load target
        > loaded target at version 0
        > request 1: 2 workers
          commit target at version 0: no steps
          shows 0 desired, 0 available, 0 to 9
        > refused
          load target
        > loaded target at version 5
          commit target at version 5: no steps
        > committed target
          reply 1: Ok(())
    "#]]);
}

#[test]
fn who_has_waited_too_long_changes_nothing_any_more() {
    let mut l = Loop::new(&["target/p"]);
    l.asked(1, 2, &[], 500);
    l.tick(1);
    l.loaded("target", 0, vec![]);
    l.check(expect![[r#"
        > configured
          load target
        > request 1: 2 workers
        > 1 s later
        > loaded target at version 0
          reply 1: Err(Unavailable)
    "#]]);
}

#[test]
fn a_workload_that_is_unseen_or_gone() {
    let mut l = fresh();
    l.not_listed("p");
    l.seen("target", Err(failure()), "cannot be seen");
    l.asked(1, 2, &[], 4000);
    l.planned("target");
    l.committed("target", 1);
    l.happened("configured without it", Input::Configured(vec![]));
    l.asked(2, 2, &[], 4000);
    l.check(expect![[r#"
        > configured
          load target
        > loaded target at version 0
        > p cannot be listed
        > cannot be seen
          plan target
        > request 1: 2 workers
          shows 0 desired, 0 available, 0 to 9
        > planned target
          commit target at version 0: no steps
        > committed target
          reply 1: Ok(())
          plan target
        > configured without it
        > request 2: 2 workers
          reply 2: Err(Unavailable)
    "#]]);
}
