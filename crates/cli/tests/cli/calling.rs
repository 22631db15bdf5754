//! Calling it wrongly, and asking how to call it.

use crate::world::World;
use expect_test::expect;

#[test]
fn wrong_calls_have_a_code() {
    let world = World::new();
    world.check(
        "stats",
        expect![[r#"
        --- stderr
        error: unrecognized subcommand 'stats'

          tip: a similar subcommand exists: 'status'

        Usage: ostler <COMMAND>

        For more information, try '--help'. [OSTLER-U000]
        --- exit 2
    "#]],
    );
    world.check(
        "run",
        expect![[r#"
            --- stderr
            error: the following required arguments were not provided:
              <--file <OSTLER.YAML>|--ray <CLUSTER.YAML>>

            Usage: ostler run <--file <OSTLER.YAML>|--ray <CLUSTER.YAML>>

            For more information, try '--help'. [OSTLER-U000]
            --- exit 2
        "#]],
    );
    world.check(
        "run -f a.yaml --ray b.yaml",
        expect![[r#"
            --- stderr
            error: the argument '--file <OSTLER.YAML>' cannot be used with '--ray <CLUSTER.YAML>'

            Usage: ostler run <--file <OSTLER.YAML>|--ray <CLUSTER.YAML>>

            For more information, try '--help'. [OSTLER-U000]
            --- exit 2
        "#]],
    );
    world.check(
        "run -f a.yaml --listen somewhere",
        expect![[r#"
        --- stderr
        error: invalid value 'somewhere' for '--listen <IP:PORT>': invalid socket address syntax

        For more information, try '--help'. [OSTLER-U000]
        --- exit 2
    "#]],
    );
    world.check(
        "journal --subject cpu",
        expect![[r#"
        --- stderr
        error: invalid value 'cpu' for '--subject <KIND:ID>': write KIND:ID, such as `pool:cpu`

        For more information, try '--help'. [OSTLER-U000]
        --- exit 2
    "#]],
    );
    world.check("journal --since yesterday", expect![[r#"
        --- stderr
        error: invalid value 'yesterday' for '--since <WHEN>': write a time such as `2026-11-01T10:00:00Z` or a span such as `10m`

        For more information, try '--help'. [OSTLER-U000]
        --- exit 2
    "#]]);
    world.check(
        "journal --limit 0",
        expect![[r#"
        --- stderr
        error: invalid value '0' for '--limit <N>': 0 is not in 1..=10000

        For more information, try '--help'. [OSTLER-U000]
        --- exit 2
    "#]],
    );
    world.check(
        "plan x.json --policy best",
        expect![[r#"
        --- stderr
        error: invalid value 'best' for '--policy <POLICY>'
          [possible values: ray, ray-exact]

        For more information, try '--help'. [OSTLER-U000]
        --- exit 2
    "#]],
    );
}

#[test]
fn help_and_version_are_results() {
    let world = World::new();
    world.check(
        "--version",
        expect![[r#"
        ostler 0.1.0
        --- exit 0
    "#]],
    );
    world.check("--help", expect![[r#"
        An autoscaler: it watches what workloads ask for, decides which machines should exist, and makes it so

        Usage: ostler <COMMAND>

        Commands:
          run       Watch, decide and act, until stopped
          status    Pools, machines, demand and the last plan of a running Ostler
          explain   Why something waits, stays, goes, or was refused
          snapshot  Look once at a Ray cluster that somebody else scales, for `ostler plan`; changes nothing
          plan      Plan a recorded snapshot; changes nothing
          replay    Plan recordings again and tell which plans differ
          journal   What was decided and why, from the store, also while `ostler run` writes it
          check     Every mistake of a configuration, with its place and a hint
          help      Print this message or the help of the given subcommand(s)

        Options:
          -h, --help     Print help
          -V, --version  Print version

        Exit codes: 0 done, 1 the answer is no (mistakes, differences, nothing found), 2 called wrongly, 3 it could not be done.
        --- exit 0
    "#]]);
}
