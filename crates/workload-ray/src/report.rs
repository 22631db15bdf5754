//! Our plan in Ray's words, as `ray status` and the dashboard show it. Pure.

use crate::proto::autoscaler as ray;
use ostler_model::{Bundle, Demand, Floor, Gang, Operator, Selector, Shape, Strategy, Task, Timestamp};
use ostler_workload::{FailedLaunch, PendingInstance, PendingLaunch, Published};

/// Ray lists each bundle of a gang by itself; beyond this many, the rest of the gang is left out of the report.
const BUNDLES_MAX: u64 = 10_000;

/// What GCS is told. `version` is what it compares reports by.
pub fn autoscaling_state(status: &Published, version: i64) -> ray::AutoscalingState {
    let Demand { tasks, gangs, floors } = &status.infeasible;
    ray::AutoscalingState {
        last_seen_cluster_resource_state_version: status.workload_version,
        autoscaler_state_version: version,
        pending_instance_requests: status.pending_launches.iter().map(pending_launch).collect(),
        // Each shape once: Ray asks only whether a shape is among them, and a hundred thousand are no news.
        infeasible_resource_requests: tasks.iter().map(|t| request(&t.shape)).collect(),
        infeasible_gang_resource_requests: gangs.iter().map(gang).collect(),
        infeasible_cluster_resource_constraints: floors.iter().map(floor).collect(),
        pending_instances: status.pending_instances.iter().map(pending_instance).collect(),
        failed_instance_requests: status.failed_launches.iter().map(failed_launch).collect(),
    }
}

fn seconds(at: Timestamp) -> i64 {
    i64::try_from(at.0 / 1000).unwrap_or(i64::MAX)
}

fn count(n: u32) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

fn pending_launch(p: &PendingLaunch) -> ray::PendingInstanceRequest {
    ray::PendingInstanceRequest {
        instance_type_name: p.instance_type.clone(),
        ray_node_type_name: p.pool.to_string(),
        count: count(p.count),
        request_ts: seconds(p.since),
    }
}

fn pending_instance(p: &PendingInstance) -> ray::PendingInstance {
    ray::PendingInstance {
        instance_type_name: p.instance_type.clone(),
        ray_node_type_name: p.pool.to_string(),
        instance_id: p.instance.to_string(),
        ip_address: p.address.clone(),
        details: p.details.clone(),
    }
}

fn failed_launch(f: &FailedLaunch) -> ray::FailedInstanceRequest {
    ray::FailedInstanceRequest {
        instance_type_name: f.instance_type.clone(),
        ray_node_type_name: f.pool.to_string(),
        count: count(f.count),
        reason: f.reason.clone(),
        start_ts: seconds(f.started),
        failed_ts: seconds(f.failed),
    }
}

fn request(shape: &Shape) -> ray::ResourceRequest {
    ray::ResourceRequest {
        resources_bundle: shape
            .resources
            .iter()
            .map(|(name, amount)| (name.to_string(), amount.to_f64()))
            .collect(),
        placement_constraints: vec![],
        label_selectors: shape.selectors.iter().map(selector).collect(),
    }
}

fn selector(selector: &Selector) -> ray::LabelSelector {
    let constraint = |term: &ostler_model::Term| ray::LabelConstraint {
        label_key: term.key.to_string(),
        operator: match term.operator {
            Operator::In => ray::LabelOperator::In,
            Operator::NotIn => ray::LabelOperator::NotIn,
        }
        .into(),
        label_values: term.values.iter().map(ToString::to_string).collect(),
    };
    ray::LabelSelector { label_constraints: selector.0.iter().map(constraint).collect() }
}

fn gang(gang: &Gang) -> ray::GangResourceRequest {
    let mut left = BUNDLES_MAX;
    let mut requests = Vec::new();
    for Bundle { shape, count } in &gang.bundles {
        let some = left.min(*count);
        left -= some;
        requests.extend((0..some).map(|_| bundle(gang, shape)));
    }
    ray::GangResourceRequest { requests, details: gang.details.clone(), bundle_selectors: vec![] }
}

fn bundle(gang: &Gang, shape: &Shape) -> ray::ResourceRequest {
    let label = ray::Affinity { label_name: format!("_PG_{}", gang.id), label_value: String::new() };
    let constraint = match gang.strategy {
        Strategy::StrictPack => Some(ray::PlacementConstraint { affinity: Some(label), anti_affinity: None }),
        Strategy::StrictSpread => {
            Some(ray::PlacementConstraint { affinity: None, anti_affinity: Some(label) })
        }
        Strategy::Pack | Strategy::Spread => None,
    };
    ray::ResourceRequest { placement_constraints: constraint.into_iter().collect(), ..request(shape) }
}

fn floor(floor: &Floor) -> ray::ClusterResourceConstraint {
    let by_count = |Task { shape, count }: &Task| ray::ResourceRequestByCount {
        request: Some(request(shape)),
        count: i64::try_from(*count).unwrap_or(i64::MAX),
    };
    ray::ClusterResourceConstraint { resource_requests: floor.tasks.iter().map(by_count).collect() }
}
