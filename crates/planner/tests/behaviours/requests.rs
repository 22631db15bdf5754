//! Lines 8 to 13: single requests.

use super::check;
use expect_test::expect;

#[test]
fn b8_single_resources() {
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1
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
        task 3 CPU=1
        ",
        expect![[r#"
              new1: new queued in a [launch_demand]
              new2: new queued in a [launch_demand]
              new3: new queued in a [launch_demand]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
              new3: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        pool a CPU=1
        inst i1 a running idle=1
        task 1 CPU=1
        ",
        expect![[r#"
              i1: running stays, waiting demand has its place here
        "#]],
    );
    check(
        "
        pool a CPU=1
        inst i1 a running free:CPU=0.9
        task 1 CPU=1
        ",
        expect![[r#"
              new2: new queued in a [launch_demand]
              new2: queued -> requested [launch_turn]
              i1: running stays, something runs on it
        "#]],
    );
    check(
        "
        pool a CPU=1
        inst i1 a requested
        task 1 CPU=1
        ",
        expect![[r#"
              i1: requested stays, waiting demand has its place here
        "#]],
    );
}

// The head is a node as well.
#[test]
fn b9_implicit_resources() {
    check(
        "
        pool a CPU=1
        task 2 node:__internal_implicit_resource_x=1
        ",
        expect![[r#"
              new1: new queued in a [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        pool a CPU=1
        inst i1 a running free:CPU=0
        task 2 node:__internal_implicit_resource_x=1
        ",
        expect![[r#"
              i1: running stays, waiting demand has its place here
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1
        task 2 node:__internal_implicit_resource_x=1
        ",
        expect![[r#"
              new1: new queued in a [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
}

#[test]
fn b10_max_worker_num_enforce_with_resource_requests() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        policy max=2
        pool a CPU=1
        inst i1 a running free:CPU=0
        task 3 CPU=1
        ",
        expect![[r#"
            new2: new queued in a [launch_demand]
            new2: queued -> requested [launch_turn]
            warning: CPU 1: a would exceed the maximum of 3 machines in all; head is too small (CPU: asks 1, a machine has 0) [infeasible]
            unplaced demand: 2 x CPU 1
            i1: running stays, something runs on it
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        policy max=2
        pool a CPU=1
        inst i1 a running free:CPU=0
        task 3 CPU=1
        ",
        expect![[r#"
              new2: new queued in a [launch_demand]
              new2: queued -> requested [launch_turn]
              warning: CPU 1: a would exceed the maximum of 3 machines in all; head is the head's and gives no workers [infeasible]
              unplaced demand: 2 x CPU 1
              i1: running stays, something runs on it
        "#]],
    );
}

#[test]
fn b11_multi_requests_fittable() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1 GPU=1 max=1
        pool b CPU=3 max=1
        task 3 CPU=1
        task 1 CPU=1 GPU=1
        ",
        expect![[r#"
              new1: new queued in a [launch_demand]
              new2: new queued in b [launch_demand]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 GPU=1 max=1
        pool b CPU=3 max=1
        task 3 CPU=1
        task 1 CPU=1 GPU=1
        ",
        expect![[r#"
              new1: new queued in a [launch_demand]
              new2: new queued in b [launch_demand]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 GPU=1 max=1
        task 1 CPU=0.5 GPU=0.5
        task 1 CPU=0.5 GPU=0.5
        ",
        expect![[r#"
              new1: new queued in a [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 GPU=1 max=0
        inst i1 a running free:CPU=0.9 free:GPU=1
        task 1 CPU=1
        task 1 GPU=1
        ",
        expect![[r#"
              i1: running -> drain_requested for max_per_pool [removed_max_per_pool]
              warning: CPU 1: a is at its maximum of 0; head is the head's and gives no workers [infeasible]
              warning: GPU 1: a is at its maximum of 0; head is the head's and gives no workers [infeasible]
              unplaced demand: 1 x CPU 1
              unplaced demand: 1 x GPU 1
        "#]],
    );
}

#[test]
fn b12_multi_node_types_score() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool big CPU=10
        pool gpu CPU=5 GPU=1
        pool mid CPU=5
        task 1 CPU=1
        ",
        expect![[r#"
              new1: new queued in mid [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool big CPU=10
        pool gpu CPU=5 GPU=1
        pool mid CPU=5
        task 1 CPU=2
        ",
        expect![[r#"
              new1: new queued in mid [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
}

// Where GPUs are not spared the default still takes the lighter of the two.
#[test]
fn b13_multi_node_types_score_with_gpu() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool gpu CPU=2 GPU=1
        pool xxx CPU=2 XXX=2
        task 1 CPU=2
        ",
        expect![[r#"
              new1: new queued in xxx [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool gpu CPU=2 GPU=1
        pool xxx CPU=2 XXX=2
        task 1 CPU=2
        ",
        expect![[r#"
              new1: new queued in xxx [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        policy spend_gpu
        pool gpu CPU=2 GPU=1
        pool xxx CPU=2 XXX=2
        task 1 CPU=2
        ",
        expect![[r#"
              new1: new queued in gpu [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        policy spend_gpu
        pool gpu CPU=2 GPU=1
        pool xxx CPU=2 XXX=2
        task 1 CPU=2
        ",
        expect![[r#"
              new1: new queued in xxx [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
}
