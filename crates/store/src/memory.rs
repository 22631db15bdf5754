//! A store in memory, for simulations: the same contract, nothing on disk.

use crate::contract::{
    Commit, JournalEntry, JournalQuery, JournalRecord, MAX_QUERY_LIMIT, Order, Records, Store, Term,
};
use crate::error::{CommitError, LeaderError, StoreError};
use crate::sqlite::DEFAULT_JOURNAL_ENTRIES;
use ostler_model::{InstanceId, Millis, Timestamp, WorkloadId};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A handle on a store in memory. [`another`](Self::another) gives a second handle on the same store, as a second
/// process on the same file would have; to drop a handle is to kill its process.
#[derive(Debug)]
pub struct MemoryStore {
    shared: Arc<Mutex<Shared>>,
    handle: u64,
}

#[derive(Debug)]
struct Shared {
    workloads: BTreeMap<WorkloadId, Stored>,
    journal: VecDeque<JournalRecord>,
    journal_entries: u32,
    next_seq: u64,
    next_handle: u64,
    term: Term,
    leader: Option<Leader>,
}

#[derive(Debug, Default)]
struct Stored {
    version: u64,
    instances: BTreeMap<InstanceId, String>,
    memory: Option<String>,
}

#[derive(Debug)]
struct Leader {
    handle: u64,
    holder: String,
    until: Timestamp,
    ttl: Millis,
}

impl MemoryStore {
    /// An empty store that keeps the newest `journal_entries` entries.
    pub fn new(journal_entries: u32) -> Self {
        let shared = Shared {
            workloads: BTreeMap::new(),
            journal: VecDeque::new(),
            journal_entries: journal_entries.max(1),
            next_seq: 1,
            next_handle: 1,
            term: Term(0),
            leader: None,
        };
        Self { shared: Arc::new(Mutex::new(shared)), handle: 0 }
    }

    /// A second handle on the same store.
    pub fn another(&self) -> Self {
        let mut shared = self.lock();
        let handle = shared.next_handle;
        shared.next_handle += 1;
        Self { shared: self.shared.clone(), handle }
    }

    /// A panic of another holder leaves whole commits behind, since nothing in between can panic.
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new(DEFAULT_JOURNAL_ENTRIES)
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        let handle = self.handle;
        self.lock().leader.take_if(|leader| leader.handle == handle);
    }
}

impl Store for MemoryStore {
    fn load(&self, workload: &WorkloadId) -> Result<Records, StoreError> {
        let shared = self.lock();
        Ok(shared.workloads.get(workload).map_or_else(Records::default, |stored| Records {
            version: stored.version,
            instances: stored.instances.iter().map(|(id, record)| (id.clone(), record.clone())).collect(),
            memory: stored.memory.clone(),
        }))
    }

    fn workloads(&self) -> Result<Vec<WorkloadId>, StoreError> {
        Ok(self.lock().workloads.keys().cloned().collect())
    }

    fn commit(&mut self, commit: &Commit) -> Result<u64, CommitError> {
        let mut shared = self.lock();
        let current = shared.term;
        if shared.leader.is_none() || commit.term != current {
            return Err(CommitError::TermLost { current });
        }
        let found = shared.workloads.get(&commit.workload).map_or(0, |stored| stored.version);
        if commit.expected_version != found {
            return Err(CommitError::Stale { found });
        }
        shared.workloads.entry(commit.workload.clone()).or_default().apply(commit);
        for entry in &commit.journal {
            shared.append(&commit.workload, entry);
        }
        Ok(found + 1)
    }

    fn acquire(&mut self, holder: &str, now: Timestamp, ttl: Millis) -> Result<Term, LeaderError> {
        let mut shared = self.lock();
        if let Some(leader) = shared.leader.as_ref().filter(|leader| leader.handle != self.handle) {
            return Err(LeaderError::HeldBy { holder: leader.holder.clone(), until: leader.until });
        }
        shared.term = Term(shared.term.0 + 1);
        shared.leader =
            Some(Leader { handle: self.handle, holder: holder.to_owned(), until: now + ttl, ttl });
        Ok(shared.term)
    }

    fn renew(&mut self, term: Term, now: Timestamp) -> Result<(), LeaderError> {
        let mut shared = self.lock();
        let current = shared.term;
        let leader = shared.leader.as_mut().filter(|_| term == current);
        let leader = leader.ok_or(LeaderError::TermLost { current })?;
        leader.until = now + leader.ttl;
        Ok(())
    }

    fn release(&mut self, term: Term) -> Result<(), LeaderError> {
        let mut shared = self.lock();
        let current = shared.term;
        shared.leader.take_if(|_| term == current).map(drop).ok_or(LeaderError::TermLost { current })
    }

    fn journal(&self, query: &JournalQuery) -> Result<Vec<JournalRecord>, StoreError> {
        let shared = self.lock();
        let limit = query.limit.min(MAX_QUERY_LIMIT) as usize;
        let matching = shared.journal.iter().filter(|record| matches(query, record));
        Ok(match query.order {
            Order::OldestFirst => matching.take(limit).cloned().collect(),
            Order::NewestFirst => matching.rev().take(limit).cloned().collect(),
        })
    }
}

impl Stored {
    fn apply(&mut self, commit: &Commit) {
        self.version += 1;
        for id in &commit.deletes {
            self.instances.remove(id);
        }
        self.instances.extend(commit.upserts.iter().cloned());
        if commit.memory.is_some() {
            self.memory.clone_from(&commit.memory);
        }
    }
}

impl Shared {
    fn append(&mut self, workload: &WorkloadId, entry: &JournalEntry) {
        let (message, data) = entry.bounded();
        let (message, data) = (message.to_owned(), data.into_owned());
        let entry = JournalEntry { message, data, ..entry.clone() };
        self.journal.push_back(JournalRecord { seq: self.next_seq, workload: workload.clone(), entry });
        self.next_seq += 1;
        while self.journal.len() > self.journal_entries as usize {
            self.journal.pop_front();
        }
    }
}

fn matches(query: &JournalQuery, record: &JournalRecord) -> bool {
    record.seq > query.after_seq
        && query.workload.as_ref().is_none_or(|workload| *workload == record.workload)
        && query.subject.as_ref().is_none_or(|subject| *subject == record.entry.subject)
        && query.since.is_none_or(|since| record.entry.at >= since)
}
