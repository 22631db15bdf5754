//! Bad input: one clear error with a code and what to do, and nothing is lost or launched.

use expect_test::{Expect, expect};
use ostler_e2e::{Ostler, World, alone, pools, step};
use ostler_testkit::ray::{Cluster, Options, wait_for};
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Nobody listens there: ports below 1024 that no program of a usual host takes.
const NOBODY: &str = "127.0.0.1:9";

/// An Ostler without a Ray. Its machines would leave a file.
fn without_ray(dir: &TempDir, yaml: &str) -> Ostler<'static> {
    let home = dir.path().to_owned();
    let surroundings = move |program: &Path| {
        let mut command = Command::new(program);
        command.env_clear().env("HOME", &home).env("PATH", "/usr/bin:/bin");
        command
    };
    Ostler::new(dir.path(), yaml, NOBODY, surroundings)
}

fn good(dir: &TempDir) -> String {
    format!(
        "cluster_name: bad\nmax_workers: 2\nprovider: {{type: ostler-local, command: \"touch {}/launched\"}}\n\
         head_node_type: head\navailable_node_types:\n  head: {{resources: {{CPU: 0}}}}\n  \
         small: {{resources: {{CPU: 1}}, min_workers: 1, max_workers: 2}}\n",
        dir.path().display()
    )
}

/// Runs it to its end, which must come by itself: exit code, and all that it says.
fn check(dir: &TempDir, ostler: &Ostler<'_>, expected: Expect) {
    let finished = ostler.run_to_the_end();
    let place = dir.path().display().to_string();
    let said = format!("{}{}", finished.out, finished.talk).replace(&place, "DIR");
    expected.assert_eq(&format!("{said}exit {:?}\n", finished.code.unwrap_or(-1)));
    assert!(!dir.path().join("launched").exists(), "something was launched");
}

fn check_yaml(change: impl Fn(String) -> String, expected: Expect) {
    let dir = TempDir::new().expect("a directory");
    let ostler = without_ray(&dir, &change(good(&dir)));
    check(&dir, &ostler, expected);
    assert!(!dir.path().join("ostler.db").exists(), "a store was made");
}

#[test]
fn broken_yaml() {
    check_yaml(
        |yaml| yaml.replace("head_node_type: head", "head_node_type: [head"),
        expect![[r#"
        error: this is not YAML: illegal placement of ':' indicator [OSTLER-C002]
         --> DIR/cluster.yaml:5:21
        5 | available_node_types:
          |                     ^
         hint: look at this line and the one above it: indentation, a missing `:`, an open quote or bracket

        1 error
        exit 3
    "#]],
    );
}

#[test]
fn a_wrong_type() {
    check_yaml(
        |yaml| yaml.replace("max_workers: 2\n", "max_workers: two\n"),
        expect![[r#"
        error: `max_workers`: expected a whole number of at least 0, found a text [OSTLER-C013]
         --> DIR/cluster.yaml:2:14
        2 | max_workers: two
          |              ^^^

        1 error
        exit 3
    "#]],
    );
}

#[test]
fn a_minimum_above_the_maximum() {
    check_yaml(
        |yaml| yaml.replace("min_workers: 1", "min_workers: 3"),
        expect![[r#"
        warning: `max_workers` is 2, the minimums of all pools together are 3 [OSTLER-C030]
         --> DIR/cluster.yaml:2:14
        2 | max_workers: 2
          |              ^
         hint: not all minimums can be kept

        error: `available_node_types.small.min_workers` is 3, `max_workers` is 2 [OSTLER-C020]
         --> DIR/cluster.yaml:7:45
        7 |   small: {resources: {CPU: 1}, min_workers: 3, max_workers: 2}
          |                                             ^
         hint: raise the one or lower the other

        1 error, 1 warning
        exit 3
    "#]],
    );
}

#[test]
fn an_unknown_head_type() {
    check_yaml(
        |yaml| yaml.replace("head_node_type: head", "head_node_type: haed"),
        expect![[r#"
        error: `head_node_type`: there is no node type `haed` [OSTLER-C021]
         --> DIR/cluster.yaml:4:17
        4 | head_node_type: haed
          |                 ^^^^
         hint: did you mean `head`?

        1 error
        exit 3
    "#]],
    );
}

#[test]
fn a_provider_that_is_not_there() {
    check_yaml(
        |yaml| yaml.replace("ostler-local", "local"),
        expect![[r#"
        error: `provider.type`: `local` is not there yet in this version of Ostler [OSTLER-C023]
         --> DIR/cluster.yaml:3:18
        3 | provider: {type: local, command: "touch DIR/launched"}
          |                  ^^^^^
         hint: there is `ostler-local`

        1 error
        exit 3
    "#]],
    );
}

#[test]
fn no_file() {
    let dir = TempDir::new().expect("a directory");
    let ostler = without_ray(&dir, &good(&dir));
    fs::remove_file(dir.path().join("cluster.yaml")).expect("it is there");
    check(
        &dir,
        &ostler,
        expect![[r#"
        error: cannot read DIR/cluster.yaml: No such file or directory (os error 2). Check the path and the rights [OSTLER-U001]
        exit 3
    "#]],
    );
}

#[test]
fn a_store_of_a_newer_version() {
    let dir = TempDir::new().expect("a directory");
    let mut ostler = without_ray(&dir, &good(&dir));
    let path = dir.path().join("ostler.db");
    ostler.start();
    wait_for("a store", || ostler.log().contains("Ostler runs").then_some(()));
    ostler.kill();
    let store = rusqlite::Connection::open(&path).expect("it is SQLite");
    store.pragma_update(None, "user_version", 1_000).expect("it can be written");
    drop(store);
    let before = fs::read(&path).expect("it can be read");
    check(
        &dir,
        &ostler,
        expect![[r#"
        error: the store DIR/ostler.db has format 1000, this Ostler knows formats up to 1. It was left as it is: run the newer Ostler that wrote it, or choose another `store.path` [OSTLER-S003]
        exit 3
    "#]],
    );
    assert!(fs::read(&path).expect("it is still there") == before, "the store was changed");
}

#[test]
fn a_store_that_is_something_else() {
    let dir = TempDir::new().expect("a directory");
    let ostler = without_ray(&dir, &good(&dir));
    fs::write(dir.path().join("ostler.db"), "my diary\n".repeat(1000)).expect("written");
    check(
        &dir,
        &ostler,
        expect![[r#"
        error: DIR/ostler.db is not a store of Ostler (not an SQLite file). It was left as it is: choose another `store.path` [OSTLER-S002]
        exit 3
    "#]],
    );
}

#[test]
fn a_second_ostler_on_the_same_store() {
    let dir = TempDir::new().expect("a directory");
    let mut first = without_ray(&dir, &good(&dir));
    first.start();
    wait_for("the first to lead", || first.log().contains("Ostler runs").then_some(()));
    for (yaml, code) in [
        (good(&dir), "OSTLER-P103"), // the machines are the first that it misses
        (good(&dir).replace("ostler-local,", "ostler-local, state_dir: elsewhere,"), "OSTLER-S012"),
    ] {
        let second = without_ray(&dir, &yaml); // with an API of its own
        let finished = second.run_to_the_end();
        assert_eq!(finished.code, Some(3), "{finished:?}");
        assert!(finished.talk.ends_with(&format!("[{code}]\n")), "{finished:?}");
    }
    assert_eq!(first.ended(), None, "the first goes on");
    first.kill();
    assert!(first.log().matches("this Ostler leads").count() == 1);
}

#[test]
fn a_gcs_that_is_not_there() {
    let dir = TempDir::new().expect("a directory");
    let mut ostler = without_ray(&dir, &good(&dir));
    ostler.start();
    let why = "workload bad: Ray's GCS at 127.0.0.1:9 cannot be reached";
    wait_for("a third look", || {
        let (status, said) = ostler.get("/readyz")?;
        assert_eq!(status, 503, "{said}");
        let metrics = ostler.get("/metrics")?.1;
        let looks = metrics
            .lines()
            .find_map(|line| line.strip_prefix("ostler_looks_failed_total ")?.parse::<f64>().ok());
        (said.contains(why) && said.contains("OSTLER-A005") && looks? >= 3.0).then_some(())
    });
    assert_eq!(ostler.log().matches("cannot be seen").count(), 1, "it is said once:\n{}", ostler.log());
    assert_eq!(ostler.get("/healthz").expect("it lives").0, 200);
    assert!(!dir.path().join("launched").exists(), "something was launched");
}

#[test]
fn a_wrong_token() {
    let _alone = alone();
    let token = "0123456789abcdef0123456789abcdef";
    step("a head with a token");
    let cluster =
        Cluster::start(Options { token: Some(token.into()), ..Options::of(crate::versions::NEWEST) });
    let yaml =
        pools(&cluster, "max_workers: 1", &["small: {resources: {CPU: 1}, max_workers: 1, min_workers: 1}"]);
    step("Ostler with another token");
    let mut wrong = Ostler::new(cluster.dir(), &yaml, &cluster.address(), |program| {
        let mut command = cluster.program(program);
        command.env("RAY_AUTH_TOKEN", "ffffffffffffffffffffffffffffffff");
        command
    });
    wrong.start();
    wait_for("the refusal", || wrong.get("/readyz").filter(|(_, said)| said.contains("refuses our token")));
    let log = wrong.log();
    assert!(log.contains("give the cluster's token, see docs/ray.md [ray.auth]"), "{log}");
    assert!(!log.contains("ffffffffffffffff"), "the token is in the log");
    drop(wrong);
    step("Ostler with the right token; its machine joins");
    let world = World::start(&cluster, &yaml);
    world.settle("small 1 running");
    let shown = [world.ostler.log(), world.ostler.get("/api/v1/status").expect("it answers").1];
    assert!(!shown.iter().any(|text| text.contains(token)), "the token is shown");
}
