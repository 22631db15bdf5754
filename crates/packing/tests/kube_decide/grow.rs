//! Growth: pods that wait bring nodes, and only where a node would help.

use super::check;
use expect_test::expect;

#[test]
fn no_fit_no_node_and_the_reason_pool_by_pool() {
    check(
        "pool small cpu=4 mem=16
         pool other cpu=200 mem=400 taint=special
         pool gone cpu=200 mem=400 closed
         pods 3 huge cpu=100 mem=1",
        &expect![[r#"
            no place for 3 of huge
              small: too_large resource cpu,asked 100,has 4
              other: taint taint special NoSchedule
              gone: backing_off
        "#]],
    );
}

#[test]
fn what_is_up_and_what_is_coming_is_used_first() {
    check(
        "pool small cpu=4 mem=16 price=0.2
         node n1 small
         node n2 small coming
         pods 3 run cpu=1 mem=1 on=n1
         pods 6 web cpu=1 mem=1",
        &expect![[r#"
            launch small x1 for demand
            keep n1: needed_by_pending
            keep n2: coming
            1 pods to n1
            4 pods to n2
            1 pods to new small 0
        "#]],
    );
}

#[test]
fn machines_on_their_way_out_count_against_the_maximum() {
    check(
        "pool small cpu=4 mem=16 max=2
         node n1 small ending
         node n2 small
         pods 4 run cpu=1 mem=1 on=n2
         pods 8 web cpu=1 mem=1",
        &expect![[r#"
            keep n1: leaving
            keep n2: used percent 100
            no place for 8 of web
              small: pool_at_max max 2
        "#]],
    );
}

#[test]
fn the_total_bound_and_a_shared_one_hold() {
    check(
        "policy max=3
         pool a cpu=4 mem=16 price=0.1 group=g groupmax=2
         pool b cpu=4 mem=16 price=0.2 group=g groupmax=2
         pool c cpu=4 mem=16 price=0.3
         pods 5 web cpu=4 mem=1",
        &expect![[r#"
            launch a x2 for demand
            launch c x1 for demand
            1 pods to new a 0
            1 pods to new a 1
            1 pods to new c 0
            no place for 2 of web
              a: group_at_max max 2
              b: group_at_max max 2
              c: total_at_max max 3
        "#]],
    );
}

#[test]
fn minimums_are_filled_up_and_used() {
    check(
        "pool small cpu=4 mem=16 min=2
         node n1 small
         pods 3 web cpu=2 mem=1",
        &expect![[r#"
            launch small x1 for min
            keep n1: needed_by_pending
            2 pods to n1
            1 pods to new small 0
        "#]],
    );
}

#[test]
fn placeholders_make_room_and_bring_nodes_for_themselves() {
    check(
        "pool small cpu=4 mem=16
         node n1 small
         pods 2 spare cpu=2 mem=1 priority=-1 on=n1
         pods 1 web cpu=2 mem=1",
        &expect![[r#"
            launch small x1 for demand
            keep n1: needed_by_pending
            1 pods to n1
        "#]],
    );
}

#[test]
fn expendable_pods_leave_and_bring_nothing() {
    check(
        "pool small cpu=4 mem=16
         node n1 small
         pods 2 spare cpu=2 mem=1 priority=-100 on=n1
         pods 2 web cpu=2 mem=1
         pods 3 waits cpu=2 mem=1 priority=-100",
        &expect![[r#"
            keep n1: needed_by_pending
            2 pods to n1
        "#]],
    );
}

#[test]
fn the_higher_priority_has_the_last_machine() {
    check(
        "pool small cpu=4 mem=16 max=1
         pods 1 low cpu=3 mem=1
         pods 1 high cpu=2 mem=1 priority=100",
        &expect![[r#"
            launch small x1 for demand
            1 pods to new small 0
            no place for 1 of low
              small: pool_at_max max 1
        "#]],
    );
}

#[test]
fn a_doubtful_pool_is_taken_last() {
    check(
        "pool cheap cpu=4 mem=16 price=0.1 doubtful
         pool dear cpu=4 mem=16 price=0.9 max=1
         pods 2 web cpu=4 mem=1",
        &expect![[r#"
            launch cheap x1 for demand
            launch dear x1 for demand
            1 pods to new cheap 0
            1 pods to new dear 0
        "#]],
    );
}

#[test]
fn the_expander_cost_takes_the_cheapest_whole() {
    check(
        "pool small cpu=2 mem=8 price=0.1
         pool large cpu=8 mem=32 price=0.3
         pods 8 web cpu=1 mem=1",
        &expect![[r#"
            launch large x1 for demand
            8 pods to new large 0
        "#]],
    );
}

#[test]
fn the_expander_priority_takes_the_highest() {
    check(
        "policy expander=priority
         pool cheap cpu=4 mem=16 price=0.1
         pool dear cpu=4 mem=16 price=0.9 priority=10 max=1
         pods 2 web cpu=4 mem=1",
        &expect![[r#"
            launch cheap x1 for demand
            launch dear x1 for demand
            1 pods to new cheap 0
            1 pods to new dear 0
        "#]],
    );
}

#[test]
fn the_expander_least_waste_takes_what_fits_best() {
    check(
        "policy expander=least-waste
         pool tight cpu=3 mem=3 price=0.9
         pool loose cpu=4 mem=16 price=0.1
         pods 1 web cpu=3 mem=3",
        &expect![[r#"
            launch tight x1 for demand
            1 pods to new tight 0
        "#]],
    );
}

#[test]
fn the_expander_most_pods_takes_the_largest() {
    check(
        "policy expander=most-pods
         pool small cpu=2 mem=8 price=0.1
         pool large cpu=8 mem=32 price=0.9
         pods 8 web cpu=1 mem=1",
        &expect![[r#"
            launch large x1 for demand
            8 pods to new large 0
        "#]],
    );
}

#[test]
fn room_is_kept_free_by_buffers_and_by_pools() {
    check(
        "pool a cpu=4 mem=16
         pool b cpu=4 mem=16 max=1
         node n1 a
         pods 1 run cpu=1 mem=1 on=n1
         headroom 2 cpu=2 mem=1
         headroom 3 pool=b cpu=2 mem=1",
        &expect![[r#"
            launch a x1 for headroom
            launch b x1 for headroom
            keep n1: no_place pod run-00000
            headroom 1 lacks 1
        "#]],
    );
}

#[test]
fn young_pods_wait_and_pods_of_others_are_not_ours() {
    check(
        "policy newpods=30
         pool small cpu=4 mem=16
         pods 2 young cpu=4 mem=1 age=10
         pods 1 old cpu=4 mem=1 age=31
         pods 3 theirs cpu=4 mem=1 scheduler=batch
         pods 1 device cpu=1 mem=1 unjudged",
        &expect![[r#"
            launch small x1 for demand
            1 pods to new small 0
            no place for 1 of device
              small: cannot_judge what a device claim
        "#]],
    );
}

#[test]
fn a_nominated_pod_keeps_its_node() {
    check(
        "pool small cpu=4 mem=16
         node n1 small
         pods 2 low cpu=2 mem=1 priority=-1 on=n1 terminating
         pods 1 high cpu=4 mem=1 nominated=n1",
        &expect![[r#"
            keep n1: needed_by_pending
            1 pods to n1
        "#]],
    );
}

#[test]
fn pods_that_must_be_together_share_a_zone() {
    check(
        "pool a cpu=4 mem=16 price=0.2 zone=a
         pool b cpu=4 mem=16 price=0.2 zone=b
         pods 6 web cpu=2 mem=1 together=zone",
        &expect![[r#"
            launch a x3 for demand
            2 pods to new a 0
            2 pods to new a 1
            2 pods to new a 2
        "#]],
    );
}

#[test]
fn ports_of_the_host_bring_a_node_each() {
    check(
        "pool small cpu=4 mem=16 max=5
         node n1 small
         pods 3 web cpu=0.1 mem=0.1 port=80",
        &expect![[r#"
            launch small x2 for demand
            keep n1: needed_by_pending
            1 pods to n1
            1 pods to new small 0
            1 pods to new small 1
        "#]],
    );
}

/// Room in a pool is room on whichever of its offerings is there, or comes the cheapest.
#[test]
fn headroom_of_a_pool_is_on_any_of_its_offerings() {
    let text = "pool large cpu=8 mem=32 price=2 group=g
         pool small cpu=2 mem=8 price=0.5 group=g
         pool other cpu=2 mem=8 price=0.1
         headroom 1 pool=large cpu=1 mem=1";
    check(
        text,
        &expect![[r#"
        launch small x1 for headroom
    "#]],
    );
    check(
        &format!("{text}\nnode s1 small\nnode o1 other"),
        &expect![[r#"
        remove o1 as empty
        keep s1: headroom
    "#]],
    );
}
