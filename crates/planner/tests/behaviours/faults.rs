//! A fault costs the thing that it is about, is said once, and everything else goes on in the same plan.

use super::{acts, check, rounds};
use expect_test::expect;

#[test]
fn a_type_removed_while_nodes_run_costs_that_type_only() {
    check(
        "
        pool a CPU=1
        inst g1 gone running CPU=1
        inst g2 gone running idle=900 CPU=1
        inst g3 gone queued
        inst i1 a running idle=900
        task 3 CPU=1
        task 1 CPU=2
        ",
        expect![[r#"
              new5: new queued in a [launch_demand]
              g3: queued -> terminated for outdated [removed_outdated]
              new5: queued -> requested [launch_turn]
              warning: CPU 2: a is too small (CPU: asks 2, a machine has 1); head is the head's and gives no workers [infeasible]
              warning: g1: g1 belongs to a pool that the configuration no longer has [bad_record]
              warning: g2: g2 belongs to a pool that the configuration no longer has [bad_record]
              unplaced demand: 1 x CPU 2
              g1: running stays, something runs on it
              g2: running stays, waiting demand has its place here
              i1: running stays, waiting demand has its place here
        "#]],
    );
}

// Its provider is one of two, and both were seen.
#[test]
fn a_removed_type_that_nobody_lists_any_more_ends() {
    check(
        "
        pool a CPU=1 provider=p
        pool b CPU=1 provider=q
        inst g1 gone terminating unlisted
        ",
        expect![[r#"
              g1: terminating -> terminated for idle [removed_idle]
        "#]],
    );
    check(
        "
        pool a CPU=1 provider=p
        pool b CPU=1 provider=q
        inst g1 gone terminating unlisted
        listing q failed=transient
        ",
        expect![[r#"
              error: provider q: provider q: no (transient) [held_provider_failure]
        "#]],
    );
}

// Nobody lists the machine, and its node is up: it is not gone.
#[test]
fn a_type_removed_with_its_provider_keeps_its_nodes() {
    check(
        "
        pool a CPU=1
        inst g1 gone running unlisted CPU=1
        task 1 CPU=1
        ",
        expect![[r#"
              new2: new queued in a [launch_demand]
              new2: queued -> requested [launch_turn]
              warning: g1: g1 belongs to a pool that the configuration no longer has [bad_record]
              g1: running stays, something runs on it
        "#]],
    );
}

#[test]
fn a_node_with_more_free_than_total_is_taken_as_all_free() {
    check(
        "
        pool a CPU=2
        inst i1 a running CPU=2 free:CPU=3
        inst i2 a running free:CPU=0
        task 3 CPU=1
        ",
        expect![[r#"
            warning: i1: i1 reports more free than there is; taken as all free [bad_record]
            i1: running stays, waiting demand has its place here
            i2: running stays, something runs on it
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=2
        inst i1 a running CPU=2 free:CPU=3
        inst i2 a running free:CPU=0
        task 3 CPU=1
        ",
        expect![[r#"
              i1: running stays, something runs on it
              i2: running stays, something runs on it
        "#]],
    );
}

#[test]
fn an_unknown_status_costs_that_node_only() {
    check(
        "
        pool a CPU=1
        inst i1 a running unknown=9
        inst i2 a running idle=900
        task 1 CPU=2
        ",
        expect![[r#"
              i2: running -> drain_requested for idle [removed_idle]
              warning: node n-i1: node n-i1 has the unknown status 9 [unknown_node_status]
              warning: CPU 2: a is too small (CPU: asks 2, a machine has 1); head is the head's and gives no workers [infeasible]
              unplaced demand: 1 x CPU 2
              i1: running stays, protected, or not ours to judge
        "#]],
    );
}

#[test]
fn a_record_without_a_node_costs_that_record_only() {
    check(
        "
        pool a CPU=1
        inst i1 a running lost
        inst i2 a running idle=900
        task 1 CPU=1
        ",
        expect![[r#"
              warning: i1: i1 is recorded as running, and the workload has no such node [bad_record]
              i1: running stays, protected, or not ours to judge
              i2: running stays, waiting demand has its place here
        "#]],
    );
}

#[test]
fn a_provider_that_cannot_be_listed_holds_its_pools_only() {
    check(
        "
        listing q failed=denied
        pool a CPU=1 max=2
        pool b CPU=1 provider=q min=1
        inst i1 a running idle=900
        inst i2 b running idle=900
        inst i3 b requested age=5000
        inst i4 b queued for=demand
        inst i5 b running dead
        inst i6 b terminating age=5000
        task 2 CPU=1
        task 1 CPU=1
        ",
        expect![[r#"
              i5: running -> drained for node_dead [node_dead]
              i5: drained -> terminating for node_dead [machine_left_over]
              error: provider q: provider q: no (denied) [held_provider_failure]
              warning: record i4: still queued [stuck]
              i1: running stays, waiting demand has its place here
              i2: running stays, waiting demand has its place here
              i3: requested stays, waiting demand has its place here
              i4: queued waits: its provider cannot be listed [held_provider]
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        listing q failed=denied
        pool a CPU=1 max=2
        pool b CPU=1 provider=q min=1 max=1
        inst i1 a running idle=900
        inst i2 b running idle=900
        inst i3 b running idle=900
        ",
        expect![[r#"
              i1: running -> drain_requested for idle [removed_idle]
              error: provider q: provider q: no (denied) [held_provider_failure]
              i3: running stays, its pool would fall below its minimum
        "#]],
    );
}

#[test]
fn a_provider_that_refuses_costs_its_pools_only() {
    rounds(
        "
        pool a CPU=1 provider=q
        pool b CPU=1
        inst i1 a requested age=3
        inst i2 a queued age=3
        report i1 failed=quota
        task 2 CPU=1
        ",
        2,
        expect![[r#"
            round 1
              i1: requested -> allocation_failed [launch_refused]
              i2: queued -> terminated for pool_refused [removed_pool_refused]
              new3: new queued in b [launch_demand]
              new4: new queued in b [launch_demand]
              new3: queued -> requested [launch_turn]
              pool a: backs off for 30 s
              new4: queued waits: its pool grows by at most 1 at a time [held_speed]
            round 2
              new3: requested -> allocated [machine_appeared]
              new4: queued -> requested [launch_turn]
              pool a: backs off for 25 s
        "#]],
    );
}

// They were asked for before it.
#[test]
fn a_refusal_is_not_forgotten_when_earlier_launches_come() {
    check(
        "
        pool a CPU=1
        memory refusal=a:-2:1
        inst i1 a requested age=9
        inst i2 a allocated age=9
        machine c1 a for=i1.1
        node n2 a cloud=c-i2
        task 3 CPU=1
        ",
        expect![[r#"
              i1: requested -> allocated [machine_appeared]
              i2: allocated -> running [node_joined]
              warning: CPU 1: a was refused by its provider a moment ago; head is the head's and gives no workers [infeasible]
              pool a: backs off for 28 s
              unplaced demand: 2 x CPU 1
        "#]],
    );
    check(
        "
        pool a CPU=1
        memory refusal=a:-40:1
        inst i1 a requested age=9
        machine c1 a for=i1.1
        task 2 CPU=1
        ",
        expect![[r#"
              i1: requested -> allocated [machine_appeared]
              new2: new queued in a [launch_demand]
              new2: queued -> requested [launch_turn]
        "#]],
    );
}

// A burst of refusals is one.
#[test]
fn a_second_refusal_doubles_the_back_off() {
    check(
        "
        pool a CPU=1
        memory refusal=a:-31:1
        inst i1 a requested age=1
        report i1 failed=quota
        task 1 CPU=1
        ",
        expect![[r#"
              i1: requested -> allocation_failed [launch_refused]
              warning: CPU 1: a was refused by its provider a moment ago; head is the head's and gives no workers [infeasible]
              pool a: backs off for 1 min
              unplaced demand: 1 x CPU 1
        "#]],
    );
    check(
        "
        pool a CPU=1
        memory refusal=a:-29:1
        inst i1 a requested age=1
        report i1 failed=quota
        task 1 CPU=1
        ",
        expect![[r#"
              i1: requested -> allocation_failed [launch_refused]
              warning: CPU 1: a was refused by its provider a moment ago; head is the head's and gives no workers [infeasible]
              pool a: backs off for 1 s
              unplaced demand: 1 x CPU 1
        "#]],
    );
}

// What was seen is still taken in.
#[test]
fn a_missing_head_holds_launches_and_removals() {
    check(
        "
        no head
        pool a CPU=1 min=3
        inst i1 a running idle=900
        inst i2 a requested
        inst i3 a running dead
        machine c1 a for=i2.1
        task 5 CPU=1
        ",
        expect![[r#"
              i2: requested -> allocated [machine_appeared]
              i3: running -> drained for node_dead [node_dead]
              i3: drained -> terminating for node_dead [machine_left_over]
              warning: workload: waits: the workload has no head that is up [held_no_head]
              hold: the workload has no head that is up
              i1: running stays, waiting demand has its place here
        "#]],
    );
}

#[test]
fn a_workload_that_was_not_seen_is_held() {
    check(
        "
        unobserved denied
        pool a CPU=1 min=3
        inst i1 a running
        inst i2 a requested
        machine c1 a for=i2.1
        ",
        expect![[r#"
              error: workload: waits: the workload cannot be observed: no (denied) [held_unobserved]
              hold: the workload cannot be observed: no (denied)
        "#]],
    );
}

// First what does not exist yet, then what is idle.
#[test]
fn a_busy_node_goes_last_and_by_a_drain() {
    check(
        "
        pool a CPU=1 max=1
        inst i1 a running age=500
        inst i2 a running idle=1 age=400
        inst i3 a running age=300
        ",
        expect![[r#"
              i2: running -> drain_requested for max_per_pool [removed_max_per_pool]
              i1: running -> drain_requested for max_per_pool [removed_max_per_pool]
              i3: running stays, something runs on it
        "#]],
    );
    check(
        "
        policy idle=0
        pool a CPU=1
        inst i1 a running idle=0
        ",
        expect![[r#"
              i1: running stays, idle, but not for long enough
        "#]],
    );
    acts(
        "
        pool a CPU=1 max=1
        inst i1 a running age=500
        inst i2 a running age=400
        ",
        expect![[r#"
              i1: drain n-i1 for max_per_pool within 10 min
        "#]],
    );
    acts(
        "
        pool a CPU=1 hash=h2
        policy replace_outdated
        inst i1 a running
        ",
        expect![[r#"
              i1: drain n-i1 for outdated within 10 min
        "#]],
    );
}

// One machine that ends before its node is up is an accident; a second one in a row is the pool's fault.
#[test]
fn a_pool_whose_machines_end_before_their_node_is_up_rests() {
    check(
        "
        pool a CPU=1
        pool b CPU=2
        inst i1 a allocated unlisted
        task 1 CPU=1
        ",
        expect![[r#"
            i1: allocated -> terminated for vanished [machine_vanished]
            new2: new queued in a [launch_demand]
            new2: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        pool a CPU=1
        pool b CPU=2
        inst i1 a allocated unlisted
        inst i2 a allocated unlisted
        task 1 CPU=1
        ",
        expect![[r#"
            i1: allocated -> terminated for vanished [machine_vanished]
            i2: allocated -> terminated for vanished [machine_vanished]
            new3: new queued in b [launch_demand]
            new3: queued -> requested [launch_turn]
            warning: pool a: its machines end before or just after their node is up; it rests [pool_rests]
            pool a: backs off for 30 s
        "#]],
    );
}
