//! Lines 67 to 80: decisions, adoption, and nodes that start again.

use super::{check, rounds};
use expect_test::expect;

#[test]
fn b67_scaling_updates() {
    check(
        "
        policy max=3
        pool a CPU=1 max=3
        pool b CPU=1 max=0
        inst i1 b running idle=1
        task 2 CPU=1
        gang g STRICT_PACK 2 CPU=1
        ",
        expect![[r#"
              i1: running -> drain_requested for max_per_pool [removed_max_per_pool]
              new2: new queued in a [launch_demand]
              new3: new queued in a [launch_demand]
              new2: queued -> requested [launch_turn]
              warning: STRICT_PACK g: 2 × (CPU 1): a is too small (CPU: asks 2, a machine has 1); b is too small (CPU: asks 2, a machine has 1); head is the head's and gives no workers [infeasible]
              unplaced gang: 1 x STRICT_PACK g: 2 × (CPU 1)
              new3: queued waits: its pool grows by at most 1 at a time [held_speed]
        "#]],
    );
}

#[test]
fn b68_terminating_instances() {
    check(
        "
        pool a CPU=1
        inst i1 a drained
        inst i2 a install_failed
        inst i3 a termination_failed
        inst i4 a allocation_timed_out
        ",
        expect![[r#"
              i1: drained -> terminating for idle [machine_left_over]
              i2: install_failed -> terminating for install_failed [machine_left_over]
              i3: termination_failed -> terminating for idle [machine_left_over]
              i4: allocation_timed_out -> terminating for never_joined [machine_left_over]
        "#]],
    );
}

#[test]
fn b69_ray_install() {
    check(
        "
        policy install
        pool a CPU=1
        inst i1 a allocated
        inst i2 a allocated phase=pending
        ",
        expect![[r#"
              i1: allocated -> installing [install_begins]
              i2: allocated stays, on its way
        "#]],
    );
    check(
        "
        pool a CPU=1
        inst i1 a allocated
        ",
        expect![[r#"
              i1: allocated stays, on its way
        "#]],
    );
}

// A machine with our tags is adopted. A node on a machine that no provider of ours lists is somebody else's: it is capacity, and stays.
#[test]
fn b71_extra_cloud_instances_cloud_provider() {
    check(
        "
        pool a CPU=1
        machine c1 a
        node n1 a cloud=c1 idle=900
        ",
        expect![[r#"
              new1: new allocated in a [machine_adopted]
              new1: allocated -> running [node_joined]
        "#]],
    );
    check(
        "
        pool a CPU=1
        node n2 a cloud=c2 idle=900
        task 1 CPU=1
        ",
        expect![[r#"
              nothing
        "#]],
    );
    check(
        "
        pool a CPU=1
        machine c3 a kind=head
        machine c4 a phase=stopping
        ",
        expect![[r#"
              nothing
        "#]],
    );
}

#[test]
fn b72_cloud_instance_reboot() {
    check(
        "
        pool a CPU=1
        inst old a terminated cloud=c1 unlisted
        machine c1 a
        node n-old a dead cloud=c1
        ",
        expect![[r#"
              new2: new allocated in a [machine_adopted]
        "#]],
    );
    check(
        "
        pool a CPU=1
        inst old a terminated cloud=c1 unlisted age=0
        listing p at=-1
        machine c1 a
        ",
        expect![[r#"
              nothing
        "#]],
    );
    check(
        "
        pool a CPU=1
        inst old a terminated cloud=c1 unlisted
        inst i1 a allocated cloud=c1
        node n-old a dead cloud=c1
        node n-new a dead cloud=c1
        ",
        expect![[r#"
              i1: allocated -> drained for node_dead [node_dead]
              i1: drained -> terminating for node_dead [machine_left_over]
        "#]],
    );
}

#[test]
fn b73_ray_node_restarted_on_the_same_cloud_instance() {
    check(
        "
        pool a CPU=1
        inst i1 a running dead
        node n2 a cloud=c-i1 idle=0
        ",
        expect![[r#"
              i1: running -> drained for node_dead [node_dead]
              new2: new allocated in a [machine_adopted]
              new2: allocated -> running [node_joined]
              i1: drained -> terminated for node_dead [machine_owned_by_other]
        "#]],
    );
    check(
        "
        pool a CPU=1
        inst i1 a running lost
        node n2 a cloud=c-i1 idle=0
        ",
        expect![[r#"
              new2: new allocated in a [machine_adopted]
              new2: allocated -> running [node_joined]
              i1: running -> drained for replaced [node_replaced]
              i1: drained -> terminated for replaced [machine_owned_by_other]
        "#]],
    );
    check(
        "
        pool a CPU=1
        inst i1 a running
        node n2 a cloud=c-i1 idle=0
        ",
        expect![[r#"
              i1: running stays, something runs on it
        "#]],
    );
    check(
        "
        pool a CPU=1
        inst i1 a drain_requested dead
        node n2 a cloud=c-i1 idle=0
        ",
        expect![[r#"
              i1: drain_requested -> drained for idle [node_dead]
              i1: drained -> terminating for idle [machine_left_over]
        "#]],
    );
}

// The head has no record: it is never launched or removed.
#[test]
fn b74_ray_head_restarted_on_the_same_cloud_instance() {
    check(
        "
        pool a CPU=1
        head
        head2 dead
        machine c1 head kind=head
        ",
        expect![[r#"
              nothing
        "#]],
    );
}

#[test]
fn b75_reconcile_max_worker_nodes_limit_triggers_termination() {
    check(
        "
        pool a CPU=1 max=0
        inst i1 a allocated
        ",
        expect![[r#"
              i1: allocated -> terminating for max_per_pool [removed_max_per_pool]
        "#]],
    );
}

#[test]
fn b76_terminate_queued_instances_max_workers() {
    check(
        "
        pool a CPU=1 max=0
        inst i1 a queued
        inst i2 a requested
        ",
        expect![[r#"
            i1: queued -> terminated for max_per_pool [removed_max_per_pool]
        "#]],
    );
}

#[test]
fn b77_terminate_ray_installing_instances_max_workers() {
    check(
        "
        pool a CPU=1 max=0
        inst i1 a installing
        ",
        expect![[r#"
              i1: installing -> terminating for max_per_pool [removed_max_per_pool]
        "#]],
    );
}

#[test]
fn b78_without_a_head_only_the_report_is_made() {
    check(
        "
        no head
        pool a CPU=1 min=1 max=2
        inst i1 a running idle=900
        task 1 CPU=9
        ",
        expect![[r#"
              warning: CPU 9: a is too small (CPU: asks 9, a machine has 1); head is the head's and gives no workers [infeasible]
              warning: workload: waits: the workload has no head that is up [held_no_head]
              hold: the workload has no head that is up
              unplaced demand: 1 x CPU 9
              i1: running stays, its pool would fall below its minimum
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        no head
        pool a CPU=1 min=1 max=2
        inst i1 a running idle=900
        task 1 CPU=9
        ",
        expect![[r#"
              warning: CPU 9: a is too small (CPU: asks 9, a machine has 1); head is too small (CPU: asks 9, a machine has 0) [infeasible]
              warning: workload: waits: the workload has no head that is up [held_no_head]
              hold: the workload has no head that is up
              unplaced demand: 1 x CPU 9
              i1: running stays, its pool would fall below its minimum
        "#]],
    );
}

// Ray's errors are counts of a type, oldest first; ours are about the record that asked.
#[test]
fn b79_each_refusal_is_about_one_launch() {
    check(
        "
        pool a CPU=1
        inst i1 a requested
        inst i2 a requested
        inst i3 a requested
        report i2 failed=quota
        report i3 failed=quota
        ",
        expect![[r#"
              i2: requested -> allocation_failed [launch_refused]
              i3: requested -> allocation_failed [launch_refused]
              pool a: backs off for 30 s
              i1: requested stays, on its way
        "#]],
    );
}

// Bounds hold for machines that exist: the replacement waits until the old machine is gone.
#[test]
fn b80_allocation_timeout_recovery() {
    rounds(
        "
        policy concurrent=10
        timeouts allocate=50
        pool a CPU=1 max=3
        inst i1 a running
        inst i2 a running
        inst i3 a allocated age=51
        task 1 CPU=1
        ",
        4,
        expect![[r#"
            round 1
              i3: allocated -> allocation_timed_out for never_joined [node_never_joined]
              new4: new queued in a [launch_demand]
              i3: allocation_timed_out -> terminating for never_joined [machine_left_over]
              i1: running stays, something runs on it
              i2: running stays, something runs on it
              new4: queued waits: machines on their way out still take the room [held_room]
            round 2
              i3: terminating -> terminated for never_joined [removed]
              new4: queued -> requested [launch_turn]
              i1: running stays, something runs on it
              i2: running stays, something runs on it
            round 3
              new4: requested -> allocated [machine_appeared]
              i1: running stays, something runs on it
              i2: running stays, something runs on it
            round 4
              new4: allocated -> running [node_joined]
              i1: running stays, something runs on it
              i2: running stays, something runs on it
        "#]],
    );
}
