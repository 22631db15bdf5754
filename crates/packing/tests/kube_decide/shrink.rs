//! Shrinking: what is not needed goes, after what is on it has found a place.

use super::check;
use expect_test::expect;

#[test]
fn a_node_goes_only_strictly_under_the_threshold() {
    check(
        "policy no-consolidation
         pool small cpu=4 mem=16
         node n1 small
         node n2 small
         node n3 small
         pods 2 a cpu=1 mem=1 on=n1
         pods 1 b cpu=1.9 mem=1 on=n2
         pods 3 c cpu=0.7 mem=1 on=n3",
        &expect![[r#"
            remove n2 as underused
            keep n1: used percent 50
            keep n3: used percent 53
        "#]],
    );
}

#[test]
fn fragments_are_no_room() {
    check(
        "policy no-consolidation
         pool small cpu=4 mem=16
         node n1 small
         node n2 small
         node n3 small
         pods 1 a cpu=1.5 mem=1 on=n1
         pods 1 b cpu=3 mem=1 on=n2
         pods 1 c cpu=3 mem=1 on=n3",
        &expect![[r#"
            keep n1: no_place pod a-00000
            keep n2: used percent 75
            keep n3: used percent 75
        "#]],
    );
}

#[test]
fn daemons_do_not_make_a_node_used() {
    check(
        "policy no-consolidation
         pool small cpu=4 mem=16
         node n1 small
         node n2 small
         daemon ds cpu=1.5 mem=1
         pods 1 ds cpu=1.5 mem=1 on=n1 of-node
         pods 1 ds cpu=1.5 mem=1 on=n2 of-node
         pods 1 a cpu=1 mem=1 on=n1
         pods 1 b cpu=1.3 mem=1 on=n2",
        &expect![[r#"
            remove n1 as underused
            keep n2: used percent 52
        "#]],
    );
}

#[test]
fn pods_that_may_not_move_keep_their_nodes() {
    check(
        "pool small cpu=4 mem=16
         node n1 small
         node n2 small
         node n3 small
         node n4 small
         node n5 small
         node n6 small
         node n7 small
         pods 1 bare cpu=0.1 mem=0.1 on=n1 bare
         pods 1 local cpu=0.1 mem=0.1 on=n2 local
         pods 1 job cpu=0.1 mem=0.1 on=n3 job
         pods 1 unsafe cpu=0.1 mem=0.1 on=n4 unsafe
         pods 1 guarded cpu=0.1 mem=0.1 on=n5
         budget guarded allowed=0
         pods 1 covered cpu=0.1 mem=0.1 on=n6
         budget covered allowed=1
         pods 1 twice cpu=0.1 mem=0.1 on=n7
         budget twice allowed=1
         budget twice allowed=2",
        &expect![[r#"
            remove n6 as underused
            keep n1: blocked pod bare-00000,by uncontrolled
            keep n2: blocked pod local-00001,by local_storage
            keep n3: blocked pod job-00002,by must_complete, unneeded
            keep n4: blocked pod unsafe-00003,by not_safe
            keep n5: blocked pod guarded-00004,by budget
            keep n7: blocked pod twice-00006,by budgets
        "#]],
    );
}

#[test]
fn time_annotations_and_failures_keep_a_node() {
    check(
        "policy unneeded=600
         pool small cpu=4 mem=16
         node n1 small unneeded=599
         node n2 small unneeded=600
         node n3 small held
         node n4 small failed
         node n5 small notready=1199
         node n6 small notready=1200",
        &expect![[r#"
            remove n2 as empty
            remove n6 as unready
            keep n1: not_long_enough, unneeded
            keep n3: held
            keep n4: drain_failed
            keep n5: not_long_enough, unneeded
        "#]],
    );
}

#[test]
fn a_pool_keeps_its_minimum() {
    check(
        "pool small cpu=4 mem=16 min=2
         node n1 small
         node n2 small
         node n3 small",
        &expect![[r#"
            remove n1 as empty
            keep n2: min
            keep n3: min
        "#]],
    );
}

#[test]
fn nothing_goes_while_a_pod_waits_that_could_run() {
    check(
        "pool small cpu=4 mem=16
         node n1 small
         node n2 small
         pods 1 run cpu=1 mem=1 on=n1
         pods 1 web cpu=3 mem=1",
        &expect![[r#"
            keep n1: needed_by_pending
            keep n2: pending_pods, unneeded
            1 pods to n1
        "#]],
    );
}

#[test]
fn hopeless_pods_do_not_freeze_savings() {
    check(
        "pool small cpu=4 mem=16
         node n1 small
         pods 5 huge cpu=100 mem=1",
        &expect![[r#"
            remove n1 as empty
            no place for 5 of huge
              small: too_large resource cpu,asked 100,has 4
        "#]],
    );
}

#[test]
fn strictly_every_pod_that_waits_freezes_them() {
    check(
        "policy strict
         pool small cpu=4 mem=16
         node n1 small
         pods 5 huge cpu=100 mem=1",
        &expect![[r#"
            keep n1: pending_pods, unneeded
            no place for 5 of huge
              small: too_large resource cpu,asked 100,has 4
        "#]],
    );
}

#[test]
fn quiet_after_a_node_came() {
    check(
        "policy quiet=10
         pool small cpu=4 mem=16
         node n1 small",
        &expect![[r#"
            keep n1: quiet, unneeded
        "#]],
    );
}

#[test]
fn drains_have_a_budget_for_each_zone() {
    check(
        "policy drains=1 per=zone for=underused
         pool a cpu=4 mem=16 zone=a
         pool b cpu=4 mem=16 zone=b
         node a1 a
         node a2 a
         node a3 a
         node b1 b
         node b2 b
         node keep b
         pods 1 x cpu=0.5 mem=1 on=a1
         pods 1 x cpu=0.5 mem=1 on=a2
         pods 1 x cpu=0.5 mem=1 on=b1
         pods 4 y cpu=0.6 mem=1 on=keep",
        &expect![[r#"
            remove a3 as empty
            remove b2 as empty
            remove a1 as underused
            remove b1 as underused
            keep a2: used percent 13
            keep keep: drain_budget, unneeded
        "#]],
    );
}

#[test]
fn a_budget_may_be_for_some_reasons_only() {
    check(
        "policy drains=0 for=outdated,unready
         pool small cpu=4 mem=16
         node n1 small outdated
         node n2 small
         node n3 small
         pods 1 x cpu=3 mem=1 on=n3",
        &expect![[r#"
            remove n2 as empty
            keep n1: drain_budget
            keep n3: used percent 75
        "#]],
    );
}

#[test]
fn room_that_is_kept_free_stays() {
    check(
        "pool small cpu=4 mem=16
         node n1 small
         node n2 small
         pods 1 x cpu=1 mem=1 on=n1
         headroom 2 cpu=3 mem=1",
        &expect![[r#"
            keep n1: headroom
            keep n2: headroom
        "#]],
    );
}

#[test]
fn promised_room_is_promised_once() {
    check(
        "pool small cpu=4 mem=16
         node n1 small
         node n2 small
         node n3 small
         pods 1 a cpu=1.5 mem=1 on=n1
         pods 1 b cpu=1.5 mem=1 on=n2
         pods 1 c cpu=2 mem=1 on=n3",
        &expect![[r#"
            remove n1 as underused
            keep n2: used percent 38
            keep n3: used percent 50
        "#]],
    );
}

#[test]
fn several_nodes_for_a_cheaper_one() {
    check(
        "pool small cpu=2 mem=8 price=0.2
         pool large cpu=8 mem=32 price=0.4
         node n1 small
         node n2 small
         node n3 small
         pods 1 a cpu=1.8 mem=1 on=n1
         pods 1 b cpu=1.8 mem=1 on=n2
         pods 1 c cpu=1.8 mem=1 on=n3",
        &expect![[r#"
            replace n1 n2 n3 by large x1
            keep n1: replacement_coming, unneeded
            keep n2: replacement_coming, unneeded
            keep n3: replacement_coming, unneeded
        "#]],
    );
}

#[test]
fn a_saving_that_is_too_small_is_none() {
    check(
        "pool old cpu=4 mem=16 price=1
         pool new cpu=4 mem=16 price=0.86
         node n1 old
         pods 1 a cpu=3 mem=1 on=n1",
        &expect![[r#"
            keep n1: used percent 75
        "#]],
    );
}

/// Whoever has a priority for each pool does not want the preferred one given up for a cheaper one.
#[test]
fn what_was_preferred_is_not_given_up_for_what_is_cheaper() {
    let world = |priority: u32| {
        format!(
            "policy expander=priority
             pool first cpu=4 mem=16 price=1 priority=5
             pool second cpu=4 mem=16 price=0.1 priority={priority}
             node n1 first
             pods 1 a cpu=3 mem=1 on=n1"
        )
    };
    check(
        &world(4),
        &expect![[r#"
            keep n1: used percent 75
        "#]],
    );
    check(
        &world(5),
        &expect![[r#"
            replace n1 by second x1
            keep n1: replacement_coming, unneeded
        "#]],
    );
}

#[test]
fn the_old_go_once_the_new_are_up() {
    check(
        "pool large cpu=16 mem=64 price=0.8
         pool small cpu=2 mem=8 price=0.1
         node n1 large replaced
         node n2 small coming replaces
         pods 1 job cpu=1 mem=1 on=n1",
        &expect![[r#"
            keep n1: replacement_coming, unneeded
            keep n2: coming
        "#]],
    );
    check(
        "pool large cpu=16 mem=64 price=0.8
         pool small cpu=2 mem=8 price=0.1
         node n1 large replaced
         node n2 small replaces
         pods 1 job cpu=1 mem=1 on=n1",
        &expect![[r#"
            remove n1 as underused
            keep n2: replacing
        "#]],
    );
}

#[test]
fn a_leaving_node_stays_if_its_pods_have_no_place_any_more() {
    check(
        "pool small cpu=4 mem=16 max=2
         node n1 small leaving=underused
         node n2 small
         pods 1 a cpu=1 mem=1 on=n1
         pods 4 b cpu=1 mem=1 on=n2",
        &expect![[r#"
            n1 is to stay
            keep n1: needed_by_pending
            keep n2: used percent 100
        "#]],
    );
}

#[test]
fn a_leaving_node_stays_if_its_room_is_wanted() {
    check(
        "pool small cpu=4 mem=16
         node n1 small leaving=empty
         pods 1 web cpu=1 mem=1",
        &expect![[r#"
            n1 is to stay
            keep n1: needed_by_pending
            1 pods to n1
        "#]],
    );
}

#[test]
fn machines_on_their_way_that_nothing_needs_are_withdrawn() {
    check(
        "pool small cpu=4 mem=16 min=1
         node n1 small coming
         node n2 small coming
         node n3 small",
        &expect![[r#"
            remove n1 as unneeded
            remove n2 as unneeded
            keep n3: min
        "#]],
    );
}

#[test]
fn more_than_the_maximum_goes_as_its_pods_find_room() {
    check(
        "policy unneeded=600
         pool small cpu=4 mem=16 max=1
         node n1 small
         node n2 small
         pods 2 a cpu=1 mem=1 on=n1
         pods 1 b cpu=1 mem=1 on=n2",
        &expect![[r#"
            remove n2 as max_per_pool
            keep n1: used percent 50
        "#]],
    );
}

#[test]
fn outdated_machines_are_replaced_before_they_go() {
    check(
        "pool small cpu=4 mem=16
         node n1 small outdated
         node n2 small
         pods 3 a cpu=1 mem=1 on=n1
         pods 3 b cpu=1 mem=1 on=n2",
        &expect![[r#"
            replace n1 by small x1
            keep n1: replacement_coming, unneeded
            keep n2: used percent 75
        "#]],
    );
}

#[test]
fn nothing_goes_where_removing_is_off() {
    check(
        "policy keep-all
         pool small cpu=4 mem=16
         node n1 small",
        &expect![[r#"
            keep n1: off
        "#]],
    );
}

/// A bound that pools share is kept like one of their own.
#[test]
fn more_than_a_group_may_have_goes_as_its_pods_find_room() {
    check(
        "policy unneeded=600
         pool a cpu=4 mem=16 group=g groupmax=2
         pool b cpu=4 mem=16 group=g groupmax=2 min=1
         node a1 a
         node a2 a
         node b1 b
         pods 1 x cpu=1 mem=1 on=a1",
        &expect![[r#"
            remove a2 as max_per_pool
            keep a1: not_long_enough, unneeded
            keep b1: min
        "#]],
    );
}

/// Minimums that together are more than there may be cannot all be kept.
#[test]
fn more_than_there_may_be_goes_also_where_the_minimums_are_more() {
    check(
        "policy max=2
         pool a cpu=4 mem=16 min=2
         pool b cpu=4 mem=16 min=1
         node a1 a
         node a2 a
         node b1 b
         pods 1 x cpu=1 mem=1 on=a1
         pods 1 x cpu=1 mem=1 on=b1",
        &expect![[r#"
            remove a2 as max_total
            keep a1: min
            keep b1: min
        "#]],
    );
}

/// A node that has not been ready for too long does not count for the minimum: it is made up for, and may go.
#[test]
fn a_lost_node_is_none_of_the_minimum() {
    check(
        "pool n cpu=4 mem=16 min=2 max=4
         node n1 n
         node n2 n notready=1200",
        &expect![[r#"
            launch n x1 for min
            remove n2 as unready
            keep n1: min
        "#]],
    );
    check(
        "pool n cpu=4 mem=16 min=2 max=2
         node n1 n
         node n2 n notready=1199",
        &expect![[r#"
            keep n1: min
            keep n2: min
        "#]],
    );
}

/// The clock of a node runs on while a job ends there.
#[test]
fn a_job_keeps_its_node_and_not_its_clock() {
    check(
        "policy unneeded=600
         pool n cpu=4 mem=16
         node n1 n unneeded=700
         node n2 n
         pods 1 job cpu=1 mem=1 on=n1 job
         pods 1 web cpu=1 mem=1 on=n1
         pods 2 web cpu=1 mem=1 on=n2",
        &expect![[r#"
            keep n1: blocked pod job-00000,by must_complete, unneeded
            keep n2: used percent 50
        "#]],
    );
}

/// One that could be emptied only once it is gone, while a budget lets its pods go one after the other, would never be.
#[test]
fn a_node_is_not_emptied_that_would_wait_for_itself() {
    let text = "pool n cpu=4 mem=16
         node n1 n
         node n2 n
         pods 2 web cpu=1 mem=1 spread=host:1 on=n1
         pods 2 web cpu=1 mem=1 spread=host:1 on=n2
         budget web allowed=1";
    check(
        text,
        &expect![[r#"
        keep n1: used percent 50
        keep n2: used percent 50
    "#]],
    );
    check(
        &text.replace("allowed=1", "allowed=2"),
        &expect![[r#"
        remove n1 as consolidated
        keep n2: used percent 50
    "#]],
    );
}

/// What may be lost keeps no node: it counts as no use, and needs no other place.
#[test]
fn expendable_pods_keep_no_node() {
    check(
        "pool n cpu=4 mem=16
         node n1 n
         node n2 n
         node n3 n
         pods 2 spare cpu=2 mem=1 priority=-100 on=n1
         pods 2 placeholder cpu=2 mem=1 priority=-10 on=n2
         pods 1 guarded cpu=2 mem=1 priority=-100 on=n3
         budget guarded allowed=0",
        &expect![[r#"
            remove n1 as underused
            keep n2: used percent 100
            keep n3: blocked pod guarded-00004,by budget
        "#]],
    );
}
