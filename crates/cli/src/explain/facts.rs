//! What there is to say about each kind of thing.

use super::find::Found;
use super::{Because, Explanation, Fact};
use ostler_console::{DemandView, MachineView, NodeView, PoolView, Why, WorkloadView, ago, unfit, view};
use ostler_model::{InstanceId, PoolId, Scale, Target};
use ostler_planner::{InstanceReport, PoolReport, Reason};
use ostler_wire::{NodeStatusLine, ProviderStatus, Status, WorkloadStatus};
use std::collections::BTreeSet;

/// Facts of one kind that are listed; the rest are counted. More would bury what matters.
const LISTED_MAX: usize = 20;

/// Explains one thing.
pub(super) fn explanation(found: &Found<'_>, status: &Status) -> Explanation {
    let of = |workload: &WorkloadStatus| {
        let all = view(status).workloads;
        all.into_iter()
            .find(|view| view.name == workload.workload.as_str())
            .expect("a view has each workload")
    };
    match found {
        Found::Workload(workload) => about_workload(workload, &of(workload)),
        Found::Pool(workload, pool) => about_pool(pool, workload, &of(workload)),
        Found::Machine(workload, instance, node) => about_machine(*instance, *node, &of(workload)),
        Found::Demand(workload, demand) => about_demand(demand, workload, &of(workload)),
        Found::Provider(provider) => about_provider(provider, status),
    }
}

fn about_workload(status: &WorkloadStatus, workload: &WorkloadView) -> Explanation {
    let summary = match (&workload.failure, &workload.hold) {
        (Some(failure), _) => format!("it cannot be seen: {failure}"),
        (None, Some(_)) => "nothing is decided for it".to_owned(),
        (None, None) => "it is seen and planned".to_owned(),
    };
    let mut facts = Facts::default();
    facts.add("kind", &workload.kind);
    facts.add("session", &workload.session);
    facts.add("seen", &workload.seen);
    facts.add("planned", &workload.planned);
    facts.add("nodes", &workload.nodes.len().to_string());
    facts.add("machines", &workload.machines.len().to_string());
    target_facts(status, &mut facts);
    workload.faults.iter().for_each(|fault| facts.add("left aside", fault));
    Explanation {
        kind: "workload",
        name: workload.name.clone(),
        workload: None,
        summary,
        reasons: held(workload),
        facts: facts.0,
        journal: Vec::new(),
    }
}

fn about_pool(pool: &PoolReport, status: &WorkloadStatus, workload: &WorkloadView) -> Explanation {
    let name = pool.pool.to_string();
    let shown = pool_view(workload, &name);
    let mut facts = Facts::default();
    if !pool.resources.0.is_empty() {
        facts.add("each machine", &pool.resources.to_string());
    }
    facts.add("bounds", &format!("{} to {}", pool.min, pool.max));
    target_facts(status, &mut facts);
    let ours = workload.machines.iter().filter(|machine| machine.pool == name);
    facts.list(ours.map(|machine| (machine.instance.clone(), in_words(machine))));
    let unplaced = status.report.iter().flat_map(|report| &report.unplaced);
    facts.list(unplaced.flat_map(|demand| {
        let ours = demand.why.iter().filter(|(of, _)| *of == pool.pool);
        ours.map(|(_, why)| {
            let what = format!("{} × {}: it {}", demand.count, demand.demand, fault_of(&pool.pool, why));
            ("cannot take".to_owned(), what)
        })
    }));
    Explanation {
        kind: "pool",
        summary: shown.and_then(|shown| shown.trouble.clone()).unwrap_or_else(|| machines_in_words(shown)),
        name,
        workload: Some(workload.name.clone()),
        reasons: held(workload),
        facts: facts.0,
        journal: Vec::new(),
    }
}

/// What a workload that is scaled to a number was asked for last, and what became of it.
fn target_facts(status: &WorkloadStatus, facts: &mut Facts) {
    let Some((report, asked)) =
        status.report.as_ref().and_then(|report| Some((report, report.target.as_ref()?)))
    else {
        return;
    };
    let Scale { desired, available, min, max } = asked.scale;
    match &asked.target {
        None => facts.add("asked for", "nothing yet: what runs stays"),
        Some(Target { wish, seq, accepted_at }) => {
            let since = ago(report.at, Some(*accepted_at));
            let last = if asked.refused.is_none() { "; it has asked for nothing else since" } else { "" };
            facts.add("asked for", &format!("{} workers, {since} (wish {seq}){last}", wish.amount));
            if wish.amount.clamp(min, max) != wish.amount {
                facts.add(
                    "clamped",
                    &format!("to {}, the bounds are {min} and {max}", wish.amount.clamp(min, max)),
                );
            }
            facts.add("must stay", &names(&wish.keep));
            facts.add("go first", &names(&wish.delete));
            if wish.keep.len() as u64 > u64::from(wish.amount) {
                facts.add("kept beyond the number", "workers that must stay are more than were asked for");
            }
        }
    }
    if let Some(refused) = &asked.refused {
        let text = format!(
            "{} workers, {}, with {} that must stay: pool {} cannot spare them, its provider chooses itself",
            refused.amount,
            ago(report.at, Some(refused.at)),
            refused.kept,
            refused.pool
        );
        facts.add("refused", &text);
    }
    facts.add("aimed for", &format!("{desired}, of which {available} are ready"));
    facts.add("bounds of all pools", &format!("{min} to {max}"));
    if asked.short > 0 {
        facts.add("short of", &format!("{} that no pool can give just now", asked.short));
    }
    if asked.held > 0 {
        facts.add("too many", &format!("{} that may not go", asked.held));
    }
}

fn names(names: &BTreeSet<InstanceId>) -> String {
    let mut shown: Vec<&str> = names.iter().take(LISTED_MAX).map(InstanceId::as_str).collect();
    let more = format!("and {} more", names.len() - shown.len());
    shown.extend((names.len() > shown.len()).then_some(more.as_str()));
    shown.join(", ")
}

/// What stands against a pool, without its name before it.
fn fault_of(pool: &PoolId, why: &ostler_packing::problem::Unfit) -> String {
    let text = unfit(pool, why);
    text.strip_prefix(&format!("{pool} ")).map_or(text.clone(), str::to_owned)
}

fn machines_in_words(pool: Option<&PoolView>) -> String {
    let states = pool.map(|pool| &pool.states).into_iter().flatten();
    let words: Vec<String> = states.map(|(state, count)| format!("{count} {state}")).collect();
    if words.is_empty() { "it has no machines".to_owned() } else { format!("it has {}", words.join(", ")) }
}

fn about_machine(
    instance: Option<&InstanceReport>,
    node: Option<&NodeStatusLine>,
    workload: &WorkloadView,
) -> Explanation {
    let mut facts = Facts::default();
    let mut reasons = held(workload);
    let machine = instance
        .and_then(|one| workload.machines.iter().find(|machine| machine.instance == one.instance.as_str()));
    let summary = match machine {
        Some(machine) => format!("{} for {}", machine.state, machine.since),
        None => "a node without a record of ours: it is left alone".to_owned(),
    };
    if let Some(machine) = machine {
        reasons.extend(machine.why.clone().map(Because::from));
        facts.add("pool", &machine.pool);
        facts.add("made for", &machine.launched_for.map(|cause| cause.to_string()).unwrap_or_default());
        facts.add("machine", machine.cloud.as_deref().unwrap_or_default());
    }
    let shown = node.and_then(|line| workload.nodes.iter().find(|view| view.node == line.node.id.as_str()));
    if let Some(node) = shown {
        node_facts(node, &mut facts);
    }
    let name = instance.map(|one| one.instance.to_string()).or_else(|| shown.map(|node| node.node.clone()));
    Explanation {
        kind: if instance.is_some() { "instance" } else { "node" },
        name: name.unwrap_or_default(),
        workload: Some(workload.name.clone()),
        summary,
        reasons,
        facts: facts.0,
        journal: Vec::new(),
    }
}

fn node_facts(node: &NodeView, facts: &mut Facts) {
    facts.add("node", &node.node);
    facts.add(
        "node's status",
        &if node.head { format!("{} (the head)", node.status) } else { node.status.clone() },
    );
    facts.add("idle for", node.idle.as_deref().unwrap_or_default());
    facts.add("address", &node.address);
    facts.add("machine type", &node.instance_type);
    facts.add("used", &node.used.join(", "));
    node.activity.iter().for_each(|activity| facts.add("activity", activity));
    facts.add("look at", node.details.as_deref().unwrap_or_default());
}

fn about_demand(demand: &DemandView, status: &WorkloadStatus, workload: &WorkloadView) -> Explanation {
    let mut facts = Facts::default();
    let mut reasons = held(workload);
    facts.add("asked for", &format!("{} × {}", demand.count, demand.kind));
    let summary = if let Some(why) = ignored(demand, status) {
        reasons.push(Why::from(&Reason::PodIgnored { why }).into());
        "it brings no node".to_owned()
    } else if demand.unplaced > 0 {
        let why = Reason::Infeasible { why: why_of(demand, status) };
        reasons.push(Why::from(&why).into());
        for pool in workload.pools.iter().filter(|pool| pool.trouble.is_some()) {
            facts.add(&format!("pool {}", pool.name), pool.trouble.as_deref().unwrap_or_default());
        }
        format!("no pool can take {} of {}", demand.unplaced, demand.count)
    } else {
        coming(workload, &mut facts);
        "it has a place: on what exists, or on a machine that is on its way".to_owned()
    };
    Explanation {
        kind: demand.kind,
        name: format!("{}: {}", demand.index, demand.what),
        workload: Some(workload.name.clone()),
        summary,
        reasons,
        facts: facts.0,
        journal: Vec::new(),
    }
}

/// What a pod waits for, if that is not room.
fn ignored(demand: &DemandView, status: &WorkloadStatus) -> Option<String> {
    let pods = status.report.as_ref()?.pods.as_ref()?;
    let (_, why) = pods.ignored.get(demand.index).filter(|(pod, _)| *pod == demand.what)?;
    Some(why.clone())
}

fn why_of(demand: &DemandView, status: &WorkloadStatus) -> Vec<(PoolId, ostler_packing::problem::Unfit)> {
    let all = status.report.iter().flat_map(|report| &report.unplaced);
    let found = all.into_iter().find(|one| one.demand == demand.what && one.index == demand.index);
    found.map(|one| one.why.clone()).unwrap_or_default()
}

/// Machines on their way, and what they wait for.
fn coming(workload: &WorkloadView, facts: &mut Facts) {
    use ostler_lifecycle::StateName as S;
    let on_its_way = [S::Queued, S::Requested, S::Allocated, S::Installing];
    let coming = workload.machines.iter().filter(|machine| on_its_way.contains(&machine.state));
    facts.list(coming.map(|machine| {
        ("on its way".to_owned(), format!("{} ({}), {}", machine.instance, machine.pool, in_words(machine)))
    }));
}

fn in_words(machine: &MachineView) -> String {
    let why = machine.why.as_ref().map_or_else(String::new, |why| format!(": {} [{}]", why.text, why.code));
    format!("{} for {}{why}", machine.state, machine.since)
}

fn about_provider(provider: &ProviderStatus, status: &Status) -> Explanation {
    let mut facts = Facts::default();
    facts.add("listed", &ago(status.at, provider.listed_at));
    facts.add("machines", &provider.machines.to_string());
    let failure = provider.failure.clone();
    let held = failure
        .clone()
        .map(|failure| Reason::ProviderHeld { provider: provider.provider.to_string(), failure });
    Explanation {
        kind: "provider",
        name: provider.provider.to_string(),
        workload: None,
        summary: failure.map_or_else(
            || "it lists its machines".to_owned(),
            |failure| format!("it cannot be listed: {failure}"),
        ),
        reasons: held.iter().map(|reason| Why::from(reason).into()).collect(),
        facts: facts.0,
        journal: Vec::new(),
    }
}

fn held(workload: &WorkloadView) -> Vec<Because> {
    workload.hold.clone().map(Because::from).into_iter().collect()
}

fn pool_view<'w>(workload: &'w WorkloadView, name: &str) -> Option<&'w PoolView> {
    workload.pools.iter().find(|pool| pool.name == name)
}

/// Facts in order, without those that have nothing to say.
#[derive(Debug, Default)]
struct Facts(Vec<Fact>);

impl Facts {
    fn add(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.0.push(Fact { name: name.to_owned(), value: value.to_owned() });
        }
    }

    fn list(&mut self, mut facts: impl Iterator<Item = (String, String)>) {
        for (name, value) in facts.by_ref().take(LISTED_MAX) {
            self.add(&name, &value);
        }
        match facts.count() {
            0 => {}
            more => self.add("and", &format!("{more} more")),
        }
    }
}
