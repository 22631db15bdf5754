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

/// The place of the first decides for all, so it is one that has room for all.
#[test]
fn pods_that_must_be_together_are_not_caught_where_no_more_can_be_had() {
    check(
        "pool a cpu=4 mem=16 price=0.1 zone=a max=1
         pool b cpu=4 mem=16 price=0.2 zone=b
         pods 6 web cpu=2 mem=1 together=zone",
        &expect![[r#"
            launch b x3 for demand
            2 pods to new b 0
            2 pods to new b 1
            2 pods to new b 2
        "#]],
    );
}

/// Pods that go where others are wait for those, not for the next plan.
#[test]
fn pods_that_must_be_with_others_follow_them() {
    check(
        "pool a cpu=4 mem=16 zone=a
         pool b cpu=4 mem=16 zone=b
         pods 1 cache cpu=3 mem=1 together=zone:web
         pods 1 web cpu=2 mem=1",
        &expect![[r#"
            launch a x2 for demand
            1 pods to new a 0
            1 pods to new a 1
        "#]],
    );
}

/// With one more in the other zone, the node that is up takes one more too.
#[test]
fn a_new_machine_lets_those_that_are_there_take_more() {
    check(
        "pool a cpu=4 mem=16 zone=a
         pool b cpu=4 mem=16 zone=b
         node a1 a
         node b1 b
         pods 1 full cpu=4 mem=1 on=b1
         pods 4 web cpu=1 mem=1 spread=zone:1",
        &expect![[r#"
            launch b x1 for demand
            keep a1: needed_by_pending
            keep b1: used percent 100
            2 pods to a1
            2 pods to new b 0
        "#]],
    );
}

/// The scheduler sees all machines that come, also those that come for others.
#[test]
fn pods_lie_evenly_over_what_comes_for_others_too() {
    check(
        "pool n cpu=4 mem=16
         pods 4 web cpu=1 mem=1 spread=host:1
         pods 6 db cpu=1 mem=1 spread=host:1",
        &expect![[r#"
            launch n x3 for demand
            3 pods to new n 0
            3 pods to new n 1
            4 pods to new n 2
        "#]],
    );
}

/// What has no other choice has the last machine of a pool.
#[test]
fn those_with_a_choice_give_way() {
    check(
        "pool a cpu=4 mem=16 price=0.1 max=1
         pool b cpu=4 mem=16 price=0.2
         pods 1 port cpu=3 mem=1 port=80
         pods 1 sel cpu=3 mem=1 select.pool=a",
        &expect![[r#"
            launch a x1 for demand
            launch b x1 for demand
            1 pods to new a 0
            1 pods to new b 0
        "#]],
    );
}

/// What is on a node that is booting already takes its room.
#[test]
fn a_node_that_is_booting_may_carry_pods_already() {
    check(
        "pool n cpu=4 mem=16
         node c1 n booting
         pods 3 early cpu=1 mem=1 on=c1
         pods 4 web cpu=1 mem=1",
        &expect![[r#"
            launch n x1 for demand
            keep c1: coming
            1 pods to c1
            3 pods to new n 0
        "#]],
    );
    check(
        "pool n cpu=4 mem=16
         node c1 n booting
         pods 1 high cpu=3 mem=1 nominated=c1
         pods 2 web cpu=1 mem=1",
        &expect![[r#"
            launch n x1 for demand
            keep c1: coming
            2 pods to c1
            1 pods to new n 0
        "#]],
    );
}
