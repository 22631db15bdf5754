//! Kill -9 at any moment: what was acknowledged is there, and nothing is half there. Two writers: one wins.

use ostler_model::{InstanceId, Millis, Timestamp, WorkloadId};
use ostler_store::{
    Commit, CommitError, JournalEntry, JournalQuery, LeaderError, SqliteStore, Store, Subject, Term,
};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

const CHILD: &str = "OSTLER_STORE_CRASH_CHILD";
const PAIRS: u64 = 20;

#[test]
fn kill_nine_loses_no_acknowledged_commit_and_leaves_none_half_done() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("ostler.db");
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut before = 0;
    for round in 0..30 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let acknowledged =
            run_and_kill(&path, 1 + (random >> 60), Duration::from_micros((random >> 32) % 3000));
        let after = inspect(&path);
        assert!(
            after >= acknowledged.max(before),
            "round {round}: {acknowledged} was acknowledged, {after} is left"
        );
        assert!(after <= acknowledged.max(before) + 1, "round {round}: at most one commit was under way");
        before = after;
    }
    assert!(before >= 30, "every round made progress");
}

/// Starts the child, waits for some acknowledgements and a moment more, kills it, and returns the last version
/// that it acknowledged.
fn run_and_kill(path: &Path, acknowledgements: u64, moment: Duration) -> u64 {
    let mut child = spawn(path);
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut last = 0;
    let mut read = |line: Option<std::io::Result<String>>| match line {
        Some(Ok(line)) => {
            last = line.strip_prefix("acknowledged ").map_or(last, |n| n.parse().expect("a version"));
            true
        }
        _ => false,
    };
    let mut seen = 0;
    while seen < acknowledgements {
        let line = lines.next();
        seen += u64::from(line.as_ref().is_some_and(|l| l.as_ref().is_ok_and(|l| l.starts_with("ack"))));
        assert!(read(line), "the child ended by itself");
    }
    std::thread::sleep(moment); // not to wait for anything: this is the random moment
    child.kill().expect("kill -9");
    child.wait().expect("gone");
    while read(lines.next()) {}
    last
}

fn spawn(path: &Path) -> Child {
    Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "child_that_commits_until_it_is_killed"])
        .env(CHILD, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("starts")
}

/// Only does something as the child of the test above.
#[test]
fn child_that_commits_until_it_is_killed() {
    let Ok(path) = std::env::var(CHILD) else { return };
    let mut store = SqliteStore::open(Path::new(&path), 50).expect("opens after a crash");
    // A day's lease: the dead holder is replaced at once all the same.
    let term = store.acquire("child", Timestamp(0), Millis::secs(86_400)).expect("the last holder is dead");
    let mut version = store.load(&"w".into()).expect("loads").version;
    loop {
        version = store.commit(&pass(term, version)).expect("commits");
        let mut out = std::io::stdout().lock();
        writeln!(out, "\nacknowledged {version}").and_then(|()| out.flush()).expect("says so");
    }
}

/// The commit that makes version `from + 1`: every part of it says which version it belongs to.
fn pass(term: Term, from: u64) -> Commit {
    let version = from + 1;
    let pair = version % PAIRS;
    let record = |id: String| (InstanceId::from(id), version.to_string());
    Commit {
        workload: "w".into(),
        expected_version: from,
        term,
        upserts: vec![
            record(format!("left-{pair}")),
            record(format!("right-{pair}")),
            record(format!("only-{version}")),
        ],
        deletes: vec![format!("only-{from}").into()],
        memory: Some(version.to_string()),
        journal: vec![JournalEntry {
            at: Timestamp(version),
            subject: Subject { kind: "workload".into(), id: "w".into() },
            code: version.to_string(),
            message: String::new(),
            data: "{}".into(),
        }],
    }
}

/// Everything in the store belongs to one version, which is returned.
fn inspect(path: &Path) -> u64 {
    let store = SqliteStore::open_to_read(path).expect("opens");
    let records = store.load(&"w".into()).expect("loads");
    let version = records.version;
    assert_eq!(records.memory, Some(version.to_string()));
    let find = |id: String| records.instances.iter().find(|(i, _)| i.as_str() == id).map(|(_, r)| r.clone());
    let only: Vec<_> = records.instances.iter().filter(|(id, _)| id.as_str().starts_with("only")).collect();
    assert_eq!(only, [&(format!("only-{version}").into(), version.to_string())]);
    for pair in 0..PAIRS {
        assert_eq!(find(format!("left-{pair}")), find(format!("right-{pair}")));
    }
    assert_eq!(find(format!("left-{}", version % PAIRS)), Some(version.to_string()));
    let journal = store.journal(&JournalQuery::default()).expect("journal");
    let codes: Vec<u64> =
        journal.iter().map(|record| record.entry.code.parse().expect("a version")).collect();
    assert_eq!(codes, (1..=version).rev().take(50).collect::<Vec<_>>());
    version
}

#[test]
fn of_two_writers_with_one_version_exactly_one_wins() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("ostler.db");
    let mut holder = SqliteStore::open(&path, 50).expect("opens");
    let term = holder.acquire("both", Timestamp(0), Millis::secs(15)).expect("free");
    let wins = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut store = SqliteStore::open(&path, 50).expect("opens");
                let mut version = 0;
                while version < 100 {
                    version = match store.commit(&pass(term, version)) {
                        Ok(new) => {
                            wins.lock().expect("no panic").push(new);
                            new
                        }
                        Err(CommitError::Stale { found }) => found,
                        Err(error) => panic!("{error}"),
                    };
                }
            });
        }
    });
    let mut wins = wins.into_inner().expect("no panic");
    wins.sort_unstable();
    wins.dedup();
    let version = inspect(&path);
    assert_eq!(wins, (1..=version).collect::<Vec<_>>(), "each version was won once");
}

#[test]
fn a_second_process_is_told_who_holds_the_store() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("ostler.db");
    let mut child = spawn(&path);
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    lines
        .by_ref()
        .find(|line| line.as_ref().is_ok_and(|line| line.starts_with("ack")))
        .expect("runs")
        .expect("line");
    let mut second = SqliteStore::open(&path, 50).expect("opens");
    let refused = second.acquire("second", Timestamp(1), Millis::secs(15));
    let seen = second.load(&WorkloadId::from("w")).expect("reading is free").version;
    child.kill().expect("kill -9");
    child.wait().expect("gone");
    assert!(matches!(&refused, Err(LeaderError::HeldBy { holder, .. }) if holder == "child"), "{refused:?}");
    assert!(seen >= 1);
    second.acquire("second", Timestamp(1), Millis::secs(15)).expect("the child is dead");
}
