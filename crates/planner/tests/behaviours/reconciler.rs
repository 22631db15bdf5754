//! Lines 45 to 80: what is seen, against the records.

use super::{check, rounds};
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
              i2: requested -> queued [removed_max_per_pool]
              i2: queued -> terminated for max_per_pool [removed_max_per_pool]
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
