//! Lines 27 to 32: labels, fallbacks, and pools that failed.

use super::check;
use expect_test::expect;

#[test]
fn b27_schedule_node_with_matching_labels() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1 label:zone=x
        inst i1 a running idle=1
        task 1 CPU=1 in:zone=x
        ",
        expect![[r#"
              i1: running stays, waiting demand has its place here
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 label:zone=x
        inst i1 a running idle=1
        task 1 CPU=1 in:zone=x
        ",
        expect![[r#"
              i1: running stays, waiting demand has its place here
        "#]],
    );
}

#[test]
fn b28_scale_up_node_to_satisfy_labels() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1 label:zone=x
        pool b CPU=1 label:zone=y
        task 1 CPU=1 in:zone=y
        ",
        expect![[r#"
              new1: new queued in b [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 label:zone=x
        pool b CPU=1 label:zone=y
        task 1 CPU=1 in:zone=y
        ",
        expect![[r#"
              new1: new queued in b [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
}

#[test]
fn b29_label_selector_fallback_priority() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1 label:zone=x max=1
        pool b CPU=1 label:zone=y
        task 1 CPU=1 in:zone=x or in:zone=y
        ",
        expect![[r#"
              new1: new queued in a [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1 label:zone=x max=0
        pool b CPU=1 label:zone=y
        task 1 CPU=1 in:zone=x or in:zone=y
        ",
        expect![[r#"
              new1: new queued in b [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 label:zone=x max=1
        pool b CPU=1 label:zone=y
        task 1 CPU=1 in:zone=x or in:zone=y
        ",
        expect![[r#"
              new1: new queued in a [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 label:zone=x max=0
        pool b CPU=1 label:zone=y
        task 1 CPU=1 in:zone=x or in:zone=y
        ",
        expect![[r#"
              new1: new queued in b [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
}

#[test]
fn b30_pg_with_bundle_infeasible_label_selectors() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1 label:zone=x
        pool b CPU=1 label:zone=y
        gang g STRICT_PACK 1 CPU=1 in:zone=x + 1 CPU=1 in:zone=y
        ",
        expect![[r#"
              new1: new queued in a [launch_gang]
              new2: new queued in b [launch_gang]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1 label:zone=x
        pool b CPU=1 label:zone=y
        gang g STRICT_PACK 1 CPU=1 in:zone=x + 1 CPU=1 in:zone=x
        ",
        expect![[r#"
            warning: STRICT_PACK g: 1 × (CPU 1 where zone in (x)) + 1 × (CPU 1 where zone in (x)): a cannot hold the parts as the strategy wants; b has none of the labels; head is too small (CPU: asks 1, a machine has 0) [infeasible]
            unplaced gang: 1 x STRICT_PACK g: 1 × (CPU 1 where zone in (x)) + 1 × (CPU 1 where zone in (x))
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 label:zone=x
        pool b CPU=1 label:zone=y
        gang g STRICT_PACK 1 CPU=1 in:zone=x + 1 CPU=1 in:zone=y
        ",
        expect![[r#"
              new1: new queued in a [launch_gang]
              new2: new queued in b [launch_gang]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 label:zone=x
        pool b CPU=1 label:zone=y
        gang g STRICT_PACK 1 CPU=1 in:zone=x + 1 CPU=1 in:zone=x
        ",
        expect![[r#"
              warning: STRICT_PACK g: 1 × (CPU 1 where zone in (x)) + 1 × (CPU 1 where zone in (x)): a is too small (CPU: asks 2, a machine has 1); b is too small (CPU: asks 2, a machine has 1); head is the head's and gives no workers [infeasible]
              unplaced gang: 1 x STRICT_PACK g: 1 × (CPU 1 where zone in (x)) + 1 × (CPU 1 where zone in (x))
        "#]],
    );
}

// Not in Ray 2.60.0: it tries the first set of bundles only.
#[test]
fn b31_placement_group_fallback_strategy_sequential_evaluation() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1
        gang g STRICT_PACK 1 GPU=1 fallback 1 CPU=8 fallback 1 CPU=1
        ",
        expect![[r#"
              warning: STRICT_PACK g: 1 × (GPU 1): a is too small (GPU: asks 1, a machine has 0); head is too small (GPU: asks 1, a machine has 0) [infeasible]
              unplaced gang: 1 x STRICT_PACK g: 1 × (GPU 1)
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1
        gang g STRICT_PACK 1 GPU=1 fallback 1 CPU=8 fallback 1 CPU=1
        ",
        expect![[r#"
              new1: new queued in a [launch_gang]
              new1: queued -> requested [launch_turn]
        "#]],
    );
}

#[test]
fn b32_get_nodes_with_resource_availabilities() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1
        pool b CPU=1
        memory timed_out=a:-700
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
        pool a CPU=1
        pool b CPU=2
        memory timed_out=a:-700
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
        pool b CPU=1
        memory timed_out=a:-700
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
        pool b CPU=2
        memory timed_out=a:-700
        task 1 CPU=1
        ",
        expect![[r#"
              new1: new queued in a [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
}
