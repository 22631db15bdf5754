//! Puts the snapshot as a question to the scoring policy.

use crate::draft::{Draft, Serial};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use ostler_lifecycle::{Instance, StateName};
use ostler_model::{
    InstanceId, Millis, Node, NodeId, NodeKind, Policy, Pool, PoolId, Quantity, Scoring, Timestamp,
    WorkloadState,
};
use ostler_packing::problem::{Machine, Phase, PoolOption, Problem, Up};

/// The question, and which record each of its machines is (`None`: the head, or a node that is not ours).
pub(crate) fn problem(draft: &Draft<'_>, state: &WorkloadState) -> (Problem, Vec<Option<Serial>>) {
    let policy = &draft.snapshot.policy;
    let (machines, serials) = machines(draft, state);
    let problem = Problem {
        pools: draft.snapshot.pools.iter().map(|pool| option(draft, pool)).collect(),
        head_pool: policy.head_pool.clone(),
        max_machines: policy.max_workers.map(|workers| u64::from(workers) + 1),
        machines,
        tasks: state.demand.tasks.clone(),
        gangs: state.demand.gangs.clone(),
        floors: state.demand.floors.clone(),
        idle_timeout: policy.idle_timeout,
        pending_idle_timeout: policy.pending_idle_timeout,
        replace_outdated: policy.replace_outdated,
        conserve_gpu: policy.conserve_gpu,
    };
    (problem, serials)
}

fn option(draft: &Draft<'_>, pool: &Pool) -> PoolOption {
    let (now, policy, memory) = (draft.snapshot.now, &draft.snapshot.policy, &draft.memory);
    let refused = memory.backing_off(&pool.id, policy, now).is_some();
    let unneeded = memory.pools.get(&pool.id).and_then(|memory| memory.pending_unneeded_since);
    PoolOption {
        pool: pool.clone(),
        availability: availability(draft, &pool.id),
        recoverable: recoverable(draft, &pool.id),
        // Ray knows no such hold, its score alone leads the demand elsewhere.
        backing_off: policy.scoring == Scoring::Ray && (refused || !draft.is_seen(&pool.id)),
        pending_unneeded: unneeded.map(|since| now.since(since)),
    }
}

/// 1 for a pool that never timed out; below that, the longer ago the better: newest 0, one ten-thousandth more
/// for each older one. Only the order matters (Ray: `1 - t/t_newest` of Unix seconds).
fn availability(draft: &Draft<'_>, pool: &PoolId) -> Quantity {
    let timed_out = |id: &PoolId| draft.memory.pools.get(id).and_then(|memory| memory.timed_out_at);
    let Some(at) = timed_out(pool) else { return Quantity::ONE };
    let newer: BTreeSet<Timestamp> =
        draft.snapshot.pools.iter().filter_map(|p| timed_out(&p.id)).filter(|&other| other > at).collect();
    Quantity::ten_thousandths(newer.len().min(9_999) as i128)
}

/// None for the first tenth of a minute's rest, then growing in step with time to 1 (Ray: 0 for
/// `min(10, 10 %)` seconds, then `age / recovery`).
fn recoverable(draft: &Draft<'_>, pool: &PoolId) -> Quantity {
    let recovery = draft.snapshot.policy.availability_recovery;
    let timed_out_at = draft.memory.pools.get(pool).and_then(|memory| memory.timed_out_at);
    let Some(at) = timed_out_at else { return Quantity::ONE };
    let age = draft.snapshot.now.since(at);
    let dead_time = Millis::secs(10).min(Millis(recovery.0 / 10));
    if age < dead_time {
        return Quantity::ZERO;
    }
    if age >= recovery {
        return Quantity::ONE;
    }
    Quantity::ten_thousandths(i128::from(age.0) * 10_000 / i128::from(recovery.0))
}

fn machines(draft: &Draft<'_>, state: &WorkloadState) -> (Vec<Machine>, Vec<Option<Serial>>) {
    let by_id: BTreeMap<&NodeId, &Node> = state.nodes.iter().map(|node| (&node.id, node)).collect();
    let records = draft.instances.values().filter(|i| !i.state().name().is_final());
    let mut known: BTreeSet<&NodeId> = BTreeSet::new();
    let mut found: Vec<(Machine, Option<Serial>)> = Vec::new();
    for instance in records {
        known.extend(instance.state().node());
        let node = instance.state().node().and_then(|id| by_id.get(id)).copied();
        found.push((machine(draft, instance, node), Some(instance.serial())));
    }
    let mut others: Vec<&Node> =
        state.nodes.iter().filter(|n| n.status.is_up() && !known.contains(&n.id)).collect();
    others.sort_by(|a, b| (!a.head, &a.id).cmp(&(!b.head, &b.id)));
    // The head first, as the oldest machine; nodes that are not ours last.
    let (heads, foreign): (Vec<&Node>, Vec<&Node>) = others.into_iter().partition(|node| node.head);
    let policy = &draft.snapshot.policy;
    let heads = heads.into_iter().map(|node| (not_ours(policy, node), None));
    let foreign = foreign.into_iter().map(|node| (not_ours(policy, node), None));
    heads.chain(found).chain(foreign).unzip()
}

fn machine(draft: &Draft<'_>, instance: &Instance, node: Option<&Node>) -> Machine {
    let pool = draft.snapshot.pool(instance.pool());
    let hashes = pool.map(|pool| (pool.launch_hash.as_str(), instance.launch_hash()));
    let outdated = hashes.is_some_and(|(new, old)| !new.is_empty() && !old.is_empty() && new != old);
    Machine {
        instance: instance.id().clone(),
        pool: instance.pool().clone(),
        kind: instance.kind(),
        phase: phase(instance.state().name()),
        outdated,
        keep: !draft.is_seen(instance.pool()),
        up: node.filter(|node| node.status.is_up()).map(up),
    }
}

/// A node without a record of ours: the head, or one that somebody else looks after. It is capacity, and stays.
fn not_ours(policy: &Policy, node: &Node) -> Machine {
    let head_pool = if node.head { policy.head_pool.clone() } else { None };
    Machine {
        instance: InstanceId::new(alloc::format!("node:{}", node.id)),
        pool: node.pool.clone().or(head_pool).unwrap_or_else(|| PoolId::new("")),
        kind: if node.head { NodeKind::Head } else { NodeKind::Worker },
        phase: Phase::Running,
        outdated: false,
        keep: true,
        up: Some(up(node)),
    }
}

fn up(node: &Node) -> Up {
    Up {
        node: node.id.clone(),
        total: node.total.clone(),
        available: node.available.clone(),
        labels: node.labels.clone(),
        idle: node.idle,
        busy: node.status == ostler_model::NodeStatus::Running,
    }
}

const fn phase(state: StateName) -> Phase {
    match state {
        StateName::Queued => Phase::Queued,
        StateName::Requested => Phase::Requested,
        StateName::Allocated => Phase::Allocated,
        StateName::Installing => Phase::Installing,
        StateName::Running => Phase::Running,
        StateName::DrainRequested => Phase::DrainRequested,
        _ => Phase::Leaving,
    }
}
