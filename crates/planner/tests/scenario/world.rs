//! What happens after a plan.

use ostler_lifecycle::{Act, Instance, due_effect};
use ostler_model::{CloudInstance, CloudPhase, Millis, Node, NodeKind, NodeStatus, Timestamp, WorkloadState};
use ostler_planner::{Plan, Snapshot};
use std::sync::Arc;

/// How far apart rounds are.
const ROUND: Millis = Millis::secs(5);

/// Takes over what a plan wrote. What was seen stays as it is.
pub(crate) fn apply(snapshot: &mut Snapshot, plan: &Plan) {
    for changed in &plan.changed {
        snapshot.instances.retain(|i| i.id() != changed.id());
        snapshot.instances.push(changed.clone());
    }
    snapshot.instances.retain(|i| !plan.forgotten.contains(i.id()));
    snapshot.instances.sort_by_key(Instance::serial);
    if let Some(memory) = &plan.memory {
        snapshot.memory = memory.clone();
    }
}

/// The next round: the plan is applied, its effects are done, and everybody is looked at again.
pub(crate) fn go_on(snapshot: &mut Snapshot, plan: &Plan) {
    apply(snapshot, plan);
    snapshot.reports.clear();
    snapshot.now = snapshot.now + ROUND;
    // Nodes follow the machines of the round before, machines follow what is asked for now.
    let (now, pools) = (snapshot.now, snapshot.pools.clone());
    if let Some(look) = &mut snapshot.state {
        look.at = now;
        if let Ok(state) = &mut look.result {
            join(state, &snapshot.instances, &pools);
        }
    }
    for instance in snapshot.instances.clone() {
        if let Some(effect) = due_effect(&instance) {
            done(snapshot, &instance, effect.act, now);
        }
    }
    snapshot.listings.values_mut().for_each(|look| look.at = now);
}

fn join(state: &mut WorkloadState, instances: &[Instance], pools: &[ostler_model::Pool]) {
    for node in Arc::make_mut(&mut state.nodes) {
        if node.status == NodeStatus::Draining {
            node.status = NodeStatus::Dead;
        }
        if node.status == NodeStatus::Idle {
            node.idle = Millis(node.idle.0 + ROUND.0);
        }
    }
    for instance in instances.iter().filter(|i| i.state().name().code() == "allocated") {
        let (Some(cloud), Some(pool)) =
            (instance.state().cloud(), pools.iter().find(|pool| pool.id == *instance.pool()))
        else {
            continue;
        };
        Arc::make_mut(&mut state.nodes).push(Node {
            id: format!("n-{}", instance.id()).into(),
            cloud: Some(cloud.clone()),
            pool: Some(pool.id.clone()),
            head: false,
            status: NodeStatus::Idle,
            idle: Millis(0),
            total: pool.resources.clone(),
            available: pool.resources.clone(),
            labels: pool.labels.clone(),
            address: String::new(),
            instance_type: String::new(),
            activity: Vec::new(),
        });
    }
}

fn done(snapshot: &mut Snapshot, instance: &Instance, act: Act, now: Timestamp) {
    match act {
        Act::Launch { attempt, .. } => {
            let Some(pool) = snapshot.pools.iter().find(|pool| pool.id == *instance.pool()) else { return };
            let machine = CloudInstance {
                id: format!("c-{}", instance.id()).into(),
                workload: snapshot.workload.clone(),
                pool: pool.id.clone(),
                launched_for: Some((instance.id().clone(), attempt)),
                kind: NodeKind::Worker,
                phase: CloudPhase::Running,
                created_at: Some(now),
                address: String::new(),
            };
            if let Some(Ok(machines)) = snapshot.listings.get_mut(&pool.provider).map(|l| &mut l.result) {
                machines.push(machine);
            }
        }
        Act::Install { .. } => {}
        Act::Drain { node: id, .. } => {
            if let Some(Ok(state)) = snapshot.state.as_mut().map(|look| &mut look.result) {
                let drained = Arc::make_mut(&mut state.nodes).iter_mut().find(|node| node.id == id);
                drained.into_iter().for_each(|node| node.status = NodeStatus::Draining);
            }
        }
        Act::Undrain { node: id } => {
            if let Some(Ok(state)) = snapshot.state.as_mut().map(|look| &mut look.result) {
                let back = Arc::make_mut(&mut state.nodes).iter_mut().find(|node| node.id == id);
                back.into_iter().for_each(|node| node.status = NodeStatus::Running);
            }
        }
        Act::Terminate { cloud, .. } => {
            for look in snapshot.listings.values_mut() {
                look.result.iter_mut().for_each(|machines| machines.retain(|machine| machine.id != cloud));
            }
        }
    }
}
