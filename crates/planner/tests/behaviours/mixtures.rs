//! Lines 24 to 26: many things at once.

use super::check;
use expect_test::expect;

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
            warning: GPU 8: p2 cannot hold the parts as the strategy wants; head is too small (GPU: asks 8, a machine has 0) [infeasible]
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
