//! Lines 38 to 44: which pool is taken when several could do.

use super::check;
use expect_test::expect;

// Nothing for ten seconds, then in step with time, then as any other pool.
#[test]
fn b38_recovery_scoring() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1 priority=1
        pool b CPU=1
        memory timed_out=a:-9 timed_out=b:-20
        task 1 CPU=1
        ",
        expect![[r#"
              new1: new queued in b [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1 priority=1
        pool b CPU=1
        memory timed_out=a:-9 timed_out=b:-9
        task 1 CPU=1
        ",
        expect![[r#"
              new1: new queued in a [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1 priority=1
        pool b CPU=1
        memory timed_out=a:-20 timed_out=b:-30
        task 1 CPU=1
        ",
        expect![[r#"
              new1: new queued in b [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1 priority=1
        pool b CPU=1
        memory timed_out=a:-601 timed_out=b:-602
        task 1 CPU=1
        ",
        expect![[r#"
              new1: new queued in a [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 priority=1
        pool b CPU=1
        memory timed_out=a:-9 timed_out=b:-20
        task 1 CPU=1
        ",
        expect![[r#"
              new1: new queued in b [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 priority=1
        pool b CPU=1
        memory timed_out=a:-9 timed_out=b:-9
        task 1 CPU=1
        ",
        expect![[r#"
              new1: new queued in a [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 priority=1
        pool b CPU=1
        memory timed_out=a:-20 timed_out=b:-30
        task 1 CPU=1
        ",
        expect![[r#"
              new1: new queued in b [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 priority=1
        pool b CPU=1
        memory timed_out=a:-601 timed_out=b:-602
        task 1 CPU=1
        ",
        expect![[r#"
              new1: new queued in a [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
}

#[test]
fn b39_priority_tie_breaking() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1
        pool b CPU=1 priority=1
        task 1 CPU=1
        ",
        expect![[r#"
              new1: new queued in b [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1
        pool b CPU=1 priority=1
        task 1 CPU=1
        ",
        expect![[r#"
              new1: new queued in b [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
}

#[test]
fn b41_availability_over_priority() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1
        pool b CPU=1 priority=1
        memory timed_out=b:-60
        task 1 CPU=1
        ",
        expect![[r#"
              new1: new queued in a [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1
        pool b CPU=1 priority=1
        memory timed_out=b:-60
        task 1 CPU=1
        ",
        expect![[r#"
              new1: new queued in a [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
}

#[test]
fn b42_failure_recency_tie_breaking() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1
        pool b CPU=1
        memory timed_out=a:-700 timed_out=b:-800
        task 1 CPU=1
        ",
        expect![[r#"
              new1: new queued in b [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1
        pool b CPU=1
        memory timed_out=a:-700 timed_out=b:-800
        task 1 CPU=1
        ",
        expect![[r#"
              new1: new queued in b [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
}

#[test]
fn b43_recovery_integration() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        timeouts allocate=50
        pool a CPU=1 priority=9
        pool b CPU=1
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
        policy concurrent=100 speed=10000
        timeouts allocate=50
        pool a CPU=1 priority=9
        pool b CPU=1
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
}

#[test]
fn b44_utilization_over_priority() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=4 priority=9
        pool b CPU=1
        task 1 CPU=1
        ",
        expect![[r#"
              new1: new queued in b [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=4 priority=9
        pool b CPU=1
        task 1 CPU=1
        ",
        expect![[r#"
              new1: new queued in b [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
}
