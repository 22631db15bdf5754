//! Lines 58 to 66: records that do not move on, and nodes that are gone.

use super::{check, rounds};
use expect_test::expect;

// In the same plan a launch that went back to the queue may have its turn again, as a new attempt.
#[test]
fn b58_stuck_instances_requested() {
    check(
        "
        timeouts request=5 retries=1
        pool a CPU=1
        inst i1 a requested age=1
        inst i2 a requested age=8
        inst i3 a requested age=8 attempt=2
        ",
        expect![[r#"
              i2: requested -> queued [launch_unanswered]
              i3: requested -> allocation_failed [launch_given_up]
              i1: requested stays, on its way
              i2: queued waits: its pool grows by at most 1 at a time [held_speed]
        "#]],
    );
    check(
        "
        policy speed=1000
        timeouts request=5 retries=1
        pool a CPU=1
        inst i1 a requested age=1
        inst i2 a requested age=8
        ",
        expect![[r#"
              i2: requested -> queued [launch_unanswered]
              i2: queued -> requested [launch_turn]
              i1: requested stays, on its way
        "#]],
    );
    check(
        "
        policy concurrent=1
        timeouts request=5 retries=1
        pool a CPU=1
        inst i1 a requested age=1
        inst i2 a requested age=8
        ",
        expect![[r#"
              i2: requested -> queued [launch_unanswered]
              i1: requested stays, on its way
              i2: queued waits: 1 launches are under way, the most that may be [held_concurrent]
        "#]],
    );
}

// The provider said yes, and a look that began after the machine must show has not shown it. One that began earlier
// says nothing, nor does a report of an earlier attempt; a machine that is listed is claimed; Ray waits.
#[test]
fn accepted_launches_that_are_not_listed() {
    check(
        "
        policy speed=1000
        pool a CPU=1
        pool b CPU=1 provider=late
        look at=0
        listing late at=-1
        inst i1 a requested age=9
        inst i2 a requested age=9
        inst i3 a requested age=9
        inst i4 b requested age=9
        inst i5 a requested age=9 attempt=2
        machine m2 a for=i2.1
        task 5 CPU=1
        report i1 launched=-1
        report i2 launched=-1
        report i3 launched=0
        report i4 launched=-1
        report i5 launched=-1 epoch=1
        ",
        expect![[r#"
            i2: requested -> allocated [machine_appeared]
            i1: requested -> queued [launch_vanished]
            i1: queued -> requested [launch_turn]
            i3: requested stays, waiting demand has its place here
            i4: requested stays, waiting demand has its place here
            i5: requested stays, waiting demand has its place here
        "#]],
    );
    check(
        "
        policy ray-exact
        pool a CPU=1
        inst i1 a requested age=9
        task 1 CPU=1
        report i1 launched=-1
        ",
        expect![[r#"
            i1: requested stays, waiting demand has its place here
        "#]],
    );
}

// As often as a launch that was not answered; then the pool rests, and the demand goes elsewhere in the same plan.
#[test]
fn accepted_launches_that_are_not_listed_are_given_up() {
    check(
        "
        timeouts retries=1
        pool a CPU=1
        pool b CPU=1
        inst i1 a requested attempt=2 age=9
        task 1 CPU=1
        report i1 launched=-1
        ",
        expect![[r#"
            i1: requested -> allocation_failed [launch_given_up]
            new2: new queued in b [launch_demand]
            new2: queued -> requested [launch_turn]
            pool a: backs off for 30 s
        "#]],
    );
}

// It is idle still, and the next look at it starts another drain.
#[test]
fn b59_stuck_instances_ray_stop_requested() {
    check(
        "
        timeouts drain=5
        pool a CPU=1
        inst i1 a drain_requested age=6
        inst i2 a drain_requested age=5
        ",
        expect![[r#"
              i1: drain_requested -> running [drain_overdue]
        "#]],
    );
    rounds(
        "
        timeouts drain=5
        pool a CPU=1
        inst i1 a drain_requested age=6 idle=400
        ",
        2,
        expect![[r#"
            round 1
              i1: drain_requested -> running [drain_overdue]
            round 2
              i1: running -> drain_requested for idle [removed_idle]
        "#]],
    );
}

// Ray waits for nothing; ours gives a control plane that was restarted ten seconds to hear of its nodes.
#[test]
fn b60_missing_ray_node_marks_ray_stopped_and_terminates() {
    check(
        "
        timeouts node_missing=0
        pool a CPU=1
        inst i1 a running lost
        inst i2 a drain_requested lost
        inst i3 a draining lost
        ",
        expect![[r#"
              i1: running -> drained for node_lost [node_lost]
              i2: drain_requested -> drained for idle [node_lost]
              i3: draining -> drained for idle [node_lost]
              i1: drained -> terminating for node_lost [machine_left_over]
              i2: drained -> terminating for idle [machine_left_over]
              i3: drained -> terminating for idle [machine_left_over]
        "#]],
    );
    check(
        "
        pool a CPU=1
        inst i1 a running lost
        ",
        expect![[r#"
              warning: i1: i1 is recorded as running, and the workload has no such node [bad_record]
              i1: running stays, protected, or not ours to judge
        "#]],
    );
    check(
        "
        pool a CPU=1
        inst i1 a running lost
        memory missing=i1:-9
        ",
        expect![[r#"
              warning: i1: i1 is recorded as running, and the workload has no such node [bad_record]
              i1: running stays, protected, or not ours to judge
        "#]],
    );
    check(
        "
        pool a CPU=1
        inst i1 a running lost
        memory missing=i1:-10
        ",
        expect![[r#"
              i1: running -> drained for node_lost [node_lost]
              i1: drained -> terminating for node_lost [machine_left_over]
        "#]],
    );
    check(
        "
        pool a CPU=1
        inst i1 a running lost
        session s2
        memory missing=i1:-10
        ",
        expect![[r#"
              warning: workload: the control plane was replaced, now s2 [session_changed]
              warning: i1: i1 is recorded as running, and the workload has no such node [bad_record]
              i1: running stays, protected, or not ours to judge
        "#]],
    );
}

#[test]
fn b61_ray_stopped_shared_cloud_terminates_stale_record_only() {
    check(
        "
        pool a CPU=1
        inst old a drained cloud=c1 unlisted
        inst i1 a running cloud=c1
        ",
        expect![[r#"
              old: drained -> terminated for idle [machine_owned_by_other]
              i1: running stays, something runs on it
        "#]],
    );
}

#[test]
fn b62_ray_stop_requested_fail() {
    check(
        "
        pool a CPU=1
        inst i1 a drain_requested
        inst i2 a drain_requested
        report i1 rejected
        ",
        expect![[r#"
              i1: drain_requested -> running [drain_rejected]
        "#]],
    );
    check(
        "
        pool a CPU=1
        inst i1 a drain_requested
        report i1 failed=transient
        ",
        expect![[r#"
              i1: drain_requested -> running [drain_failed]
        "#]],
    );
}

#[test]
fn b63_stuck_instances() {
    check(
        "
        timeouts allocate=5 install=5 terminate=5
        pool a CPU=1
        inst i1 a allocated age=6
        inst i2 a installing age=6
        inst i3 a terminating age=6
        inst j1 a allocated age=5
        inst j2 a installing age=5
        inst j3 a terminating age=5
        ",
        expect![[r#"
              i1: allocated -> allocation_timed_out for never_joined [node_never_joined]
              i2: installing -> install_failed for install_failed [install_overdue]
              i3: terminating -> termination_failed for idle [termination_overdue]
              i1: allocation_timed_out -> terminating for never_joined [machine_left_over]
              i2: install_failed -> terminating for install_failed [machine_left_over]
              i3: termination_failed -> terminating for idle [machine_left_over]
              j1: allocated stays, on its way
              j2: installing stays, on its way
        "#]],
    );
}

#[test]
fn b64_warn_stuck_transient_instances() {
    check(
        "
        timeouts warn=5
        pool a CPU=1
        inst i1 a draining age=6
        inst i2 a draining age=5
        ",
        expect![[r#"
              warning: record i1: still draining [stuck]
        "#]],
    );
    check(
        "
        policy concurrent=0
        timeouts warn=5
        pool a CPU=1
        inst i1 a queued age=6
        inst i2 a queued age=5
        task 2 CPU=1
        ",
        expect![[r#"
              warning: record i1: still queued [stuck]
              i1: queued waits: 0 launches are under way, the most that may be [held_concurrent]
              i2: queued waits: 0 launches are under way, the most that may be [held_concurrent]
        "#]],
    );
}

#[test]
fn b65_stuck_instances_no_op() {
    check(
        "
        timeouts request=5 allocate=5 install=5 drain=5 terminate=5 warn=5
        pool a CPU=1
        inst i1 a running age=90000 idle=1
        inst i2 a allocation_failed age=1000
        inst i3 a terminated age=1000 unlisted
        ",
        expect![[r#"
              i1: running stays, idle, but not for long enough
        "#]],
    );
}

#[test]
fn b66_is_head_node_running() {
    check(
        "
        no head
        pool a CPU=1 min=1
        ",
        expect![[r#"
              warning: workload: waits: the workload has no head that is up [held_no_head]
              hold: the workload has no head that is up
        "#]],
    );
    check(
        "
        head dead
        pool a CPU=1 min=1
        ",
        expect![[r#"
              warning: workload: waits: the workload has no head that is up [held_no_head]
              hold: the workload has no head that is up
        "#]],
    );
    check(
        "
        head
        pool a CPU=1 min=1
        ",
        expect![[r#"
              new1: new queued in a [launch_min]
              new1: queued -> requested [launch_turn]
        "#]],
    );
}
