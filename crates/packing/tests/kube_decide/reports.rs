//! What users of other autoscalers reported, each with the outcome that is right: the numbers are those of
//! `docs/kubernetes.md`.

use super::apply::{apply, text};
use super::check;
use super::laws::{hold, is_quiet};
use super::world::{NOW, World};
use expect_test::expect;
use ostler_model::Millis;
use ostler_packing::kube::decide;
use std::fmt::Write;
use std::time::{Duration, Instant};

#[test]
fn k01_a_broken_node_of_nobody_stops_no_pool() {
    check(
        "pool g-cpu cpu=4 mem=16 max=4
         foreign x1 cpu=1 label.gpu=yes
         foreign x2 cpu=1 label.gpu=yes
         node n1 g-cpu
         node n2 g-cpu
         pods 1 run cpu=3 mem=1 on=n1
         pods 1 run cpu=3 mem=1 on=n2
         pods 1 web cpu=3 mem=1",
        &expect![[r#"
            launch g-cpu x1 for demand
            keep x1: not_ours
            keep x2: not_ours
            keep n1: used percent 75
            keep n2: used percent 75
            1 pods to new g-cpu 0
        "#]],
    );
}

#[test]
fn k08_hopeless_pods_cost_the_others_nothing() {
    check(
        "pool gpu cpu=8 mem=64 gpu=1 price=3 closed
         pool cpu cpu=8 mem=32 price=0.4
         pods 2000 train cpu=1 mem=1 gpu=1 priority=10
         pods 100 web cpu=2 mem=8",
        &expect![[r#"
            launch cpu x25 for demand
            4 pods to new cpu 0
            4 pods to new cpu 1
            4 pods to new cpu 2
            4 pods to new cpu 3
            4 pods to new cpu 4
            4 pods to new cpu 5
            4 pods to new cpu 6
            4 pods to new cpu 7
            4 pods to new cpu 8
            4 pods to new cpu 9
            4 pods to new cpu 10
            4 pods to new cpu 11
            4 pods to new cpu 12
            4 pods to new cpu 13
            4 pods to new cpu 14
            4 pods to new cpu 15
            4 pods to new cpu 16
            4 pods to new cpu 17
            4 pods to new cpu 18
            4 pods to new cpu 19
            4 pods to new cpu 20
            4 pods to new cpu 21
            4 pods to new cpu 22
            4 pods to new cpu 23
            4 pods to new cpu 24
            no place for 2000 of train
              gpu: backing_off
              cpu: too_large resource example.com/gpu,asked 1,has 0
        "#]],
    );
}

#[test]
fn k13_pods_that_wait_for_something_else_bring_no_nodes() {
    check(
        "pool small cpu=4 mem=16
         pods 5 held cpu=1 mem=1 ignored=over-quota
         pods 5 web cpu=1 mem=1",
        &expect![[r#"
            launch small x2 for demand
            1 pods to new small 0
            4 pods to new small 1
        "#]],
    );
}

/// 50 nodes at 30 %, a tenth of them at once: fewer in every plan, 17 in the end.
#[test]
fn k16_if_a_repack_exists_it_is_made() {
    let mut text = String::from("policy percent=10\npool n cpu=4 mem=16\n");
    for n in 0..50 {
        writeln!(text, "node n{n:02} n\npods 1 web cpu=1.2 mem=1 on=n{n:02}").unwrap();
    }
    let mut world = World::of(&text);
    let mut sizes = Vec::new();
    for _ in 0..20 {
        let decision = decide(&world.problem());
        hold(&world, &decision);
        assert!(decision.kept.len() + decision.removals.len() == world.machines.len());
        world = apply(&world, &decision);
        sizes.push(world.machines.len());
    }
    assert!(sizes.is_sorted_by(|a, b| a >= b), "{sizes:?}");
    assert_eq!(sizes.last(), Some(&17), "{sizes:?}");
}

#[test]
fn k20_limits_count_what_exists_comes_and_is_planned() {
    check(
        "pool a cpu=4 mem=16 max=3
         pods 5 web cpu=1 mem=1 apart=host",
        &expect![[r#"
            launch a x3 for demand
            1 pods to new a 0
            1 pods to new a 1
            1 pods to new a 2
            no place for 2 of web
              a: pool_at_max max 3
        "#]],
    );
    check(
        "pool a cpu=4 mem=16 group=g groupmax=3
         pool b cpu=4 mem=16 group=g groupmax=3
         pods 5 web cpu=1 mem=1 apart=host",
        &expect![[r#"
            launch a x2 for demand
            launch b x1 for demand
            1 pods to new a 0
            1 pods to new a 1
            1 pods to new b 0
            no place for 2 of web
              a: group_at_max max 3
              b: group_at_max max 3
        "#]],
    );
}

#[test]
fn k22_k50_a_pool_that_fails_is_no_capacity_and_the_next_one_serves() {
    check(
        "policy expander=priority
         pool g-a cpu=4 mem=16 priority=1 closed
         pool g-b cpu=4 mem=16
         pods 10 web cpu=1 mem=1",
        &expect![[r#"
            launch g-b x3 for demand
            2 pods to new g-b 0
            4 pods to new g-b 1
            4 pods to new g-b 2
        "#]],
    );
}

#[test]
fn k23_pods_that_a_coming_node_will_take_bring_no_other() {
    check(
        "pool n cpu=4 mem=16
         node n1 n coming
         pods 8 web cpu=1 mem=1",
        &expect![[r#"
            launch n x1 for demand
            keep n1: coming
            4 pods to n1
            4 pods to new n 0
        "#]],
    );
    check(
        "pool n cpu=4 mem=16
         node n1 n coming
         node n2 n coming
         pods 8 web cpu=1 mem=1",
        &expect![[r#"
            keep n1: coming
            keep n2: coming
            4 pods to n1
            4 pods to n2
        "#]],
    );
}

#[test]
fn k25_daemons_are_counted_for_each_shape() {
    check(
        "pool m cpu=2 mem=8 price=0.1
         pool l cpu=4 mem=16 price=0.3
         daemon ds-a cpu=1 mem=0 select.pool=l
         pods 1 web cpu=2 mem=1
         pods 1 big cpu=3.5 mem=1",
        &expect![[r#"
            launch m x1 for demand
            1 pods to new m 0
            no place for 1 of big
              m: too_large resource cpu,asked 3.5,has 2
              l: taken_by_daemons resource cpu,asked 3.5,has 4,taken 1,daemons ds-a
        "#]],
    );
}

#[test]
fn k26_room_that_is_kept_free_is_never_evicted() {
    check(
        "pool n cpu=8 mem=32
         node n1 n
         node n2 n
         pods 1 real cpu=1 mem=1 on=n1
         pods 1 other cpu=1 mem=1 on=n2
         headroom 2 cpu=2 mem=1",
        &expect![[r#"
            remove n1 as underused
            keep n2: used percent 13
        "#]],
    );
}

#[test]
fn k31_a_node_that_somebody_cordoned_takes_nothing_and_goes_once_it_can() {
    check(
        "pool n cpu=4 mem=16 max=2
         node n1 n cordoned
         node n2 n
         pods 1 guarded cpu=1 mem=1 on=n1
         pods 4 run cpu=1 mem=1 on=n2
         budget guarded allowed=0
         pods 1 web cpu=1 mem=1",
        &expect![[r#"
            keep n1: blocked pod guarded-00000,by budget
            keep n2: used percent 100
            no place for 1 of web
              n: pool_at_max max 2
        "#]],
    );
    check(
        "pool n cpu=4 mem=16
         node n1 n cordoned",
        &expect![[r#"
            remove n1 as empty
        "#]],
    );
}

#[test]
fn k34_a_baseline_bursts_and_comes_back() {
    check(
        "pool n cpu=4 mem=16 min=2 max=4
         node n1 n
         node n2 n
         pods 3 web cpu=3 mem=1",
        &expect![[r#"
            launch n x1 for demand
            keep n1: needed_by_pending
            keep n2: needed_by_pending
            1 pods to n1
            1 pods to n2
            1 pods to new n 0
        "#]],
    );
    check(
        "pool n cpu=4 mem=16 min=2 max=4
         node n1 n
         node n2 n
         node n3 n",
        &expect![[r#"
            remove n1 as empty
            keep n2: min
            keep n3: min
        "#]],
    );
}

/// After one big pod has gone: at most three moves, each cheaper, and then quiet.
#[test]
fn k35_no_moves_without_end() {
    let mut text = String::from(
        "pool x cpu=4 mem=16 price=0.2\npool y cpu=4 mem=16 price=0.19\npool z cpu=8 mem=32 price=0.4\n",
    );
    for n in 0..20 {
        writeln!(text, "node n{n:02} x").unwrap();
        let pods = if n == 7 { 1 } else { 4 };
        writeln!(text, "pods {pods} web cpu=1 mem=2 on=n{n:02}").unwrap();
    }
    let mut world = World::of(&text);
    let price = |world: &World| world.machines.iter().map(|machine| machine.price.0).sum::<u64>();
    let mut moves = 0;
    for pass in 0..500 {
        let decision = decide(&world.problem());
        if !is_quiet(&decision) {
            moves += 1;
            assert!(pass < 50, "{}", super::apply::text(&world, &decision));
        }
        let next = apply(&world, &decision);
        if decision.replacements.is_empty() {
            assert!(price(&next) <= price(&world));
        }
        world = next;
    }
    assert!(moves <= 3, "{moves} moves");
}

#[test]
fn k37_an_empty_pool_has_the_labels_that_are_declared() {
    check(
        "pool n cpu=4 mem=16 label.disk=ssd
         pods 1 fast cpu=1 mem=1 select.disk=ssd
         pods 1 odd cpu=1 mem=1 select.disk=tape",
        &expect![[r#"
            launch n x1 for demand
            1 pods to new n 0
            no place for 1 of odd
              n: node_selector label disk
        "#]],
    );
}

/// What is reserved is paid for already, so it is taken first, and no more of it than there is.
#[test]
fn k38_what_is_reserved_is_used_first() {
    check(
        "pool od cpu=4 mem=16 price=1 group=g groupmax=10
         pool reserved cpu=4 mem=16 price=0.1 group=g groupmax=10 max=2
         pods 12 web cpu=1 mem=1",
        &expect![[r#"
            launch od x1 for demand
            launch reserved x2 for demand
            4 pods to new od 0
            4 pods to new reserved 0
            4 pods to new reserved 1
        "#]],
    );
}

#[test]
fn k40_a_node_takes_so_many_volumes() {
    let mut text = String::from("pool n cpu=8 mem=32 volumes.ebs=5 max=10\n");
    for n in 0..12 {
        writeln!(text, "pods 1 db cpu=0.1 mem=0.1 volume=ebs/claim{n}").unwrap();
    }
    check(
        &text,
        &expect![[r#"
        launch n x3 for demand
        5 pods to new n 0
        5 pods to new n 1
        2 pods to new n 2
    "#]],
    );
}

#[test]
fn k43_identical_hopeless_pods_are_decided_once() {
    let text = "pool n cpu=4 mem=16 max=0\npods 15000 web cpu=1 mem=1";
    let world = World::of(text);
    let start = Instant::now();
    let decision = decide(&world.problem());
    assert!(start.elapsed() < Duration::from_secs(1));
    assert_eq!(decision.unplaced.len(), 1);
    assert_eq!(decision.unplaced[0].count, 15000);
    let raised = World::of(&text.replace("max=0", "max=10"));
    expect![[r#"
        launch n x10 for demand
        4 pods to new n 0
        4 pods to new n 1
        4 pods to new n 2
        4 pods to new n 3
        4 pods to new n 4
        4 pods to new n 5
        4 pods to new n 6
        4 pods to new n 7
        4 pods to new n 8
        4 pods to new n 9
        no place for 14960 of web
          n: pool_at_max max 10
    "#]]
    .assert_eq(&super::apply::text(&raised, &decide(&raised.problem())));
}

#[test]
fn k52_daemons_that_bear_every_taint_count_on_tainted_pools() {
    check(
        "pool one cpu=1 mem=8 price=0.1 taint=x
         pool two cpu=2 mem=8 price=0.2 taint=x
         daemon d1 cpu=0.25 mem=0 tolerate-all
         daemon d2 cpu=0.25 mem=0.1 tolerate-all
         daemon d3 cpu=0.25 mem=0.2 tolerate-all
         daemon d4 cpu=0.25 mem=0.3 tolerate-all
         pods 1 web cpu=0.5 mem=1 tolerate=x",
        &expect![[r#"
            launch two x1 for demand
            1 pods to new two 0
        "#]],
    );
}

#[test]
fn k55_many_pools_grow_in_one_plan() {
    let mut text = String::new();
    for n in 0..200 {
        writeln!(text, "pool p{n:03} cpu=4 mem=16").unwrap();
    }
    for n in 0..50 {
        writeln!(text, "pods 1 app{n} cpu=1 mem=1 select.pool=p{:03}", n * 4).unwrap();
    }
    let world = World::of(&text);
    let decision = decide(&world.problem());
    hold(&world, &decision);
    assert_eq!(decision.launches.len(), 50);
    assert!(decision.launches.iter().all(|launch| launch.count == 1 && launch.pool % 4 == 0));
}

#[test]
fn k56_pods_that_are_being_evicted_are_no_demand() {
    check(
        "pool n cpu=4 mem=16
         node n1 n leaving=underused
         node n2 n
         pods 1 web cpu=2 mem=1 on=n1 terminating
         pods 1 web cpu=2 mem=1 on=n2
         pods 1 guarded cpu=1 mem=1 on=n1
         pods 1 run cpu=1 mem=1 on=n2
         budget guarded allowed=0",
        &expect![[r#"
            keep n1: leaving
            keep n2: used percent 75
        "#]],
    );
}

#[test]
fn k58_what_must_lie_apart_keeps_its_nodes() {
    check(
        "pool n cpu=10 mem=40
         node n1 n
         node n2 n
         node n3 n
         pods 1 db cpu=1 mem=1 apart=host on=n1
         pods 1 db cpu=1 mem=1 apart=host on=n2
         pods 1 db cpu=1 mem=1 apart=host on=n3",
        &expect![[r#"
            keep n1: no_place pod db-00000
            keep n2: no_place pod db-00001
            keep n3: no_place pod db-00002
        "#]],
    );
}

#[test]
fn k61_a_node_is_not_removed_before_its_pod_has_come() {
    check(
        "pool n cpu=4 mem=16
         node n1 n
         pods 1 web cpu=1 mem=1",
        &expect![[r#"
            keep n1: needed_by_pending
            1 pods to n1
        "#]],
    );
}

#[test]
fn k65_spread_placeholders_share_the_nodes_of_a_zone() {
    check(
        "pool a cpu=8 mem=32 zone=a
         pool b cpu=8 mem=32 zone=b
         pool c cpu=8 mem=32 zone=c
         pods 100 spare cpu=0.2 mem=0.1 priority=-1 spread=zone:1",
        &expect![[r#"
            launch a x1 for demand
            launch b x1 for demand
            launch c x1 for demand
            34 pods to new a 0
            33 pods to new b 0
            33 pods to new c 0
        "#]],
    );
}

#[test]
fn k68_what_a_provider_makes_again_is_coming() {
    check(
        "pool n cpu=4 mem=16
         node n1 n coming
         node n2 n coming
         pods 8 web cpu=1 mem=1",
        &expect![[r#"
            keep n1: coming
            keep n2: coming
            4 pods to n1
            4 pods to n2
        "#]],
    );
}

#[test]
fn k70_pools_that_are_alike_are_kept_even() {
    let text = "pool a cpu=4 mem=16 price=0.2 zone=a label.stack=s1
         pool b cpu=4 mem=15.9 price=0.2 zone=b label.stack=s2
         pool c cpu=4 mem=16 price=0.2 zone=c label.stack=s3
         node a1 a
         node b1 b
         node c1 c
         pods 1 run cpu=4 mem=1 on=a1
         pods 1 run cpu=4 mem=1 on=b1
         pods 1 run cpu=4 mem=1 on=c1
         pods 6 web cpu=4 mem=15";
    check(
        text,
        &expect![[r#"
        launch a x2 for demand
        launch b x2 for demand
        launch c x2 for demand
        keep a1: used percent 100
        keep b1: used percent 100
        keep c1: used percent 100
        1 pods to new a 0
        1 pods to new a 1
        1 pods to new b 0
        1 pods to new b 1
        1 pods to new c 0
        1 pods to new c 1
    "#]],
    );
    check(
        &text.replace("zone=a", "zone=a max=2"),
        &expect![[r#"
        launch a x1 for demand
        launch b x3 for demand
        launch c x2 for demand
        keep a1: used percent 100
        keep b1: used percent 100
        keep c1: used percent 100
        1 pods to new a 0
        1 pods to new b 0
        1 pods to new b 1
        1 pods to new b 2
        1 pods to new c 0
        1 pods to new c 1
    "#]],
    );
}

#[test]
fn k71_a_small_node_takes_the_place_of_a_large_one() {
    let text = "pool g-l cpu=16 mem=64 price=0.80
         pool g-s cpu=2 mem=8 price=0.10
         node n1 g-l
         pods 1 long cpu=1 mem=1 on=n1";
    check(
        text,
        &expect![[r#"
        replace n1 by g-s x1
        keep n1: replacement_coming, unneeded
    "#]],
    );
    let mut world = World::of(text);
    for _ in 0..4 {
        world = apply(&world, &decide(&world.problem()));
    }
    assert_eq!(world.machines.iter().map(|machine| machine.price.0).sum::<u64>(), 100_000);
}

/// The unneeded time holds for exchanges too.
#[test]
fn exchanges_wait_for_the_unneeded_time() {
    let text = "policy unneeded=600
         pool g-l cpu=16 mem=64 price=0.80
         pool g-s cpu=2 mem=8 price=0.10
         node n1 g-l
         pods 1 long cpu=1 mem=1 on=n1";
    let mut world = World::of(text);
    let decision = decide(&world.problem());
    expect![[r#"
        keep n1: not_long_enough, unneeded
    "#]]
    .assert_eq(&super::apply::text(&world, &decision));
    world.machines[0].unneeded_since = Some(NOW - Millis::secs(600));
    expect![[r#"
        replace n1 by g-s x1
        keep n1: replacement_coming, unneeded
    "#]]
    .assert_eq(&text_of(&world));
}

fn text_of(world: &World) -> String {
    text(world, &decide(&world.problem()))
}
