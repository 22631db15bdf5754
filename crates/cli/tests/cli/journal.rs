//! `journal`: from a store that is being written.

use crate::world::World;
use expect_test::expect;
use ostler_model::{Millis, Timestamp, WorkloadId};
use ostler_store::{Commit, JournalEntry, SqliteStore, Store, Subject, Term};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

const START: u64 = 1_790_000_000_000;

/// A store in the world, held by a writer.
struct Writer {
    store: SqliteStore,
    term: Term,
    version: u64,
}

impl Writer {
    fn new(world: &World, name: &str) -> Self {
        let path = world.path().join(name);
        let mut store = SqliteStore::open(&path, 1000).expect("a store");
        let term = store.acquire("test", Timestamp(START), Millis::secs(60)).expect("the only writer");
        Self { store, term, version: 0 }
    }

    fn write(&mut self, kind: &str, id: &str, code: &str, message: &str) {
        let entry = JournalEntry {
            at: Timestamp(START + self.version * 1500),
            subject: Subject { kind: kind.to_owned(), id: id.to_owned() },
            code: code.to_owned(),
            message: message.to_owned(),
            data: "{}".to_owned(),
        };
        let commit = Commit {
            workload: WorkloadId::from("demo"),
            expected_version: self.version,
            term: self.term,
            upserts: Vec::new(),
            deletes: Vec::new(),
            memory: None,
            journal: vec![entry],
        };
        self.version = self.store.commit(&commit).expect("committed");
    }
}

/// Four entries.
fn written(world: &World, name: &str) -> Writer {
    let mut writer = Writer::new(world, name);
    writer.write(
        "instance",
        "i-0000002a-7",
        "launch_demand",
        "pool cpu, wanted: wanted for waiting requests",
    );
    writer.write("instance", "i-0000002a-7", "held_concurrent", "waits: 1 launches are under way");
    writer.write(
        "pool",
        "cpu",
        "launch_refused",
        "the provider refused:\u{1b}[31m no more (out_of_capacity)",
    );
    writer.write("workload", "", "session_changed", "the control plane was replaced, now s2");
    writer
}

#[test]
fn the_newest_entries_in_order() {
    let world = World::new();
    let _writer = written(&world, "a.db");
    world.check("journal --store a.db", expect![[r#"
        2026-09-21T14:13:20Z  demo  instance:i-0000002a-7  launch_demand  pool cpu, wanted: wanted for waiting requests
        2026-09-21T14:13:21Z  demo  instance:i-0000002a-7  held_concurrent  waits: 1 launches are under way
        2026-09-21T14:13:23Z  demo  pool:cpu  launch_refused  the provider refused:�[31m no more (out_of_capacity)
        2026-09-21T14:13:24Z  demo  workload  session_changed  the control plane was replaced, now s2
        --- exit 0
    "#]]);
    world.check("journal --store a.db --limit 2", expect![[r#"
        2026-09-21T14:13:23Z  demo  pool:cpu  launch_refused  the provider refused:�[31m no more (out_of_capacity)
        2026-09-21T14:13:24Z  demo  workload  session_changed  the control plane was replaced, now s2
        --- exit 0
    "#]]);
    world.check("journal --store a.db --subject workload --format json", expect![[r#"
        {"seq":4,"at":1790000004500,"workload":"demo","subject":"workload","code":"session_changed","message":"the control plane was replaced, now s2"}
        --- exit 0
    "#]]);
    world.check("journal --store a.db --subject instance:i-0000002a-7", expect![[r#"
        2026-09-21T14:13:20Z  demo  instance:i-0000002a-7  launch_demand  pool cpu, wanted: wanted for waiting requests
        2026-09-21T14:13:21Z  demo  instance:i-0000002a-7  held_concurrent  waits: 1 launches are under way
        --- exit 0
    "#]]);
    world.check("journal --store a.db --since 2026-09-21T14:13:22.5Z", expect![[r#"
        2026-09-21T14:13:23Z  demo  pool:cpu  launch_refused  the provider refused:�[31m no more (out_of_capacity)
        2026-09-21T14:13:24Z  demo  workload  session_changed  the control plane was replaced, now s2
        --- exit 0
    "#]]);
    world.check(
        "journal --store a.db --since 1s",
        expect![[r#"
        --- exit 0
    "#]],
    );
    world.check(
        "journal --store a.db --workload other",
        expect![[r#"
        --- exit 0
    "#]],
    );
}

#[test]
fn the_store_is_found_if_there_is_only_one() {
    let world = World::new();
    world.check(
        "journal",
        expect![[r#"
        --- stderr
        error: there is no store to read in DIR/.local/state/ostler: say which with --store [OSTLER-U005]
        --- exit 3
    "#]],
    );
    let place = ".local/state/ostler/one.db";
    drop(written(&world, place));
    world.check(
        "journal --limit 1",
        expect![[r#"
        2026-09-21T14:13:24Z  demo  workload  session_changed  the control plane was replaced, now s2
        --- exit 0
    "#]],
    );
    drop(written(&world, ".local/state/ostler/two.db"));
    world.check("journal --limit 1", expect![[r#"
        --- stderr
        error: there are several stores: say which with --store: DIR/.local/state/ostler/one.db, DIR/.local/state/ostler/two.db [OSTLER-U006]
        --- exit 3
    "#]]);
    world.check("journal --limit 1 --store missing.db", expect![[r#"
        --- stderr
        error: cannot open the store missing.db: there is no such store. Check that its directory can be written [OSTLER-S001]
        --- exit 3
    "#]]);
    std::fs::write(world.path().join("text.db"), "no database").expect("written");
    world.check("journal --store text.db", expect![[r#"
        --- stderr
        error: text.db is not a store of Ostler (not an SQLite file). It was left as it is: choose another `store.path` [OSTLER-S002]
        --- exit 3
    "#]]);
}

#[test]
fn following_sees_what_is_added() {
    let world = World::new();
    let mut writer = written(&world, "a.db");
    let mut child = world
        .command("journal --store a.db --limit 1 --follow")
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut next = || lines.next().expect("a line").expect("text");
    assert!(next().ends_with("now s2"));
    writer.write("pool", "cpu", "launch_refused", "first");
    assert!(next().ends_with("first"));
    writer.write("pool", "cpu", "launch_refused", "second");
    assert!(next().ends_with("second"));
    child.kill().expect("it runs still");
    child.wait().expect("it ends");
}

#[test]
fn explain_shows_the_last_entries() {
    let world = World::serving(None);
    let _writer = written(&world, "a.db");
    world.check(
        "explain i-0000002a-7 --store a.db",
        expect![[r#"
        instance i-0000002a-7 of demo
          queued for 1 s
          because waits: 1 launches are under way, the most that may be [held_concurrent]
            A launch waits, since as many are under way as may be.
            Raise max_concurrent_launches if the provider can take more.

          pool      cpu
          made for  demand

          2026-09-21T14:13:21Z  held_concurrent  waits: 1 launches are under way
          2026-09-21T14:13:20Z  launch_demand    pool cpu, wanted: wanted for waiting requests
        --- exit 0
    "#]],
    );
}
