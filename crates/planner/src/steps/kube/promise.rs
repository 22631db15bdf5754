//! When a node counts as up for the first time: once it shows all that its pool promises.
//!
//! Whose node it is says its machine, not a label: nobody but the provider knows how its nodes are labelled.

use crate::draft::{Draft, Serial};
use alloc::collections::BTreeMap;
use ostler_model::kube::{KubeNode, PODS};
use ostler_model::{Node, NodeId, Pool, WorkloadState};

/// The nodes of a Kubernetes cluster as they are; empty for other workloads, whose nodes promise nothing.
pub(crate) struct Promises<'a>(BTreeMap<&'a NodeId, &'a KubeNode>);

impl<'a> Promises<'a> {
    pub(crate) fn of(state: &'a WorkloadState) -> Self {
        let nodes = state.cluster.iter().flat_map(|cluster| &cluster.nodes);
        Self(nodes.map(|node| (&node.id, node)).collect())
    }

    /// Does the node of this record show all that is promised of it?
    pub(crate) fn are_kept(&self, draft: &Draft<'_>, serial: Serial, node: &Node) -> bool {
        let pool = draft.instances.get(&serial).and_then(|instance| draft.pool(instance.pool()));
        let (Some(pool), Some(node)) = (pool, self.0.get(&node.id)) else { return true };
        is_complete(pool, node)
    }
}

/// Amounts do not matter, since the kubelet keeps a part for itself: a device that is shown later than the rest is
/// what is waited for.
fn is_complete(pool: &Pool, node: &KubeNode) -> bool {
    let mut promised = pool.resources.iter().filter(|(name, amount)| &***name != PODS && !amount.is_zero());
    let starts = pool.node.as_deref().map_or(&[][..], |template| &template.startup_taints);
    promised.all(|(name, _)| !node.allocatable.get(name).is_zero())
        && !node.taints.iter().any(|taint| starts.contains(taint))
}
