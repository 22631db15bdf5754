//! Lines 45 to 56: what providers and the workload list, against the records.

use super::check;
use expect_test::expect;

#[test]
fn b45_requested_instance_no_op() {
    check(
        "
        pool a CPU=1
        inst i1 a requested age=5
        task 1 CPU=1
        ",
        expect![[r#"
              i1: requested stays, waiting demand has its place here
        "#]],
    );
}

// Ray gives any machine of the type to the oldest request; ours goes by the token, so that no record takes another's machine.
#[test]
fn b46_requested_instance_to_allocated() {
    check(
        "
        pool a CPU=1
        pool b CPU=1
        inst i1 a requested
        inst i2 b requested
        machine c1 a for=i1.1
        ",
        expect![[r#"
              i1: requested -> allocated [machine_appeared]
              i2: requested stays, on its way
        "#]],
    );
    check(
        "
        pool a CPU=1
        inst i1 a requested
        inst i2 a requested
        machine c1 a for=i2.1
        task 2 CPU=1
        ",
        expect![[r#"
              i2: requested -> allocated [machine_appeared]
              i1: requested stays, waiting demand has its place here
        "#]],
    );
    check(
        "
        pool a CPU=1
        inst i1 a requested attempt=2
        machine c1 a for=i1.1
        ",
        expect![[r#"
              i1: requested -> allocated [machine_appeared_late]
        "#]],
    );
    check(
        "
        pool a CPU=1
        inst i1 a requested attempt=2
        machine c1 a for=i1.1
        machine c2 a for=i1.2
        ",
        expect![[r#"
              i1: requested -> allocated [machine_appeared]
              new2: new allocated in a [machine_adopted]
        "#]],
    );
    check(
        "
        pool a CPU=1
        inst i1 a requested
        machine c1 a for=i1.1 phase=stopping
        ",
        expect![[r#"
              i1: requested stays, on its way
        "#]],
    );
}

// The pool backs off, and what still waited for it is withdrawn, so that the demand can go elsewhere in the same plan.
#[test]
fn b47_requested_instance_to_allocation_failed() {
    check(
        "
        pool a CPU=1
        pool b CPU=2
        inst i1 a requested age=2
        inst i2 a requested age=2
        inst i3 a queued age=2
        machine c2 a for=i2.1
        report i1 failed=out_of_capacity
        task 3 CPU=1
        ",
        expect![[r#"
              i2: requested -> allocated [machine_appeared]
              i1: requested -> allocation_failed [launch_refused]
              i3: queued -> terminated for pool_refused [removed_pool_refused]
              new4: new queued in b [launch_demand]
              new4: queued -> requested [launch_turn]
              pool a: backs off for 30 s
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1
        pool b CPU=2
        inst i1 a requested age=2
        inst i3 a queued age=2
        report i1 failed=out_of_capacity
        task 2 CPU=1
        ",
        expect![[r#"
              i1: requested -> allocation_failed [launch_refused]
              new3: new queued in a [launch_demand]
              pool a: backs off for 30 s
              i3: queued waits: the provider refused its pool a moment ago [held_backoff]
              new3: queued waits: the provider refused its pool a moment ago [held_backoff]
        "#]],
    );
}

// One launch, one record, one report: nothing is shared.
#[test]
fn b48_multiple_node_types_share_launch_request_id() {
    check(
        "
        pool a CPU=1
        pool b CPU=2
        inst i1 a requested
        inst i2 b requested
        report i1 failed=quota
        report i2 failed=quota
        ",
        expect![[r#"
              i1: requested -> allocation_failed [launch_refused]
              i2: requested -> allocation_failed [launch_refused]
              pool a: backs off for 30 s
              pool b: backs off for 30 s
        "#]],
    );
}

#[test]
fn b49_reconcile_terminated_cloud_instances() {
    check(
        "
        pool a CPU=1
        inst i1 a allocated unlisted
        inst i2 a terminating
        inst i3 a terminated unlisted
        report i2 failed=transient
        ",
        expect![[r#"
              i1: allocated -> terminated for vanished [machine_vanished]
              i2: terminating -> termination_failed for idle [termination_refused]
              i2: termination_failed -> terminating for idle [machine_left_over]
        "#]],
    );
}

// Ray gives up the whole round for a status that it does not know; ours leaves that node alone.
#[test]
fn b50_ray_reconciler_no_op() {
    check(
        "
        pool a CPU=1
        inst i1 a allocated
        ",
        expect![[r#"
              i1: allocated stays, on its way
        "#]],
    );
    check(
        "
        pool a CPU=1
        inst i1 a running unknown=7
        inst i2 a allocated
        node n-i2 a cloud=c-i2 idle=0
        ",
        expect![[r#"
              i2: allocated -> running [node_joined]
              warning: node n-i1: node n-i1 has the unknown status 7 [unknown_node_status]
              i1: running stays, protected, or not ours to judge
        "#]],
    );
}

#[test]
fn b51_ray_reconciler_new_ray() {
    check(
        "
        pool a CPU=1
        inst old a terminated unlisted cloud=c1
        inst i1 a allocated cloud=c1
        node n1 a cloud=c1 idle=0
        ",
        expect![[r#"
              i1: allocated -> running [node_joined]
        "#]],
    );
    check(
        "
        pool a CPU=1
        inst i1 a installing cloud=c1
        node n1 a cloud=c1
        ",
        expect![[r#"
              i1: installing -> running [node_joined]
        "#]],
    );
}

#[test]
fn b52_ray_reconciler_already_ray_running() {
    check(
        "
        pool a CPU=1
        inst i1 a running idle=5
        inst i2 a terminating
        node n-i2 a cloud=c-i2 idle=5
        ",
        expect![[r#"
              i1: running stays, idle, but not for long enough
        "#]],
    );
}

#[test]
fn b53_ray_reconciler_stopping_ray() {
    check(
        "
        pool a CPU=1
        inst i1 a running draining
        inst i2 a draining
        inst i3 a terminating
        node n-i3 a cloud=c-i3 draining
        inst i4 a drain_requested draining
        ",
        expect![[r#"
              i1: running -> draining for node_draining [node_draining]
              i4: drain_requested -> draining for idle [node_draining]
              warning: record i2: still draining [stuck]
        "#]],
    );
}

#[test]
fn b54_ray_reconciler_stopped_ray() {
    check(
        "
        pool a CPU=1
        inst i1 a allocated
        node n1 a cloud=c-i1 dead
        inst i2 a draining dead
        inst i3 a terminating
        node n3 a cloud=c-i3 dead
        inst i4 a running dead
        inst i5 a drain_requested dead
        ",
        expect![[r#"
              i2: draining -> drained for idle [node_dead]
              i4: running -> drained for node_dead [node_dead]
              i5: drain_requested -> drained for idle [node_dead]
              i1: allocated -> drained for node_dead [node_dead]
              i1: drained -> terminating for node_dead [machine_left_over]
              i2: drained -> terminating for idle [machine_left_over]
              i4: drained -> terminating for node_dead [machine_left_over]
              i5: drained -> terminating for idle [machine_left_over]
        "#]],
    );
}

#[test]
fn b55_reconcile_ray_installer_failures() {
    check(
        "
        policy install
        pool a CPU=1
        inst i1 a installing
        report i1 failed=permanent
        ",
        expect![[r#"
              i1: installing -> install_failed for install_failed [install_failed]
              i1: install_failed -> terminating for install_failed [machine_left_over]
        "#]],
    );
}

#[test]
fn b56_draining_ray_node_also_terminated() {
    check(
        "
        pool a CPU=1
        inst i1 a running dead unlisted
        inst i2 a draining unlisted
        inst i3 a drain_requested draining unlisted
        ",
        expect![[r#"
              i1: running -> terminated for vanished [machine_vanished]
              i2: draining -> terminated for idle [removed_idle]
              i3: drain_requested -> terminated for idle [removed_idle]
        "#]],
    );
}
