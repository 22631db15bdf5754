//! The contract of a store as code: every implementation runs [`check`] in its tests. Panics where it is broken.

use crate::contract::{
    Commit, JournalEntry, JournalQuery, MAX_DATA_BYTES, MAX_MESSAGE_BYTES, Order, Records, Store, Subject,
    Term,
};
use crate::error::{CommitError, LeaderError};
use ostler_model::{InstanceId, Millis, Timestamp, WorkloadId};

/// One store, empty at first: each call opens another handle on it, as another process would. To drop a handle is
/// to kill its process. Must keep [`JOURNAL_ENTRIES`] entries.
pub type World = Box<dyn FnMut() -> Box<dyn Store>>;

/// The bound on the journal that [`check`] expects.
pub const JOURNAL_ENTRIES: u32 = 10;

const NOW: Timestamp = Timestamp(1_000_000);
const TTL: Millis = Millis::secs(15);

/// Runs every check, each on a store of its own.
pub fn check(mut fresh: impl FnMut() -> World) {
    let checks: [fn(World); 9] = [
        an_unknown_workload_is_empty_at_version_zero,
        a_commit_is_there_afterwards_whole_and_for_other_handles,
        a_stale_commit_changes_nothing,
        workloads_have_versions_of_their_own,
        without_a_term_nothing_is_written,
        an_old_term_is_refused_for_ever,
        there_is_one_holder_and_a_dead_one_is_replaced_at_once,
        a_released_store_is_free_and_its_term_is_over,
        the_journal_is_bounded_ordered_and_found_by_what_it_is_about,
    ];
    for check in checks {
        check(fresh());
    }
}

fn an_unknown_workload_is_empty_at_version_zero(mut open: World) {
    let store = open();
    assert_eq!(store.load(&"nobody".into()).expect("load"), Records::default());
    assert_eq!(store.workloads().expect("workloads"), []);
    assert_eq!(store.journal(&JournalQuery::default()).expect("journal"), []);
}

fn a_commit_is_there_afterwards_whole_and_for_other_handles(mut open: World) {
    let mut store = open();
    let term = acquire(&mut *store);
    let first = Commit {
        upserts: vec![record("b", "1"), record("a", "2"), record("c", "3")],
        memory: Some("remembered".into()),
        ..commit(term, 0)
    };
    assert_eq!(store.commit(&first).expect("first"), 1);
    let second = Commit {
        deletes: vec!["b".into(), "unknown".into(), "c".into()],
        upserts: vec![record("a", "4"), record("c", "5")],
        ..commit(term, 1)
    };
    assert_eq!(store.commit(&second).expect("second"), 2);
    let expected = Records {
        version: 2,
        instances: vec![record("a", "4"), record("c", "5")], // deletes come before upserts
        memory: Some("remembered".into()),                   // None leaves it as it is
    };
    assert_eq!(store.load(&workload()).expect("load"), expected);
    let other = open();
    assert_eq!(other.load(&workload()).expect("load"), expected);
    drop((store, other));
    assert_eq!(open().load(&workload()).expect("load"), expected);
}

fn a_stale_commit_changes_nothing(mut open: World) {
    let mut store = open();
    let term = acquire(&mut *store);
    store.commit(&Commit { upserts: vec![record("a", "1")], ..commit(term, 0) }).expect("commit");
    let before = store.load(&workload()).expect("load");
    for wrong in [0, 2, 7] {
        let stale = Commit {
            upserts: vec![record("x", "1")],
            deletes: vec!["a".into()],
            memory: Some("no".into()),
            journal: vec![entry("pool", "p", 1)],
            ..commit(term, wrong)
        };
        assert!(matches!(store.commit(&stale), Err(CommitError::Stale { found: 1 })));
    }
    assert_eq!(store.load(&workload()).expect("load"), before);
    assert_eq!(store.journal(&JournalQuery::default()).expect("journal"), []);
}

fn workloads_have_versions_of_their_own(mut open: World) {
    let mut store = open();
    let term = acquire(&mut *store);
    let other = || Commit { workload: "other".into(), upserts: vec![record("a", "o")], ..commit(term, 0) };
    for version in 0..3 {
        store.commit(&Commit { upserts: vec![record("a", "1")], ..commit(term, version) }).expect("commit");
    }
    assert_eq!(store.commit(&other()).expect("other"), 1);
    store.commit(&Commit { deletes: vec!["a".into()], ..commit(term, 3) }).expect("commit");
    assert_eq!(store.load(&"other".into()).expect("load").instances, [record("a", "o")]);
    assert_eq!(store.load(&workload()).expect("load").instances, []);
    assert_eq!(store.workloads().expect("workloads"), ["other".into(), workload()]);
}

fn without_a_term_nothing_is_written(mut open: World) {
    let mut store = open();
    for guess in [0, 1, 2] {
        let refused = store.commit(&commit(Term(guess), 0));
        assert!(matches!(refused, Err(CommitError::TermLost { current: Term(0) })), "{refused:?}");
        assert!(matches!(store.renew(Term(guess), NOW), Err(LeaderError::TermLost { .. })));
    }
    assert_eq!(store.load(&workload()).expect("load"), Records::default());
}

fn an_old_term_is_refused_for_ever(mut open: World) {
    let mut store = open();
    let old = acquire(&mut *store);
    store.commit(&commit(old, 0)).expect("commit");
    let new = acquire(&mut *store);
    assert!(new > old, "{new} after {old}");
    // The right version does not help, and the wrong version does not hide the lost term.
    for version in [0, 1] {
        let refused = store.commit(&commit(old, version));
        assert!(matches!(refused, Err(CommitError::TermLost { current }) if current == new), "{refused:?}");
    }
    assert!(matches!(store.renew(old, NOW), Err(LeaderError::TermLost { current }) if current == new));
    assert!(matches!(store.release(old), Err(LeaderError::TermLost { current }) if current == new));
    assert_eq!(store.commit(&commit(new, 1)).expect("commit"), 2);
}

fn there_is_one_holder_and_a_dead_one_is_replaced_at_once(mut open: World) {
    let (mut first, mut second) = (open(), open());
    let term = first.acquire("first", NOW, TTL).expect("acquire");
    first.renew(term, NOW + TTL).expect("renew");
    let late = NOW + Millis::secs(3600);
    for now in [NOW, late] {
        // Even a lease that ran out is held while its process lives.
        let refused = second.acquire("second", now, TTL);
        let Err(LeaderError::HeldBy { holder, until }) = refused else { panic!("{refused:?}") };
        assert_eq!((holder.as_str(), until), ("first", NOW + TTL + TTL));
    }
    first.commit(&commit(term, 0)).expect("the holder was not disturbed");
    drop(first);
    let next = second.acquire("second", NOW, TTL).expect("at once, within the lease of the dead one");
    assert!(next > term);
    assert!(
        matches!(second.commit(&commit(term, 1)), Err(CommitError::TermLost { current }) if current == next)
    );
    assert_eq!(second.commit(&commit(next, 1)).expect("commit"), 2);
}

fn a_released_store_is_free_and_its_term_is_over(mut open: World) {
    let (mut first, mut second) = (open(), open());
    let term = acquire(&mut *first);
    first.release(term).expect("release");
    assert!(matches!(first.commit(&commit(term, 0)), Err(CommitError::TermLost { .. })));
    assert!(matches!(first.renew(term, NOW), Err(LeaderError::TermLost { .. })));
    let next = second.acquire("second", NOW, TTL).expect("free");
    assert!(next > term);
}

fn the_journal_is_bounded_ordered_and_found_by_what_it_is_about(mut open: World) {
    let mut store = open();
    let term = acquire(&mut *store);
    for n in 0..9 {
        let kind = if n % 3 == 0 { "pool" } else { "instance" };
        let journal = vec![entry(kind, "p", n), entry("node", &n.to_string(), n)];
        let name = if n % 2 == 0 { workload() } else { "other".into() };
        store.commit(&Commit { workload: name, journal, ..commit(term, n / 2) }).expect("commit");
    }
    let find = |query: JournalQuery| -> Vec<u64> {
        store.journal(&query).expect("journal").iter().map(|record| record.seq).collect()
    };
    let all = JournalQuery { order: Order::OldestFirst, ..JournalQuery::default() };
    assert_eq!(find(all.clone()), (9..=18).collect::<Vec<_>>(), "18 written, the newest 10 kept");
    assert_eq!(find(JournalQuery { limit: 2, ..all.clone() }), [9, 10]);
    assert_eq!(find(JournalQuery { limit: 2, order: Order::NewestFirst, ..all.clone() }), [18, 17]);
    assert_eq!(find(JournalQuery { after_seq: 16, ..all.clone() }), [17, 18]);
    assert_eq!(find(JournalQuery { since: Some(Timestamp(8)), ..all.clone() }), [17, 18]);
    assert_eq!(find(JournalQuery { workload: Some("other".into()), ..all.clone() }), [11, 12, 15, 16]);
    let subject = |kind: &str, id: &str| Some(Subject { kind: kind.into(), id: id.into() });
    assert_eq!(find(JournalQuery { subject: subject("instance", "p"), ..all.clone() }), [9, 11, 15, 17]);
    assert_eq!(find(JournalQuery { subject: subject("node", "7"), ..all.clone() }), [16]);

    let large = JournalEntry {
        message: "é".repeat(MAX_MESSAGE_BYTES),
        data: "x".repeat(MAX_DATA_BYTES + 1),
        ..entry("pool", "p", 9)
    };
    store.commit(&Commit { journal: vec![large], ..commit(term, 5) }).expect("commit");
    let kept = store.journal(&JournalQuery { limit: 1, ..JournalQuery::default() }).expect("journal");
    assert_eq!(kept[0].entry.message, "é".repeat(MAX_MESSAGE_BYTES / 2));
    assert_eq!(kept[0].entry.data, format!("{{\"omitted_bytes\":{}}}", MAX_DATA_BYTES + 1));
    assert_eq!((kept[0].seq, kept[0].workload.as_str()), (19, "w"));
}

fn workload() -> WorkloadId {
    "w".into()
}

fn acquire(store: &mut dyn Store) -> Term {
    store.acquire("holder", NOW, TTL).expect("nobody else holds it")
}

fn commit(term: Term, expected_version: u64) -> Commit {
    Commit {
        workload: workload(),
        expected_version,
        term,
        upserts: Vec::new(),
        deletes: Vec::new(),
        memory: None,
        journal: Vec::new(),
    }
}

fn record(id: &str, text: &str) -> (InstanceId, String) {
    (id.into(), text.into())
}

fn entry(kind: &str, id: &str, at: u64) -> JournalEntry {
    JournalEntry {
        at: Timestamp(at),
        subject: Subject { kind: kind.into(), id: id.into() },
        code: "code".into(),
        message: "message".into(),
        data: "{}".into(),
    }
}
