//! Texts that cannot be read, that hide secrets, or that are made to do harm.

use crate::common::{check, general, ray_in};
use expect_test::expect;
use std::fmt::Write;

#[test]
fn broken_yaml() {
    check(
        ray_in("cluster_name: x\n  max_workers: 3\n", &[]),
        expect![[r#"
        error: this is not YAML: mapping values are not allowed in this context [OSTLER-C002]
         --> cluster.yaml:2:14
        2 |   max_workers: 3
          |              ^
         hint: look at this line and the one above it: indentation, a missing `:`, an open quote or bracket

        1 error"#]],
    );
    check(
        ray_in("a:\n\tb: 1\n", &[]),
        expect![[r#"
            error: this is not YAML: tabs disallowed within this context (block indentation) [OSTLER-C002]
             --> cluster.yaml:2:2
            2 |  b: 1
              |  ^
             hint: indent with spaces, never with tabs

            1 error"#]],
    );
    check(
        ray_in("a: [1, 2\n", &[]),
        expect![[r#"
        error: this is not YAML: while parsing a flow sequence, expected ',' or ']' [OSTLER-C002]
         --> cluster.yaml:2:1
         hint: look at this line and the one above it: indentation, a missing `:`, an open quote or bracket

        1 error"#]],
    );
    check(
        ray_in("", &[]),
        expect![[r#"
        error: the file is empty [OSTLER-C003]
         --> cluster.yaml:1:1

        1 error"#]],
    );
    check(
        ray_in("# nothing\n", &[]),
        expect![[r#"
        error: the file is empty [OSTLER-C003]
         --> cluster.yaml:1:1
        1 | # nothing
          | ^

        1 error"#]],
    );
    check(
        ray_in("- a\n- b\n", &[]),
        expect![[r#"
            error: expected a section, found a list [OSTLER-C013]
             --> cluster.yaml:1:1
            1 | - a
              | ^
             hint: write `key: value` below it, indented

            1 error"#]],
    );
    check(
        ray_in("a: 1\n---\nb: 2\n", &[]),
        expect![[r#"
        error: a second document begins here, only one is read [OSTLER-C003]
         --> cluster.yaml:2:1
        2 | ---
          | ^^^
         hint: remove it, with its `---`

        1 error"#]],
    );
    check(
        ray_in("? [a]\n: 1\n", &[]),
        expect![[r#"
        error: a list or section cannot be a key [OSTLER-C013]
         --> cluster.yaml:1:3
        1 | ? [a]
          |   ^
         hint: put a text in quotes here

        1 error"#]],
    );
    check(
        ray_in("cluster_name: !secret x\n<<: 3\n", &[]),
        expect![[r#"
            error: `available_node_types` is missing [OSTLER-C012]
             --> cluster.yaml:1:1
            1 | cluster_name: !secret x
              | ^
             hint: it is names, and a section for each: The kinds of machine, by name.

            error: `provider` is missing [OSTLER-C012]
             --> cluster.yaml:1:1
            1 | cluster_name: !secret x
              | ^
             hint: it is a section: Where machines come from; `type` says which kind.

            warning: `max_workers` is not said, so Ray's default of 2 holds for all together [OSTLER-C031]
             --> cluster.yaml:1:1
            1 | cluster_name: !secret x
              | ^
             hint: say `max_workers`

            error: the tag `!secret` is not known [OSTLER-C013]
             --> cluster.yaml:1:15
            1 | cluster_name: !secret x
              |               ^^^^^^^^^

            error: `<<` merges a section, found a whole number [OSTLER-C013]
             --> cluster.yaml:2:5
            2 | <<: 3
              |     ^
             hint: write `<<: *name`

            4 errors, 1 warning"#]],
    );
}

#[test]
fn secrets_are_blanked_out() {
    let text = "workloads: {}\nproviders:\n  p: {type: local, command: x, environment: {API_TOKEN: hunter2, A: 1}}\n";
    check(
        general(text),
        expect![[r#"
            error: `providers.p.environment`: `A`: expected a text, found a whole number [OSTLER-C013]
             --> ostler.yaml:3:69
            3 |   p: {type: local, command: x, environment: {API_TOKEN: ***
             hint: put it in quotes if it is meant as a text

            1 error"#]],
    );
}

#[test]
fn bombs_are_refused_before_they_unfold() {
    let mut aliases = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    let mut merges = String::from("m0: &m0 {k0: 1}\n");
    for n in 1..30 {
        let last = n - 1;
        let _ = writeln!(aliases, "a{n}: &a{n} [{}]", vec![format!("*a{last}"); 9].join(", "));
        let _ = writeln!(
            merges,
            "m{n}: &m{n}\n  k{n}: &k{n} {{<<: [{}]}}",
            vec![format!("*m{last}"); 9].join(", ")
        );
    }
    let cases = [
        ("aliases", aliases),
        ("depth", format!("a: {}", "[".repeat(100_000))),
        ("block depth", (0..2000).map(|n| format!("{}a:\n", " ".repeat(n))).collect()),
        ("size", format!("a: {}", "x".repeat(5 << 20))),
        ("values", format!("a: [{}]", "1,".repeat(300_000))),
        ("keys", (0..300_000).map(|n| format!("k{n}: 1\n")).collect()),
        ("self", "a: &a [*a]\n".to_owned()),
        (
            "merged keys",
            format!(
                "base: &b {{{}}}\n{}",
                (0..10_000).map(|n| format!("k{n}: 1, ")).collect::<String>(),
                (0..10_000).map(|n| format!("m{n}: {{<<: *b}}\n")).collect::<String>()
            ),
        ),
    ];
    for (name, text) in cases {
        let mistakes = ray_in(&text, &[]).expect_err(name);
        assert_eq!(mistakes.all[0].code.text(), "OSTLER-C001", "{name}: {mistakes}");
    }
    ray_in(&merges, &[]).expect_err("no cluster");
}

#[test]
fn at_most_a_hundred_mistakes_are_shown() {
    let text: String = (0..250).map(|n| format!("unknown{n}: 1\n")).collect();
    let mistakes = ray_in(&text, &[]).expect_err("refused");
    assert_eq!(mistakes.all.len() + mistakes.left_off, 250 + 3, "three are missing");
    assert!(mistakes.to_string().ends_with("100 errors, and 153 more that are not shown"), "{mistakes}");
}
