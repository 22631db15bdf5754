//! The journal: appended with each commit, bounded, found by workload, subject and time.

use crate::contract::{JournalEntry, JournalQuery, JournalRecord, MAX_QUERY_LIMIT, Order, Subject};
use ostler_model::{Timestamp, WorkloadId};
use rusqlite::{Connection, Row, Transaction, params};

/// Appends, and drops what is over the bound: numbers have no gaps, so this is a range at the old end of the table
/// and costs as much as was appended.
pub(super) fn append(
    transaction: &Transaction<'_>,
    workload: &WorkloadId,
    entries: &[JournalEntry],
    keep: u32,
) -> rusqlite::Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let mut insert = transaction.prepare_cached(
        "INSERT INTO journal (at_ms, workload, subject_kind, subject_id, code, message, data)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for entry in entries {
        let (message, data) = entry.bounded();
        let Subject { kind, id } = &entry.subject;
        insert.execute(params![entry.at.0 as i64, workload.as_str(), kind, id, entry.code, message, data])?;
    }
    let newest = transaction.last_insert_rowid();
    transaction.prepare_cached("DELETE FROM journal WHERE seq <= ?1")?.execute([newest - i64::from(keep)])?;
    Ok(())
}

pub(super) fn select(connection: &Connection, query: &JournalQuery) -> rusqlite::Result<Vec<JournalRecord>> {
    let direction = match query.order {
        Order::NewestFirst => "DESC",
        Order::OldestFirst => "ASC",
    };
    let mut statement = connection.prepare_cached(&format!(
        "SELECT seq, workload, at_ms, subject_kind, subject_id, code, message, data FROM journal
         WHERE seq > ?1 AND (?2 IS NULL OR workload = ?2) AND (?3 IS NULL OR subject_kind = ?3)
           AND (?4 IS NULL OR subject_id = ?4) AND at_ms >= ?5
         ORDER BY seq {direction} LIMIT ?6"
    ))?;
    let rows = statement.query_map(
        params![
            query.after_seq as i64,
            query.workload.as_ref().map(WorkloadId::as_str),
            query.subject.as_ref().map(|subject| &subject.kind),
            query.subject.as_ref().map(|subject| &subject.id),
            query.since.map_or(0, |since| since.0 as i64),
            query.limit.min(MAX_QUERY_LIMIT),
        ],
        record,
    )?;
    rows.collect()
}

fn record(row: &Row<'_>) -> rusqlite::Result<JournalRecord> {
    Ok(JournalRecord {
        seq: row.get::<_, i64>(0)? as u64,
        workload: WorkloadId::from(row.get::<_, String>(1)?),
        entry: JournalEntry {
            at: Timestamp(row.get::<_, i64>(2)? as u64),
            subject: Subject { kind: row.get(3)?, id: row.get(4)? },
            code: row.get(5)?,
            message: row.get(6)?,
            data: row.get(7)?,
        },
    })
}
