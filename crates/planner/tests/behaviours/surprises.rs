//! Rounds in which Ray 2.60.0 fails or surprises, with what happens here in that round and the next ones.

use super::rounds;
use expect_test::expect;

// Ray: invalid transition from REQUESTED, the whole round fails, again and again.
#[test]
fn over_max_picks_requested() {
    rounds(
        "
        pool a CPU=1 max=1
        inst r1 a running
        inst q1 a requested
        ",
        3,
        expect![[r#"
            round 1
              r1: running stays, something runs on it
            round 2
              q1: requested -> allocated [machine_appeared]
              q1: allocated -> terminating for max_per_pool [removed_max_per_pool]
              r1: running stays, something runs on it
            round 3
              q1: terminating -> terminated for max_per_pool [removed_max_per_pool]
              r1: running stays, something runs on it
        "#]],
    );
    rounds(
        "
        policy ray-exact
        pool a CPU=1 max=1
        inst r1 a running
        inst q1 a requested
        ",
        3,
        expect![[r#"
            round 1
              r1: running stays, something runs on it
            round 2
              q1: requested -> allocated [machine_appeared]
              q1: allocated -> terminating for max_per_pool [removed_max_per_pool]
              r1: running stays, something runs on it
            round 3
              q1: terminating -> terminated for max_per_pool [removed_max_per_pool]
              r1: running stays, something runs on it
        "#]],
    );
}

#[test]
fn over_max_picks_requested_with_other_work_to_do() {
    rounds(
        "
        pool a CPU=1 max=1
        pool b CPU=1
        inst r1 a running
        inst q1 a requested
        task 2 CPU=1
        ",
        3,
        expect![[r#"
            round 1
              new3: new queued in b [launch_demand]
              new4: new queued in b [launch_demand]
              new3: queued -> requested [launch_turn]
              r1: running stays, something runs on it
              new4: queued waits: its pool grows by at most 1 at a time [held_speed]
            round 2
              q1: requested -> allocated [machine_appeared]
              new3: requested -> allocated [machine_appeared]
              q1: allocated -> terminating for max_per_pool [removed_max_per_pool]
              new4: queued -> requested [launch_turn]
              r1: running stays, something runs on it
            round 3
              new4: requested -> allocated [machine_appeared]
              q1: terminating -> terminated for max_per_pool [removed_max_per_pool]
              new3: allocated -> running [node_joined]
              r1: running stays, something runs on it
        "#]],
    );
}

// Ray: invalid transition from RAY_STOP_REQUESTED.
#[test]
fn over_max_picks_stop_requested() {
    rounds(
        "
        pool a CPU=1 max=1
        inst r1 a running
        inst s1 a drain_requested
        ",
        3,
        expect![[r#"
            round 1
              r1: running stays, something runs on it
            round 2
              s1: drain_requested -> draining for idle [node_draining]
              r1: running stays, something runs on it
            round 3
              s1: draining -> drained for idle [node_dead]
              s1: drained -> terminating for idle [machine_left_over]
              r1: running stays, something runs on it
        "#]],
    );
    rounds(
        "
        policy ray-exact
        pool a CPU=1 max=0
        inst r1 a running
        inst s1 a drain_requested
        ",
        3,
        expect![[r#"
            round 1
              r1: running -> drain_requested for max_per_pool [removed_max_per_pool]
            round 2
              r1: drain_requested -> draining for max_per_pool [node_draining]
              s1: drain_requested -> draining for idle [node_draining]
            round 3
              r1: draining -> drained for max_per_pool [node_dead]
              s1: draining -> drained for idle [node_dead]
              r1: drained -> terminating for max_per_pool [machine_left_over]
              s1: drained -> terminating for idle [machine_left_over]
        "#]],
    );
}

// Ray: invalid transition from RAY_STOP_REQUESTED in the second round.
#[test]
fn max_lowered_to_0() {
    rounds(
        "
        pool a CPU=1 max=0
        inst r1 a running
        ",
        3,
        expect![[r#"
            round 1
              r1: running -> drain_requested for max_per_pool [removed_max_per_pool]
            round 2
              r1: drain_requested -> draining for max_per_pool [node_draining]
            round 3
              r1: draining -> drained for max_per_pool [node_dead]
              r1: drained -> terminating for max_per_pool [machine_left_over]
        "#]],
    );
    rounds(
        "
        policy ray-exact
        pool a CPU=1 max=0
        inst r1 a running
        ",
        3,
        expect![[r#"
            round 1
              r1: running -> drain_requested for max_per_pool [removed_max_per_pool]
            round 2
              r1: drain_requested -> draining for max_per_pool [node_draining]
            round 3
              r1: draining -> drained for max_per_pool [node_dead]
              r1: drained -> terminating for max_per_pool [machine_left_over]
        "#]],
    );
}

// Ray: launches and ends a node in one breath, and fails on it.
#[test]
fn sum_of_min_workers_over_max() {
    rounds(
        "
        policy max=2
        pool a CPU=1 min=2
        pool b CPU=1 min=2
        ",
        3,
        expect![[r#"
            round 1
              new1: new queued in a [launch_min]
              new2: new queued in a [launch_min]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
              warning: b: b has minimums that together exceed the maximum over all pools [bad_record]
            round 2
              new1: requested -> allocated [machine_appeared]
              new2: requested -> allocated [machine_appeared]
            round 3
              new1: allocated -> running [node_joined]
              new2: allocated -> running [node_joined]
        "#]],
    );
    rounds(
        "
        policy ray-exact max=2
        pool a CPU=1 min=2
        pool b CPU=1 min=2
        ",
        3,
        expect![[r#"
            round 1
              new1: new queued in b [launch_min]
              new2: new queued in b [launch_min]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
            round 2
              new1: requested -> allocated [machine_appeared]
              new2: requested -> allocated [machine_appeared]
            round 3
              new1: allocated -> running [node_joined]
              new2: allocated -> running [node_joined]
        "#]],
    );
}

// Ray: KeyError.
#[test]
fn type_removed_while_running() {
    rounds(
        "
        pool a CPU=1
        inst r1 gone running CPU=1
        task 1 CPU=1
        ",
        3,
        expect![[r#"
            round 1
              new2: new queued in a [launch_demand]
              new2: queued -> requested [launch_turn]
              warning: r1: r1 belongs to a pool that the configuration no longer has [bad_record]
              r1: running stays, something runs on it
            round 2
              new2: requested -> allocated [machine_appeared]
              r1: running stays, something runs on it
            round 3
              new2: allocated -> running [node_joined]
              r1: running stays, something runs on it
        "#]],
    );
    rounds(
        "
        policy ray-exact
        pool a CPU=1
        inst r1 gone running CPU=1
        task 1 CPU=1
        ",
        3,
        expect![[r#"
            round 1
              new2: new queued in a [launch_demand]
              new2: queued -> requested [launch_turn]
              warning: r1: r1 belongs to a pool that the configuration no longer has [bad_record]
              r1: running stays, something runs on it
            round 2
              new2: requested -> allocated [machine_appeared]
              r1: running stays, something runs on it
            round 3
              new2: allocated -> running [node_joined]
              r1: running stays, something runs on it
        "#]],
    );
    rounds(
        "
        pool a CPU=1
        inst r1 gone running idle=400 CPU=1
        ",
        3,
        expect![[r#"
            round 1
              r1: running -> drain_requested for idle [removed_idle]
            round 2
              r1: drain_requested -> draining for idle [node_draining]
            round 3
              r1: draining -> drained for idle [node_dead]
              r1: drained -> terminating for idle [machine_left_over]
        "#]],
    );
}

// Ray gives the demand to the node that it asked to go, and launches only once it is gone.
#[test]
fn draining_node_while_demand_waits() {
    rounds(
        "
        pool a CPU=1
        inst s1 a drain_requested idle=400
        task 1 CPU=1
        ",
        3,
        expect![[r#"
            round 1
              new2: new queued in a [launch_demand]
              new2: queued -> requested [launch_turn]
            round 2
              new2: requested -> allocated [machine_appeared]
              s1: drain_requested -> draining for idle [node_draining]
            round 3
              s1: draining -> drained for idle [node_dead]
              new2: allocated -> running [node_joined]
              s1: drained -> terminating for idle [machine_left_over]
        "#]],
    );
    rounds(
        "
        policy ray-exact
        pool a CPU=1
        inst s1 a drain_requested idle=400
        task 1 CPU=1
        ",
        3,
        expect![[r#"
            round 1
              nothing
            round 2
              s1: drain_requested -> draining for idle [node_draining]
              new2: new queued in a [launch_demand]
              new2: queued -> requested [launch_turn]
            round 3
              new2: requested -> allocated [machine_appeared]
              s1: draining -> drained for idle [node_dead]
              s1: drained -> terminating for idle [machine_left_over]
        "#]],
    );
}

// One more of a pool at a time.
#[test]
fn eight_wanted_at_speed_0() {
    rounds(
        "
        policy speed=0
        pool a CPU=1
        task 8 CPU=1
        ",
        3,
        expect![[r#"
            round 1
              new1: new queued in a [launch_demand]
              new2: new queued in a [launch_demand]
              new3: new queued in a [launch_demand]
              new4: new queued in a [launch_demand]
              new5: new queued in a [launch_demand]
              new6: new queued in a [launch_demand]
              new7: new queued in a [launch_demand]
              new8: new queued in a [launch_demand]
              new1: queued -> requested [launch_turn]
              new2: queued waits: its pool grows by at most 1 at a time [held_speed]
              new3: queued waits: its pool grows by at most 1 at a time [held_speed]
              new4: queued waits: its pool grows by at most 1 at a time [held_speed]
              new5: queued waits: its pool grows by at most 1 at a time [held_speed]
              new6: queued waits: its pool grows by at most 1 at a time [held_speed]
              new7: queued waits: its pool grows by at most 1 at a time [held_speed]
              new8: queued waits: its pool grows by at most 1 at a time [held_speed]
            round 2
              new1: requested -> allocated [machine_appeared]
              new2: queued -> requested [launch_turn]
              new3: queued waits: its pool grows by at most 1 at a time [held_speed]
              new4: queued waits: its pool grows by at most 1 at a time [held_speed]
              new5: queued waits: its pool grows by at most 1 at a time [held_speed]
              new6: queued waits: its pool grows by at most 1 at a time [held_speed]
              new7: queued waits: its pool grows by at most 1 at a time [held_speed]
              new8: queued waits: its pool grows by at most 1 at a time [held_speed]
            round 3
              new2: requested -> allocated [machine_appeared]
              new1: allocated -> running [node_joined]
              new3: queued -> requested [launch_turn]
              new4: queued waits: its pool grows by at most 1 at a time [held_speed]
              new5: queued waits: its pool grows by at most 1 at a time [held_speed]
              new6: queued waits: its pool grows by at most 1 at a time [held_speed]
              new7: queued waits: its pool grows by at most 1 at a time [held_speed]
              new8: queued waits: its pool grows by at most 1 at a time [held_speed]
        "#]],
    );
}
