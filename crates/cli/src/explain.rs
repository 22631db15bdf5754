//! `ostler explain`: why something waits, stays, goes, or was refused.

mod facts;
mod find;

use crate::api::Api;
use crate::args::{ApiArgs, Format, FormatArgs, StoreArgs};
use crate::exit::{Exit, Trouble, say};
use crate::out::Out;
use crate::store;
use crate::table::columns;
use clap::Args;
use find::{Found, Wanted};
use ostler_console::{JournalLine, Why, meaning, utc};
use ostler_model::WorkloadId;
use ostler_store::{JournalQuery, SqliteStore, Store, Subject};
use serde::Serialize;
use std::io;

/// Things that are explained at one time.
const SHOWN_MAX: usize = 20;
/// Entries of the journal that are shown of each.
const JOURNAL_LINES: u32 = 5;

/// Arguments of `ostler explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// A pool, an instance, a node, a machine, a provider or a workload by its name or the beginning of its id; or
    /// demand by a part of its words (`GPU`) or its index. `KIND:NAME` looks only among one kind: `pool`,
    /// `instance`, `node`, `demand`, `provider`, `workload`
    what: String,
    /// Only of this workload
    #[arg(long, value_name = "NAME")]
    workload: Option<String>,
    #[command(flatten)]
    api: ApiArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    format: FormatArgs,
}

/// What there is to say about one thing.
#[derive(Debug, Serialize)]
struct Explanation {
    kind: &'static str,
    name: String,
    workload: Option<String>,
    /// In one sentence.
    summary: String,
    reasons: Vec<Because>,
    facts: Vec<Fact>,
    /// Newest first.
    journal: Vec<JournalLine>,
}

/// A reason, with what its code means.
#[derive(Debug, Serialize)]
struct Because {
    #[serde(flatten)]
    why: Why,
    meaning: &'static str,
    advice: &'static str,
}

#[derive(Debug, Serialize)]
struct Fact {
    name: String,
    value: String,
}

/// Explains everything that the words may mean.
pub(crate) fn explain(args: &ExplainArgs, out: &mut Out) -> Result<Exit, Trouble> {
    let status = Api::new(&args.api)?.status()?;
    let wanted = Wanted::new(&args.what, args.workload.as_deref());
    let found = find::find(&status, &wanted);
    if found.is_empty() {
        say(&format!(
            "nothing is called `{}`: `ostler status -v` shows what there is [OSTLER-U010]",
            args.what
        ));
        return Ok(Exit::No);
    }
    let journal = journal(args)?;
    let shown = &found[..found.len().min(SHOWN_MAX)];
    let mut explanations: Vec<Explanation> =
        shown.iter().map(|one| facts::explanation(one, &status)).collect();
    if let Some(store) = &journal {
        for (explanation, found) in explanations.iter_mut().zip(shown) {
            explanation.journal = lately(store, found)?;
        }
    }
    match args.format.format {
        Format::Json => out.json(&explanations)?,
        Format::Text => text(&explanations, out)?,
    }
    if found.len() > shown.len() {
        say(&format!("{} more have that name: say more of it", found.len() - shown.len()));
    }
    Ok(Exit::Done)
}

/// The journal, if a store is named or there is one where stores usually are. One that is named must be there.
fn journal(args: &ExplainArgs) -> Result<Option<SqliteStore>, Trouble> {
    match store::open(&args.store) {
        Ok(store) => Ok(Some(store)),
        Err(trouble) if args.store.store.is_some() => Err(trouble),
        Err(_) => Ok(None),
    }
}

fn lately(store: &SqliteStore, found: &Found<'_>) -> Result<Vec<JournalLine>, Trouble> {
    let mut lines = Vec::new();
    for (kind, id) in found.subjects() {
        let query = JournalQuery {
            workload: found.workload().map(WorkloadId::from),
            subject: Some(Subject { kind: kind.to_owned(), id }),
            limit: JOURNAL_LINES,
            ..JournalQuery::default()
        };
        lines.extend(store.journal(&query)?.into_iter().map(store::line));
    }
    lines.sort_by_key(|line| std::cmp::Reverse(line.seq));
    lines.truncate(JOURNAL_LINES as usize);
    Ok(lines)
}

impl From<Why> for Because {
    fn from(why: Why) -> Self {
        let doc = meaning(&why.code);
        Self { meaning: doc.map_or("", |doc| doc.meaning), advice: doc.map_or("", |doc| doc.advice), why }
    }
}

fn text(explanations: &[Explanation], out: &mut Out) -> io::Result<()> {
    for (n, one) in explanations.iter().enumerate() {
        if n > 0 {
            out.line("")?;
        }
        let of = one.workload.as_ref().map_or_else(String::new, |workload| format!(" of {workload}"));
        out.heading(&format!("{} {}{of}", one.kind, one.name))?;
        out.line(&format!("  {}", one.summary))?;
        for because in &one.reasons {
            because_text(because, out)?;
        }
        let facts: Vec<Vec<String>> =
            one.facts.iter().map(|fact| vec![fact.name.clone(), fact.value.clone()]).collect();
        if !facts.is_empty() {
            out.line("")?;
        }
        out.lines(columns(2, &facts))?;
        if !one.journal.is_empty() {
            out.line("")?;
        }
        let line = |line: &JournalLine| vec![utc(line.at), line.code.clone(), line.message.clone()];
        out.lines(columns(2, &one.journal.iter().map(line).collect::<Vec<_>>()))?;
    }
    Ok(())
}

fn because_text(because: &Because, out: &mut Out) -> io::Result<()> {
    out.line(&format!("  because {} [{}]", because.why.text, because.why.code))?;
    if !because.meaning.is_empty() {
        out.line(&format!("    {}", because.meaning))?;
    }
    if !because.advice.is_empty() {
        out.line(&format!("    {}", because.advice))?;
    }
    Ok(())
}
