//! What waits, what stays, and why, for people.

use super::answer::end_cause;
use super::problem::Question;
use crate::draft::Draft;
use crate::plan::{Severity, Subject};
use crate::reason::Reason;
use crate::report::{DemandReport, PodsReport, PoolReport};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use ostler_model::kube::{Cluster, Pod};
use ostler_model::{LaunchCause, NodeId, Pool};
use ostler_packing::kube::problem::{Decision, Keep, Place, Problem, Stage};

/// Pods that are named in a report; the rest are counted. Enough for a screen, and for the events of one plan.
const PODS_NAMED: usize = 500;

/// Puts the decision into the report.
pub(super) fn report(draft: &mut Draft<'_>, question: &Question<'_>, decision: &Decision) {
    // A machine on its way out is told by why it goes.
    for (machine, why) in decision.kept.iter().filter(|(_, why)| *why != Keep::Leaving) {
        if let Some(serial) = question.serials.get(*machine).copied().flatten() {
            draft.explain(serial, None, Some(Reason::NodeKept { why: why.clone() }));
        }
    }
    for pool in question.problem.pools.iter().filter(|pool| pool.gone) {
        draft.note(Subject::Pool(pool.id.clone()), Severity::Warning, Reason::PoolGone);
        let known =
            draft.memory.kube.pools.get(&pool.id).map(|known| Pool { min: 0, max: 0, ..known.clone() });
        draft.report.pools.extend(known.as_ref().map(PoolReport::new));
    }
    let cluster = question.problem.cluster;
    let owners = first_pods(cluster);
    for left in &decision.unplaced {
        let demand = demand_words(cluster, left.spec, &owners);
        let reason = Reason::Infeasible { why: left.why.clone() };
        draft.note(Subject::Demand(demand.clone()), Severity::Warning, reason);
        draft.report.unplaced.push(DemandReport {
            kind: LaunchCause::Demand,
            index: left.spec as usize,
            demand,
            count: left.count,
            why: left.why.clone(),
        });
    }
    draft.report.unplaced.sort_by(|a, b| (&a.demand, a.count).cmp(&(&b.demand, b.count)));
    draft.report.pods = Some(pods(question, decision));
}

fn pods(question: &Question<'_>, decision: &Decision) -> PodsReport {
    let problem = &question.problem;
    let waits = |pod: &&Pod| pod.waits();
    let waiting = problem.cluster.pods.iter().filter(waits);
    let ignored = |pod: &Pod| Some((pod_name(problem.cluster, pod), why_ignored(problem, pod)?));
    let comes_for = decision.placed.iter().filter_map(|&(pod, place)| {
        let pool = match place {
            Place::New(pool, _) => pool,
            Place::Machine(machine) => {
                let machine =
                    problem.machines.get(machine).filter(|machine| machine.stage == Stage::Coming)?;
                machine.pool?
            }
        };
        let (pod, pool) = (problem.cluster.pods.get(pod)?, problem.pools.get(pool)?);
        Some((pod.uid.to_string(), pool.id.clone()))
    });
    PodsReport {
        waiting: waiting.clone().count() as u64,
        placed: decision.placed.len() as u64,
        bring_nodes: comes_for.take(PODS_NAMED).collect(),
        ignored: waiting.filter_map(ignored).take(PODS_NAMED).collect(),
    }
}

/// Why a pod that waits brings no node, if it is not ours to help.
fn why_ignored(problem: &Problem<'_>, pod: &Pod) -> Option<String> {
    if let Some(why) = &pod.ignored {
        return Some(why.to_string());
    }
    let (policy, spec) = (problem.policy, problem.cluster.specs.get(pod.spec as usize)?);
    if policy.is_expendable(spec) {
        let (own, bound) = (spec.priority, policy.expendable_below);
        return Some(format!("its priority {own} is below {bound} (`expendable_below`)"));
    }
    let other = !policy.schedulers.contains(&spec.scheduler);
    other.then(|| format!("it is for the scheduler {}, which `schedulers` does not name", spec.scheduler))
}

/// The first pod of each spec that waits: an example tells more than numbers.
fn first_pods(cluster: &Cluster) -> BTreeMap<u32, &Pod> {
    let mut first: BTreeMap<u32, &Pod> = BTreeMap::new();
    for pod in cluster.pods.iter().filter(|pod| pod.waits()) {
        let known = first.entry(pod.spec).or_insert(pod);
        if pod.name < known.name {
            *known = pod;
        }
    }
    first
}

/// `shop/web-0 and its like (cpu 2, memory 4)`.
fn demand_words(cluster: &Cluster, spec: u32, first: &BTreeMap<u32, &Pod>) -> String {
    let Some(asked) = cluster.specs.get(spec as usize) else { return format!("pods of kind {spec}") };
    let requests = asked.requests.iter().filter(|(name, _)| &***name != ostler_model::kube::PODS);
    let requests: ostler_model::Resources = requests.map(|(name, amount)| (name.clone(), amount)).collect();
    match first.get(&spec) {
        Some(pod) => format!("{} and its like ({requests})", pod_name(cluster, pod)),
        None => format!("pods ({requests})"),
    }
}

fn pod_name(cluster: &Cluster, pod: &Pod) -> String {
    let namespace = cluster.specs.get(pod.spec as usize).map_or("", |spec| &*spec.namespace);
    format!("{namespace}/{}", pod.name)
}

/// Says what would be done by one that may do nothing.
pub(super) fn shadow(draft: &mut Draft<'_>, question: &Question<'_>, decision: &Decision) {
    for launch in &decision.launches {
        let Some(pool) = question.problem.pools.get(launch.pool) else { continue };
        let what = format!("would launch {} for {}", launch.count, launch.cause);
        would(draft, Subject::Pool(pool.id.clone()), &format!("pool {}", pool.id), what);
    }
    let machines: Vec<_> = decision.removals.iter().map(|r| (r.machine, end_cause(r.cause))).collect();
    for (machine, cause) in machines {
        let Some(machine) = question.problem.machines.get(machine) else { continue };
        let what = format!("would remove it: {cause}");
        let name = format!("node {}", machine.name);
        would(draft, Subject::Node(NodeId::new(&*machine.name)), &name, what);
    }
    for replacement in &decision.replacements {
        let name = |n: &usize| question.problem.machines.get(*n).map(|machine| machine.name.to_string());
        let old: Vec<String> = replacement.old.iter().filter_map(name).collect();
        for (pool, count) in &replacement.new {
            let Some(pool) = question.problem.pools.get(*pool) else { continue };
            let what = format!("would launch {count} in the place of {}", old.join(", "));
            would(draft, Subject::Pool(pool.id.clone()), &format!("pool {}", pool.id), what);
        }
    }
}

/// Once into the log, and into each report as long as it is so.
fn would(draft: &mut Draft<'_>, about: Subject, name: &str, what: String) {
    draft.report.would.push(format!("{name}: {what}"));
    draft.note(about, Severity::Info, Reason::Would { what });
}
