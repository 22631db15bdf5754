//! `pods_may_move`

use crate::world::World;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use ostler_lifecycle::{Event, State};
use ostler_model::kube::{Cluster, KubePolicy, Pod};
use ostler_model::{EndCause, NodeId};

/// Drains for thrift of nodes with a pod that may not be moved, or, as empty ones, with a pod that would have to.
pub(crate) fn judge(world: &World<'_>) -> Vec<String> {
    let (Some(state), Some(policy)) = (world.state, world.snapshot.policy.kube.as_deref()) else {
        return Vec::new();
    };
    let Some(cluster) = state.cluster.as_deref() else { return Vec::new() };
    let drained = world.moves().filter_map(|(_, event, from)| match (event, from) {
        (Event::DrainRequested { cause, .. }, State::Running { node, .. }) => Some((node, *cause)),
        _ => None,
    });
    let (mut empty, mut moved): (BTreeSet<&NodeId>, BTreeSet<&NodeId>) = Default::default();
    for (node, cause) in drained {
        match cause {
            EndCause::Idle => drop(empty.insert(node)),
            EndCause::Underused | EndCause::Consolidated => drop(moved.insert(node)),
            _ => {}
        }
    }
    if empty.is_empty() && moved.is_empty() {
        return Vec::new();
    }
    let broken = |pod: &Pod| broken(world, cluster, policy, pod, &empty, &moved);
    cluster.pods.iter().filter_map(broken).collect()
}

fn broken(
    world: &World<'_>,
    cluster: &Cluster,
    policy: &KubePolicy,
    pod: &Pod,
    empty: &BTreeSet<&NodeId>,
    moved: &BTreeSet<&NodeId>,
) -> Option<String> {
    let node = pod.node.as_ref()?;
    let expendable = cluster.specs.get(pod.spec as usize).is_some_and(|spec| policy.is_expendable(spec));
    if pod.is_of_node() || pod.terminating || expendable {
        return None;
    }
    if empty.contains(node) {
        return Some(format!("pod {} is on {node}, which would go as an empty node", pod.name));
    }
    let hindrance =
        moved.contains(node).then(|| pod.hindrance(&policy.drain, world.snapshot.now)).flatten()?;
    Some(format!("pod {} on {node} may not be moved ({hindrance})", pod.name))
}
