//! Lines 1 to 37: which machines should exist. `policy ray-exact` decides as Ray 2.60.0, the default as documented.

use super::check;
use expect_test::expect;

// Ray lets a node that it asked to go take demand; ours does not, since the node may be gone before the demand comes.
#[test]
fn b1_is_schedulable() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1 max=30
        inst s1 a queued for=min
        inst s2 a requested
        inst s3 a allocated
        inst s4 a installing
        inst s5 a running idle=1
        inst s6 a drain_requested idle=1
        inst s7 a draining
        inst s8 a drained
        inst s9 a terminating
        inst s10 a terminated unlisted
        inst s11 a allocation_failed
        inst s12 a allocation_timed_out
        inst s13 a install_failed
        inst s14 a termination_failed
        task 6 CPU=1
        ",
        expect![[r#"
              s8: drained -> terminating for idle [machine_left_over]
              s12: allocation_timed_out -> terminating for never_joined [machine_left_over]
              s13: install_failed -> terminating for install_failed [machine_left_over]
              s14: termination_failed -> terminating for idle [machine_left_over]
              s1: queued -> requested [launch_turn]
              warning: record s7: still draining [stuck]
              s2: requested stays, waiting demand has its place here
              s3: allocated stays, waiting demand has its place here
              s4: installing stays, waiting demand has its place here
              s5: running stays, waiting demand has its place here
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 max=30
        inst s1 a queued for=min
        inst s2 a requested
        inst s3 a allocated
        inst s4 a installing
        inst s5 a running idle=1
        inst s6 a drain_requested idle=1
        inst s7 a draining
        inst s8 a drained
        inst s9 a terminating
        inst s10 a terminated unlisted
        inst s11 a allocation_failed
        inst s12 a allocation_timed_out
        inst s13 a install_failed
        inst s14 a termination_failed
        task 6 CPU=1
        ",
        expect![[r#"
              new15: new queued in a [launch_demand]
              s8: drained -> terminating for idle [machine_left_over]
              s12: allocation_timed_out -> terminating for never_joined [machine_left_over]
              s13: install_failed -> terminating for install_failed [machine_left_over]
              s14: termination_failed -> terminating for idle [machine_left_over]
              s1: queued -> requested [launch_turn]
              new15: queued -> requested [launch_turn]
              warning: record s7: still draining [stuck]
              s2: requested stays, waiting demand has its place here
              s3: allocated stays, waiting demand has its place here
              s4: installing stays, waiting demand has its place here
              s5: running stays, waiting demand has its place here
        "#]],
    );
}

#[test]
fn b2_new_node_is_as_large_as_the_workload_says_once_it_is_up() {
    check(
        "
        pool a CPU=1
        inst i1 a running idle=1 CPU=4
        task 4 CPU=1
        ",
        expect![[r#"
              i1: running stays, waiting demand has its place here
        "#]],
    );
    check(
        "
        pool a CPU=1 label:zone=x
        inst i1 a running idle=1 label:zone=y
        inst i2 a allocated
        task 1 CPU=1 in:zone=y
        task 1 CPU=1 in:zone=x
        ",
        expect![[r#"
              i1: running stays, waiting demand has its place here
              i2: allocated stays, waiting demand has its place here
        "#]],
    );
}

// Ray ends it as outdated, or fails; it is capacity that nobody asked to remove.
#[test]
fn b2_new_node_of_a_type_that_is_gone() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        policy replace_outdated
        pool a CPU=1
        inst g1 gone running idle=1 CPU=4
        task 1 CPU=4
        ",
        expect![[r#"
              g1: running -> drain_requested for outdated [removed_outdated]
        "#]],
    );
    check(
        "
        policy replace_outdated
        pool a CPU=1
        inst g1 gone running idle=1 CPU=4
        task 1 CPU=4
        ",
        expect![[r#"
              warning: g1: g1 belongs to a pool that the configuration no longer has [bad_record]
              g1: running stays, waiting demand has its place here
        "#]],
    );
    check(
        "
        policy replace_outdated
        pool a CPU=1
        inst g1 gone allocated
        task 1 CPU=4
        ",
        expect![[r#"
              g1: allocated -> terminating for outdated [removed_outdated]
              warning: CPU 4: a is too small (CPU: asks 4, a machine has 1); head is the head's and gives no workers [infeasible]
              unplaced demand: 1 x CPU 4
        "#]],
    );
}

#[test]
fn b3_min_worker_nodes() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1 min=1
        pool b CPU=1 min=0
        pool c CPU=1 min=2
        ",
        expect![[r#"
              new1: new queued in a [launch_min]
              new2: new queued in c [launch_min]
              new3: new queued in c [launch_min]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
              new3: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 min=1
        pool b CPU=1 min=0
        pool c CPU=1 min=2
        ",
        expect![[r#"
              new1: new queued in a [launch_min]
              new2: new queued in c [launch_min]
              new3: new queued in c [launch_min]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
              new3: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 min=2
        pool c CPU=1 min=1
        inst i1 a running
        inst i2 a requested
        inst g1 gone requested
        ",
        expect![[r#"
              new4: new queued in c [launch_min]
              new4: queued -> requested [launch_turn]
              warning: g1: g1 belongs to a pool that the configuration no longer has [bad_record]
              i1: running stays, something runs on it
              i2: requested stays, on its way
              g1: requested stays, on its way
        "#]],
    );
}

// The maximum of the configuration is one of workers; Ray adds the head to it.
#[test]
fn b4_max_workers_head_node_type() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        policy head_pool=a
        head pool=a CPU=1
        pool a CPU=1 max=1
        inst i1 a running idle=1
        inst i2 a running idle=2
        ",
        expect![[r#"
              i2: running -> drain_requested for max_per_pool [removed_max_per_pool]
              i1: running stays, idle, but not for long enough
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        policy head_pool=a
        head pool=a CPU=1
        pool a CPU=1 max=1
        inst i1 a running idle=1
        inst i2 a running idle=2
        ",
        expect![[r#"
              i2: running -> drain_requested for max_per_pool [removed_max_per_pool]
              i1: running stays, idle, but not for long enough
        "#]],
    );
}

#[test]
fn b5_max_workers_per_type() {
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=2 min=2 max=2
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
        pool a CPU=2 max=2
        inst i1 a running free:CPU=1
        inst i2 a running free:CPU=0
        inst i3 a allocated
        ",
        expect![[r#"
              i3: allocated -> terminating for max_per_pool [removed_max_per_pool]
              i1: running stays, something runs on it
              i2: running stays, something runs on it
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=2 max=1
        inst i1 a running free:CPU=1
        inst i2 a running free:CPU=0
        inst i3 a allocated
        ",
        expect![[r#"
              i3: allocated -> terminating for max_per_pool [removed_max_per_pool]
              i1: running -> drain_requested for max_per_pool [removed_max_per_pool]
              i2: running stays, something runs on it
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=2 max=1
        inst i1 a running free:CPU=1
        inst i2 a running free:CPU=0
        inst i3 a allocated
        ",
        expect![[r#"
              i3: allocated -> terminating for max_per_pool [removed_max_per_pool]
              i1: running -> drain_requested for max_per_pool [removed_max_per_pool]
              i2: running stays, something runs on it
        "#]],
    );
}

#[test]
fn b6_terminate_max_allocated_workers_per_type() {
    check(
        "
        pool a CPU=1 max=2
        inst i1 a allocated
        inst i2 a allocated
        ",
        expect![[r#"
              i1: allocated stays, on its way
              i2: allocated stays, on its way
        "#]],
    );
    check(
        "
        pool a CPU=1 max=0
        inst i1 a allocated
        inst i2 a allocated
        ",
        expect![[r#"
              i1: allocated -> terminating for max_per_pool [removed_max_per_pool]
              i2: allocated -> terminating for max_per_pool [removed_max_per_pool]
        "#]],
    );
}

// Ray counts the head as a node: its 4, 3, 2, 1 are 3, 2, 1, 0 workers.
#[test]
fn b7_max_num_nodes() {
    check(
        "
        policy concurrent=100 speed=10000
        policy max=3
        pool a CPU=2
        pool b CPU=2
        inst i1 a running free:CPU=0
        inst i2 b running idle=9
        inst i3 b allocated
        ",
        expect![[r#"
              i1: running stays, something runs on it
              i2: running stays, idle, but not for long enough
              i3: allocated stays, on its way
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        policy max=2
        pool a CPU=2
        pool b CPU=2
        inst i1 a running free:CPU=0
        inst i2 b running idle=9
        inst i3 b allocated
        ",
        expect![[r#"
              i3: allocated -> terminating for max_total [removed_max_total]
              i1: running stays, something runs on it
              i2: running stays, idle, but not for long enough
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        policy max=1
        pool a CPU=2
        pool b CPU=2
        inst i1 a running free:CPU=0
        inst i2 b running idle=9
        inst i3 b allocated
        ",
        expect![[r#"
              i3: allocated -> terminating for max_total [removed_max_total]
              i2: running -> drain_requested for max_total [removed_max_total]
              i1: running stays, something runs on it
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        policy max=0
        pool a CPU=2
        pool b CPU=2
        inst i1 a running free:CPU=0
        inst i2 b running idle=9
        inst i3 b allocated
        ",
        expect![[r#"
              i3: allocated -> terminating for max_total [removed_max_total]
              i2: running -> drain_requested for max_total [removed_max_total]
              i1: running -> drain_requested for max_total [removed_max_total]
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        policy max=2
        pool a CPU=2
        pool b CPU=2
        inst i1 a running free:CPU=0
        inst i2 b running idle=9
        inst i3 b allocated
        ",
        expect![[r#"
              i3: allocated -> terminating for max_total [removed_max_total]
              i1: running stays, something runs on it
              i2: running stays, idle, but not for long enough
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        policy max=1
        pool a CPU=2
        pool b CPU=2
        inst i1 a running free:CPU=0
        inst i2 b running idle=9
        inst i3 b allocated
        ",
        expect![[r#"
              i3: allocated -> terminating for max_total [removed_max_total]
              i2: running -> drain_requested for max_total [removed_max_total]
              i1: running stays, something runs on it
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        policy max=1
        pool a CPU=2 max=0
        pool b CPU=2
        inst i1 a running free:CPU=0
        inst i2 b running idle=9
        inst i3 b allocated
        ",
        expect![[r#"
              i1: running -> drain_requested for max_per_pool [removed_max_per_pool]
              i3: allocated -> terminating for max_total [removed_max_total]
              i2: running stays, idle, but not for long enough
        "#]],
    );
}

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
              warning: CPU 1: a is at its maximum of 10; head is too small (CPU: asks 1, a machine has 0) [infeasible]
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
              warning: standing request: 2 × (CPU 1) + 1 × (TPU 1): a is at its maximum of 10; g is too small (CPU: asks 1, a machine has 0); head is too small (CPU: asks 1, a machine has 0) [infeasible]
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

#[test]
fn b24_get_nodes_packing_heuristic() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        policy never_idle
        pool m4.large CPU=2 max=100
        pool m4.4xlarge CPU=16 max=100
        pool m4.16xlarge CPU=64 max=100
        pool p2.xlarge CPU=16 GPU=1 max=100
        pool p2.8xlarge CPU=32 GPU=8 max=100
        task 6 GPU=1
        ",
        expect![[r#"
              new1: new queued in p2.8xlarge [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        policy never_idle
        pool m4.large CPU=2 max=100
        pool m4.4xlarge CPU=16 max=100
        pool m4.16xlarge CPU=64 max=100
        pool p2.xlarge CPU=16 GPU=1 max=100
        pool p2.8xlarge CPU=32 GPU=8 max=100
        task 4 GPU=1
        ",
        expect![[r#"
              new1: new queued in p2.xlarge [launch_demand]
              new2: new queued in p2.xlarge [launch_demand]
              new3: new queued in p2.xlarge [launch_demand]
              new4: new queued in p2.xlarge [launch_demand]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
              new3: queued -> requested [launch_turn]
              new4: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        policy never_idle
        pool m4.large CPU=2 max=100
        pool m4.4xlarge CPU=16 max=100
        pool m4.16xlarge CPU=64 max=100
        pool p2.xlarge CPU=16 GPU=1 max=100
        pool p2.8xlarge CPU=32 GPU=8 max=100
        task 100 CPU=1
        ",
        expect![[r#"
              new1: new queued in m4.large [launch_demand]
              new2: new queued in m4.large [launch_demand]
              new3: new queued in m4.4xlarge [launch_demand]
              new4: new queued in m4.4xlarge [launch_demand]
              new5: new queued in m4.16xlarge [launch_demand]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
              new3: queued -> requested [launch_turn]
              new4: queued -> requested [launch_turn]
              new5: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        policy never_idle
        pool m4.large CPU=2 max=100
        pool m4.4xlarge CPU=16 max=100
        pool m4.16xlarge CPU=64 max=100
        pool p2.xlarge CPU=16 GPU=1 max=100
        pool p2.8xlarge CPU=32 GPU=8 max=100
        task 1 CPU=1
        task 1 GPU=1
        ",
        expect![[r#"
              new1: new queued in p2.xlarge [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        policy never_idle
        pool m4.large CPU=2 max=100
        pool m4.4xlarge CPU=16 max=100
        pool m4.16xlarge CPU=64 max=100
        pool p2.xlarge CPU=16 GPU=1 max=100
        pool p2.8xlarge CPU=32 GPU=8 max=100
        task 6 GPU=1
        ",
        expect![[r#"
              new1: new queued in p2.8xlarge [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        policy never_idle
        pool m4.large CPU=2 max=100
        pool m4.4xlarge CPU=16 max=100
        pool m4.16xlarge CPU=64 max=100
        pool p2.xlarge CPU=16 GPU=1 max=100
        pool p2.8xlarge CPU=32 GPU=8 max=100
        task 4 GPU=1
        ",
        expect![[r#"
              new1: new queued in p2.xlarge [launch_demand]
              new2: new queued in p2.xlarge [launch_demand]
              new3: new queued in p2.xlarge [launch_demand]
              new4: new queued in p2.xlarge [launch_demand]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
              new3: queued -> requested [launch_turn]
              new4: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        policy never_idle
        pool m4.large CPU=2 max=100
        pool m4.4xlarge CPU=16 max=100
        pool m4.16xlarge CPU=64 max=100
        pool p2.xlarge CPU=16 GPU=1 max=100
        pool p2.8xlarge CPU=32 GPU=8 max=100
        task 100 CPU=1
        ",
        expect![[r#"
              new1: new queued in m4.large [launch_demand]
              new2: new queued in m4.large [launch_demand]
              new3: new queued in m4.4xlarge [launch_demand]
              new4: new queued in m4.4xlarge [launch_demand]
              new5: new queued in m4.16xlarge [launch_demand]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
              new3: queued -> requested [launch_turn]
              new4: queued -> requested [launch_turn]
              new5: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        policy never_idle
        pool m4.large CPU=2 max=100
        pool m4.4xlarge CPU=16 max=100
        pool m4.16xlarge CPU=64 max=100
        pool p2.xlarge CPU=16 GPU=1 max=100
        pool p2.8xlarge CPU=32 GPU=8 max=100
        task 1 CPU=1
        task 1 GPU=1
        ",
        expect![[r#"
              new1: new queued in p2.xlarge [launch_demand]
              new1: queued -> requested [launch_turn]
        "#]],
    );
}

#[test]
fn b25_min_workers_and_others() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        policy max=100
        pool p2 CPU=32 GPU=8 min=2 max=4
        task 1 GPU=8
        ",
        expect![[r#"
              new1: new queued in p2 [launch_min]
              new2: new queued in p2 [launch_demand]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        policy max=100
        pool p2 CPU=32 GPU=8 min=2 max=4
        task 3 GPU=8
        ",
        expect![[r#"
              new1: new queued in p2 [launch_demand]
              new2: new queued in p2 [launch_demand]
              new3: new queued in p2 [launch_demand]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
              new3: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        policy max=100
        pool p2 CPU=32 GPU=8 min=2 max=4
        task 5 GPU=8
        ",
        expect![[r#"
              new1: new queued in p2 [launch_demand]
              new2: new queued in p2 [launch_demand]
              new3: new queued in p2 [launch_demand]
              new4: new queued in p2 [launch_demand]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
              new3: queued -> requested [launch_turn]
              new4: queued -> requested [launch_turn]
              warning: GPU 8: p2 is at its maximum of 4; head is too small (GPU: asks 8, a machine has 0) [infeasible]
              unplaced demand: 1 x GPU 8
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        policy max=1
        pool p2 CPU=32 GPU=8 min=2 max=4
        task 5 GPU=8
        ",
        expect![[r#"
              warning: GPU 8: p2 is at its maximum of 4; head is too small (GPU: asks 8, a machine has 0) [infeasible]
              unplaced demand: 3 x GPU 8
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        policy max=100
        pool p2 CPU=32 GPU=8 min=2 max=4
        task 1 GPU=8
        ",
        expect![[r#"
              new1: new queued in p2 [launch_min]
              new2: new queued in p2 [launch_min]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        policy max=100
        pool p2 CPU=32 GPU=8 min=2 max=4
        task 3 GPU=8
        ",
        expect![[r#"
              new1: new queued in p2 [launch_min]
              new2: new queued in p2 [launch_min]
              new3: new queued in p2 [launch_demand]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
              new3: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        policy max=100
        pool p2 CPU=32 GPU=8 min=2 max=4
        task 5 GPU=8
        ",
        expect![[r#"
              new1: new queued in p2 [launch_min]
              new2: new queued in p2 [launch_min]
              new3: new queued in p2 [launch_demand]
              new4: new queued in p2 [launch_demand]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
              new3: queued -> requested [launch_turn]
              new4: queued -> requested [launch_turn]
              warning: GPU 8: p2 is at its maximum of 4; head is the head's and gives no workers [infeasible]
              unplaced demand: 1 x GPU 8
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        policy max=1
        pool p2 CPU=32 GPU=8 min=2 max=4
        task 5 GPU=8
        ",
        expect![[r#"
              new1: new queued in p2 [launch_min]
              new1: queued -> requested [launch_turn]
              warning: GPU 8: p2 would exceed the maximum of 2 machines in all; head is the head's and gives no workers [infeasible]
              warning: p2: p2 has minimums that together exceed the maximum over all pools [bad_record]
              unplaced demand: 4 x GPU 8
        "#]],
    );
}

// Ray's test asserts nothing but that it does not fail; ours places the same.
#[test]
fn b26_gang_scheduling_complex() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=4
        pool g CPU=4 GPU=2
        gang g1 STRICT_PACK 2 CPU=2
        gang g2 STRICT_SPREAD 3 CPU=1
        gang g3 STRICT_PACK 2 GPU=1
        gang g4 STRICT_SPREAD 2 GPU=1 + 1 CPU=1
        gang g5 PACK 4 CPU=1
        gang g6 SPREAD 4 CPU=1
        ",
        expect![[r#"
              new1: new queued in a [launch_gang]
              new2: new queued in a [launch_gang]
              new3: new queued in a [launch_gang]
              new4: new queued in g [launch_gang]
              new5: new queued in g [launch_gang]
              new6: new queued in g [launch_gang]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
              new3: queued -> requested [launch_turn]
              new4: queued -> requested [launch_turn]
              new5: queued -> requested [launch_turn]
              new6: queued -> requested [launch_turn]
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=4
        pool g CPU=4 GPU=2
        gang g1 STRICT_PACK 2 CPU=2
        gang g2 STRICT_SPREAD 3 CPU=1
        gang g3 STRICT_PACK 2 GPU=1
        gang g4 STRICT_SPREAD 2 GPU=1 + 1 CPU=1
        gang g5 PACK 4 CPU=1
        gang g6 SPREAD 4 CPU=1
        ",
        expect![[r#"
              new1: new queued in a [launch_gang]
              new2: new queued in a [launch_gang]
              new3: new queued in a [launch_gang]
              new4: new queued in g [launch_gang]
              new5: new queued in g [launch_gang]
              new6: new queued in g [launch_gang]
              new1: queued -> requested [launch_turn]
              new2: queued -> requested [launch_turn]
              new3: queued -> requested [launch_turn]
              new4: queued -> requested [launch_turn]
              new5: queued -> requested [launch_turn]
              new6: queued -> requested [launch_turn]
        "#]],
    );
}

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
              warning: STRICT_PACK g: 1 × (CPU 1 where zone in (x)) + 1 × (CPU 1 where zone in (x)): a is at its maximum of 10; b has none of the labels; head is too small (CPU: asks 1, a machine has 0) [infeasible]
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

#[test]
fn b33_infeasible_shape_caching() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1 max=1
        inst i1 a running idle=1
        task 1000 CPU=1
        ",
        expect![[r#"
              warning: CPU 1: a is at its maximum of 1; head is too small (CPU: asks 1, a machine has 0) [infeasible]
              unplaced demand: 999 x CPU 1
              i1: running stays, waiting demand has its place here
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 max=1
        inst i1 a running idle=1
        task 1000 CPU=1
        ",
        expect![[r#"
              warning: CPU 1: a is at its maximum of 1; head is the head's and gives no workers [infeasible]
              unplaced demand: 999 x CPU 1
              i1: running stays, waiting demand has its place here
        "#]],
    );
}

#[test]
fn b35_identical_node_state_caching() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1 max=100
        inst i0 a allocated
        inst i1 a allocated
        inst i2 a allocated
        inst i3 a allocated
        inst i4 a allocated
        task 1 CPU=1
        ",
        expect![[r#"
              i0: allocated stays, waiting demand has its place here
              i1: allocated stays, on its way
              i2: allocated stays, on its way
              i3: allocated stays, on its way
              i4: allocated stays, on its way
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1 max=100
        inst i0 a allocated
        inst i1 a allocated
        inst i2 a allocated
        inst i3 a allocated
        inst i4 a allocated
        task 1 CPU=1
        ",
        expect![[r#"
              i0: allocated stays, waiting demand has its place here
              i1: allocated stays, on its way
              i2: allocated stays, on its way
              i3: allocated stays, on its way
              i4: allocated stays, on its way
        "#]],
    );
}

// Ray keeps one time for each node, ours one for each pool. What was asked for and is not there yet is called back once it is there.
#[test]
fn b36_pending_idle_timeout() {
    check(
        "
        policy pending_idle=30
        pool a CPU=1
        memory unneeded=a:-30
        inst q1 a queued for=demand
        inst q2 a requested
        inst q3 a allocated
        inst q4 a installing
        ",
        expect![[r#"
              warning: record q1: still queued [stuck]
              q1: queued waits: its pool grows by at most 1 at a time [held_speed]
              q2: requested stays, on its way
              q3: allocated stays, on its way
              q4: installing stays, on its way
        "#]],
    );
    check(
        "
        policy pending_idle=30
        pool a CPU=1
        memory unneeded=a:-31
        inst q1 a queued for=demand
        inst q2 a requested
        inst q3 a allocated
        inst q4 a installing
        ",
        expect![[r#"
              q1: queued -> terminated for pending_idle [removed_pending_idle]
              q3: allocated -> terminating for pending_idle [removed_pending_idle]
              q4: installing -> terminating for pending_idle [removed_pending_idle]
              q2: requested stays, on its way
        "#]],
    );
    check(
        "
        policy pending_idle=30
        pool a CPU=1
        inst q3 a allocated
        ",
        expect![[r#"
              q3: allocated stays, on its way
        "#]],
    );
    check(
        "
        policy pending_idle=30
        pool a CPU=1 min=1
        memory unneeded=a:-31
        inst q3 a allocated
        inst q4 a installing
        ",
        expect![[r#"
              q3: allocated -> terminating for pending_idle [removed_pending_idle]
              q4: installing stays, on its way
        "#]],
    );
    check(
        "
        policy pending_idle=30
        pool a CPU=1
        memory unneeded=a:-31
        inst q3 a allocated
        task 1 CPU=1
        ",
        expect![[r#"
              q3: allocated stays, waiting demand has its place here
        "#]],
    );
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        policy pending_idle=30
        pool a CPU=1
        memory unneeded=a:-31
        inst q1 a queued
        inst q3 a allocated
        inst q4 a installing
        ",
        expect![[r#"
              q1: queued -> terminated for pending_idle [removed_pending_idle]
              q3: allocated -> terminating for pending_idle [removed_pending_idle]
              q4: installing -> terminating for pending_idle [removed_pending_idle]
        "#]],
    );
}

#[test]
fn b37_running_without_a_ray_node_is_skipped() {
    check(
        "
        policy ray-exact concurrent=100 speed=10000
        pool a CPU=1
        inst i1 a running lost
        task 1 CPU=1
        ",
        expect![[r#"
              new2: new queued in a [launch_demand]
              new2: queued -> requested [launch_turn]
              i1: running stays, protected, or not ours to judge
        "#]],
    );
    check(
        "
        policy concurrent=100 speed=10000
        pool a CPU=1
        inst i1 a running lost
        task 1 CPU=1
        ",
        expect![[r#"
              new2: new queued in a [launch_demand]
              new2: queued -> requested [launch_turn]
              warning: i1: i1 is recorded as running, and the workload has no such node [bad_record]
              i1: running stays, protected, or not ours to judge
        "#]],
    );
}
