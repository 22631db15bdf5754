//! `ostler status`: pools, machines, demand and the last plan of a running Ostler.

use crate::api::Api;
use crate::args::{ApiArgs, Format, FormatArgs};
use crate::exit::{Exit, Trouble};
use crate::out::Out;
use crate::table::table;
use clap::Args;
use ostler_console::{DemandView, MachineView, NodeView, PoolView, View, WorkloadView, view};
use std::io;
use std::thread::sleep;
use std::time::Duration;

/// Between two pictures with `--watch`.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);

/// Arguments of `ostler status`.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    api: ApiArgs,
    /// Also the nodes: address, machine type, idle time, use and activity
    #[arg(short, long)]
    verbose: bool,
    /// A new picture each second, until stopped
    #[arg(short, long)]
    watch: bool,
    #[command(flatten)]
    format: FormatArgs,
}

#[cfg(test)]
impl StatusArgs {
    pub(crate) fn api_address(&self) -> &str {
        &self.api.api
    }
}

/// Shows it once, or again and again.
pub(crate) fn status(args: &StatusArgs, out: &mut Out) -> Result<Exit, Trouble> {
    let api = Api::new(&args.api)?;
    if !args.watch {
        show(&api, args, out)?;
        return Ok(Exit::Done);
    }
    loop {
        out.redraw()?;
        match show(&api, args, out) {
            // It may come back: whoever watches wants to see that.
            Err(trouble @ Trouble::NoAnswer { .. }) => crate::exit::say(&format!("error: {trouble}")),
            shown => shown?,
        }
        out.flush()?;
        sleep(WATCH_INTERVAL);
    }
}

fn show(api: &Api, args: &StatusArgs, out: &mut Out) -> Result<(), Trouble> {
    let status = api.status()?;
    match args.format.format {
        Format::Json if args.watch => out.json_line(&status)?,
        Format::Json => out.json(&status)?,
        Format::Text => text(&view(&status), args.verbose, out)?,
    }
    Ok(())
}

fn text(view: &View, verbose: bool, out: &mut Out) -> io::Result<()> {
    out.line(&format!("Ostler {}, running for {}", view.ostler, view.up))?;
    for workload in &view.workloads {
        out.line("")?;
        workload_text(workload, verbose, out)?;
    }
    out.line("")?;
    let provider = |one: &ostler_console::ProviderView| {
        vec![one.name.clone(), one.machines.to_string(), one.listed.clone(), or_dash(one.failure.as_ref())]
    };
    let rows: Vec<_> = view.providers.iter().map(provider).collect();
    out.lines(table(0, &["PROVIDER", "MACHINES", "LISTED", "TROUBLE"], &rows))
}

fn workload_text(workload: &WorkloadView, verbose: bool, out: &mut Out) -> io::Result<()> {
    let WorkloadView { name, kind, seen, planned, .. } = workload;
    out.heading(&format!("Workload {name} ({kind}), seen {seen}, planned {planned}"))?;
    if verbose {
        let session = if workload.session.is_empty() { "unknown" } else { &workload.session };
        out.line(&format!("  session {session}"))?;
    }
    let trouble = match (&workload.failure, &workload.hold) {
        (Some(failure), Some(hold)) => {
            Some(format!("It cannot be seen, and nothing is decided: {failure} [{}]", hold.code))
        }
        (Some(failure), None) => Some(format!("It cannot be seen: {failure}")),
        (None, Some(hold)) => Some(format!("Nothing is done: {} [{}]", hold.text, hold.code)),
        (None, None) => None,
    };
    out.lines(trouble.iter().map(|trouble| format!("  {trouble}")))?;
    out.lines(workload.would.iter().map(|what| format!("  {what}")))?;
    out.lines(workload.target.iter().map(|target| format!("  {target}")))?;
    out.lines(workload.faults.iter().map(|fault| format!("  Left aside: {fault}")))?;
    part(out, &["POOL", "MIN", "MAX", "MACHINES", "TROUBLE"], workload.pools.iter().map(pool))?;
    let heads: &[&str] = if verbose {
        &["INSTANCE", "POOL", "STATE", "FOR", "MADE FOR", "MACHINE", "NODE", "WHY"]
    } else {
        &["INSTANCE", "POOL", "STATE", "FOR", "NODE", "WHY"]
    };
    part(out, heads, workload.machines.iter().map(|one| machine(one, verbose)))?;
    if verbose {
        let heads = ["NODE", "POOL", "STATUS", "IDLE", "ADDRESS", "TYPE", "USED", "ACTIVITY"];
        part(out, &heads, workload.nodes.iter().map(node))?;
    }
    part(out, &["DEMAND", "KIND", "COUNT", "STATE"], workload.demand.iter().map(demand))
}

/// A table with an empty line before it.
fn part(out: &mut Out, heads: &[&str], rows: impl Iterator<Item = Vec<String>>) -> io::Result<()> {
    let rows: Vec<_> = rows.collect();
    if !rows.is_empty() {
        out.line("")?;
    }
    out.lines(table(2, heads, &rows))
}

fn pool(pool: &PoolView) -> Vec<String> {
    let states: Vec<String> = pool.states.iter().map(|(state, count)| format!("{count} {state}")).collect();
    let states = if states.is_empty() { "none".to_owned() } else { states.join(", ") };
    vec![
        pool.name.clone(),
        pool.min.to_string(),
        pool.max.to_string(),
        states,
        or_dash(pool.trouble.as_ref()),
    ]
}

fn machine(one: &MachineView, verbose: bool) -> Vec<String> {
    let mut row = vec![one.instance.clone(), one.pool.clone(), one.state.to_string(), one.since.clone()];
    let why = one.why.as_ref().map(|why| format!("{} [{}]", why.text, why.code));
    if verbose {
        let cause = one.launched_for.map(|cause| cause.to_string());
        row.extend([or_dash(cause.as_ref()), or_dash(one.cloud.as_ref()), or_dash(one.node.as_ref())]);
    } else {
        row.push(one.node.as_deref().map_or_else(|| "-".to_owned(), short));
    }
    row.push(or_dash(why.as_ref()));
    row
}

fn node(node: &NodeView) -> Vec<String> {
    let name = if node.head { format!("{} (head)", node.node) } else { node.node.clone() };
    vec![
        name,
        dash(&node.pool),
        node.status.clone(),
        or_dash(node.idle.as_ref()),
        dash(&node.address),
        dash(&node.instance_type),
        dash(&node.used.join(", ")),
        dash(&node.activity.join("; ")),
    ]
}

fn demand(one: &DemandView) -> Vec<String> {
    let state = match one.unplaced {
        0 => "has a place".to_owned(),
        n => format!("no place for {n}: {}", one.why.join("; ")),
    };
    vec![one.what.clone(), one.kind.to_owned(), one.count.to_string(), state]
}

/// Ids of Ray's nodes have 56 characters, of which twelve tell them apart well enough to ask on with. Names that
/// people chose stay whole.
fn short(id: &str) -> String {
    id.char_indices().nth(12).filter(|_| id.len() > 40).map_or(id, |(end, _)| &id[..end]).to_owned()
}

fn or_dash(text: Option<&String>) -> String {
    text.map_or_else(|| "-".to_owned(), |text| dash(text))
}

fn dash(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { text.to_owned() }
}
