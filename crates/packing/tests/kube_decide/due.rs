//! Machines that are due to go: of a pool over its maximum, or of one that is not configured any more.

use super::check;
use expect_test::expect;

/// Two busy nodes where one may be: where another pool can take what is on them, it does, one at a time.
#[test]
fn a_lowered_maximum_moves_pods_to_another_pool() {
    check(
        "pool p cpu=4 mem=16 price=1 max=1
         pool q cpu=4 mem=16 price=2 max=4
         node n1 p
         node n2 p
         pods 1 a cpu=3 mem=1 on=n1
         pods 1 b cpu=3 mem=1 on=n2",
        &expect![[r#"
            replace n1 by q x1
            keep n1: replacement_coming, unneeded
            keep n2: due cause max_per_pool,pod b-00001
        "#]],
    );
    check(
        "pool p cpu=4 mem=16 price=1 max=1
         pool q cpu=4 mem=16 price=2 max=4
         node n1 p replaced
         node n2 p
         node m q coming replaces
         pods 1 a cpu=3 mem=1 on=n1
         pods 1 b cpu=3 mem=1 on=n2",
        &expect![[r#"
            keep n1: replacement_coming
            keep n2: used percent 75
            keep m: coming
        "#]],
    );
    check(
        "pool p cpu=4 mem=16 price=1 max=1
         pool q cpu=4 mem=16 price=2 max=4
         node n1 p replaced
         node n2 p
         node m q replaces
         pods 1 a cpu=3 mem=1 on=n1
         pods 1 b cpu=3 mem=1 on=n2",
        &expect![[r#"
            remove n1 as max_per_pool
            keep n2: used percent 75
            keep m: replacing
        "#]],
    );
}

#[test]
fn over_a_maximum_without_another_place_they_stay_and_say_so() {
    check(
        "pool p cpu=4 mem=16 max=1
         pool tiny cpu=2 mem=16
         node n1 p
         node n2 p
         pods 1 a cpu=3 mem=1 on=n1
         pods 1 b cpu=3 mem=1 on=n2",
        &expect![[r#"
            keep n1: due cause max_per_pool,pod a-00000
            keep n2: due cause max_per_pool,pod b-00001
        "#]],
    );
    check(
        "policy max=1
         pool p cpu=4 mem=16
         node n1 p
         node n2 p
         pods 1 a cpu=3 mem=1 on=n1
         pods 1 b cpu=3 mem=1 on=n2",
        &expect![[r#"
            keep n1: due cause max_total,pod a-00000
            keep n2: due cause max_total,pod b-00001
        "#]],
    );
}

/// One that cannot be replaced is not in the way of the others.
#[test]
fn the_first_that_can_be_replaced_is() {
    check(
        "pool p cpu=8 mem=16 gone
         pool q cpu=4 mem=16
         node n1 p
         node n2 p
         pods 1 a cpu=5 mem=1 on=n1
         pods 1 b cpu=3.9 mem=1 on=n2
         pods 1 c cpu=3.9 mem=1 on=n2",
        &expect![[r#"
            replace n2 by q x2
            keep n1: due cause pool_gone,pod a-00000
            keep n2: replacement_coming, unneeded
        "#]],
    );
}

/// Also by a pool that is less preferred: there is nothing else to prefer.
#[test]
fn a_pool_that_left_the_configuration_goes_gently() {
    check(
        "policy expander=priority
         pool p cpu=4 mem=16 gone priority=5
         pool q cpu=4 mem=16 price=3
         node empty p
         node busy p
         node there q
         pods 1 a cpu=1 mem=1 on=there
         pods 1 b cpu=2 mem=1 on=busy",
        &expect![[r#"
            remove empty as pool_gone
            remove busy as pool_gone
            keep there: used percent 25
        "#]],
    );
    check(
        "policy expander=priority
         pool p cpu=4 mem=16 gone priority=5
         pool q cpu=4 mem=16 price=3
         node busy p
         pods 1 b cpu=2 mem=1 on=busy",
        &expect![[r#"
            replace busy by q x1
            keep busy: replacement_coming, unneeded
        "#]],
    );
}

/// Waiting pods have their place on what is still coming, nothing comes anew, and none of its reasons is told.
#[test]
fn a_pool_that_left_the_configuration_is_no_option() {
    check(
        "pool p cpu=4 mem=16 gone
         pool q cpu=2 mem=16
         node n1 p coming
         pods 2 a cpu=3 mem=1",
        &expect![[r#"
            keep n1: coming
            1 pods to n1
            no place for 1 of a
              q: too_large resource cpu,asked 3,has 2
        "#]],
    );
}

/// Pods do not move from one machine that is to go to another that is to go as well, if there is another place.
#[test]
fn pods_of_outdated_machines_move_to_those_that_stay() {
    check(
        "pool p cpu=4 mem=16
         node n1 p outdated
         node n2 p outdated
         node n3 p
         pods 1 a cpu=1 mem=1 on=n1
         pods 1 b cpu=1 mem=1 on=n2
         pods 1 c cpu=2 mem=1 on=n3",
        &expect![[r#"
            remove n1 as outdated
            remove n2 as outdated
            keep n3: used percent 50
        "#]],
    );
}
