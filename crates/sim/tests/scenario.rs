//! A scenario as text in, a score or its mistakes as text out.

use expect_test::{Expect, expect};

fn check(text: &str, expect: Expect) {
    expect
        .assert_eq(&ostler_sim::run(text).map_or_else(|error| error.to_string(), |score| score.to_string()));
}

#[test]
fn a_morning() {
    check(
        "
        cloud cloud appears 1s boots 20s stops 5s
        ray joins 10s
        pool small CPU=4 min 1 max 8
        pool gpu CPU=8,GPU=1 max 2 labels zone=a
        knob idle_timeout 60s
        at 30s tasks 24 CPU=1 for 40s
        at 60s gang STRICT_SPREAD 3 CPU=2 for 30s
        at 90s tasks 3 CPU=2,GPU=1 where zone=a for 20s
        at 95s kill small
        at 120s floor 2 CPU=4 for 60s
        end 10min
        ",
        expect![[r#"
            simulated          10 min
            done               28, unfinished 0
            wait               p50 32.4 s, p95 35.8 s
            machines           10 made, 1705 machine-seconds
            failures           0 by us, 1 by the world
        "#]],
    );
}

#[test]
fn nobody_can_be_helped() {
    check(
        "
        pool small CPU=4 max 2
        at 1s tasks 2 CPU=8 for 5s
        end 1min
        ",
        expect![[r#"
            simulated          1 min
            done               0, unfinished 2
            wait               p50 59 s, p95 59 s
            machines           0 made, 0 machine-seconds
            failures           0 by us, 0 by the world
        "#]],
    );
}

#[test]
fn all_mistakes_at_once() {
    check(
        "
        pool a CPU=x
        pool b CPU=1 max many
        pool c CPU=1 from nowhere
        pool d CPU=1
        pool d CPU=1
        knob idle_timeout 5
        knob colour blue
        at 1s tasks 3 CPU=1 for
        at 1s gang LOOSE 3 CPU=1 for 5s
        at 1s tasks 999999 CPU=1 for 1s
        at 1s kill e
        at 1s fault cloud launch explode
        at 1s refuse d whim for 3s
        crash 3 softly
        end 1min 2min
        begin 1s
        ",
        expect![[r#"
            line 2: "x" is not an amount of CPU [OSTLER-V001]
            line 3: "many" is not a number [OSTLER-V001]
            line 4: there is no cloud nowhere: name it on a line before this one [OSTLER-V001]
            line 6: pool d is there twice [OSTLER-V001]
            line 7: "5" is not a time: write 500ms, 5s, 2min or 1h [OSTLER-V001]
            line 8: "colour" is no knob of a scenario [OSTLER-V001]
            line 9: a time is missing [OSTLER-V001]
            line 10: "LOOSE": write STRICT_PACK, STRICT_SPREAD, PACK or SPREAD [OSTLER-V001]
            line 11: more than 100000 pieces of work [OSTLER-V001]
            line 12: there is no pool "e" above this line [OSTLER-V001]
            line 13: "explode": write refuse, lose, slow or lag [OSTLER-V001]
            line 14: "whim" is not a class of failure, such as out_of_capacity [OSTLER-V001]
            line 15: "softly": write before, done or ghosts [OSTLER-V001]
            line 16: "2min" is too much on this line [OSTLER-V001]
            line 17: "begin" begins no line of a scenario [OSTLER-V001]"#]],
    );
}
