//! Pools as options: as they are configured, as their nodes turned out to be, and as they were.

use crate::draft::Draft;
use crate::memory::Learned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use ostler_lifecycle::{Instance, StateName};
use ostler_model::kube::{Cluster, HOSTNAME, KubeNode};
use ostler_model::{Labels, Millis, NodeId, Pool, PoolId, Quantity, Resources};
use ostler_packing::kube::problem::PoolOption;

/// Pools of the configuration, in its order, then those that have left it and still have machines.
pub(super) fn options(draft: &Draft<'_>) -> Vec<PoolOption> {
    let offerings = Offerings::of(draft);
    let configured = draft.snapshot.pools.iter().map(|pool| option(draft, pool, &offerings));
    let live = draft.instances.values().filter(|i| !i.state().name().is_final()).map(Instance::pool);
    let gone: BTreeSet<&PoolId> = live.filter(|id| draft.pool(id).is_none()).collect();
    configured.chain(gone.into_iter().map(|id| gone_option(draft, id))).collect()
}

/// So many offerings of a pool that were refused of late stand for the others: these are taken last, not tried one by
/// one.
const SOLD_OUT: usize = 3;

/// Offerings of pools that have more than a few, and which of them are worth a try.
struct Offerings {
    /// How many there are of each group, and how many of them were refused of late.
    groups: BTreeMap<Arc<str>, (usize, usize)>,
}

impl Offerings {
    fn of(draft: &Draft<'_>) -> Self {
        let mut groups: BTreeMap<Arc<str>, (usize, usize)> = BTreeMap::new();
        let recovery = draft.snapshot.policy.availability_recovery;
        for pool in &draft.snapshot.pools {
            let Some(group) = pool.node.as_ref().and_then(|node| node.group.clone()) else { continue };
            let (all, refused) = groups.entry(group).or_default();
            *all += 1;
            *refused += usize::from(since_refused(draft, pool).is_some_and(|since| since < recovery));
        }
        groups.retain(|_, (all, _)| *all > SOLD_OUT);
        Self { groups }
    }

    /// Are others better tried first? While some of its group were refused of late, and, if it was itself, until each
    /// of the others could have had its turn.
    fn is_doubtful(&self, draft: &Draft<'_>, pool: &Pool) -> bool {
        let group = pool.node.as_ref().and_then(|node| node.group.as_ref());
        let Some(&(all, refused)) = group.and_then(|group| self.groups.get(group)) else { return false };
        let turns = all.div_ceil(SOLD_OUT) as u64;
        let aside = Millis(draft.snapshot.policy.availability_recovery.0.saturating_mul(turns));
        refused >= SOLD_OUT || since_refused(draft, pool).is_some_and(|since| since < aside)
    }
}

/// How long ago the provider refused the pool, if no machine of it has come since.
fn since_refused(draft: &Draft<'_>, pool: &Pool) -> Option<Millis> {
    let refusal = draft.memory.pools.get(&pool.id)?.refusal.as_ref()?;
    Some(draft.snapshot.now.since(refusal.at))
}

fn option(draft: &Draft<'_>, pool: &Pool, offerings: &Offerings) -> PoolOption {
    let node = pool.node.as_deref().cloned().unwrap_or_default();
    let memory = draft.memory.pools.get(&pool.id);
    let recovery = draft.snapshot.policy.availability_recovery;
    let timed_out = memory
        .and_then(|memory| memory.timed_out_at)
        .is_some_and(|at| draft.snapshot.now.since(at) < recovery);
    PoolOption {
        id: pool.id.clone(),
        template: template(draft, &pool.id, Some(pool)),
        price: node.price,
        min: pool.min,
        max: pool.max,
        priority: pool.priority,
        group: node.group,
        group_max: node.group_max,
        closed: draft.resting_until(&pool.id).is_some() || !draft.is_seen(&pool.id),
        doubtful: timed_out || offerings.is_doubtful(draft, pool),
        gone: false,
    }
}

/// A pool that has left the configuration: nothing of it is launched, and all that it has goes.
fn gone_option(draft: &Draft<'_>, id: &PoolId) -> PoolOption {
    let known = draft.memory.kube.pools.get(id);
    let price = known.and_then(|pool| pool.node.as_deref()).map(|node| node.price).unwrap_or_default();
    PoolOption {
        id: id.clone(),
        template: template(draft, id, known),
        price,
        min: 0,
        max: 0,
        priority: known.map_or(0, |pool| pool.priority),
        group: known.and_then(|pool| pool.node.as_deref()?.group.clone()),
        // What the others of its group may be is for them to say.
        group_max: None,
        closed: true,
        doubtful: false,
        gone: true,
    }
}

/// A node of the pool once it takes pods: as its nodes turned out to be, else as it is declared. What is declared
/// and never seen counts too: a device that a node shows later than the rest is waited for, not forgotten.
fn template(draft: &Draft<'_>, id: &PoolId, pool: Option<&Pool>) -> KubeNode {
    let mut allocatable = pool.map(|pool| pool.resources.clone()).unwrap_or_default();
    let mut labels = pool.map(|pool| pool.labels.clone()).unwrap_or_default();
    if let Some(learned) = draft.memory.kube.learned.get(id) {
        allocatable.0.extend(learned.allocatable.0.clone());
        for (key, value) in &learned.labels {
            labels.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    let node = pool.and_then(|pool| pool.node.as_deref());
    KubeNode {
        id: NodeId::new(id.as_str()),
        labels,
        taints: node.map(|node| node.taints.clone()).unwrap_or_default(),
        unschedulable: false,
        allocatable,
        attach_limits: node.map(|node| node.attach_limits.clone()).unwrap_or_default(),
        features: BTreeSet::new(),
        ready: true,
        ready_since: draft.snapshot.now,
        created_at: draft.snapshot.now,
        draining: false,
        held: None,
    }
}

/// Takes in what ready nodes of each pool are like, of those that were made as its nodes are made now. A pool without
/// one keeps what was learned before, unless it has been configured otherwise since.
pub(super) fn learn(draft: &mut Draft<'_>, cluster: &Cluster) {
    let by_id: BTreeMap<&NodeId, &KubeNode> = cluster.nodes.iter().map(|node| (&node.id, node)).collect();
    let mut ready: BTreeMap<&PoolId, (&Pool, Vec<&KubeNode>)> = BTreeMap::new();
    for instance in draft.instances.values().filter(|i| i.state().name() == StateName::Running) {
        let node = instance.state().node().and_then(|id| by_id.get(id)).copied();
        let Some(node) = node.filter(|node| node.ready) else { continue };
        let pool = draft.pool(instance.pool()).filter(|pool| !is_made_otherwise(pool, instance));
        if let Some(pool) = pool {
            ready.entry(&pool.id).or_insert((pool, Vec::new())).1.push(node);
        }
    }
    let seen = ready.into_iter().map(|(id, (pool, nodes))| (id.clone(), learned(pool, &nodes)));
    let seen: BTreeMap<PoolId, Learned> = seen.collect();
    let live = draft.instances.values().filter(|i| !i.state().name().is_final());
    let live: BTreeSet<PoolId> = live.map(|instance| instance.pool().clone()).collect();
    let configured = draft.snapshot.pools.iter();
    let configured: BTreeMap<&PoolId, &Pool> = configured.rev().map(|pool| (&pool.id, pool)).collect();
    let memory = &mut draft.memory.kube;
    memory.pools.retain(|id, _| live.contains(id));
    let of_use = configured.values().filter(|pool| live.contains(&pool.id));
    memory.pools.extend(of_use.map(|&pool| (pool.id.clone(), pool.clone())));
    let pools = &memory.pools;
    memory.learned.retain(|id, learned| {
        configured.get(id).copied().or_else(|| pools.get(id)).is_some_and(|pool| is_of(learned, pool))
    });
    memory.learned.extend(seen);
}

/// Was the machine made in another way than those of its pool are now, as far as is known?
pub(super) fn is_made_otherwise(pool: &Pool, instance: &Instance) -> bool {
    let (new, own) = (pool.launch_hash.as_str(), instance.launch_hash());
    !new.is_empty() && !own.is_empty() && new != own
}

fn is_of(learned: &Learned, pool: &Pool) -> bool {
    learned.launch_hash == pool.launch_hash && learned.declared == pool.resources
}

fn learned(pool: &Pool, nodes: &[&KubeNode]) -> Learned {
    let names: BTreeSet<&Arc<str>> =
        nodes.iter().flat_map(|node| node.allocatable.iter()).map(|(name, _)| name).collect();
    let usual = |name: &Arc<str>| {
        let amount = usual(nodes.iter().map(|node| node.allocatable.get(name)), pool.resources.get(name));
        (!amount.is_zero()).then(|| (name.clone(), amount))
    };
    let allocatable: Resources = names.into_iter().filter_map(usual).collect();
    let mut labels: Labels = nodes.first().map(|node| node.labels.clone()).unwrap_or_default();
    labels.retain(|key, value| {
        &**key != HOSTNAME && nodes.iter().all(|node| node.labels.get(key) == Some(value))
    });
    Learned { allocatable, labels, launch_hash: pool.launch_hash.clone(), declared: pool.resources.clone() }
}

/// The middle of the amounts, the upper of two: a node that has lost something does not speak for the others. Nothing
/// of what is declared says only that it is not there now.
fn usual(amounts: impl Iterator<Item = Quantity>, declared: Quantity) -> Quantity {
    let mut amounts: Vec<Quantity> =
        amounts.filter(|amount| !amount.is_zero() || declared.is_zero()).collect();
    amounts.sort_unstable();
    amounts.get(amounts.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_odd_node_does_not_speak_for_the_others() {
        let usual = |amounts: &[i64], declared: i64| {
            let amounts = amounts.iter().map(|&amount| Quantity::units(amount));
            super::usual(amounts, Quantity::units(declared))
        };
        assert_eq!(usual(&[4, 1, 4], 4), Quantity::units(4), "one is sick");
        assert_eq!(usual(&[4, 3, 3], 4), Quantity::units(3), "most have less than is declared");
        assert_eq!(usual(&[3, 4], 0), Quantity::units(4));
        assert_eq!(usual(&[0], 1), Quantity::ZERO, "it shows nothing of what is declared: nothing is learnt");
        assert_eq!(usual(&[0, 1], 1), Quantity::ONE);
        assert_eq!(usual(&[0, 0, 1], 0), Quantity::ZERO, "most do not have it");
    }
}
