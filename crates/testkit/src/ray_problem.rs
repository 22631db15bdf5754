//! A recorded case as a [`Problem`], and the laws by which a decision on it is held against Ray's.

use std::collections::BTreeMap;
use std::sync::Arc;

use ostler_model::{
    Bundle, Floor, Gang, Labels, Millis, NodeId, NodeKind, Operator, Pool, Quantity, Resources, Selector,
    Shape, Strategy, Task, Term,
};
use ostler_packing::problem::{Decision, Machine, Phase, PoolOption, Problem, Up};

use crate::ray_case::{self as case, Case, Pairs, Scene};

/// The question that the case asks. Amounts become ten-thousandths, the finest step that Ray itself knows.
pub fn problem(case: &Case, scene: &Scene) -> Problem {
    let config = &case.config;
    Problem {
        pools: names(case).iter().filter_map(|name| pool(case, scene, name)).collect(),
        head_pool: Some(config.head_node_type.as_str().into()),
        max_machines: config.max_workers.map(|max| max + 1),
        machines: scene.instances.iter().map(|instance| machine(case, instance)).collect(),
        tasks: scene.pending_resource_requests.iter().map(task).collect(),
        gangs: scene.gang_requests.iter().map(gang).collect(),
        floors: scene.cluster_constraints.iter().map(floor).collect(),
        idle_timeout: config.idle_timeout_s.map(millis),
        pending_idle_timeout: config.pending_idle_timeout_s.map(millis),
        replace_outdated: !config.disable_launch_config_check,
        conserve_gpu: true,
    }
}

/// The types in the order of the configuration.
pub fn names(case: &Case) -> Vec<&str> {
    let config = &case.config;
    if config.node_type_order.is_empty() {
        config.node_types.0.iter().map(|(name, _)| name.as_str()).collect()
    } else {
        config.node_type_order.iter().map(String::as_str).collect()
    }
}

fn node_type<'c>(case: &'c Case, name: &str) -> Option<&'c case::NodeType> {
    case.config.node_types.0.iter().find(|(other, _)| other == name).map(|(_, of)| of)
}

fn pool(case: &Case, scene: &Scene, name: &str) -> Option<PoolOption> {
    let of = node_type(case, name)?;
    let score = |of: &case::Availabilities| of.get(name).map_or(Quantity::ONE, |&value| quantity(value));
    Some(PoolOption {
        pool: Pool {
            id: name.into(),
            workload: "ray".into(),
            provider: "cases".into(),
            resources: resources(&of.resources),
            labels: labels(&of.labels),
            min: u32::try_from(of.min_workers).unwrap_or(u32::MAX),
            max: u32::try_from(of.max_workers).unwrap_or(u32::MAX),
            idle_timeout: of.idle_timeout_s.map(millis),
            priority: i32::try_from(of.priority).unwrap_or(i32::MAX),
            launch_hash: of.launch_config_hash.clone(),
            instance_type: String::new(),
            node: None,
        },
        availability: score(&scene.cloud_resource_availabilities),
        recoverable: score(&scene.recoverable_resource_availabilities),
        backing_off: false,
        pending_unneeded: None,
    })
}

fn machine(case: &Case, instance: &case::Instance) -> Machine {
    // A record without a hash was launched before there was one, or is so young that it has none yet.
    let hash = node_type(case, &instance.node_type).map(|of| of.launch_config_hash.as_str());
    let outdated = hash
        .is_none_or(|hash| !instance.launch_config_hash.is_empty() && instance.launch_config_hash != hash);
    Machine {
        instance: instance.instance_id.as_str().into(),
        pool: instance.node_type.as_str().into(),
        kind: if instance.node_kind == "HEAD" { NodeKind::Head } else { NodeKind::Worker },
        phase: phase(&instance.status),
        outdated,
        keep: false,
        up: instance.ray_node.as_ref().map(|node| up(instance, node)),
    }
}

fn phase(status: &str) -> Phase {
    match status {
        "QUEUED" => Phase::Queued,
        "REQUESTED" => Phase::Requested,
        "ALLOCATED" => Phase::Allocated,
        "RAY_INSTALLING" => Phase::Installing,
        "RAY_RUNNING" => Phase::Running,
        "RAY_STOP_REQUESTED" => Phase::DrainRequested,
        _ => Phase::Leaving,
    }
}

fn up(instance: &case::Instance, node: &case::RayNode) -> Up {
    let mut all = labels(&node.labels);
    all.extend(labels(&node.dynamic_labels));
    Up {
        node: NodeId::new(instance.ray_node_id.as_str()),
        total: resources(&node.total_resources),
        available: resources(&node.available_resources),
        labels: all,
        idle: Millis(u64::try_from(node.idle_duration_ms).unwrap_or(0)),
        busy: node.idle_duration_ms == 0,
    }
}

fn task(request: &case::Request) -> Task {
    Task { shape: shape(request), count: request.count }
}

fn floor(constraint: &case::Constraint) -> Floor {
    Floor { tasks: constraint.resource_requests.iter().map(task).collect() }
}

fn shape(request: &case::Request) -> Shape {
    let term = |rule: &case::Rule| Term {
        key: rule.key.as_str().into(),
        operator: if rule.op == "in" { Operator::In } else { Operator::NotIn },
        values: rule.values.iter().map(|value| value.as_str().into()).collect(),
    };
    let selector = |rules: &Vec<case::Rule>| Selector(rules.iter().map(term).collect());
    Shape {
        resources: resources(&request.resources),
        selectors: request.label_selectors.iter().map(selector).collect(),
    }
}

fn gang(gang: &case::Gang) -> Gang {
    let constraint = gang.requests.iter().find_map(|request| request.placement_constraints.first());
    let named = |strategy: &str| gang.details.contains(&format!(":{strategy}|"));
    let strategy = match constraint.map(|c| c.kind.as_str()) {
        Some("affinity") => Strategy::StrictPack,
        Some(_) => Strategy::StrictSpread,
        None if named("SPREAD") => Strategy::Spread,
        None => Strategy::Pack,
    };
    let id = constraint.map_or_else(
        || gang.details.split(':').next().unwrap_or_default(),
        |c| c.label.strip_prefix("_PG_").unwrap_or(&c.label),
    );
    Gang {
        id: id.into(),
        strategy,
        bundles: bundles(&gang.requests),
        fallbacks: gang.fallbacks.iter().map(|set| bundles(set)).collect(),
        details: gang.details.clone(),
    }
}

fn bundles(requests: &[case::Request]) -> Vec<Bundle> {
    requests.iter().map(|request| Bundle { shape: shape(request), count: request.count }).collect()
}

fn resources(amounts: &Pairs<f64>) -> Resources {
    amounts.0.iter().map(|(name, amount)| (name.as_str(), quantity(*amount))).collect()
}

fn labels(pairs: &Pairs<String>) -> Labels {
    pairs.0.iter().map(|(key, value)| (Arc::from(key.as_str()), Arc::from(value.as_str()))).collect()
}

fn quantity(value: f64) -> Quantity {
    Quantity::from_f64(value).unwrap_or_default()
}

fn millis(seconds: f64) -> Millis {
    Millis((seconds * 1000.0).round() as u64)
}

/// New machines by pool, whatever they are for.
pub fn launches(problem: &Problem, decision: &Decision) -> BTreeMap<String, u64> {
    let mut out = BTreeMap::new();
    for launch in &decision.launches {
        *out.entry(problem.pools[launch.pool].pool.id.to_string()).or_default() += launch.count;
    }
    out
}

/// What new machines come to: nodes, CPUs, GPUs, GiB of memory.
pub fn bill(case: &Case, launches: &BTreeMap<String, u64>) -> [f64; 4] {
    let mut bill = [0.0; 4];
    for (name, &count) in launches {
        let of = |resource: &str| {
            let of = node_type(case, name).map(|of| &of.resources.0);
            of.and_then(|all| all.iter().find(|(other, _)| other == resource))
                .map_or(0.0, |(_, amount)| *amount)
        };
        let each = [1.0, of("CPU"), of("GPU"), of("memory") / f64::from(1 << 30)];
        bill.iter_mut().zip(each).for_each(|(sum, each)| *sum += each * count as f64);
    }
    bill
}

/// Where a decision breaks what is promised beside Ray's: it leaves nothing waiting that Ray places, and it does
/// not launch all that Ray launches and more. Empty: it keeps both, or Ray's own decision is no measure. Where Ray
/// decides now so, now so, one of its decisions must be met.
pub fn breaches(scene: &Scene, problem: &Problem, decision: &Decision) -> Vec<String> {
    let all = scene.expected.iter().chain(&scene.expected_alternatives);
    let mut each = all.map(|rays| breaches_of(scene, problem, decision, rays));
    let Some(first) = each.next() else { return Vec::new() };
    if each.any(|other| other.is_empty()) { Vec::new() } else { first }
}

fn breaches_of(scene: &Scene, problem: &Problem, decision: &Decision, rays: &case::Expected) -> Vec<String> {
    if rays.error.is_some() || used_a_leaving_machine(scene, rays) {
        return Vec::new();
    }
    let mut out = left_waiting(scene, decision, rays);
    let waits = !rays.infeasible_resource_requests.is_empty()
        || !rays.infeasible_gang.is_empty()
        || rays.infeasible_constraints > 0;
    let mine = launches(problem, decision);
    let more = rays.to_launch.iter().all(|(name, count)| mine.get(name).is_some_and(|mine| mine >= count));
    if more && mine != rays.to_launch && !waits {
        out.push(format!("launches {mine:?}, Ray {:?}", rays.to_launch));
    }
    out
}

/// Ray places demand on nodes that it is about to end, and on nodes that are being drained: may it have done so?
pub fn used_a_leaving_machine(scene: &Scene, rays: &case::Expected) -> bool {
    let bounded = rays.to_terminate.iter().any(|end| end.cause != "IDLE");
    bounded || scene.instances.iter().any(|instance| instance.status == "RAY_STOP_REQUESTED")
}

fn left_waiting(scene: &Scene, decision: &Decision, rays: &case::Expected) -> Vec<String> {
    let key = |request: &case::Request| format!("{:?}", shape(request));
    let mut allowed: BTreeMap<String, u64> = BTreeMap::new();
    for request in &rays.infeasible_resource_requests {
        *allowed.entry(key(request)).or_default() += request.count;
    }
    let mut out = Vec::new();
    for left in &decision.unplaced_tasks {
        let request = &scene.pending_resource_requests[left.index];
        let allowed = allowed.entry(key(request)).or_default();
        if left.count > *allowed {
            out.push(format!("{} of {} wait, in Ray {allowed}", left.count, shape(request)));
        }
        *allowed = allowed.saturating_sub(left.count);
    }
    for left in &decision.unplaced_gangs {
        let alike = |n: &&usize| scene.gang_requests[**n] == scene.gang_requests[left.index];
        if rays.infeasible_gang.iter().find(alike).is_none() {
            out.push(format!("gang {} waits, not in Ray", left.index));
        }
    }
    if !decision.unmet_floors.is_empty() && rays.infeasible_constraints == 0 {
        out.push("the floor is not met, in Ray it is".into());
    }
    out
}
