//! Lines 14 to 18: standing requests, older launch configurations, idle nodes.

use super::check;
use expect_test::expect;

// Ray launches all of a constraint or nothing; ours launches what can be had of it, and says what cannot.
#[test]
fn b14_resource_constrains() {
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 min=2
        floor 2 CPU=1
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
        pool a CPU=1 min=2
        pool g GPU=1
        floor 2 CPU=1 + 1 GPU=1
        ",
        expect![[r#"
              new1: new queued in a [launch_min]
              new2: new queued in a [launch_min]
              new3: new queued in g [launch_floor]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
              new3: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1 min=1
        pool g GPU=1
        floor 2 CPU=1 + 1 TPU=1
        ",
        expect![[r#"
            new1: new queued in a [launch_min]
            new1: queued -> requested [launch_turn]
            warning: standing request: 2 × (CPU 1) + 1 × (TPU 1): a cannot hold the parts as the strategy wants; g is too small (CPU: asks 1, a machine has 0); head is too small (CPU: asks 1, a machine has 0) [infeasible]
            unplaced floor: 1 x standing request: 2 × (CPU 1) + 1 × (TPU 1)
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 min=1
        pool g GPU=1
        floor 2 CPU=1 + 1 TPU=1
        ",
        expect![[r#"
              new1: new queued in a [launch_min]
              new2: new queued in a [launch_floor]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
              warning: standing request: 2 × (CPU 1) + 1 × (TPU 1): a is too small (TPU: asks 1, a machine has 0); g is too small (TPU: asks 1, a machine has 0); head is the head's and gives no workers [infeasible]
              unplaced floor: 1 x standing request: 2 × (CPU 1) + 1 × (TPU 1)
        "#]],
    );
}

#[test]
fn b15_outdated_nodes() {
    check(
        "
        policy concurrent=100 speed=10000
        policy replace_outdated
        pool a CPU=1 min=2 hash=h2
        inst i1 a running hash=h1 idle=1
        inst i2 a running hash=h2 idle=1
        ",
        expect![[r#"
              i1: running -> drain_requested for outdated [removed_outdated]
              new3: new queued in a [launch_min]
              new3: queued -> requested [launch_turn]
              i2: running stays, idle, but not for long enough
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        policy replace_outdated
        pool a CPU=1 min=2 hash=h2
        inst i1 a running hash=h1 idle=1
        inst i2 a running hash=h2 idle=1
        ",
        expect![[r#"
              i1: running -> drain_requested for outdated [removed_outdated]
              new3: new queued in a [launch_min]
              new3: queued -> requested [launch_turn]
              i2: running stays, idle, but not for long enough
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        policy
        pool a CPU=1 min=2 hash=h2
        inst i1 a running hash=h1 idle=1
        inst i2 a running hash=h2 idle=1
        ",
        expect![[r#"
              i1: running stays, idle, but not for long enough
              i2: running stays, idle, but not for long enough
        "#]],
    );
}

// Strictly longer than the timeout.
#[test]
fn b16_idle_termination() {
    check(
        "
        policy idle=4
        pool a CPU=1
        head idle=900
        inst i1 a running idle=5
        ",
        expect![[r#"
              i1: running -> drain_requested for idle [removed_idle]
        "#]],
    );
    check(
        "
        policy idle=5
        pool a CPU=1
        head idle=900
        inst i1 a running idle=5
        ",
        expect![[r#"
              i1: running stays, idle, but not for long enough
        "#]],
    );
    check(
        "
        policy idle=6
        pool a CPU=1
        head idle=900
        inst i1 a running idle=5
        ",
        expect![[r#"
              i1: running stays, idle, but not for long enough
        "#]],
    );
    check(
        "
        policy idle=4
        pool a CPU=1
        inst i1 a running idle=5
        floor 1 CPU=1
        ",
        expect![[r#"
              i1: running stays, a standing request has its place here
        "#]],
    );
    check(
        "
        policy idle=4
        pool a CPU=1
        inst i1 a running idle=5
        task 1 CPU=1
        ",
        expect![[r#"
              i1: running stays, waiting demand has its place here
        "#]],
    );
    check(
        "
        policy idle=4
        pool a CPU=1
        inst i1 a running idle=5
        gang g STRICT_PACK 1 CPU=1
        ",
        expect![[r#"
              i1: running stays, waiting demand has its place here
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        policy idle=4
        pool a CPU=1
        inst i1 a running idle=5
        ",
        expect![[r#"
              i1: running -> drain_requested for idle [removed_idle]
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        policy idle=4
        pool a CPU=1
        inst i1 a running idle=5
        floor 1 CPU=1
        ",
        expect![[r#"
              i1: running stays, a standing request has its place here
        "#]],
    );
    check(
        "
        policy never_idle
        pool a CPU=1
        inst i1 a running idle=5000000
        ",
        expect![[r#"
              i1: running stays, no idle timeout is set
        "#]],
    );
}

#[test]
fn b17_idle_termination_with_min_worker() {
    check(
        "
        pool a CPU=1 min=0
        inst i1 a running idle=301
        ",
        expect![[r#"
              i1: running -> drain_requested for idle [removed_idle]
        "#]],
    );
    check(
        "
        pool a CPU=1 min=1
        inst i1 a running idle=301
        ",
        expect![[r#"
              i1: running stays, its pool would fall below its minimum
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1 min=1
        inst i1 a running idle=301
        ",
        expect![[r#"
              i1: running stays, its pool would fall below its minimum
        "#]],
    );
    check(
        "
        pool a CPU=1 min=1
        inst i1 a running idle=301
        inst i2 a running idle=400
        inst i3 a running
        ",
        expect![[r#"
              i2: running -> drain_requested for idle [removed_idle]
              i1: running -> drain_requested for idle [removed_idle]
              i3: running stays, something runs on it
        "#]],
    );
}

#[test]
fn b18_idle_termination_with_node_type_idle_timeout() {
    check(
        "
        policy idle=300
        pool a CPU=1 idle=4
        pool b CPU=1
        inst i1 a running idle=5
        inst i2 b running idle=5
        ",
        expect![[r#"
              i1: running -> drain_requested for idle [removed_idle]
              i2: running stays, idle, but not for long enough
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        policy idle=300
        pool a CPU=1 idle=4
        pool b CPU=1
        inst i1 a running idle=5
        inst i2 b running idle=5
        ",
        expect![[r#"
              i1: running -> drain_requested for idle [removed_idle]
              i2: running stays, idle, but not for long enough
        "#]],
    );
}
