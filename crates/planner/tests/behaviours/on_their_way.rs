//! Lines 33 to 37: many of one kind, and nodes on their way.

use super::check;
use expect_test::expect;

#[test]
fn b33_infeasible_shape_caching() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1 max=1
        inst i1 a running idle=1
        task 1000 CPU=1
        ",
        expect![[r#"
              warning: CPU 1: a is at its maximum of 1; head is too small (CPU: asks 1, a machine has 0) [infeasible]
              unplaced demand: 999 x CPU 1
              i1: running stays, waiting demand has its place here
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 max=1
        inst i1 a running idle=1
        task 1000 CPU=1
        ",
        expect![[r#"
              warning: CPU 1: a is at its maximum of 1; head is the head's and gives no workers [infeasible]
              unplaced demand: 999 x CPU 1
              i1: running stays, waiting demand has its place here
        "#]],
    );
}

#[test]
fn b35_identical_node_state_caching() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1 max=100
        inst i0 a allocated
        inst i1 a allocated
        inst i2 a allocated
        inst i3 a allocated
        inst i4 a allocated
        task 1 CPU=1
        ",
        expect![[r#"
              i0: allocated stays, waiting demand has its place here
              i1: allocated stays, on its way
              i2: allocated stays, on its way
              i3: allocated stays, on its way
              i4: allocated stays, on its way
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 max=100
        inst i0 a allocated
        inst i1 a allocated
        inst i2 a allocated
        inst i3 a allocated
        inst i4 a allocated
        task 1 CPU=1
        ",
        expect![[r#"
              i0: allocated stays, waiting demand has its place here
              i1: allocated stays, on its way
              i2: allocated stays, on its way
              i3: allocated stays, on its way
              i4: allocated stays, on its way
        "#]],
    );
}

// Ray keeps one time for each node, ours one for each pool. What was asked for and is not there yet is called back once it is there.
#[test]
fn b36_pending_idle_timeout() {
    check(
        "
        policy pending_idle=30
        pool a CPU=1
        memory unneeded=a:-30
        inst q1 a queued for=demand
        inst q2 a requested
        inst q3 a allocated
        inst q4 a installing
        ",
        expect![[r#"
              warning: record q1: still queued [stuck]
              q1: queued waits: its pool grows by at most 1 at a time [held_speed]
              q2: requested stays, on its way
              q3: allocated stays, on its way
              q4: installing stays, on its way
        "#]],
    );
    check(
        "
        policy pending_idle=30
        pool a CPU=1
        memory unneeded=a:-31
        inst q1 a queued for=demand
        inst q2 a requested
        inst q3 a allocated
        inst q4 a installing
        ",
        expect![[r#"
              q1: queued -> terminated for pending_idle [removed_pending_idle]
              q3: allocated -> terminating for pending_idle [removed_pending_idle]
              q4: installing -> terminating for pending_idle [removed_pending_idle]
              q2: requested stays, on its way
        "#]],
    );
    check(
        "
        policy pending_idle=30
        pool a CPU=1
        inst q3 a allocated
        ",
        expect![[r#"
              q3: allocated stays, on its way
        "#]],
    );
    check(
        "
        policy pending_idle=30
        pool a CPU=1 min=1
        memory unneeded=a:-31
        inst q3 a allocated
        inst q4 a installing
        ",
        expect![[r#"
              q3: allocated -> terminating for pending_idle [removed_pending_idle]
              q4: installing stays, on its way
        "#]],
    );
    check(
        "
        policy pending_idle=30
        pool a CPU=1
        memory unneeded=a:-31
        inst q3 a allocated
        task 1 CPU=1
        ",
        expect![[r#"
              q3: allocated stays, waiting demand has its place here
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        policy pending_idle=30
        pool a CPU=1
        memory unneeded=a:-31
        inst q1 a queued
        inst q3 a allocated
        inst q4 a installing
        ",
        expect![[r#"
              q1: queued -> terminated for pending_idle [removed_pending_idle]
              q3: allocated -> terminating for pending_idle [removed_pending_idle]
              q4: installing -> terminating for pending_idle [removed_pending_idle]
        "#]],
    );
}

#[test]
fn b37_running_without_a_ray_node_is_skipped() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1
        inst i1 a running lost
        task 1 CPU=1
        ",
        expect![[r#"
              new2: new queued in a [launch_demand]
              new2: queued -> requested [launch_turn]
              i1: running stays, protected, or not ours to judge
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1
        inst i1 a running lost
        task 1 CPU=1
        ",
        expect![[r#"
              new2: new queued in a [launch_demand]
              new2: queued -> requested [launch_turn]
              warning: i1: i1 is recorded as running, and the workload has no such node [bad_record]
              i1: running stays, protected, or not ours to judge
        "#]],
    );
}
