//! Lines 1 to 7: what a node is, and how many of them there may be. `policy ray-exact` decides as Ray 2.60.0, the
//! default as documented.

use super::check;
use expect_test::expect;

// Ray lets a node that it asked to go take demand; ours does not, since the node may be gone before the demand comes.
#[test]
fn b1_is_schedulable() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1 max=30
        inst s1 a queued for=min
        inst s2 a requested
        inst s3 a allocated
        inst s4 a installing
        inst s5 a running idle=1
        inst s6 a drain_requested idle=1
        inst s7 a draining
        inst s8 a drained
        inst s9 a terminating
        inst s10 a terminated unlisted
        inst s11 a allocation_failed
        inst s12 a allocation_timed_out
        inst s13 a install_failed
        inst s14 a termination_failed
        task 6 CPU=1
        ",
        expect![[r#"
              s8: drained -> terminating for idle [machine_left_over]
              s12: allocation_timed_out -> terminating for never_joined [machine_left_over]
              s13: install_failed -> terminating for install_failed [machine_left_over]
              s14: termination_failed -> terminating for idle [machine_left_over]
              s1: queued -> requested [launch_turn]
              warning: record s7: still draining [stuck]
              s2: requested stays, waiting demand has its place here
              s3: allocated stays, waiting demand has its place here
              s4: installing stays, waiting demand has its place here
              s5: running stays, waiting demand has its place here
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 max=30
        inst s1 a queued for=min
        inst s2 a requested
        inst s3 a allocated
        inst s4 a installing
        inst s5 a running idle=1
        inst s6 a drain_requested idle=1
        inst s7 a draining
        inst s8 a drained
        inst s9 a terminating
        inst s10 a terminated unlisted
        inst s11 a allocation_failed
        inst s12 a allocation_timed_out
        inst s13 a install_failed
        inst s14 a termination_failed
        task 6 CPU=1
        ",
        expect![[r#"
              new15: new queued in a [launch_demand]
              s8: drained -> terminating for idle [machine_left_over]
              s12: allocation_timed_out -> terminating for never_joined [machine_left_over]
              s13: install_failed -> terminating for install_failed [machine_left_over]
              s14: termination_failed -> terminating for idle [machine_left_over]
              s1: queued -> requested [launch_turn]
              new15: queued -> requested [launch_turn]
              warning: record s7: still draining [stuck]
              s2: requested stays, waiting demand has its place here
              s3: allocated stays, waiting demand has its place here
              s4: installing stays, waiting demand has its place here
              s5: running stays, waiting demand has its place here
        "#]],
    );
}

#[test]
fn b2_new_node_is_as_large_as_the_workload_says_once_it_is_up() {
    check(
        "
        pool a CPU=1
        inst i1 a running idle=1 CPU=4
        task 4 CPU=1
        ",
        expect![[r#"
              i1: running stays, waiting demand has its place here
        "#]],
    );
    check(
        "
        pool a CPU=1 label:zone=x
        inst i1 a running idle=1 label:zone=y
        inst i2 a allocated
        task 1 CPU=1 in:zone=y
        task 1 CPU=1 in:zone=x
        ",
        expect![[r#"
              i1: running stays, waiting demand has its place here
              i2: allocated stays, waiting demand has its place here
        "#]],
    );
}

// Ray ends it as outdated, or fails; it is capacity that nobody asked to remove.
#[test]
fn b2_new_node_of_a_type_that_is_gone() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        policy replace_outdated
        pool a CPU=1
        inst g1 gone running idle=1 CPU=4
        task 1 CPU=4
        ",
        expect![[r#"
              g1: running -> drain_requested for outdated [removed_outdated]
        "#]],
    );
    check(
        "
        policy replace_outdated
        pool a CPU=1
        inst g1 gone running idle=1 CPU=4
        task 1 CPU=4
        ",
        expect![[r#"
              warning: g1: g1 belongs to a pool that the configuration no longer has [bad_record]
              g1: running stays, waiting demand has its place here
        "#]],
    );
    check(
        "
        policy replace_outdated
        pool a CPU=1
        inst g1 gone allocated
        task 1 CPU=4
        ",
        expect![[r#"
              g1: allocated -> terminating for outdated [removed_outdated]
              warning: CPU 4: a is too small (CPU: asks 4, a machine has 1); head is the head's and gives no workers [infeasible]
              unplaced demand: 1 x CPU 4
        "#]],
    );
}

#[test]
fn b3_min_worker_nodes() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1 min=1
        pool b CPU=1 min=0
        pool c CPU=1 min=2
        ",
        expect![[r#"
              new1: new queued in a [launch_min]
              new2: new queued in c [launch_min]
              new3: new queued in c [launch_min]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
              new3: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 min=1
        pool b CPU=1 min=0
        pool c CPU=1 min=2
        ",
        expect![[r#"
              new1: new queued in a [launch_min]
              new2: new queued in c [launch_min]
              new3: new queued in c [launch_min]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
              new3: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 min=2
        pool c CPU=1 min=1
        inst i1 a running
        inst i2 a requested
        inst g1 gone requested
        ",
        expect![[r#"
              new4: new queued in c [launch_min]
              new4: queued -> requested [launch_turn]
              warning: g1: g1 belongs to a pool that the configuration no longer has [bad_record]
              i1: running stays, something runs on it
              i2: requested stays, on its way
              g1: requested stays, on its way
        "#]],
    );
}

// The maximum of the configuration is one of workers; Ray adds the head to it.
#[test]
fn b4_max_workers_head_node_type() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        policy head_pool=a
        head pool=a CPU=1
        pool a CPU=1 max=1
        inst i1 a running idle=1
        inst i2 a running idle=2
        ",
        expect![[r#"
              i2: running -> drain_requested for max_per_pool [removed_max_per_pool]
              i1: running stays, idle, but not for long enough
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        policy head_pool=a
        head pool=a CPU=1
        pool a CPU=1 max=1
        inst i1 a running idle=1
        inst i2 a running idle=2
        ",
        expect![[r#"
              i2: running -> drain_requested for max_per_pool [removed_max_per_pool]
              i1: running stays, idle, but not for long enough
        "#]],
    );
}

#[test]
fn b5_max_workers_per_type() {
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=2 min=2 max=2
        ",
        expect![[r#"
              new1: new queued in a [launch_min]
              new2: new queued in a [launch_min]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=2 max=2
        inst i1 a running free:CPU=1
        inst i2 a running free:CPU=0
        inst i3 a allocated
        ",
        expect![[r#"
              i3: allocated -> terminating for max_per_pool [removed_max_per_pool]
              i1: running stays, something runs on it
              i2: running stays, something runs on it
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=2 max=1
        inst i1 a running free:CPU=1
        inst i2 a running free:CPU=0
        inst i3 a allocated
        ",
        expect![[r#"
              i3: allocated -> terminating for max_per_pool [removed_max_per_pool]
              i1: running -> drain_requested for max_per_pool [removed_max_per_pool]
              i2: running stays, something runs on it
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=2 max=1
        inst i1 a running free:CPU=1
        inst i2 a running free:CPU=0
        inst i3 a allocated
        ",
        expect![[r#"
              i3: allocated -> terminating for max_per_pool [removed_max_per_pool]
              i1: running -> drain_requested for max_per_pool [removed_max_per_pool]
              i2: running stays, something runs on it
        "#]],
    );
}

#[test]
fn b6_terminate_max_allocated_workers_per_type() {
    check(
        "
        pool a CPU=1 max=2
        inst i1 a allocated
        inst i2 a allocated
        ",
        expect![[r#"
              i1: allocated stays, on its way
              i2: allocated stays, on its way
        "#]],
    );
    check(
        "
        pool a CPU=1 max=0
        inst i1 a allocated
        inst i2 a allocated
        ",
        expect![[r#"
              i1: allocated -> terminating for max_per_pool [removed_max_per_pool]
              i2: allocated -> terminating for max_per_pool [removed_max_per_pool]
        "#]],
    );
}

// Ray counts the head as a node: its 4, 3, 2, 1 are 3, 2, 1, 0 workers.
#[test]
fn b7_max_num_nodes() {
    check(
        "
        policy concurrent=100 speed=10000
        policy max=3
        pool a CPU=2
        pool b CPU=2
        inst i1 a running free:CPU=0
        inst i2 b running idle=9
        inst i3 b allocated
        ",
        expect![[r#"
              i1: running stays, something runs on it
              i2: running stays, idle, but not for long enough
              i3: allocated stays, on its way
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        policy max=2
        pool a CPU=2
        pool b CPU=2
        inst i1 a running free:CPU=0
        inst i2 b running idle=9
        inst i3 b allocated
        ",
        expect![[r#"
              i3: allocated -> terminating for max_total [removed_max_total]
              i1: running stays, something runs on it
              i2: running stays, idle, but not for long enough
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        policy max=1
        pool a CPU=2
        pool b CPU=2
        inst i1 a running free:CPU=0
        inst i2 b running idle=9
        inst i3 b allocated
        ",
        expect![[r#"
              i3: allocated -> terminating for max_total [removed_max_total]
              i2: running -> drain_requested for max_total [removed_max_total]
              i1: running stays, something runs on it
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        policy max=0
        pool a CPU=2
        pool b CPU=2
        inst i1 a running free:CPU=0
        inst i2 b running idle=9
        inst i3 b allocated
        ",
        expect![[r#"
              i3: allocated -> terminating for max_total [removed_max_total]
              i2: running -> drain_requested for max_total [removed_max_total]
              i1: running -> drain_requested for max_total [removed_max_total]
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        policy max=2
        pool a CPU=2
        pool b CPU=2
        inst i1 a running free:CPU=0
        inst i2 b running idle=9
        inst i3 b allocated
        ",
        expect![[r#"
              i3: allocated -> terminating for max_total [removed_max_total]
              i1: running stays, something runs on it
              i2: running stays, idle, but not for long enough
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        policy max=1
        pool a CPU=2
        pool b CPU=2
        inst i1 a running free:CPU=0
        inst i2 b running idle=9
        inst i3 b allocated
        ",
        expect![[r#"
              i3: allocated -> terminating for max_total [removed_max_total]
              i2: running -> drain_requested for max_total [removed_max_total]
              i1: running stays, something runs on it
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        policy max=1
        pool a CPU=2 max=0
        pool b CPU=2
        inst i1 a running free:CPU=0
        inst i2 b running idle=9
        inst i3 b allocated
        ",
        expect![[r#"
              i1: running -> drain_requested for max_per_pool [removed_max_per_pool]
              i3: allocated -> terminating for max_total [removed_max_total]
              i2: running stays, idle, but not for long enough
        "#]],
    );
}
