//! Puts a [`Problem`] to [`ray_exact`] and its decision back into our words.
//!
//! Ray's scheduler knows nothing of machines that are kept, of pools that back off, or of machines beyond the
//! drain; what it would do with those that it does know is passed on as it is, and the planner's lifecycle and
//! audit decide what of it may happen.

use crate::problem::{
    Decision, Fault, FaultKind, Keep, Launch, LaunchCause, Machine, Phase, Problem, Removal, RemovalCause,
    Unplaced,
};
use crate::ray_exact as ray;
use crate::why;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use ostler_model::{
    Bundle, Gang, Labels, Millis, NodeKind, Operator, Resources, Selector, Shape, Strategy, Task, Term,
};

/// Decides as Ray 2.60.0 would.
///
/// The pending-idle timeout is told since when *some* machine on its way is not needed, pool by pool; Ray keeps
/// one time for each. It is off by default.
pub fn decide(problem: &Problem) -> Decision {
    let names = GangLabels::of(problem);
    let input = input(problem, &names);
    let (decision, memory) = ray::decide(&input, &memory(problem));
    answer(problem, &input, &decision, &memory)
}

/// The clock of a decision in seconds: far enough from zero that "unneeded for long" has room before it.
const NOW_S: f64 = 1e9;

/// The label by which Ray knows the bundles of each gang.
struct GangLabels(Vec<String>);

impl GangLabels {
    fn of(problem: &Problem) -> Self {
        Self(problem.gangs.iter().map(|gang| alloc::format!("_PG_{}", gang.id)).collect())
    }
}

fn input<'a>(problem: &'a Problem, names: &'a GangLabels) -> ray::Input<'a> {
    let availability = |value: fn(&crate::problem::PoolOption) -> ostler_model::Quantity| {
        problem.pools.iter().map(|p| (p.pool.id.as_str(), value(p).to_f64())).collect()
    };
    ray::Input {
        pools: problem.pools.iter().map(pool).collect(),
        head_pool: problem.head_pool.as_ref().map_or("", |id| id.as_str()),
        max_nodes: problem.max_machines,
        idle_timeout_s: problem.idle_timeout.map(seconds),
        pending_idle: problem
            .pending_idle_timeout
            .map(|timeout| ray::PendingIdle { timeout_s: seconds(timeout), now_s: NOW_S }),
        disable_launch_config_check: !problem.replace_outdated,
        conserve_gpu_nodes: problem.conserve_gpu,
        instances: problem.machines.iter().map(|machine| instance(problem, machine)).collect(),
        requests: problem.tasks.iter().map(task).collect(),
        gangs: problem.gangs.iter().zip(&names.0).map(|(g, label)| gang(g, label)).collect(),
        constraint: problem.floors.iter().flat_map(|floor| floor.tasks.iter().map(task)).collect(),
        availabilities: availability(|p| p.availability),
        recoverable_availabilities: availability(|p| p.recoverable),
    }
}

fn pool(option: &crate::problem::PoolOption) -> ray::Pool<'_> {
    let pool = &option.pool;
    ray::Pool {
        name: pool.id.as_str(),
        resources: amounts(&pool.resources),
        labels: labels(&pool.labels),
        min_workers: pool.min.into(),
        max_workers: pool.max.into(),
        idle_timeout_s: pool.idle_timeout.map(seconds),
        priority: pool.priority.into(),
        launch_config_hash: &pool.launch_hash,
    }
}

fn instance<'a>(problem: &'a Problem, machine: &'a Machine) -> ray::Instance<'a> {
    let hash = problem.pools.iter().find(|p| p.pool.id == machine.pool).map(|p| p.pool.launch_hash.as_str());
    ray::Instance {
        pool: machine.pool.as_str(),
        state: state(machine.phase),
        kind: if machine.kind == NodeKind::Head { ray::Kind::Head } else { ray::Kind::Worker },
        launch_config_hash: if machine.outdated { "outdated" } else { hash.unwrap_or("") },
        has_ray_node_id: machine.up.is_some(),
        node: machine.up.as_ref().map(|up| ray::Node {
            idle_ms: i64::try_from(up.idle.0).unwrap_or(i64::MAX),
            total: amounts(&up.total),
            available: amounts(&up.available),
            labels: labels(&up.labels),
            dynamic_labels: Vec::new(), // already laid over the others
        }),
    }
}

const fn state(phase: Phase) -> ray::State {
    match phase {
        Phase::Queued => ray::State::Queued,
        Phase::Requested => ray::State::Requested,
        Phase::Allocated => ray::State::Allocated,
        Phase::Installing => ray::State::Installing,
        Phase::Running => ray::State::Running,
        Phase::DrainRequested => ray::State::StopRequested,
        Phase::Leaving => ray::State::Other,
    }
}

fn task(task: &Task) -> ray::Request<'_> {
    request(&task.shape, task.count, Vec::new())
}

fn gang<'a>(gang: &'a Gang, label: &'a str) -> ray::Gang<'a> {
    let placement = match gang.strategy {
        Strategy::StrictPack => alloc::vec![ray::Placement::Affinity(label, "")],
        Strategy::StrictSpread => alloc::vec![ray::Placement::AntiAffinity(label, "")],
        Strategy::Pack | Strategy::Spread => Vec::new(),
    };
    let bundle = |bundle: &'a Bundle| request(&bundle.shape, bundle.count, placement.clone());
    ray::Gang { bundles: gang.bundles.iter().map(bundle).collect(), in_requests_field: true }
}

fn request<'a>(shape: &'a Shape, count: u64, placement: Vec<ray::Placement<'a>>) -> ray::Request<'a> {
    ray::Request {
        resources: amounts(&shape.resources),
        count,
        selectors: shape.selectors.iter().map(selector).collect(),
        placement,
    }
}

fn selector(selector: &Selector) -> ray::Selector<'_> {
    selector.0.iter().map(rule).collect()
}

fn rule(term: &Term) -> ray::Rule<'_> {
    ray::Rule {
        key: &term.key,
        operator: match term.operator {
            Operator::In => ray::Operator::In,
            Operator::NotIn => ray::Operator::NotIn,
        },
        values: term.values.iter().map(|value| &**value).collect(),
    }
}

fn amounts(resources: &Resources) -> ray::Amounts<'_> {
    resources.iter().map(|(name, amount)| (&**name, amount.to_f64())).collect()
}

fn labels(labels: &Labels) -> Vec<(&str, &str)> {
    labels.iter().map(|(key, value)| (&**key, &**value)).collect()
}

#[allow(clippy::float_arithmetic, reason = "Ray counts in float seconds")]
fn seconds(span: Millis) -> f64 {
    span.0 as f64 / 1000.0
}

#[allow(clippy::float_arithmetic, reason = "Ray counts in float seconds")]
fn memory(problem: &Problem) -> ray::Memory {
    let mut unneeded_since_s = BTreeMap::new();
    for option in &problem.pools {
        let coming = problem.machines.iter().filter(|m| m.pool == option.pool.id && m.phase.is_coming());
        if let Some(unneeded) = option.pending_unneeded {
            let since = alloc::vec![NOW_S - seconds(unneeded); coming.count()];
            unneeded_since_s.insert(option.pool.id.to_string(), since);
        }
    }
    ray::Memory { unneeded_since_s }
}

fn answer(
    problem: &Problem,
    input: &ray::Input<'_>,
    decision: &ray::Decision,
    memory: &ray::Memory,
) -> Decision {
    let removals: Vec<Removal> = removals(decision);
    let mut launched = alloc::vec![0; problem.pools.len()];
    decision.launches.iter().for_each(|launch| launched[launch.pool] += launch.count);
    let whole = |index: usize, shape: Option<&Shape>| Unplaced {
        index,
        count: 1,
        why: shape.map(|shape| why::pools(problem, &launched, shape)).unwrap_or_default(),
    };
    Decision {
        launches: launches(decision),
        kept: kept(problem, input, decision, &removals),
        removals,
        unplaced_tasks: unplaced_tasks(problem, &launched, decision),
        unplaced_gangs: decision
            .infeasible_gangs
            .iter()
            .map(|&n| whole(n, problem.gangs.get(n).and_then(|g| g.bundles.first()).map(|b| &b.shape)))
            .collect(),
        unmet_floors: if decision.infeasible_constraint {
            let first = problem.floors.first().and_then(|floor| floor.tasks.first()).map(|task| &task.shape);
            alloc::vec![whole(0, first)]
        } else {
            Vec::new()
        },
        pending_unneeded: problem
            .pools
            .iter()
            .map(|option| &option.pool.id)
            .filter(|id| memory.unneeded_since_s.get(id.as_str()).is_some_and(|since| !since.is_empty()))
            .cloned()
            .collect(),
        faults: decision.faults.iter().map(|fault| self::fault(problem, fault)).collect(),
    }
}

fn unplaced_tasks(problem: &Problem, launched: &[u64], decision: &ray::Decision) -> Vec<Unplaced> {
    let unplaced = |u: &ray::Unplaced| {
        let shape = problem.tasks.get(u.request).map(|task| &task.shape);
        let why = shape.map(|shape| why::pools(problem, launched, shape)).unwrap_or_default();
        Unplaced { index: u.request, count: u.count, why }
    };
    decision.infeasible_requests.iter().map(unplaced).collect()
}

/// What each new node took first says what it is for; one that took nothing is there for the minimum.
fn launches(decision: &ray::Decision) -> Vec<Launch> {
    let mut cause_of: BTreeMap<usize, (usize, LaunchCause)> = BTreeMap::new();
    for placed in &decision.placed {
        if let ray::NodeRef::New(number, pool) = placed.node {
            let cause = match placed.demand {
                ray::Demand::Request(_) => LaunchCause::Demand,
                ray::Demand::Gang(_) => LaunchCause::Gang,
                ray::Demand::Constraint(_) => LaunchCause::Floor,
            };
            cause_of.entry(number).or_insert((pool, cause));
        }
    }
    let mut counts: BTreeMap<(usize, LaunchCause), u64> = BTreeMap::new();
    for launch in &decision.launches {
        counts.insert((launch.pool, LaunchCause::Min), launch.count);
    }
    for (pool, cause) in cause_of.into_values() {
        // Nodes that Ray makes and ends in the same breath are among those that took something, but not launched.
        let Some(rest) = counts.get_mut(&(pool, LaunchCause::Min)).filter(|rest| **rest > 0) else {
            continue;
        };
        *rest -= 1;
        *counts.entry((pool, cause)).or_insert(0) += 1;
    }
    let launch = |((pool, cause), count)| Launch { pool, count, cause };
    counts.into_iter().filter(|(_, count)| *count > 0).map(launch).collect()
}

fn removals(decision: &ray::Decision) -> Vec<Removal> {
    let mut found: Vec<Removal> = Vec::new();
    for end in &decision.terminations {
        let Some(machine) = end.instance else { continue };
        let cause = match end.cause {
            // Only a machine on its way can be idle without a node.
            ray::Cause::Idle { .. } if end.state != Some(ray::State::Running) => RemovalCause::PendingIdle,
            ray::Cause::Idle { .. } => RemovalCause::Idle,
            ray::Cause::MaxNodesPerPool { .. } => RemovalCause::MaxPerPool,
            ray::Cause::MaxNodes { .. } => RemovalCause::MaxTotal,
            ray::Cause::Outdated => RemovalCause::Outdated,
        };
        if !found.iter().any(|known| known.machine == machine) {
            found.push(Removal { machine, cause });
        }
    }
    found
}

fn kept(
    problem: &Problem,
    input: &ray::Input<'_>,
    decision: &ray::Decision,
    removals: &[Removal],
) -> Vec<(usize, Keep)> {
    let mut needed: BTreeMap<usize, Keep> = BTreeMap::new();
    for placed in &decision.placed {
        if let ray::NodeRef::Instance(machine) = placed.node {
            let keep = match placed.demand {
                ray::Demand::Constraint(_) => Keep::NeededByFloor,
                _ => Keep::NeededByDemand,
            };
            needed.entry(machine).or_insert(keep);
        }
    }
    let removed: alloc::collections::BTreeSet<usize> = removals.iter().map(|r| r.machine).collect();
    let stays = (0..problem.machines.len()).filter(|n| !removed.contains(n));
    stays.map(|n| (n, keep(problem, input, n, needed.get(&n).copied()))).collect()
}

fn keep(problem: &Problem, input: &ray::Input<'_>, n: usize, needed: Option<Keep>) -> Keep {
    let machine = &problem.machines[n];
    let timeout = input
        .pools
        .iter()
        .find(|pool| pool.name == machine.pool.as_str())
        .and_then(|pool| pool.idle_timeout_s)
        .or(input.idle_timeout_s);
    match (machine.kind, machine.phase, &machine.up) {
        (NodeKind::Head, ..) => Keep::Head,
        (_, Phase::Leaving | Phase::DrainRequested, _) => Keep::Leaving,
        (_, phase, _) if phase.is_coming() => needed.unwrap_or(Keep::Coming),
        (_, _, Some(up)) if up.busy => Keep::Busy,
        _ if needed.is_some() => needed.unwrap_or(Keep::Busy),
        (_, _, Some(up)) => match timeout {
            None => Keep::NoTimeout,
            Some(timeout) if seconds(up.idle) > timeout => Keep::Min,
            Some(_) => Keep::NotIdleLongEnough,
        },
        (_, _, None) => Keep::Protected,
    }
}

fn fault(problem: &Problem, fault: &ray::Fault) -> Fault {
    let record = match fault.record {
        ray::Record::Pool(n) => problem.pools.get(n).map(|p| alloc::format!("pool {}", p.pool.id)),
        ray::Record::Instance(n) => problem.machines.get(n).map(|m| m.instance.to_string()),
        ray::Record::Demand(ray::Demand::Request(n)) => {
            problem.tasks.get(n).map(|t| alloc::format!("request {}", t.shape))
        }
        ray::Record::Demand(ray::Demand::Gang(n)) => {
            problem.gangs.get(n).map(|g| alloc::format!("gang {}", g.id))
        }
        ray::Record::Demand(ray::Demand::Constraint(n)) => Some(alloc::format!("floor request {n}")),
    };
    let kind = match fault.code {
        ray::FaultCode::MinAboveMax => FaultKind::MinAboveMax,
        ray::FaultCode::PoolUnknown => FaultKind::UnknownPool,
        ray::FaultCode::UsedOutOfRange => FaultKind::AvailableAboveTotal,
        ray::FaultCode::AmountInvalid => FaultKind::NegativeAmount,
        ray::FaultCode::ConstraintsTooMany => FaultKind::Contradiction,
        ray::FaultCode::LabelConflict => FaultKind::Contradiction,
    };
    Fault { record: record.unwrap_or_default(), kind }
}
