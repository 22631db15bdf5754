//! What needs a place: equal pods together.

use crate::kube::ledger::NodeIx;
use crate::kube::problem::Problem;
use crate::kube::world::World;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use ostler_model::kube::Pod;

/// Equal pods that need a place.
#[derive(Debug, Clone)]
pub(in crate::kube) struct Lot {
    pub(in crate::kube) spec: u32,
    /// Those that wait and are known, by place in the cluster's pods; the first `at` have their place.
    pods: Vec<u32>,
    at: usize,
    /// How many more there are: pods that are leaving another node, room to be kept free.
    others: u64,
    /// May bring machines.
    pub(in crate::kube) brings: bool,
    /// On machines of this pool, or of another offering of it, alone.
    pub(in crate::kube) only: Option<usize>,
}

impl Lot {
    pub(super) const fn of_others(spec: u32, others: u64) -> Self {
        Self { spec, pods: Vec::new(), at: 0, others, brings: true, only: None }
    }

    /// How many have no place yet.
    pub(in crate::kube) fn left(&self) -> u64 {
        (self.pods.len() - self.at) as u64 + self.others
    }

    /// How many of those that wait have no place yet.
    pub(super) fn waiting(&self) -> u64 {
        (self.pods.len() - self.at) as u64
    }

    /// `count` of them, not more than are left, go to this node.
    pub(super) fn seat(&mut self, world: &mut World<'_>, node: NodeIx, count: u64) {
        let mut count = count.min(self.left());
        world.ledger.place_many(self.spec, node, u32::try_from(count).unwrap_or(u32::MAX));
        let place = world.place(node);
        while count > 0 && self.at < self.pods.len() {
            if let Some(place) = place {
                world.placed.push((self.pods[self.at] as usize, place));
            }
            self.at += 1;
            count -= 1;
        }
        self.others -= count;
    }
}

/// Pods that wait for a node, by place in the cluster's pods.
#[derive(Debug, Default)]
pub(in crate::kube) struct Waiting {
    /// Those that we bring nodes for once they are old enough.
    pub(super) ours: Vec<u32>,
    /// Some pod waits, ours or not.
    pub(in crate::kube) any: bool,
}

/// Finds the pods that wait.
pub(in crate::kube) fn waiting(problem: &Problem<'_>) -> Waiting {
    let cluster = problem.cluster;
    let mut waiting = Waiting::default();
    for (n, pod) in cluster.pods.iter().enumerate() {
        if pod.node.is_some() || pod.terminating {
            continue;
        }
        // A pod of a DaemonSet waits for its own node; that of a node that is to be is none of ours.
        if pod.is_of_node() {
            continue;
        }
        waiting.any = true;
        if is_ours(problem, pod) {
            waiting.ours.push(n as u32);
        }
    }
    waiting
}

/// A pod that waits, and that we bring nodes for once it is old enough.
fn is_ours(problem: &Problem<'_>, pod: &Pod) -> bool {
    let policy = problem.policy;
    let spec = problem.cluster.specs.get(pod.spec as usize);
    pod.ignored.is_none()
        && spec.is_some_and(|spec| !policy.is_expendable(spec) && policy.schedulers.contains(&spec.scheduler))
}

/// Lots by priority, the highest first; lots may be added below the level that is being worked on.
#[derive(Debug, Default)]
pub(super) struct Levels(BTreeMap<Reverse<i32>, BTreeMap<(u32, bool), Lot>>);

impl Levels {
    /// Lots of the pods that wait, those that were nominated and have their place left out.
    pub(super) fn of(world: &World<'_>, waiting: &Waiting) -> Self {
        let problem = world.problem;
        let cluster = problem.cluster;
        let nominated: alloc::collections::BTreeSet<u32> =
            world.placed.iter().map(|&(pod, _)| pod as u32).collect();
        let mut levels = Self::default();
        let mut pods: Vec<u32> =
            waiting.ours.iter().copied().filter(|pod| !nominated.contains(pod)).collect();
        pods.sort_by(|&a, &b| {
            let (one, other) = (&cluster.pods[a as usize], &cluster.pods[b as usize]);
            let key = |pod: &Pod| (world.rank[pod.spec as usize], pod.created_at);
            key(one).cmp(&key(other)).then_with(|| (&one.name, &one.uid).cmp(&(&other.name, &other.uid)))
        });
        for n in pods {
            let pod = &cluster.pods[n as usize];
            let brings = problem.now.since(pod.created_at) >= problem.policy.new_pod_delay;
            levels.lot(world, pod.spec, brings).pods.push(n);
        }
        levels
    }

    /// So many more of this spec need a place.
    pub(super) fn add(&mut self, world: &World<'_>, spec: u32, count: u64) {
        self.lot(world, spec, true).others += count;
    }

    fn lot(&mut self, world: &World<'_>, spec: u32, brings: bool) -> &mut Lot {
        let priority = world.ledger.spec(spec).map_or(0, |spec| spec.priority);
        let level = self.0.entry(Reverse(priority)).or_default();
        level
            .entry((world.rank[spec as usize], brings))
            .or_insert_with(|| Lot { brings, ..Lot::of_others(spec, 0) })
    }

    /// The lots of the highest priority that is left.
    pub(super) fn next(&mut self) -> Option<Vec<Lot>> {
        let (_, level) = self.0.pop_first()?;
        Some(level.into_values().collect())
    }
}
