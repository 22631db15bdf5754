//! `check`: mistakes of configurations.

use crate::world::World;
use expect_test::expect;

const RAY: &str = "\
cluster_name: demo
max_workers: 4
provider: {type: ostler-local, command: ray start}
head_node_type: head
available_node_types:
  head: {resources: {CPU: 2}, node_config: {}}
  cpu: {resources: {CPU: 4}, min_workers: 1, max_workers: 3, node_config: {}}
";

fn given(text: &str) -> World {
    let world = World::new();
    std::fs::write(world.path().join("file.yaml"), text).expect("written");
    world
}

#[test]
fn every_mistake_at_once() {
    let world = given(
        &RAY.replace("max_workers: 3", "max_wrokers: 3").replace("max_workers: 4", "max_workers: many"),
    );
    world.check(
        "check --ray file.yaml",
        expect![[r#"
        error: `max_workers`: expected a whole number of at least 0, found a text [OSTLER-C013]
         --> file.yaml:2:14
        2 | max_workers: many
          |              ^^^^

        error: `available_node_types.cpu`: unknown key `max_wrokers` [OSTLER-C010]
         --> file.yaml:7:46
        7 |   cpu: {resources: {CPU: 4}, min_workers: 1, max_wrokers: 3, node_config: {}}
          |                                              ^^^^^^^^^^^
         hint: did you mean `max_workers`?

        2 errors
        --- exit 1
    "#]],
    );
    world.check(
        "check --ray file.yaml --format json",
        expect![[r#"
        {
          "ok": false,
          "mistakes": [
            {
              "severity": "error",
              "code": "OSTLER-C013",
              "file": "file.yaml",
              "line": 2,
              "column": 14,
              "message": "`max_workers`: expected a whole number of at least 0, found a text",
              "hint": ""
            },
            {
              "severity": "error",
              "code": "OSTLER-C010",
              "file": "file.yaml",
              "line": 7,
              "column": 46,
              "message": "`available_node_types.cpu`: unknown key `max_wrokers`",
              "hint": "did you mean `max_workers`?"
            }
          ],
          "left_off": 0
        }
        --- exit 1
    "#]],
    );
}

#[test]
fn a_broken_file_and_none() {
    given("a: [").check(
        "check file.yaml",
        expect![[r#"
        error: this is not YAML: while parsing a node, did not find expected node content [OSTLER-C002]
         --> file.yaml:2:1
         hint: look at this line and the one above it: indentation, a missing `:`, an open quote or bracket

        1 error
        --- exit 1
    "#]],
    );
    given("").check("check missing.yaml", expect![[r#"
        --- stderr
        error: cannot read missing.yaml: No such file or directory (os error 2). Check the path and the rights [OSTLER-U001]
        --- exit 3
    "#]]);
    given("").check(
        "check .",
        expect![[r#"
        --- stderr
        error: cannot read .: Is a directory (os error 21). Check the path and the rights [OSTLER-U001]
        --- exit 3
    "#]],
    );
}
