//! The plan in the words of those who watch pods and nodes.

use ostler_lifecycle::StateName;
use ostler_model::WorkloadState;
use ostler_model::kube::{Cluster, Pod};
use ostler_planner::{NodeStays as Keep, Reason, Report};
use ostler_workload::{NodeNews, NodeNotice, PodNews, PodNotice};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Pods of one kind that are told of; the others are like them.
const LIKE: usize = 50;

/// For which pods nodes come, and for which none does.
pub(crate) fn pods(state: &WorkloadState, report: &Report) -> Vec<PodNotice> {
    let (Some(cluster), Some(pods)) = (&state.cluster, &report.pods) else { return Vec::new() };
    let waiting = cluster.pods.iter().filter(|pod| pod.waits());
    let by_uid: BTreeMap<&str, &Pod> = waiting.clone().map(|pod| (&*pod.uid, pod)).collect();
    let mut notices = Vec::new();
    for (uid, pool) in &pods.bring_nodes {
        let Some(pod) = by_uid.get(uid.as_str()) else { continue };
        let text = format!("pool {pool} grows for it");
        notices.extend(notice(cluster, pod, PodNews::TriggeredScaleUp, text));
    }
    for left in &report.unplaced {
        let text = Reason::Infeasible { why: left.why.clone() }.to_string();
        let like = waiting.clone().filter(|pod| pod.spec as usize == left.index && pod.ignored.is_none());
        let told = like.take(LIKE.min(usize::try_from(left.count).unwrap_or(LIKE)));
        notices.extend(told.filter_map(|pod| {
            notice(cluster, pod, PodNews::NotTriggerScaleUp, format!("no pool would do: {text}"))
        }));
    }
    notices
}

fn notice(cluster: &Cluster, pod: &Pod, news: PodNews, text: String) -> Option<PodNotice> {
    let namespace = cluster.specs.get(pod.spec as usize)?.namespace.clone();
    Some(PodNotice { namespace, name: pod.name.clone(), uid: pod.uid.clone(), news, text })
}

/// Which nodes go, and which could not.
pub(crate) fn nodes(report: &Report) -> Vec<NodeNotice> {
    if report.pods.is_none() {
        return Vec::new();
    }
    let notice = |one: &ostler_planner::InstanceReport| {
        let node = one.node.clone()?;
        let (news, text) = match (one.state, &one.reason) {
            (StateName::DrainRequested | StateName::Draining, Some(reason)) => {
                (NodeNews::ScaleDown, reason.to_string())
            }
            (StateName::Running, Some(reason @ Reason::NodeKept { why: Keep::DrainFailed })) => {
                (NodeNews::ScaleDownFailed, reason.to_string())
            }
            _ => return None,
        };
        Some(NodeNotice { node, news, text })
    };
    report.instances.iter().filter_map(notice).collect()
}

/// The whole picture as text, without anything that only time changes.
pub(crate) fn status(report: &Report) -> String {
    let Some(pods) = &report.pods else { return String::new() };
    let mut text = String::new();
    if let Some(hold) = &report.hold {
        let _ = writeln!(text, "held: {hold}");
    }
    let _ = writeln!(text, "pods waiting: {}\npods with a place: {}\npools:", pods.waiting, pods.placed);
    for pool in &report.pools {
        let states: Vec<String> = pool.states.iter().map(|(state, n)| format!("{n} {state}")).collect();
        let states = if states.is_empty() { "none".to_owned() } else { states.join(", ") };
        let _ = write!(text, "  {} ({} to {}): {states}", pool.pool, pool.min, pool.max);
        match &pool.last_refusal {
            Some(refusal) => {
                let _ = writeln!(text, "; last refusal: {refusal}");
            }
            None => text.push('\n'),
        }
    }
    if !report.unplaced.is_empty() {
        text.push_str("no place:\n");
    }
    for left in &report.unplaced {
        let why = Reason::Infeasible { why: left.why.clone() };
        let _ = writeln!(text, "  {} × {}: {why}", left.count, left.demand);
    }
    text
}
