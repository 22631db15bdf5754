//! Puts the snapshot as a question to the scoring policy.

use crate::draft::{Draft, Serial};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use ostler_lifecycle::{Instance, State, StateName};
use ostler_model::{
    CloudId, Demand, InstanceId, LaunchCause, Millis, Node, NodeId, NodeKind, Policy, Pool, PoolId, Quantity,
    Scoring, Timestamp, WorkloadState,
};
use ostler_packing::problem::{Machine, Phase, PoolOption, Problem, Up};

/// The question, and what its numbers mean to us.
pub(crate) struct Question {
    pub(crate) problem: Problem,
    /// Which record each of its machines is (`None`: the head, or a node that is not ours).
    pub(crate) serials: Vec<Option<Serial>>,
    /// Where its demand stands in the workload's lists.
    pub(crate) demand: Order,
}

/// The workload lists its demand in no order that means anything, so the question has one of its own. Only Ray's
/// own decisions follow the order of its lists.
pub(crate) struct Order {
    tasks: Vec<usize>,
    gangs: Vec<usize>,
}

impl Order {
    fn of(policy: &Policy, demand: &Demand) -> Self {
        let mut tasks: Vec<usize> = (0..demand.tasks.len()).collect();
        let mut gangs: Vec<usize> = (0..demand.gangs.len()).collect();
        if policy.scoring == Scoring::Ray {
            tasks.sort_by_key(|&n| (&demand.tasks[n].shape, demand.tasks[n].count));
            gangs.sort_by_key(|&n| &demand.gangs[n].id);
        }
        Self { tasks, gangs }
    }

    /// The place in the workload's list.
    pub(crate) fn index(&self, kind: LaunchCause, n: usize) -> usize {
        let order = match kind {
            LaunchCause::Gang => &self.gangs,
            LaunchCause::Demand => &self.tasks,
            LaunchCause::Floor
            | LaunchCause::Min
            | LaunchCause::Target
            | LaunchCause::Headroom
            | LaunchCause::Replacement => return n,
        };
        order.get(n).copied().unwrap_or(n)
    }
}

/// Asks what should be.
pub(crate) fn problem(draft: &Draft<'_>, state: &WorkloadState) -> Question {
    let policy = &draft.snapshot.policy;
    let (machines, serials) = machines(draft, state);
    let demand = Order::of(policy, &state.demand);
    let problem = Problem {
        pools: draft.snapshot.pools.iter().map(|pool| option(draft, pool)).collect(),
        head_pool: policy.head_pool.clone(),
        max_machines: policy.max_workers.map(|workers| u64::from(workers) + heads(policy, state)),
        machines,
        tasks: demand.tasks.iter().map(|&n| state.demand.tasks[n].clone()).collect(),
        gangs: demand.gangs.iter().map(|&n| state.demand.gangs[n].clone()).collect(),
        floors: state.demand.floors.clone(),
        idle_timeout: policy.idle_timeout,
        pending_idle_timeout: policy.pending_idle_timeout,
        replace_outdated: policy.replace_outdated,
        conserve_gpu: policy.conserve_gpu,
    };
    Question { problem, serials, demand }
}

/// How many heads the bound over all machines leaves room for: also for one that is not up just now.
fn heads(policy: &Policy, state: &WorkloadState) -> u64 {
    let up = state.nodes.iter().filter(|node| node.head && node.status.is_up()).count() as u64;
    up.max(u64::from(policy.head_pool.is_some()))
}

fn option(draft: &Draft<'_>, pool: &Pool) -> PoolOption {
    let (now, policy) = (draft.snapshot.now, &draft.snapshot.policy);
    let unneeded = draft.memory.pools.get(&pool.id).and_then(|memory| memory.pending_unneeded_since);
    PoolOption {
        pool: pool.clone(),
        availability: availability(draft, &pool.id),
        recoverable: recoverable(draft, &pool.id),
        // Ray knows no such hold, its score alone leads the demand elsewhere.
        backing_off: policy.scoring == Scoring::Ray
            && (draft.resting_until(&pool.id).is_some() || !draft.is_seen(&pool.id)),
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
    let left = left_machines(draft);
    let on_left = |node: &Node| node.cloud.as_ref().is_some_and(|cloud| left.contains(cloud));
    let other = |n: &&Node| n.status.is_up() && !known.contains(&n.id) && (n.head || !on_left(n));
    let mut others: Vec<&Node> = state.nodes.iter().filter(other).collect();
    others.sort_by(|a, b| (!a.head, &a.id).cmp(&(!b.head, &b.id)));
    // The head first, as the oldest machine; nodes that are not ours last.
    let (heads, foreign): (Vec<&Node>, Vec<&Node>) = others.into_iter().partition(|node| node.head);
    let policy = &draft.snapshot.policy;
    let heads = heads.into_iter().map(|node| (not_ours(policy, node), None));
    let foreign = foreign.into_iter().map(|node| (not_ours(policy, node), None));
    heads.chain(found).chain(foreign).unzip()
}

/// Machines that are gone or on their way out, though the workload may not have noticed: their nodes are no
/// capacity.
fn left_machines(draft: &Draft<'_>) -> BTreeSet<CloudId> {
    let (mut left, mut used) = (BTreeSet::new(), BTreeSet::new());
    for instance in draft.instances.values() {
        let cloud = match instance.state() {
            State::Terminated { cloud, .. } => cloud.as_ref(),
            state => state.cloud(),
        };
        let of_use = phase(instance.state().name()) != Phase::Leaving;
        cloud.map(|cloud| if of_use { &mut used } else { &mut left }.insert(cloud.clone()));
    }
    left.retain(|cloud| !used.contains(cloud));
    left
}

fn machine(draft: &Draft<'_>, instance: &Instance, node: Option<&Node>) -> Machine {
    let pool = draft.pool(instance.pool());
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
