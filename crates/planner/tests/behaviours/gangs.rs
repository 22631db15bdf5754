//! Lines 19 to 23: gangs, packing, and the score.

use super::check;
use expect_test::expect;

#[test]
fn b19_gang_scheduling() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=2
        gang g STRICT_PACK 2 CPU=1
        ",
        expect![[r#"
              new1: new queued in a [launch_gang]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=2
        gang g STRICT_SPREAD 2 CPU=1
        ",
        expect![[r#"
              new1: new queued in a [launch_gang]
              new2: new queued in a [launch_gang]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=2
        gang g STRICT_PACK 2 CPU=3
        ",
        expect![[r#"
              warning: STRICT_PACK g: 2 × (CPU 3): a is too small (CPU: asks 3, a machine has 2); head is too small (CPU: asks 3, a machine has 0) [infeasible]
              unplaced gang: 1 x STRICT_PACK g: 2 × (CPU 3)
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=2
        gang g STRICT_PACK 2 CPU=1
        ",
        expect![[r#"
              new1: new queued in a [launch_gang]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=2
        gang g STRICT_SPREAD 2 CPU=1
        ",
        expect![[r#"
              new1: new queued in a [launch_gang]
              new2: new queued in a [launch_gang]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=2
        gang g STRICT_PACK 2 CPU=3
        ",
        expect![[r#"
              warning: STRICT_PACK g: 2 × (CPU 3): a is too small (CPU: asks 6, a machine has 2); head is the head's and gives no workers [infeasible]
              unplaced gang: 1 x STRICT_PACK g: 2 × (CPU 3)
        "#]],
    );
}

#[test]
fn b20_gang_scheduling_with_others() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        policy max=7
        pool t1 CPU=4 min=2 max=4
        pool t2 CPU=1 GPU=1 max=10
        inst i1 t1 running free:CPU=2
        inst i2 t1 running free:CPU=4
        floor 5 CPU=2
        gang g1 STRICT_SPREAD 2 CPU=4
        gang g2 STRICT_PACK 2 CPU=2
        gang g3 STRICT_PACK 2 CPU=9
        task 2 CPU=1
        task 1 CPU=1 GPU=1
        ",
        expect![[r#"
              new3: new queued in t1 [launch_floor]
              new4: new queued in t1 [launch_gang]
              new5: new queued in t2 [launch_demand]
              new3: queued -> requested [launch_turn]
              new4: queued -> requested [launch_turn]
              new5: queued -> requested [launch_turn]
              warning: STRICT_PACK g3: 2 × (CPU 9): t1 is too small (CPU: asks 9, a machine has 4); t2 is too small (CPU: asks 9, a machine has 1); head is too small (CPU: asks 9, a machine has 0) [infeasible]
              unplaced gang: 1 x STRICT_PACK g3: 2 × (CPU 9)
              i1: running stays, something runs on it
              i2: running stays, something runs on it
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        policy max=7
        pool t1 CPU=4 min=2 max=4
        pool t2 CPU=1 GPU=1 max=10
        inst i1 t1 running free:CPU=2
        inst i2 t1 running free:CPU=4
        floor 5 CPU=2
        gang g1 STRICT_SPREAD 2 CPU=4
        gang g2 STRICT_PACK 2 CPU=2
        gang g3 STRICT_PACK 2 CPU=9
        task 2 CPU=1
        task 1 CPU=1 GPU=1
        ",
        expect![[r#"
              new3: new queued in t1 [launch_floor]
              new4: new queued in t1 [launch_gang]
              new5: new queued in t2 [launch_demand]
              new3: queued -> requested [launch_turn]
              new4: queued -> requested [launch_turn]
              new5: queued -> requested [launch_turn]
              warning: STRICT_PACK g3: 2 × (CPU 9): t1 is too small (CPU: asks 18, a machine has 4); t2 is too small (CPU: asks 18, a machine has 1); head is the head's and gives no workers [infeasible]
              unplaced gang: 1 x STRICT_PACK g3: 2 × (CPU 9)
              i1: running stays, waiting demand has its place here
              i2: running stays, waiting demand has its place here
        "#]],
    );
}

// What does not fit together stays over, here with no pool that could give more. The head has an implicit resource, too.
#[test]
fn b21_bin_pack() {
    check(
        "
        policy concurrent=100 speed=10000
        pool a GPU=2 max=1
        inst i1 a running idle=1
        task 2 GPU=2
        ",
        expect![[r#"
              warning: GPU 2: a is at its maximum of 1; head is the head's and gives no workers [infeasible]
              unplaced demand: 1 x GPU 2
              i1: running stays, waiting demand has its place here
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a GPU=4 max=1
        inst i1 a running idle=1
        task 2 GPU=2
        ",
        expect![[r#"
              i1: running stays, waiting demand has its place here
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a GPU=2 max=1
        pool b GPU=2 max=1
        inst i1 a running idle=1
        inst i2 b running idle=1
        task 2 GPU=2
        ",
        expect![[r#"
              i1: running stays, waiting demand has its place here
              i2: running stays, waiting demand has its place here
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a GPU=3 max=1
        inst i1 a running idle=1
        gang g STRICT_SPREAD 2 GPU=1
        ",
        expect![[r#"
              warning: STRICT_SPREAD g: 2 × (GPU 1): a is at its maximum of 1; head is the head's and gives no workers [infeasible]
              unplaced gang: 1 x STRICT_SPREAD g: 2 × (GPU 1)
              i1: running stays, idle, but not for long enough
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 max=1
        inst i1 a running idle=1
        task 3 node:__internal_implicit_resource_a=0.5
        task 1 node:__internal_implicit_resource_a=0.6
        ",
        expect![[r#"
              warning: node:__internal_implicit_resource_a 0.5: a is at its maximum of 1; head is the head's and gives no workers [infeasible]
              unplaced demand: 1 x node:__internal_implicit_resource_a 0.5
              i1: running stays, waiting demand has its place here
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 max=1
        inst i1 a running idle=1
        task 2 node:__internal_implicit_resource_a=1
        task 1 node:__internal_implicit_resource_a=0.5
        ",
        expect![[r#"
              warning: node:__internal_implicit_resource_a 0.5: a is at its maximum of 1; head is the head's and gives no workers [infeasible]
              unplaced demand: 1 x node:__internal_implicit_resource_a 0.5
              i1: running stays, waiting demand has its place here
        "#]],
    );
}

// The documented example: B would leave a TPU unused, so its least utilization is 0. What the example of the tests says of one node shows in which of two is taken.
#[test]
fn b22_node_schedule_score() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a GPU=6
        pool b GPU=2 TPU=1
        task 1 GPU=2
        ",
        expect![[r#"
              new1: new queued in a [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a GPU=6
        pool b GPU=2 TPU=1
        task 1 GPU=2
        ",
        expect![[r#"
              new1: new queued in a [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=64
        pool b CPU=32
        task 32 CPU=1
        ",
        expect![[r#"
              new1: new queued in b [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=2 XXX=0
        pool b CPU=2 XXX=1
        task 1 CPU=2
        ",
        expect![[r#"
              new1: new queued in a [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
}

#[test]
fn b23_node_schedule_label_selector_score() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1 label:zone=x
        pool b CPU=1 label:zone=y
        pool c CPU=1 label:zone=z
        task 1 CPU=1 in:zone=no or in:zone=z or in:zone=y
        ",
        expect![[r#"
              new1: new queued in c [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1 label:zone=x
        pool b CPU=1 label:zone=y
        pool c CPU=1 label:zone=z
        task 1 CPU=1 in:zone=no
        ",
        expect![[r#"
              warning: CPU 1 where zone in (no): a has none of the labels; b has none of the labels; c has none of the labels; head is too small (CPU: asks 1, a machine has 0) [infeasible]
              unplaced demand: 1 x CPU 1 where zone in (no)
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 label:zone=x
        pool b CPU=1 label:zone=y
        pool c CPU=1 label:zone=z
        task 1 CPU=1 in:zone=no or in:zone=z or in:zone=y
        ",
        expect![[r#"
              new1: new queued in c [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 label:zone=x
        pool b CPU=1 label:zone=y
        pool c CPU=1 label:zone=z
        task 1 CPU=1 in:zone=no
        ",
        expect![[r#"
              warning: CPU 1 where zone in (no): a has none of the labels; b has none of the labels; c has none of the labels; head is the head's and gives no workers [infeasible]
              unplaced demand: 1 x CPU 1 where zone in (no)
        "#]],
    );
}
