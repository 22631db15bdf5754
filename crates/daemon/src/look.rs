//! One look at a cluster that somebody else scales, as a snapshot: a dry run beside the old autoscaler. Nothing is
//! changed, not even in the cluster's own notes.

use crate::clock::now;
use crate::error::DaemonError;
use crate::sources::within;
use ostler_config::{Configuration, WorkloadKind};
use ostler_lifecycle::{Event, Instance};
use ostler_model::{
    CloudId, CloudInstance, CloudPhase, InstanceId, Millis, Node, NodeKind, Observed, ProviderId, Timestamp,
    WorkloadId, WorkloadState,
};
use ostler_planner::{Memory, Snapshot};
use ostler_workload::Workload;
use ostler_workload_ray::RayWorkload;
use std::collections::BTreeMap;

/// Looks at the first workload of the configuration. Its nodes are taken for machines of ours, as the old
/// autoscaler's would be, so that a plan also says which of them should go.
///
/// # Errors
/// [`DaemonError::Rim`] if the cluster cannot be seen.
pub async fn look(configuration: &Configuration) -> Result<Snapshot, DaemonError> {
    let workload = configuration.workloads.first();
    let Some((workload, WorkloadKind::Ray(ray))) = workload.map(|workload| (workload, &workload.kind)) else {
        return Err(DaemonError::Rim("only a Ray cluster can be looked at [OSTLER-D012]".to_owned()));
    };
    let (client, _) = crate::connect::ray_client(&workload.id, ray, configuration)?;
    let client = ostler_workload_ray::Config { enable_v2: false, metrics_address: None, ..client };
    let at = now();
    let seen = within(configuration.deadlines.observe, RayWorkload::new(client).observe()).await;
    let state = seen.map_err(|failure| DaemonError::Rim(format!("workload {}: {failure}", workload.id)))?;
    let pools = workload.pools.iter().map(|pool| pool.pool.clone()).collect();
    Ok(snapshot(&workload.id, workload.policy.clone(), pools, state, at))
}

fn snapshot(
    workload: &WorkloadId,
    policy: ostler_model::Policy,
    pools: Vec<ostler_model::Pool>,
    state: WorkloadState,
    at: Timestamp,
) -> Snapshot {
    let (mut instances, mut listings) = (Vec::new(), BTreeMap::<ProviderId, Vec<CloudInstance>>::new());
    for pool in &pools {
        listings.entry(pool.provider.clone()).or_default();
    }
    // Before the look began, so that it says something about them.
    let born = at - Millis::secs(1);
    for node in state.nodes.iter().filter(|node| !node.head && node.status.is_up()) {
        let Some(pool) = pools.iter().find(|pool| node.pool.as_ref() == Some(&pool.id)) else { continue };
        let serial = instances.len() as u64 + 1;
        let machine = machine(workload, pool, node);
        if let Some(record) = record(&machine, node, serial, born) {
            instances.push(record);
            listings.entry(pool.provider.clone()).or_default().push(machine);
        }
    }
    let observed = |machines| Observed { at, result: Ok(machines) };
    Snapshot {
        now: at,
        workload: workload.clone(),
        policy,
        pools,
        memory: Memory {
            serial: instances.len() as u64,
            session: state.session.clone(),
            ..Memory::default()
        },
        state: Some(Observed { at, result: Ok(state) }),
        listings: listings.into_iter().map(|(id, machines)| (id, observed(machines))).collect(),
        reports: Vec::new(),
        instances,
    }
}

fn machine(workload: &WorkloadId, pool: &ostler_model::Pool, node: &Node) -> CloudInstance {
    CloudInstance {
        id: node.cloud.clone().unwrap_or_else(|| CloudId::new(node.id.as_str())),
        workload: workload.clone(),
        pool: pool.id.clone(),
        launched_for: None,
        kind: NodeKind::Worker,
        phase: CloudPhase::Running,
        created_at: None,
        address: node.address.clone(),
    }
}

fn record(machine: &CloudInstance, node: &Node, serial: u64, born: Timestamp) -> Option<Instance> {
    let id = InstanceId::new(machine.id.as_str());
    let mut record =
        Instance::adopted(id, serial, machine.pool.clone(), NodeKind::Worker, machine.id.clone(), born);
    record.transition(&Event::NodeUp { node: node.id.clone() }, born).ok()?;
    Some(record)
}
