//! Lines 57, 70 and 89 to 98: what is let through, asked for, and told.

use super::{acts, check, launched};
use expect_test::expect;
use std::fmt::Write;

/// Ray lets `max(1, ceil(speed × max(running, 1)))` of a pool go in each round. Here those that were let go and
/// have not come yet are among them, so that planning twice launches no more than planning once.
#[test]
fn b57_max_concurrent_launches() {
    for speed in [0, 10, 50, 100, 200, 1_000, 100_000] {
        for (requested, running, limit) in [(0, 0, 1), (1, 0, 2), (3, 5, 10), (10, 20, 10), (0, 100, 1_000)] {
            let mut text = format!("policy speed={speed} concurrent={limit}\npool a CPU=1 max=5000\n");
            text += "inst al1 a allocated\ninst al2 a allocated\n";
            (0..running).for_each(|n| writeln!(text, "inst u{n} a running").expect("a string"));
            (0..requested).for_each(|n| writeln!(text, "inst r{n} a requested").expect("a string"));
            (0..1_000).for_each(|n| writeln!(text, "inst q{n} a queued").expect("a string"));
            let by_speed = usize::max(1, (speed * usize::max(running, 1)).div_ceil(100));
            let expected = usize::min(by_speed.saturating_sub(requested), limit - requested.min(limit));
            assert_eq!(launched(&text), expected, "{speed} % of {running}, {requested} of {limit}");
        }
    }
}

/// Capacity that somebody asked for by number is not grown step by step; the number of launches at once still is.
#[test]
fn b57_standing_capacity_is_not_held_by_the_speed() {
    let text = "policy concurrent=4\npool a CPU=1 max=100\n";
    let queued = |cause| (0..9).map(|n| format!("inst q{n} a queued for={cause}\n")).collect::<String>();
    let all = ["demand", "gang", "floor", "min"].map(|cause| launched(&format!("{text}{}", queued(cause))));
    assert_eq!(all, [1, 1, 4, 4]);
}

// What the workload is told is the records as the report lists them: pending with its machine, requested, refused.
#[test]
fn b70_autoscaler_state() {
    check(
        "
        policy concurrent=2
        pool a CPU=1
        inst i1 a allocated
        inst i2 a requested
        inst i3 a queued attempt=2
        inst i4 a queued
        inst i5 a allocation_failed
        task 4 CPU=1
        ",
        expect![[r#"
              warning: record i3: still queued [stuck]
              warning: record i4: still queued [stuck]
              i1: allocated stays, waiting demand has its place here
              i2: requested stays, waiting demand has its place here
              i3: queued waits: its pool grows by at most 1 at a time [held_speed]
              i4: queued waits: its pool grows by at most 1 at a time [held_speed]
        "#]],
    );
}

#[test]
fn b89_ray_stopper_no_op() {
    acts(
        "
        pool a CPU=1
        inst i1 a requested
        inst i2 a running
        ",
        expect![[r#"
              i1: launch with token i1.1, attempt 1
        "#]],
    );
}

// For idleness the workload judges by itself whether the node may go, so there is no deadline.
#[test]
fn b90_ray_stopper_idle() {
    acts(
        "
        pool a CPU=1
        inst i1 a running idle=301
        inst i2 a drain_requested age=1 idle=301
        ",
        expect![[r#"
              i1: drain n-i1 for idle when it likes
              i2: drain n-i2 for idle when it likes
        "#]],
    );
    check(
        "
        look at=-2
        pool a CPU=1
        inst i1 a drain_requested age=1 idle=301
        inst i2 a drain_requested age=1 idle=301
        report i1 rejected
        report i2 failed=transient
        ",
        expect![[r#"
              i1: drain_requested -> running [drain_rejected]
              i2: drain_requested -> running [drain_failed]
        "#]],
    );
}

// For a bound the work has a while to leave.
#[test]
fn b91_ray_stopper_preemption() {
    acts(
        "
        pool a CPU=1 max=0
        inst i1 a running
        ",
        expect![[r#"
              i1: drain n-i1 for max_per_pool within 10 min
        "#]],
    );
    check(
        "
        look at=-2
        pool a CPU=1 max=0
        inst i1 a drain_requested age=1 cause=max_per_pool
        report i1 rejected
        ",
        expect![[r#"
              i1: drain_requested -> running [drain_rejected]
        "#]],
    );
}

#[test]
fn b92_b95_no_launch_and_no_termination_of_what_runs() {
    acts(
        "
        pool a CPU=1
        inst i1 a running
        inst i2 a allocated
        inst i3 a draining
        inst i4 a terminated unlisted
        ",
        expect![[r#"
              nothing
        "#]],
    );
}

// One call for each record, with a token that makes it safe to repeat.
#[test]
fn b93_launch_new_instances() {
    acts(
        "
        policy speed=1000
        pool a CPU=1
        pool b CPU=2
        inst i1 a requested
        inst i2 b requested attempt=3
        task 2 CPU=1
        task 1 CPU=2
        task 1 CPU=2
        ",
        expect![[r#"
              i1: launch with token i1.1, attempt 1
              i2: launch with token i2.3, attempt 3
              new3: launch with token new3.1, attempt 1
              new4: launch with token new4.1, attempt 1
        "#]],
    );
}

#[test]
fn b96_terminate_instances() {
    acts(
        "
        pool a CPU=1
        inst i1 a drained
        inst i2 a install_failed
        inst i3 a terminating
        ",
        expect![[r#"
              i1: terminate c-i1 for idle
              i2: terminate c-i2 for install_failed
              i3: terminate c-i3 for idle
        "#]],
    );
}

#[test]
fn b97_threaded_ray_installer() {
    acts(
        "
        policy install
        pool a CPU=1
        inst i1 a allocated
        inst i2 a installing
        ",
        expect![[r#"
              i1: install c-i1
              i2: install c-i2
        "#]],
    );
    check(
        "
        policy install
        pool a CPU=1
        inst i1 a installing
        inst i2 a installing
        node n-i2 a cloud=c-i2
        report i1 failed=permanent
        report i2 done
        report i1 failed=permanent epoch=1
        ",
        expect![[r#"
              i2: installing -> running [node_joined]
              i1: installing -> install_failed for install_failed [install_failed]
              i1: install_failed -> terminating for install_failed [machine_left_over]
        "#]],
    );
}

// The newest time-out scores 0 and older ones above it; a node of the pool that comes up clears it.
#[test]
fn b98_cloud_resource_monitor() {
    check(
        "
        policy ray-exact
        timeouts allocate=50
        pool a CPU=1
        pool b CPU=1
        pool c CPU=1 max=0
        memory timed_out=b:-900
        inst i1 a allocated age=51
        task 1 CPU=1
        ",
        expect![[r#"
              i1: allocated -> allocation_timed_out for never_joined [node_never_joined]
              new2: new queued in b [launch_demand]
              i1: allocation_timed_out -> terminating for never_joined [machine_left_over]
              new2: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        pool a CPU=1
        pool b CPU=1
        memory timed_out=a:-20
        inst i1 a allocated
        node n1 a cloud=c-i1
        task 1 CPU=1
        ",
        expect![[r#"
              i1: allocated -> running [node_joined]
              new2: new queued in a [launch_demand]
              new2: queued -> requested [launch_turn]
        "#]],
    );
}
