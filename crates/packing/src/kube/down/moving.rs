//! Takes a machine out of the world and finds a place for each of its pods.

use super::order::Values;
use crate::kube::ledger::NodeIx;
use crate::kube::problem::{Keep, Stage};
use crate::kube::up::Grown;
use crate::kube::world::{What, World};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use ostler_model::kube::{Hindrance, Pod};

/// What a machine cannot go for.
pub(super) enum Stuck {
    /// This pod has no place.
    Pod(u32),
    /// Room that is kept free has no other place.
    Headroom,
    /// The work of this plan is used up.
    Work,
}

/// Where pods of machines that go may be placed, and what was placed there.
pub(super) struct Mover {
    /// Nodes that stay, or may: the best to keep first.
    targets: Vec<NodeIx>,
    /// Plain specs that ask the same have the same number.
    sort_of: Vec<usize>,
    /// For each number the first target that may take such a pod; all before it have too little room, for
    /// good.
    first: Vec<usize>,
    /// Machines that were promised pods.
    received: Vec<bool>,
    /// Room that is kept free, by node.
    headroom: BTreeMap<NodeIx, Vec<(u32, Option<usize>)>>,
    /// How much each pool may still look at, then all of them. A machine that finds it used up has its turn later.
    shares: Vec<u64>,
    work: u64,
    /// Nodes that are no targets for all, by number.
    shut: Vec<Shut>,
    /// Some are reserved.
    reserves: bool,
    /// The machine that is being emptied is one of those that they are reserved for.
    replaced: bool,
    /// Of so many targets that would do the one is taken whose room is the most like the pod.
    window: usize,
}

/// Whether a node takes pods that move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shut {
    No,
    /// Its own have been given other places.
    Emptied,
    /// Only of machines in whose place it came.
    Reserved,
}

/// How much the request is of the proportions of what is free: the square of the cosine, in 2^-20.
fn likeness(ask: &[i64], free: &[i64], has: &[i64]) -> i64 {
    let part = |amount: i64, c: usize| (i128::from(amount.max(0)) << 20) / i128::from(has[c].max(1));
    let (mut dot, mut length) = (0_i128, 0_i128);
    let mut own = 0_i128;
    for c in 0..2.min(ask.len()) {
        let (ask, free) = (part(ask[c], c), part(free[c], c));
        dot += ask * free;
        length += free * free;
        own += ask * ask;
    }
    if length == 0 || own == 0 {
        return 0;
    }
    i64::try_from(((dot * dot / length.max(1)) << 20) / own.max(1)).unwrap_or(0)
}

/// Pods of a machine that have to go elsewhere if it goes, with their specs: by size, then by name. Those that are let
/// finish do not move.
fn moving(world: &World<'_>, machine: usize) -> Vec<(u32, u32)> {
    let problem = world.problem;
    let ends = |pod: &Pod| pod.hindrance(&problem.policy.drain, problem.now) == Some(Hindrance::MustComplete);
    let pods = world.movable(machine).map(|n| (n, &problem.cluster.pods[n as usize]));
    let mut pods: Vec<(u32, u32)> =
        pods.filter(|(_, pod)| !ends(pod)).map(|(n, pod)| (n, pod.spec)).collect();
    pods.sort_by(|&(_, a), &(_, b)| world.ledger.request(b).cmp(world.ledger.request(a)));
    pods
}

/// May everything on the machine be evicted without waiting for one another?
fn leaves_at_once(world: &World<'_>, machine: usize) -> bool {
    let cluster = world.problem.cluster;
    cluster.budgets.iter().all(|budget| {
        let pods = world.movable(machine).map(|pod| cluster.pods[pod as usize].spec);
        let covered = pods.filter_map(|spec| world.ledger.spec(spec)).filter(|spec| budget.covers(spec));
        covered.count() <= budget.allowed as usize
    })
}

impl Mover {
    pub(super) fn of(
        world: &World<'_>,
        values: &Values,
        kept: &BTreeMap<usize, Keep>,
        grown: &Grown,
        window: usize,
    ) -> Self {
        let mut targets: Vec<_> = world
            .order
            .iter()
            .enumerate()
            .filter_map(|(rank, &machine)| {
                let node = world.nodes[machine].filter(|_| world.takes[machine])?;
                let record = world.machine(machine);
                let stands_in = record.stage == Stage::Coming && record.replaces;
                let there = record.stage != Stage::Coming;
                // What was bought for this comes first, what is to go itself last. Those that stay whatever happens
                // cost nothing more; the others are filled from the best on.
                let stays = kept.contains_key(&machine);
                let key = (!record.replaces, record.outdated, !stays, -values.gives(machine), rank);
                (there || stands_in).then_some((key, node))
            })
            .collect();
        targets.sort_unstable();
        let mut shut = alloc::vec![Shut::No; world.ledger.len()];
        let reserved = (0..world.problem.machines.len()).filter(|&n| world.machine(n).replaces);
        reserved.filter_map(|n| world.nodes[n]).for_each(|node| shut[node.0 as usize] = Shut::Reserved);
        let mut headroom: BTreeMap<NodeIx, Vec<(u32, Option<usize>)>> = BTreeMap::new();
        for kept in &grown.headroom {
            headroom.entry(kept.node).or_default().push((kept.spec, kept.only));
        }
        let pools = world.problem.pools.len().max(1) as u64;
        let mut sorts: BTreeMap<(u32, &[i64]), usize> = BTreeMap::new();
        let specs = world.rank.len() as u32;
        let sort_of = (0..specs)
            .map(|spec| {
                let next = sorts.len();
                *sorts.entry((world.ledger.nature(spec), world.ledger.request(spec))).or_insert(next)
            })
            .collect();
        Self {
            targets: targets.into_iter().map(|(_, node)| node).collect(),
            first: alloc::vec![0; sorts.len()],
            sort_of,
            received: alloc::vec![false; world.problem.machines.len()],
            headroom,
            shares: alloc::vec![world.problem.work / 2 / pools; world.problem.pools.len()],
            work: world.problem.work / 2,
            reserves: shut.contains(&Shut::Reserved),
            shut,
            replaced: false,
            window,
        }
    }

    /// Was something promised to this machine?
    pub(super) fn is_target_of_moves(&self, machine: usize) -> bool {
        self.received[machine]
    }

    /// Takes the machine out; where each of its pods goes, the largest first. If one has no place, nothing is
    /// changed.
    ///
    /// Until the machine is gone its node is a place over which pods must lie evenly, an empty one. Those that fit
    /// elsewhere only without it wait for its end; that is well if nothing can hold it up.
    pub(super) fn empty(
        &mut self,
        world: &mut World<'_>,
        machine: usize,
    ) -> Result<Vec<(u32, usize)>, Stuck> {
        let spreads = |&pod: &u32| {
            let spec = world.problem.cluster.pods[pod as usize].spec;
            world.ledger.spec(spec).is_some_and(|spec| !spec.spread.is_empty())
        };
        if world.movable(machine).any(|pod| spreads(&pod)) {
            match self.empty_with(world, machine, true) {
                Err(Stuck::Pod(pod)) if !leaves_at_once(world, machine) => return Err(Stuck::Pod(pod)),
                Err(Stuck::Pod(_)) => {}
                other => return other,
            }
        }
        self.empty_with(world, machine, false)
    }

    fn empty_with(
        &mut self,
        world: &mut World<'_>,
        machine: usize,
        node_stays: bool,
    ) -> Result<Vec<(u32, usize)>, Stuck> {
        let Some(node) = world.nodes[machine] else { return Ok(Vec::new()) };
        self.replaced = world.machine(machine).replaced;
        let pool = world.machine(machine).pool.unwrap_or(0);
        let pods = moving(world, machine);
        let mark = world.ledger.mark();
        for &(_, spec) in &pods {
            world.ledger.unplace(spec, node);
        }
        if !node_stays {
            world.ledger.remove_node(node);
        }
        let mut first = Vec::new();
        let before = core::mem::replace(&mut self.shut[node.0 as usize], Shut::Emptied);
        let moves = self.find_all(world, &pods, pool, &mut first).inspect_err(|_| {
            self.shut[node.0 as usize] = before;
            world.ledger.back_to(mark);
        })?;
        // For all others it stays where it is, without its pods, until it is gone indeed.
        world.ledger.restore_node(node);
        let mut room = Vec::new();
        for (spec, only) in self.headroom.get(&node).cloned().unwrap_or_default() {
            let Ok(Some(to)) = self.find(world, spec, only, pool, &mut first) else {
                self.shut[node.0 as usize] = before;
                world.ledger.back_to(mark);
                return Err(Stuck::Headroom);
            };
            world.ledger.place(spec, to);
            room.push((to, (spec, only)));
        }
        self.headroom.remove(&node);
        room.into_iter().for_each(|(to, one)| self.headroom.entry(to).or_default().push(one));
        first.into_iter().for_each(|(sort, at)| self.first[sort] = at);
        let machine_of = |node: NodeIx| match world.what(node) {
            What::Machine(machine) => machine,
            What::Opened(_) | What::Nobody => usize::MAX,
        };
        let moves: Vec<(u32, usize)> = moves.into_iter().map(|(pod, node)| (pod, machine_of(node))).collect();
        for &(_, target) in &moves {
            if let Some(received) = self.received.get_mut(target) {
                *received = true;
            }
        }
        Ok(moves)
    }

    fn find_all(
        &mut self,
        world: &mut World<'_>,
        pods: &[(u32, u32)],
        pool: usize,
        first: &mut Vec<(usize, usize)>,
    ) -> Result<Vec<(u32, NodeIx)>, Stuck> {
        let mut moves = Vec::with_capacity(pods.len());
        for &(pod, spec) in pods {
            match self.find(world, spec, None, pool, first) {
                Ok(Some(to)) => {
                    world.ledger.place(spec, to);
                    moves.push((pod, to));
                }
                Ok(None) => return Err(Stuck::Pod(pod)),
                Err(()) => return Err(Stuck::Work),
            }
        }
        Ok(moves)
    }

    /// Takes these machines out, and places of their pods what has a place; what each of the others asks for.
    pub(super) fn rest(&mut self, world: &mut World<'_>, machines: &[usize]) -> Option<Vec<u32>> {
        let cluster = world.problem.cluster;
        let mut specs: Vec<u32> = Vec::new();
        for &machine in machines {
            specs.extend(world.movable(machine).map(|pod| cluster.pods[pod as usize].spec));
            let node = world.nodes[machine]?;
            if self.headroom.contains_key(&node) {
                return None;
            }
            world.ledger.remove_node(node);
        }
        specs.sort_by(|&a, &b| {
            let key = |spec: u32| (world.ledger.request(spec), world.rank[spec as usize]);
            key(b).cmp(&key(a))
        });
        let mut fresh = Vec::new();
        let mut rest = Vec::new();
        for spec in specs {
            match self.find(world, spec, None, 0, &mut fresh).ok()? {
                Some(to) => {
                    world.ledger.place(spec, to);
                }
                None => rest.push(spec),
            }
        }
        Some(rest)
    }

    /// These nodes are targets too, before all others.
    pub(super) fn prefer(&mut self, nodes: &[NodeIx]) {
        self.targets.splice(0..0, nodes.iter().copied());
        self.first.iter_mut().for_each(|first| *first = 0);
    }

    /// The first target that takes such a pod. `fresh`: where plain specs were found not to fit in this
    /// trial.
    fn find(
        &mut self,
        world: &World<'_>,
        spec: u32,
        only: Option<usize>,
        pool: usize,
        fresh: &mut Vec<(usize, usize)>,
    ) -> Result<Option<NodeIx>, ()> {
        let ask = world.ledger.request(spec);
        let plain = world.is_plain(spec) && only.is_none();
        let sort = self.sort_of[spec as usize];
        let known = fresh.iter().rev().find(|(other, _)| *other == sort).map(|&(_, at)| at);
        // What is reserved for others was passed over, and may be for the next one.
        let in_order = plain && !self.reserves;
        let start = if in_order { known.unwrap_or(self.first[sort]) } else { 0 };
        let (mut best, mut seen) = (None::<(i64, NodeIx)>, 0);
        for at in start..self.targets.len() {
            let node = self.targets[at];
            self.charge(pool, 1)?;
            let free = world.ledger.free(node);
            // A node that is gone has no columns.
            if free.is_empty()
                || ask.iter().zip(free).any(|(&ask, &free)| ask > 0 && ask > free)
                || !self.is_open(node)
            {
                continue;
            }
            let fits = if plain && !world.ledger.is_awaited(node) {
                world.ledger.static_fit(spec, node)
            } else {
                self.charge(pool, 8)?;
                world.is_of(world.pool_of(node), only) && world.ledger.fits(spec, node)
            };
            if fits {
                if in_order && best.is_none() {
                    fresh.push((sort, at));
                }
                let likeness = likeness(ask, free, world.ledger.capacity(node));
                if best.is_none_or(|(most, _)| likeness > most) {
                    best = Some((likeness, node));
                }
                seen += 1;
                if seen >= self.window {
                    break;
                }
            }
        }
        if in_order && best.is_none() {
            fresh.push((sort, self.targets.len()));
        }
        Ok(best.map(|(_, node)| node))
    }

    /// May the machine that is being emptied move pods there?
    fn is_open(&self, node: NodeIx) -> bool {
        match self.shut.get(node.0 as usize) {
            Some(Shut::Emptied) => false,
            Some(Shut::Reserved) => self.replaced,
            Some(Shut::No) | None => true,
        }
    }

    /// A pool first uses its own share of the work, then what all have together.
    fn charge(&mut self, pool: usize, work: u64) -> Result<(), ()> {
        let own = self.shares.get_mut(pool).filter(|share| **share >= work);
        let from = own.unwrap_or(&mut self.work);
        *from = from.checked_sub(work).ok_or(())?;
        Ok(())
    }
}
