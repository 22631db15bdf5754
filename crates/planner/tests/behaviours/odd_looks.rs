//! What is seen may be old, incomplete, or about things that are not ours.

use super::{check, rounds};
use expect_test::expect;

#[test]
fn an_old_listing_ends_nothing_that_is_newer() {
    check(
        "
        listing p at=-10
        pool a CPU=1
        inst i1 a allocated age=5 unlisted
        inst i2 a running age=20 unlisted
        ",
        expect![[r#"
              i2: running -> terminated for vanished [machine_vanished]
              i1: allocated stays, on its way
        "#]],
    );
}

// The workload refused the drain after it was looked at.
#[test]
fn an_old_look_drains_nothing_that_is_newer() {
    check(
        "
        look at=-2
        pool a CPU=1
        inst i1 a drain_requested age=1 idle=400
        report i1 rejected
        ",
        expect![[r#"
              i1: drain_requested -> running [drain_rejected]
        "#]],
    );
    check(
        "
        look at=-2
        timeouts node_missing=0
        pool a CPU=1
        inst i1 a running age=1 lost
        ",
        expect![[r#"
              warning: i1: i1 is recorded as running, and the workload has no such node [bad_record]
              i1: running stays, protected, or not ours to judge
        "#]],
    );
}

#[test]
fn a_lost_store_adopts_what_it_finds() {
    check(
        "
        pool a CPU=1
        machine c1 a for=lost-1.1
        machine c2 a for=lost-2.1
        node n1 a cloud=c1 idle=900
        task 1 CPU=1
        ",
        expect![[r#"
              new1: new allocated in a [machine_adopted]
              new2: new allocated in a [machine_adopted]
              new1: allocated -> running [node_joined]
        "#]],
    );
}

#[test]
fn a_machine_that_comes_late_takes_the_place_of_the_queued_launch() {
    check(
        "
        policy concurrent=0
        pool a CPU=1
        inst i1 a queued attempt=2
        machine c1 a for=i1.1
        task 1 CPU=1
        ",
        expect![[r#"
              new2: new allocated in a [machine_adopted]
              i1: queued -> terminated for pending_idle [machine_appeared_late]
        "#]],
    );
}

// The workload may take a while to notice.
#[test]
fn nodes_of_machines_that_are_going_are_no_capacity() {
    check(
        "
        pool a CPU=1
        inst i1 a terminating
        node n-i1 a cloud=c-i1 idle=400
        task 1 CPU=1
        ",
        expect![[r#"
              new2: new queued in a [launch_demand]
              new2: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        pool a CPU=1
        inst i1 a terminated unlisted
        node n-i1 a cloud=c-i1 idle=400
        task 1 CPU=1
        ",
        expect![[r#"
              new2: new queued in a [launch_demand]
              new2: queued -> requested [launch_turn]
        "#]],
    );
}

#[test]
fn a_node_of_somebody_else_counts_and_stays() {
    check(
        "
        pool a CPU=1 min=1
        node n9 a idle=900
        inst i1 a running idle=900
        ",
        expect![[r#"
              i1: running -> drain_requested for idle [removed_idle]
        "#]],
    );
    check(
        "
        policy max=1
        pool a CPU=1
        node n9 a idle=900
        node n8 - idle=900 CPU=1
        inst i1 a running
        task 3 CPU=1
        ",
        expect![[r#"
              i1: running -> drain_requested for max_total [removed_max_total]
              warning: CPU 1: a would exceed the maximum of 2 machines in all; head is the head's and gives no workers [infeasible]
              unplaced demand: 1 x CPU 1
        "#]],
    );
}

#[test]
fn without_a_head_pool_the_bound_is_all_workers() {
    check(
        "
        policy no_head_pool max=2
        no head
        pool a CPU=1
        task 3 CPU=1
        ",
        expect![[r#"
              new1: new queued in a [launch_demand]
              new2: new queued in a [launch_demand]
              new1: queued -> requested [launch_turn]
              warning: CPU 1: a would exceed the maximum of 2 machines in all; head is too small (CPU: asks 1, a machine has 0) [infeasible]
              unplaced demand: 1 x CPU 1
              new2: queued waits: its pool grows by at most 1 at a time [held_speed]
        "#]],
    );
}

#[test]
fn a_control_plane_that_was_replaced_is_said_once() {
    check(
        "
        session s2
        pool a CPU=1
        inst i1 a running
        ",
        expect![[r#"
              warning: workload: the control plane was replaced, now s2 [session_changed]
              i1: running stays, something runs on it
        "#]],
    );
}

#[test]
fn a_record_that_could_not_be_read_is_said() {
    check(
        "
        skipped node 3: no id
        pool a CPU=1
        task 1 CPU=1
        ",
        expect![[r#"
              new1: new queued in a [launch_demand]
              new1: queued -> requested [launch_turn]
              warning: node 3: no id: skipped: node 3: no id [unreadable]
        "#]],
    );
}

#[test]
fn a_node_that_drains_before_we_saw_it_up_is_followed() {
    rounds(
        "
        pool a CPU=1
        inst i1 a allocated
        node n1 a cloud=c-i1 draining
        ",
        3,
        expect![[r#"
            round 1
              i1: allocated -> running [node_joined]
              i1: running -> draining for node_draining [node_draining]
            round 2
              i1: draining -> drained for node_draining [node_dead]
              i1: drained -> terminating for node_draining [machine_left_over]
            round 3
              i1: terminating -> terminated for node_draining [removed]
        "#]],
    );
}

// The record follows the one that came first in the order of names; the other is capacity.
#[test]
fn two_nodes_on_one_machine() {
    check(
        "
        pool a CPU=1
        inst i1 a allocated
        node n1 a cloud=c-i1 idle=0
        node n2 a cloud=c-i1 idle=0
        task 2 CPU=1
        ",
        expect![[r#"
              i1: allocated -> running [node_joined]
        "#]],
    );
}

#[test]
fn final_records_are_forgotten_after_half_an_hour() {
    check(
        "
        pool a CPU=1
        inst i1 a terminated unlisted age=1800
        inst i2 a terminated unlisted age=1801
        inst i3 a allocation_failed age=1801
        ",
        expect![[r#"
              i2: forgotten
              i3: forgotten
        "#]],
    );
}

// Ids are unique within a provider.
#[test]
fn two_providers_may_use_the_same_ids() {
    check(
        "
        pool a CPU=1 provider=p
        pool b CPU=1 provider=q
        inst i1 a running cloud=1 unlisted
        inst i2 b running cloud=1
        inst i3 a allocated cloud=2
        inst i4 b allocated cloud=2
        node n3 a cloud=2
        node n4 b cloud=2
        inst i5 a drained cloud=3
        inst i6 b running cloud=3
        machine 4 a
        machine 4 b
        ",
        expect![[r#"
              i1: running -> terminated for vanished [machine_vanished]
              new7: new allocated in a [machine_adopted]
              new8: new allocated in b [machine_adopted]
              i3: allocated -> running [node_joined]
              i4: allocated -> running [node_joined]
              i5: drained -> terminating for idle [machine_left_over]
              i2: running stays, something runs on it
              i6: running stays, something runs on it
        "#]],
    );
}

// The launch was withdrawn, and its machine came all the same.
#[test]
fn a_machine_that_nobody_wants_any_more_is_adopted_and_ended() {
    rounds(
        "
        pool a CPU=1 max=0
        machine c1 a for=withdrawn.1
        ",
        3,
        expect![[r#"
            round 1
              new1: new allocated in a [machine_adopted]
              new1: allocated -> terminating for max_per_pool [removed_max_per_pool]
            round 2
              new1: terminating -> terminated for max_per_pool [removed_max_per_pool]
            round 3
              nothing
        "#]],
    );
}
