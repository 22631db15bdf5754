//! The question: records, nodes and pools as `packing::kube` wants them.

use super::pools;
use crate::draft::{Draft, Serial};
use crate::memory::TakenTurn;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use ostler_lifecycle::{Instance, StateName};
use ostler_model::kube::{Cluster, KubeNode, KubePolicy};
use ostler_model::{EndCause, InstanceId, NodeId, PoolId, Price, Timestamp};
use ostler_packing::kube::problem::{
    Decision, Keep, Machine, PoolOption, Problem, RemovalCause, Stage, Turn, WORK,
};

/// The question, and which record each of its machines is.
pub(super) struct Question<'a> {
    pub(super) problem: Problem<'a>,
    /// `None`: a node that is not ours.
    pub(super) serials: Vec<Option<Serial>>,
}

/// Asks what should be.
pub(super) fn question<'a>(draft: &Draft<'a>, policy: &'a KubePolicy, cluster: &'a Cluster) -> Question<'a> {
    let snapshot = draft.snapshot;
    let pools = pools::options(draft);
    let (machines, serials) = machines(draft, policy, cluster, &pools);
    let ours = machines.iter().filter(|machine| machine.pool.is_some()).filter_map(|machine| machine.node);
    let newest = ours.filter_map(|node| cluster.nodes.get(node)).map(|node| node.created_at).max();
    let problem = Problem {
        now: snapshot.now,
        cluster,
        policy,
        pools,
        machines,
        max_machines: snapshot.policy.max_workers.map(u64::from),
        quiet_until: newest.map(|at| at + policy.delay_after_add),
        work: WORK,
        turn: turn(draft),
    };
    Question { problem, serials }
}

fn machines(
    draft: &Draft<'_>,
    policy: &KubePolicy,
    cluster: &Cluster,
    pools: &[PoolOption],
) -> (Vec<Machine>, Vec<Option<Serial>>) {
    let places: BTreeMap<&NodeId, usize> =
        cluster.nodes.iter().enumerate().map(|(n, x)| (&x.id, n)).collect();
    let by_cloud = nodes_by_cloud(draft, &places);
    let pool_places: BTreeMap<&PoolId, usize> = pools.iter().enumerate().map(|(n, x)| (&x.id, n)).collect();
    let replacing = replacing(draft);
    let under_way = &draft.memory.kube.replacing;
    let replaced: BTreeSet<&NodeId> = under_way.iter().flat_map(|replacing| &replacing.old).collect();
    let mut known: BTreeSet<usize> = BTreeSet::new();
    let (mut machines, mut serials) = (Vec::new(), Vec::new());
    for instance in draft.instances.values().filter(|i| !i.state().name().is_final()) {
        let cloud = instance.state().cloud().map(|cloud| (instance.pool(), cloud.as_str()));
        let node = match instance.state().node() {
            Some(node) => places.get(node).copied(),
            None => cloud.and_then(|(_, cloud)| by_cloud.get(cloud)).copied(),
        };
        known.extend(node);
        let pool = pool_places.get(instance.pool()).copied();
        let price = pool.and_then(|pool| pools.get(pool)).map_or(Price::ZERO, |pool| pool.price);
        machines.push(Machine {
            name: node.map_or_else(
                || Arc::from(instance.id().as_str()),
                |node| Arc::from(cluster.nodes[node].id.as_str()),
            ),
            pool,
            stage: stage(draft, instance, node),
            node,
            price,
            outdated: is_outdated(draft, instance),
            keep: keep(draft, policy, instance, node.map(|node| &cluster.nodes[node])),
            unneeded_since: instance
                .state()
                .node()
                .and_then(|node| draft.memory.kube.unneeded_since.get(node).copied()),
            replaces: replacing.contains(instance.id()),
            replaced: instance.state().node().is_some_and(|node| replaced.contains(node)),
            leaving_for: leaving_for(instance),
        });
        serials.push(Some(instance.serial()));
    }
    for (n, node) in cluster.nodes.iter().enumerate().filter(|(n, _)| !known.contains(n)) {
        machines.push(not_ours(n, node));
        serials.push(None);
    }
    (machines, serials)
}

/// Where the node of each machine is, by the provider's id of the machine.
fn nodes_by_cloud<'a>(draft: &Draft<'a>, places: &BTreeMap<&NodeId, usize>) -> BTreeMap<&'a str, usize> {
    let nodes = draft.snapshot.seen().map(|(state, _)| state.nodes.as_slice()).unwrap_or_default();
    let found = nodes.iter().filter_map(|node| Some((node.cloud.as_ref()?.as_str(), *places.get(&node.id)?)));
    found.collect()
}

fn replacing(draft: &Draft<'_>) -> BTreeSet<InstanceId> {
    draft.memory.kube.replacing.iter().flat_map(|replacing| replacing.new.iter().cloned()).collect()
}

fn stage(draft: &Draft<'_>, instance: &Instance, node: Option<usize>) -> Stage {
    use StateName::*;
    let configured = draft.pool(instance.pool()).is_some();
    match instance.state().name() {
        Queued if configured => Stage::Coming,
        // Of a pool that was gone before anything was known of it we do not know what it will be like.
        Requested | Allocated | Installing
            if configured || draft.memory.kube.pools.contains_key(instance.pool()) =>
        {
            Stage::Coming
        }
        Running | UndrainRequested if node.is_some() => Stage::Up,
        DrainRequested | Draining if node.is_some() => Stage::Leaving,
        _ => Stage::Ending,
    }
}

/// A machine whose pool has left the configuration is one, whatever is to become of the others.
fn is_outdated(draft: &Draft<'_>, instance: &Instance) -> bool {
    draft
        .pool(instance.pool())
        .is_none_or(|pool| draft.snapshot.policy.replace_outdated && pools::is_made_otherwise(pool, instance))
}

fn keep(
    draft: &Draft<'_>,
    policy: &KubePolicy,
    instance: &Instance,
    node: Option<&KubeNode>,
) -> Option<Keep> {
    let now: Timestamp = draft.snapshot.now;
    let failed = |node: &KubeNode| {
        let at = draft.memory.kube.drain_failed.get(&node.id)?;
        (now.since(*at) < policy.delay_after_failure).then_some(Keep::DrainFailed)
    };
    let held = |node: &KubeNode| node.held.as_ref().map(|_| Keep::Held);
    if !draft.is_seen(instance.pool()) || !draft.has_provider(instance.pool()) {
        return Some(Keep::Unseen);
    }
    node.and_then(|node| held(node).or_else(|| failed(node)))
}

fn leaving_for(instance: &Instance) -> Option<RemovalCause> {
    if !matches!(instance.state().name(), StateName::DrainRequested | StateName::Draining) {
        return None;
    }
    match instance.state().end_cause()? {
        EndCause::Idle => Some(RemovalCause::Empty),
        EndCause::Underused => Some(RemovalCause::Underused),
        EndCause::Consolidated => Some(RemovalCause::Consolidated),
        // Whatever is wanted for a bound, a new configuration or by a person is not taken back for want of room.
        _ => None,
    }
}

fn not_ours(n: usize, node: &KubeNode) -> Machine {
    Machine {
        name: Arc::from(node.id.as_str()),
        pool: None,
        stage: if node.draining { Stage::Leaving } else { Stage::Up },
        node: Some(n),
        price: Price::ZERO,
        outdated: false,
        keep: Some(Keep::NotOurs),
        unneeded_since: None,
        replaces: false,
        replaced: false,
        leaving_for: None,
    }
}

/// Where this plan begins.
fn turn(draft: &Draft<'_>) -> Turn {
    let Some(taken) = &draft.memory.kube.turn else { return Turn::default() };
    if taken.at == draft.snapshot.now { taken.from.clone() } else { taken.next.clone() }
}

/// Takes note of what must survive a restart: since when nodes are unneeded, and what no longer matters.
pub(super) fn remember(draft: &mut Draft<'_>, question: &Question<'_>, decision: &Decision) {
    let now = draft.snapshot.now;
    let node_of = |machine: &usize| {
        let machine = question.problem.machines.get(*machine)?;
        let node = question.problem.cluster.nodes.get(machine.node?)?;
        machine.pool.is_some().then(|| node.id.clone())
    };
    let before = core::mem::take(&mut draft.memory.kube.unneeded_since);
    let since = |node: NodeId| (node.clone(), before.get(&node).copied().unwrap_or(now));
    draft.memory.kube.unneeded_since = decision.unneeded.iter().filter_map(node_of).map(since).collect();
    let nodes: BTreeSet<&NodeId> = question.problem.cluster.nodes.iter().map(|node| &node.id).collect();
    let wait = question.problem.policy.delay_after_failure;
    draft.memory.kube.drain_failed.retain(|node, at| nodes.contains(node) && now.since(*at) < wait);
    let (from, next) = (question.problem.turn.clone(), decision.turn.clone());
    let all_seen = from == Turn::default() && next == Turn::default();
    draft.memory.kube.turn = (!all_seen).then_some(TakenTurn { at: now, from, next });
    forget_replacements(draft, &nodes, question.problem.policy);
}

/// A replacement is over when what it replaces is gone, when none of the new machines came, or when it took too
/// long: then its machines are judged like any other.
fn forget_replacements(draft: &mut Draft<'_>, nodes: &BTreeSet<&NodeId>, policy: &KubePolicy) {
    let alive = draft.instances.values().filter(|i| !i.state().name().is_final());
    let alive: BTreeSet<InstanceId> = alive.map(|i| i.id().clone()).collect();
    let timeouts = &draft.snapshot.policy.timeouts;
    let longest = timeouts.request.0 + timeouts.allocate.0 + draft.snapshot.policy.drain_grace.0;
    let longest = longest.saturating_add(policy.unneeded.0).saturating_add(policy.delay_after_add.0);
    let now = draft.snapshot.now;
    draft.memory.kube.replacing.retain(|replacing| {
        now.since(replacing.since).0 < longest
            && replacing.old.iter().any(|node| nodes.contains(node))
            && replacing.new.iter().any(|instance| alive.contains(instance))
    });
}
