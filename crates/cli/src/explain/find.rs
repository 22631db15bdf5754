//! What a person may mean by a few words.

use ostler_console::{DemandView, demand_views};
use ostler_planner::{InstanceReport, PoolReport};
use ostler_wire::{NodeStatusLine, ProviderStatus, Status, WorkloadStatus};

/// What is looked for.
#[derive(Debug)]
pub(super) struct Wanted<'a> {
    kind: Option<&'a str>,
    name: &'a str,
    workload: Option<&'a str>,
}

/// Something that was found.
#[derive(Debug)]
pub(super) enum Found<'s> {
    Workload(&'s WorkloadStatus),
    Pool(&'s WorkloadStatus, &'s PoolReport),
    /// A record, its node, or both.
    Machine(&'s WorkloadStatus, Option<&'s InstanceReport>, Option<&'s NodeStatusLine>),
    Demand(&'s WorkloadStatus, DemandView),
    Provider(&'s ProviderStatus),
}

const KINDS: [&str; 6] = ["pool", "instance", "node", "demand", "provider", "workload"];

impl<'a> Wanted<'a> {
    pub(super) fn new(what: &'a str, workload: Option<&'a str>) -> Self {
        match what.split_once(':').filter(|(kind, _)| KINDS.contains(kind)) {
            Some((kind, name)) => Self { kind: Some(kind), name, workload },
            None => Self { kind: None, name: what, workload },
        }
    }

    fn kind(&self, kind: &str) -> bool {
        self.kind.is_none_or(|wanted| wanted == kind)
    }
}

/// Everything that has the name; if there is none, everything whose name begins with it or whose words have it.
pub(super) fn find<'s>(status: &'s Status, wanted: &Wanted<'_>) -> Vec<Found<'s>> {
    let exact = matching(status, wanted, &|text| text == wanted.name, &|demand| {
        demand.what == wanted.name || wanted.name.parse() == Ok(demand.index)
    });
    if !exact.is_empty() || wanted.name.is_empty() {
        return exact;
    }
    let part = wanted.name.to_lowercase();
    matching(status, wanted, &|text| text.starts_with(wanted.name), &|demand| {
        demand.what.to_lowercase().contains(&part)
    })
}

fn matching<'s>(
    status: &'s Status,
    wanted: &Wanted<'_>,
    named: &dyn Fn(&str) -> bool,
    asked: &dyn Fn(&DemandView) -> bool,
) -> Vec<Found<'s>> {
    let mut found = Vec::new();
    let of =
        |workload: &&WorkloadStatus| wanted.workload.is_none_or(|name| workload.workload.as_str() == name);
    for workload in status.workloads.iter().filter(of) {
        if wanted.kind("workload") && named(workload.workload.as_str()) {
            found.push(Found::Workload(workload));
        }
        if wanted.kind("pool") {
            let pools = workload.report.iter().flat_map(|report| &report.pools);
            found.extend(pools.filter(|p| named(p.pool.as_str())).map(|pool| Found::Pool(workload, pool)));
        }
        machines(workload, wanted, named, &mut found);
        if wanted.kind("demand") {
            let demand = demand_views(workload).into_iter().filter(|view| asked(view));
            found.extend(demand.map(|view| Found::Demand(workload, view)));
        }
    }
    if wanted.kind("provider") && wanted.workload.is_none() {
        let providers = status.providers.iter().filter(|one| named(one.provider.as_str()));
        found.extend(providers.map(Found::Provider));
    }
    found
}

/// A record and the node on its machine are one thing, by whichever name it is called.
fn machines<'s>(
    workload: &'s WorkloadStatus,
    wanted: &Wanted<'_>,
    named: &dyn Fn(&str) -> bool,
    found: &mut Vec<Found<'s>>,
) {
    let instance_named = |one: &InstanceReport| {
        wanted.kind("instance")
            && (named(one.instance.as_str()) || one.cloud.as_ref().is_some_and(|id| named(id.as_str())))
    };
    let node_named = |line: &NodeStatusLine| {
        let node = &line.node;
        wanted.kind("node")
            && (named(node.id.as_str())
                || named(&node.address)
                || node.cloud.as_ref().is_some_and(|id| named(id.as_str())))
    };
    let instances = || workload.report.iter().flat_map(|report| &report.instances);
    for one in instances() {
        let node = workload.nodes.iter().find(|line| one.node.as_ref() == Some(&line.node.id));
        if instance_named(one) || node.is_some_and(node_named) {
            found.push(Found::Machine(workload, Some(one), node));
        }
    }
    let alone = |line: &&NodeStatusLine| !instances().any(|one| one.node.as_ref() == Some(&line.node.id));
    for line in workload.nodes.iter().filter(alone).filter(|line| node_named(line)) {
        found.push(Found::Machine(workload, None, Some(line)));
    }
}

impl<'s> Found<'s> {
    /// Its workload's name.
    pub(super) fn workload(&self) -> Option<&'s str> {
        match self {
            Self::Workload(workload)
            | Self::Pool(workload, _)
            | Self::Machine(workload, ..)
            | Self::Demand(workload, _) => Some(workload.workload.as_str()),
            Self::Provider(_) => None,
        }
    }

    /// What the journal calls it: kind and id.
    pub(super) fn subjects(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Workload(_) => vec![("workload", String::new())],
            Self::Pool(_, pool) => vec![("pool", pool.pool.to_string())],
            Self::Machine(_, instance, node) => instance
                .map(|one| ("instance", one.instance.to_string()))
                .into_iter()
                .chain(node.map(|line| ("node", line.node.id.to_string())))
                .collect(),
            Self::Demand(_, view) => vec![("demand", view.what.clone())],
            Self::Provider(provider) => vec![("provider", provider.provider.to_string())],
        }
    }
}
