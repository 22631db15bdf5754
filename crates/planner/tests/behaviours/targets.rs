//! So many workers as somebody asked for (Polars).

use super::{check, rounds};
use expect_test::expect;

#[test]
fn up_and_down_again() {
    rounds(
        "
        policy target
        pool a max=3
        wish 5
        ",
        2,
        expect![[r#"
            round 1
              new1: new queued in a [launch_target]
              new2: new queued in a [launch_target]
              new3: new queued in a [launch_target]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
              new3: queued -> requested [launch_turn]
            round 2
              new1: requested -> allocated [machine_appeared]
              new2: requested -> allocated [machine_appeared]
              new3: requested -> allocated [machine_appeared]
        "#]],
    );
    check(
        "
        policy target
        pool a
        inst i1 a running
        inst i2 a running
        inst i3 a allocated
        inst i4 a requested
        inst i5 a queued
        wish 1
        ",
        expect![[r#"
            i2: running -> terminating for surplus [removed_surplus]
            i3: allocated -> terminating for surplus [removed_surplus]
            i4: requested -> queued [removed_surplus]
            i4: queued -> terminated for surplus [removed_surplus]
            i5: queued -> terminated for surplus [removed_surplus]
            i1: running stays, one of the number of workers that is aimed for
        "#]],
    );
}

#[test]
fn kept_workers_stay_and_listed_ones_are_replaced_after_they_went() {
    check(
        "
        policy target
        pool a max=3
        inst i1 a running
        inst i2 a running
        inst i3 a running
        wish 3 keep=i1 delete=i1,i2
        ",
        expect![[r#"
            i2: running -> terminating for asked [removed_asked]
            new4: new queued in a [launch_target]
            i1: running stays, whoever asked for workers wants this one kept
            i3: running stays, one of the number of workers that is aimed for
            new4: queued waits: machines on their way out still take the room [held_room]
        "#]],
    );
    check(
        "
        policy target
        pool a max=3
        inst i1 a running
        inst i2 a running
        inst i3 a running
        wish 0 keep=i1,i3
        ",
        expect![[r#"
            i2: running -> terminating for surplus [removed_surplus]
            i1: running stays, whoever asked for workers wants this one kept
            i3: running stays, whoever asked for workers wants this one kept
        "#]],
    );
}

/// The one who asked last says that a query runs there: our own doubts count for nothing.
#[test]
fn a_kept_worker_that_does_not_answer_stays() {
    check(
        "
        policy target
        timeouts node_missing=0 allocate=5
        pool a
        inst i1 a running lost
        inst i2 a running lost
        inst i3 a allocated
        inst i4 a allocated
        wish 4 keep=i1,i3
        ",
        expect![[r#"
            i2: running -> drained for node_lost [node_lost]
            i4: allocated -> allocation_timed_out for never_joined [node_never_joined]
            new5: new queued in a [launch_target]
            new6: new queued in a [launch_target]
            i2: drained -> terminating for node_lost [machine_left_over]
            i4: allocation_timed_out -> terminating for never_joined [machine_left_over]
            new5: queued -> requested [launch_turn]
            new6: queued -> requested [launch_turn]
            warning: record i1: has not answered for 0 ms, and must stay [kept_unready]
            warning: record i3: has not answered for 100 s, and must stay [kept_unready]
            i1: running stays, whoever asked for workers wants this one kept
            i3: allocated stays, whoever asked for workers wants this one kept
        "#]],
    );
}

#[test]
fn a_refused_pool_lets_the_others_go_first_and_a_quota_lowers_the_maximum() {
    check(
        "
        policy target
        pool spot max=4
        pool steady max=4
        inst i1 spot requested
        wish 3
        report i1 failed=out_of_capacity
        ",
        expect![[r#"
            i1: requested -> allocation_failed [launch_refused]
            new2: new queued in steady [launch_target]
            new3: new queued in steady [launch_target]
            new4: new queued in steady [launch_target]
            new2: queued -> requested [launch_turn]
            new3: queued -> requested [launch_turn]
            new4: queued -> requested [launch_turn]
            pool spot: backs off for 30 s
        "#]],
    );
    check(
        "
        policy target
        pool a max=8
        inst i1 a running
        inst i2 a requested
        wish 3
        report i2 failed=quota
        ",
        expect![[r#"
            i2: requested -> allocation_failed [launch_refused]
            pool a: backs off for 30 s
            i1: running stays, one of the number of workers that is aimed for
        "#]],
    );
}

#[test]
fn a_worker_that_crashes_at_its_start_is_not_started_again_and_again() {
    check(
        "
        policy target
        pool a
        inst i1 a allocated unlisted
        wish 1
        ",
        expect![[r#"
            i1: allocated -> terminated for vanished [machine_vanished]
            warning: workload: 1 workers are wanted that no pool can give just now [target_short]
            warning: pool a: its machines end before or just after their node is up; it rests [pool_rests]
            pool a: backs off for 30 s
        "#]],
    );
}

/// A probe may catch a worker in the moment between its start and its end. That says nothing good of its pool: not
/// of itself, and not of those that ended before it.
#[test]
fn a_worker_that_was_ready_for_a_moment_has_crashed_too() {
    check(
        "
        policy target
        pool a
        inst i1 a running age=3 unlisted
        wish 1
        ",
        expect![[r#"
            i1: running -> terminated for vanished [machine_vanished]
            warning: workload: 1 workers are wanted that no pool can give just now [target_short]
            warning: pool a: its machines end before or just after their node is up; it rests [pool_rests]
            pool a: backs off for 30 s
        "#]],
    );
    check(
        "
        policy target
        pool a
        inst i1 a allocated unlisted
        inst i2 a running age=29
        wish 2
        ",
        expect![[r#"
            i1: allocated -> terminated for vanished [machine_vanished]
            warning: workload: 1 workers are wanted that no pool can give just now [target_short]
            warning: pool a: its machines end before or just after their node is up; it rests [pool_rests]
            pool a: backs off for 30 s
            i2: running stays, one of the number of workers that is aimed for
        "#]],
    );
    // It was up for as long as its pool would rest: its successor may come at once.
    check(
        "
        policy target
        pool a
        inst i1 a running age=30 unlisted
        wish 1
        ",
        expect![[r#"
            i1: running -> terminated for vanished [machine_vanished]
            new2: new queued in a [launch_target]
            new2: queued -> requested [launch_turn]
        "#]],
    );
}

#[test]
fn that_a_pool_rests_is_said_once() {
    rounds(
        "
        policy target
        pool a
        inst i1 a allocated unlisted
        wish 1
        ",
        7,
        expect![[r#"
            round 1
              i1: allocated -> terminated for vanished [machine_vanished]
              warning: workload: 1 workers are wanted that no pool can give just now [target_short]
              warning: pool a: its machines end before or just after their node is up; it rests [pool_rests]
              pool a: backs off for 30 s
            round 2
              pool a: backs off for 25 s
            round 3
              pool a: backs off for 20 s
            round 4
              pool a: backs off for 15 s
            round 5
              pool a: backs off for 10 s
            round 6
              pool a: backs off for 5 s
            round 7
              new2: new queued in a [launch_target]
              new2: queued -> requested [launch_turn]
        "#]],
    );
}

#[test]
fn a_provider_that_chooses_itself_is_left_alone_while_somebody_is_protected() {
    check(
        "
        policy target blind=a
        pool a
        inst i1 a running
        inst i2 a running
        wish 1 keep=i1
        ",
        expect![[r#"
            info: workload: 1 workers are too many and may not go [target_held]
            i1: running stays, whoever asked for workers wants this one kept
            i2: running stays, one of the number of workers that is aimed for
        "#]],
    );
}

#[test]
fn a_provider_that_cannot_be_listed_holds_its_own() {
    check(
        "
        policy target
        pool a provider=p max=3
        pool b provider=q max=3
        inst i1 a running
        inst i2 b running
        listing p failed=transient
        wish 0
        ",
        expect![[r#"
            i2: running -> terminating for surplus [removed_surplus]
            error: provider p: provider p: no (transient) [held_provider_failure]
            info: workload: 1 workers are too many and may not go [target_held]
            i1: running stays, protected, or not ours to judge
        "#]],
    );
    check(
        "
        policy target
        pool a provider=p max=3
        pool b provider=q max=3
        listing p failed=transient
        wish 2
        ",
        expect![[r#"
            new1: new queued in b [launch_target]
            new2: new queued in b [launch_target]
            new1: queued -> requested [launch_turn]
            new2: queued -> requested [launch_turn]
            error: provider p: provider p: no (transient) [held_provider_failure]
        "#]],
    );
}

/// Nobody has asked yet: what runs stays, the minimum comes.
#[test]
fn before_the_first_wish() {
    check(
        "
        policy target
        pool a min=2 max=3
        inst i1 a running
        ",
        expect![[r#"
            new2: new queued in a [launch_min]
            new2: queued -> requested [launch_turn]
            i1: running stays, one of the number of workers that is aimed for
        "#]],
    );
}

/// A machine whose record was lost is adopted, and still goes by the name that it was started with.
#[test]
fn adopted_workers_keep_their_names() {
    check(
        "
        policy target
        pool a
        machine c7 a for=old.1
        machine c8 a for=older.1
        wish 0 keep=old
        ",
        expect![[r#"
            new1: new allocated in a [machine_adopted]
            new2: new allocated in a [machine_adopted]
            new2: allocated -> terminating for surplus [removed_surplus]
        "#]],
    );
}
