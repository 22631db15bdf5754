//! The policy `ray-exact` on a case.

use ostler_packing::ray_exact as ray;

use super::check::{Answer, Blamed, Decider, Part};
use super::format::{
    Availabilities, Case, Config, Gang, Instance, NodeType, Pairs, PlacementConstraint, RayNode, Request,
    Rule, Scene,
};

/// Decides as `ray-exact` does; remembers from scene to scene.
#[derive(Debug, Default)]
pub struct RayExact {
    memory: ray::Memory,
}

impl Decider for RayExact {
    fn start(&mut self) {
        self.memory = ray::Memory::default();
    }

    fn decide(&mut self, case: &Case, scene: &Scene) -> (Answer, Vec<Blamed>) {
        let input = to_input(&case.config, scene);
        let (decision, memory) = ray::decide(&input, &self.memory);
        self.memory = memory;
        let blamed = decision.faults.iter().map(|fault| blamed(&input, scene, *fault)).collect();
        (answer(&input, scene, &decision), blamed)
    }
}

fn answer(input: &ray::Input<'_>, scene: &Scene, decision: &ray::Decision) -> Answer {
    let mut answer = Answer::default();
    for launch in &decision.launches {
        *answer.launch.entry(input.pools[launch.pool].name.into()).or_default() += launch.count;
    }
    for end in &decision.terminations {
        let id = end.instance.map_or("", |index| scene.instances[index].instance_id.as_str());
        answer.end(id, cause(end.cause));
    }
    for unplaced in &decision.infeasible_requests {
        answer.leave(&scene.pending_resource_requests[unplaced.request], unplaced.count);
    }
    answer.infeasible_gangs(&scene.gang_requests, &decision.infeasible_gangs);
    answer.infeasible_constraints = u64::from(decision.infeasible_constraint);
    answer
}

fn cause(cause: ray::Cause) -> &'static str {
    match cause {
        ray::Cause::Idle { .. } => "IDLE",
        ray::Cause::MaxNodesPerPool { .. } => "MAX_NUM_NODE_PER_TYPE",
        ray::Cause::MaxNodes { .. } => "MAX_NUM_NODES",
        ray::Cause::Outdated => "OUTDATED",
    }
}

fn blamed(input: &ray::Input<'_>, scene: &Scene, fault: ray::Fault) -> Blamed {
    let (part, name) = match fault.record {
        ray::Record::Pool(index) => (Part::NodeType(input.pools[index].name.into()), input.pools[index].name),
        ray::Record::Instance(index) => (Part::Instance(index), scene.instances[index].instance_id.as_str()),
        ray::Record::Demand(ray::Demand::Request(index)) => (Part::Request(index), ""),
        ray::Record::Demand(ray::Demand::Gang(index)) => {
            (Part::Gang(index), scene.gang_requests[index].details.as_str())
        }
        ray::Record::Demand(ray::Demand::Constraint(index)) => (Part::Constraint(index), ""),
    };
    Blamed { part, name: name.into(), code: fault.code.as_str().into() }
}

/// The scheduler's input for a scene.
pub fn to_input<'a>(config: &'a Config, scene: &'a Scene) -> ray::Input<'a> {
    let constraint = scene.cluster_constraints.first();
    let availabilities = |map: &'a Availabilities| map.iter().map(|(name, &a)| (name.as_str(), a)).collect();
    ray::Input {
        pools: pools(config),
        head_pool: &config.head_node_type,
        max_nodes: config.max_workers.map(|workers| workers + 1),
        idle_timeout_s: config.idle_timeout_s,
        pending_idle: config
            .pending_idle_timeout_s
            .map(|timeout_s| ray::PendingIdle { timeout_s, now_s: scene.now_s }),
        disable_launch_config_check: config.disable_launch_config_check,
        conserve_gpu_nodes: true,
        instances: scene.instances.iter().map(instance).collect(),
        requests: scene.pending_resource_requests.iter().map(request).collect(),
        gangs: scene.gang_requests.iter().map(gang).collect(),
        constraint: constraint.iter().flat_map(|c| &c.resource_requests).map(request).collect(),
        availabilities: availabilities(&scene.cloud_resource_availabilities),
        recoverable_availabilities: availabilities(&scene.recoverable_resource_availabilities),
    }
}

fn pools(config: &Config) -> Vec<ray::Pool<'_>> {
    let types = &config.node_types.0;
    if config.node_type_order.is_empty() {
        return types.iter().map(|(name, node_type)| pool(name, node_type)).collect();
    }
    let find = |name: &String| types.iter().find(|node_type| node_type.0 == *name);
    config.node_type_order.iter().filter_map(find).map(|(name, node_type)| pool(name, node_type)).collect()
}

fn pool<'a>(name: &'a str, of: &'a NodeType) -> ray::Pool<'a> {
    ray::Pool {
        name,
        resources: amounts(&of.resources),
        labels: labels(&of.labels),
        min_workers: of.min_workers,
        max_workers: of.max_workers,
        idle_timeout_s: of.idle_timeout_s,
        priority: of.priority,
        launch_config_hash: &of.launch_config_hash,
    }
}

fn instance(of: &Instance) -> ray::Instance<'_> {
    ray::Instance {
        pool: &of.node_type,
        state: state(&of.status),
        kind: if of.node_kind == "HEAD" { ray::Kind::Head } else { ray::Kind::Worker },
        launch_config_hash: &of.launch_config_hash,
        has_ray_node_id: !of.ray_node_id.is_empty(),
        node: of.ray_node.as_ref().map(node),
    }
}

/// A status that Ray does not have is none for the scheduler.
fn state(status: &str) -> ray::State {
    match status {
        "QUEUED" => ray::State::Queued,
        "REQUESTED" => ray::State::Requested,
        "ALLOCATED" => ray::State::Allocated,
        "RAY_INSTALLING" => ray::State::Installing,
        "RAY_RUNNING" => ray::State::Running,
        "RAY_STOP_REQUESTED" => ray::State::StopRequested,
        _ => ray::State::Other,
    }
}

fn node(of: &RayNode) -> ray::Node<'_> {
    ray::Node {
        idle_ms: of.idle_duration_ms,
        total: amounts(&of.total_resources),
        available: amounts(&of.available_resources),
        labels: labels(&of.labels),
        dynamic_labels: labels(&of.dynamic_labels),
    }
}

fn request(of: &Request) -> ray::Request<'_> {
    ray::Request {
        resources: amounts(&of.resources),
        count: of.count,
        selectors: of.label_selectors.iter().map(|rules| rules.iter().map(rule).collect()).collect(),
        placement: of.placement_constraints.iter().map(placement).collect(),
    }
}

fn placement(of: &PlacementConstraint) -> ray::Placement<'_> {
    match of.kind.as_str() {
        "anti_affinity" => ray::Placement::AntiAffinity(&of.label, &of.value),
        _ => ray::Placement::Affinity(&of.label, &of.value),
    }
}

fn rule(of: &Rule) -> ray::Rule<'_> {
    let operator = match of.op.as_str() {
        "in" => ray::Operator::In,
        "not_in" => ray::Operator::NotIn,
        _ => ray::Operator::Unknown,
    };
    ray::Rule { key: &of.key, operator, values: of.values.iter().map(String::as_str).collect() }
}

fn gang(of: &Gang) -> ray::Gang<'_> {
    ray::Gang {
        bundles: of.requests.iter().map(request).collect(),
        in_requests_field: of.encoding.as_deref() != Some("bundle_selectors"),
    }
}

fn amounts(of: &Pairs<f64>) -> ray::Amounts<'_> {
    of.0.iter().map(|(name, amount)| (name.as_str(), *amount)).collect()
}

fn labels(of: &Pairs<String>) -> Vec<(&str, &str)> {
    of.0.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect()
}
