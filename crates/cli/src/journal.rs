//! `ostler journal`: what was decided and why.

use crate::args::{Format, FormatArgs, StoreArgs};
use crate::exit::{Exit, Trouble};
use crate::out::Out;
use crate::store;
use clap::Args;
use ostler_console::{JournalLine, utc};
use ostler_model::{Timestamp, WorkloadId};
use ostler_store::{JournalQuery, MAX_QUERY_LIMIT, Order, Store, Subject};
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Between two looks with `--follow`.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// Arguments of `ostler journal`.
#[derive(Debug, Args)]
pub(crate) struct JournalArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// Only of this workload
    #[arg(long, value_name = "NAME")]
    workload: Option<String>,
    /// Only about this: `instance:i-1`, `pool:cpu`, `node:…`, `provider:…`, `demand:…`, `workload`
    #[arg(long, value_name = "KIND:ID", value_parser = subject)]
    subject: Option<Subject>,
    /// Not older than this: a time (`2026-11-01T10:00:00Z`) or a span until now (`90s`, `10m`, `2h`, `1d`)
    #[arg(long, value_name = "WHEN", value_parser = since)]
    since: Option<Timestamp>,
    /// The newest entries, at most so many
    #[arg(long, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_QUERY_LIMIT)))]
    limit: u32,
    /// Go on with what is added, until stopped
    #[arg(long)]
    follow: bool,
    #[command(flatten)]
    format: FormatArgs,
}

/// Shows the newest entries, oldest first, one on a line.
pub(crate) fn journal(args: &JournalArgs, out: &mut Out) -> Result<Exit, Trouble> {
    let store = store::open(&args.store)?;
    let mut query = JournalQuery {
        workload: args.workload.as_deref().map(WorkloadId::from),
        subject: args.subject.clone(),
        since: args.since,
        after_seq: 0,
        limit: args.limit,
        order: Order::NewestFirst,
    };
    let mut newest = store.journal(&query)?;
    newest.reverse();
    query = JournalQuery { limit: MAX_QUERY_LIMIT, order: Order::OldestFirst, ..query };
    loop {
        query.after_seq = newest.last().map_or(query.after_seq, |record| record.seq);
        for record in newest {
            show(&store::line(record), args.format.format, out)?;
        }
        out.flush()?;
        if !args.follow {
            return Ok(Exit::Done);
        }
        sleep(LOOK_INTERVAL);
        newest = store.journal(&query)?;
    }
}

fn show(line: &JournalLine, format: Format, out: &mut Out) -> std::io::Result<()> {
    match format {
        Format::Json => out.json_line(line),
        Format::Text => out.line(&text(line)),
    }
}

/// One line; the message comes last, since it has no bound that a column could have.
fn text(line: &JournalLine) -> String {
    let JournalLine { at, workload, subject, code, message, .. } = line;
    format!("{}  {workload}  {subject}  {code}  {message}", utc(*at))
}

fn subject(text: &str) -> Result<Subject, String> {
    let (kind, id) = text.split_once(':').unwrap_or((text, ""));
    if kind.is_empty() || (id.is_empty() && kind != "workload") {
        return Err("write KIND:ID, such as `pool:cpu`".to_owned());
    }
    Ok(Subject { kind: kind.to_owned(), id: id.to_owned() })
}

fn since(text: &str) -> Result<Timestamp, String> {
    let moment = match humantime::parse_duration(text) {
        Ok(span) => SystemTime::now().checked_sub(span).unwrap_or(UNIX_EPOCH),
        Err(_) => humantime::parse_rfc3339_weak(text)
            .map_err(|_| "write a time such as `2026-11-01T10:00:00Z` or a span such as `10m`".to_owned())?,
    };
    let since_epoch = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(Timestamp(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX)))
}
