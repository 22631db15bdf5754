//! The store in one SQLite file.
//!
//! WAL with `synchronous=FULL`: readers never wait for the writer, and a commit that was acknowledged survives a
//! power cut, at the cost of one `fsync` for each.

mod failure;
mod journal;
mod lock;
mod open;

use crate::contract::{Commit, JournalQuery, JournalRecord, Records, Store, Term};
use crate::error::{CommitError, LeaderError, StoreError};
use lock::ProcessLock;
use ostler_model::{InstanceId, Millis, Timestamp, WorkloadId};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use std::path::{Path, PathBuf};

/// Entries that the journal keeps unless told otherwise: weeks of a busy cluster, about 30 MB.
pub const DEFAULT_JOURNAL_ENTRIES: u32 = 100_000;

/// A store in one file (and its neighbours `-wal`, `-shm` and `-lock`).
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    connection: Connection,
    lock: ProcessLock,
    /// Name of this host: a lease of another host cannot be checked by the lock.
    host: String,
    journal_entries: u32,
}

impl SqliteStore {
    /// Opens the file for reading and writing; makes it (and its directory) if there is none, migrates an older
    /// format. Keeps the newest `journal_entries` entries of the journal (at least one).
    pub fn open(path: &Path, journal_entries: u32) -> Result<Self, StoreError> {
        Self::with(path, open::read_write(path)?, journal_entries)
    }

    /// Opens the file for reading, also while another process writes it.
    pub fn open_to_read(path: &Path) -> Result<Self, StoreError> {
        Self::with(path, open::read_only(path)?, DEFAULT_JOURNAL_ENTRIES)
    }

    fn with(path: &Path, connection: Connection, journal_entries: u32) -> Result<Self, StoreError> {
        Ok(Self {
            path: path.to_owned(),
            connection,
            lock: ProcessLock::beside(path),
            host: std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default(),
            journal_entries: journal_entries.max(1),
        })
    }

    /// Runs `act` in one write transaction; anything but success leaves no trace.
    fn write<T, E: From<StoreError>>(
        &mut self,
        act: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<Result<T, E>>,
    ) -> Result<T, E> {
        let failed = |error| E::from(failure::explain(&self.path, error));
        // Immediate: the lock is taken before the first read, so what the guards saw is still true at the end.
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let done = act(&transaction).map_err(failed)??;
        transaction.commit().map_err(failed)?;
        Ok(done)
    }

    /// Someone has the lock. Only reads, so that who holds the store is never kept waiting by who does not.
    fn held_by_a_living_process(&self) -> Result<LeaderError, StoreError> {
        let leader = Leader::read(&self.connection).map_err(|error| self.failed(error))?;
        // It has the lock and has not written its name yet, or has just taken it away.
        let holder =
            leader.holder.unwrap_or_else(|| "a process that starts or ends at this moment".to_owned());
        Ok(LeaderError::HeldBy { holder, until: leader.until })
    }

    fn failed(&self, error: rusqlite::Error) -> StoreError {
        failure::explain(&self.path, error)
    }
}

impl Store for SqliteStore {
    fn load(&self, workload: &WorkloadId) -> Result<Records, StoreError> {
        load(&self.connection, workload).map_err(|error| self.failed(error))
    }

    fn workloads(&self) -> Result<Vec<WorkloadId>, StoreError> {
        let names = || -> rusqlite::Result<Vec<WorkloadId>> {
            let mut statement = self.connection.prepare_cached("SELECT id FROM workload ORDER BY id")?;
            let rows = statement.query_map([], |row| row.get::<_, String>(0).map(WorkloadId::from))?;
            rows.collect()
        };
        names().map_err(|error| self.failed(error))
    }

    fn commit(&mut self, commit: &Commit) -> Result<u64, CommitError> {
        let journal_entries = self.journal_entries;
        self.write(|transaction| {
            let leader = Leader::read(transaction)?;
            if !leader.is(commit.term) {
                return Ok(Err(CommitError::TermLost { current: leader.term }));
            }
            let found = version(transaction, &commit.workload)?;
            if found != commit.expected_version {
                return Ok(Err(CommitError::Stale { found }));
            }
            apply(transaction, commit)?;
            journal::append(transaction, &commit.workload, &commit.journal, journal_entries)?;
            Ok(Ok(found + 1))
        })
    }

    fn acquire(&mut self, holder: &str, now: Timestamp, ttl: Millis) -> Result<Term, LeaderError> {
        let newly = self.lock.take()?;
        if !self.lock.is_held() {
            return Err(self.held_by_a_living_process()?);
        }
        let host = self.host.clone();
        let term = self.write(|transaction| {
            let leader = Leader::read(transaction)?;
            // With the lock in our hand a holder of this host is dead; one elsewhere must let its lease run out.
            if let Some(holder) = leader.holder.filter(|_| leader.host != host && leader.until > now) {
                return Ok(Err(LeaderError::HeldBy { holder, until: leader.until }));
            }
            let term = Term(leader.term.0 + 1);
            transaction.execute(
                "UPDATE leader SET term = ?1, holder = ?2, host = ?3, until_ms = ?4, ttl_ms = ?5",
                params![term.0 as i64, holder, host, (now + ttl).0 as i64, ttl.0 as i64],
            )?;
            Ok(Ok(term))
        });
        if term.is_err() && newly {
            self.lock.give_back();
        }
        term
    }

    fn renew(&mut self, term: Term, now: Timestamp) -> Result<(), LeaderError> {
        self.write(|transaction| {
            let leader = Leader::read(transaction)?;
            if !leader.is(term) {
                return Ok(Err(LeaderError::TermLost { current: leader.term }));
            }
            transaction.execute("UPDATE leader SET until_ms = ?1 + ttl_ms", [now.0 as i64])?;
            Ok(Ok(()))
        })
    }

    fn release(&mut self, term: Term) -> Result<(), LeaderError> {
        self.write(|transaction| {
            let leader = Leader::read(transaction)?;
            if !leader.is(term) {
                return Ok(Err(LeaderError::TermLost { current: leader.term }));
            }
            transaction.execute("UPDATE leader SET holder = NULL", [])?;
            Ok(Ok(()))
        })?;
        self.lock.give_back();
        Ok(())
    }

    fn journal(&self, query: &JournalQuery) -> Result<Vec<JournalRecord>, StoreError> {
        journal::select(&self.connection, query).map_err(|error| self.failed(error))
    }
}

/// The one row of table `leader`.
struct Leader {
    term: Term,
    holder: Option<String>,
    host: String,
    until: Timestamp,
}

impl Leader {
    fn read(connection: &Connection) -> rusqlite::Result<Self> {
        connection.prepare_cached("SELECT term, holder, host, until_ms FROM leader")?.query_row([], |row| {
            Ok(Self {
                term: Term(row.get::<_, i64>(0)? as u64),
                holder: row.get(1)?,
                host: row.get(2)?,
                until: Timestamp(row.get::<_, i64>(3)? as u64),
            })
        })
    }

    fn is(&self, term: Term) -> bool {
        self.holder.is_some() && self.term == term
    }
}

fn version(connection: &Connection, workload: &WorkloadId) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare_cached("SELECT version FROM workload WHERE id = ?1")?;
    let version = statement.query_row([workload.as_str()], |row| row.get::<_, i64>(0)).optional()?;
    Ok(version.unwrap_or(0) as u64)
}

/// Both reads in one read transaction: version and records belong together.
fn load(connection: &Connection, workload: &WorkloadId) -> rusqlite::Result<Records> {
    let snapshot = connection.unchecked_transaction()?;
    let head = snapshot
        .prepare_cached("SELECT version, memory FROM workload WHERE id = ?1")?
        .query_row([workload.as_str()], |row| Ok((row.get::<_, i64>(0)? as u64, row.get(1)?)))
        .optional()?;
    let Some((version, memory)) = head else { return Ok(Records::default()) };
    let mut statement =
        snapshot.prepare_cached("SELECT id, record FROM instance WHERE workload = ?1 ORDER BY id")?;
    let rows = statement.query_map([workload.as_str()], |row| {
        Ok((InstanceId::from(row.get::<_, String>(0)?), row.get::<_, String>(1)?))
    })?;
    Ok(Records { version, instances: rows.collect::<rusqlite::Result<_>>()?, memory })
}

fn apply(transaction: &Transaction<'_>, commit: &Commit) -> rusqlite::Result<()> {
    let workload = commit.workload.as_str();
    transaction
        .prepare_cached(
            "INSERT INTO workload (id, version, memory) VALUES (?1, 1, ?2)
             ON CONFLICT (id) DO UPDATE SET version = version + 1, memory = coalesce(?2, memory)",
        )?
        .execute(params![workload, commit.memory])?;
    let mut delete = transaction.prepare_cached("DELETE FROM instance WHERE workload = ?1 AND id = ?2")?;
    for id in &commit.deletes {
        delete.execute(params![workload, id.as_str()])?;
    }
    let mut upsert = transaction.prepare_cached(
        "INSERT INTO instance (workload, id, record) VALUES (?1, ?2, ?3)
         ON CONFLICT (workload, id) DO UPDATE SET record = excluded.record",
    )?;
    for (id, record) in &commit.upserts {
        upsert.execute(params![workload, id.as_str(), record])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
