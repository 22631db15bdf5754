//! One problem, laid out: which machine is which node of the ledger, who may take pods, and how many more
//! machines there may be.

use super::ledger::{Ledger, Mark, NodeIx};
use super::problem::{Machine, Place, Problem, Stage};
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use ostler_model::LaunchCause;
use ostler_model::kube::{KubeNode, PodSpec};

/// One problem, laid out.
pub(super) struct World<'a> {
    pub(super) problem: &'a Problem<'a>,
    pub(super) ledger: Ledger<'a>,
    /// The node of each machine, by place; none for those whose node is not known, and those that are gone.
    pub(super) nodes: Vec<Option<NodeIx>>,
    /// What each node of the ledger is.
    pub(super) what: Vec<What>,
    /// Machines whose nodes have not been ready for so long that they are as good as gone.
    pub(super) lost: Vec<bool>,
    /// Machines that take pods: up and ready, or coming.
    pub(super) takes: Vec<bool>,
    /// Machines in an order that does not depend on that of the lists.
    pub(super) order: Vec<usize>,
    /// What is bound to each machine, by place in the cluster's pods; in the order of their names.
    pub(super) pods: Vec<Vec<u32>>,
    /// How much is on a coming machine without anything that was placed there in this plan.
    pub(super) base: Vec<usize>,
    /// Machines that are to be launched, oldest first.
    pub(super) opened: Vec<Opened>,
    /// How many of each pool are among them.
    new_of: Vec<usize>,
    /// Machines of each pool that are up or coming, those that are lost left out.
    there_of: Vec<usize>,
    pub(super) room: Room,
    /// Where waiting pods go.
    pub(super) placed: Vec<(usize, Place)>,
    /// Specs in an order that does not depend on that of the lists: the rank of each.
    pub(super) rank: Vec<u32>,
}

/// What a node of the ledger is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// A machine of the problem, by place.
    Machine(usize),
    /// A machine to be launched, by place in [`World::opened`].
    Opened(usize),
    /// Neither: a node that no machine stands for.
    Nobody,
}

/// A moment of a [`World`].
#[derive(Clone)]
pub(super) struct Moment {
    ledger: Mark,
    /// How many had been opened.
    pub(super) opened: usize,
    new_of: Vec<usize>,
    pub(super) room: Room,
    /// How many waiting pods had a place.
    pub(super) placed: usize,
}

/// A machine to be launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Opened {
    pub(super) pool: usize,
    /// Which of the new ones of its pool.
    pub(super) nth: usize,
    pub(super) node: NodeIx,
    pub(super) cause: LaunchCause,
}

/// How many more machines there may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Room {
    /// Of each pool.
    pools: Vec<u64>,
    /// The group of each pool.
    group_of: Vec<Option<usize>>,
    /// Of each group.
    pub(super) groups: Vec<u64>,
    /// Of all.
    pub(super) total: u64,
}

impl<'a> World<'a> {
    /// `extra`: specs beside those of the cluster.
    pub(super) fn of(problem: &'a Problem<'a>, extra: &'a [PodSpec]) -> Self {
        let cluster = problem.cluster;
        let ledger = Ledger::with(cluster, problem.policy, extra);
        let mut what = alloc::vec![What::Nobody; ledger.len()];
        let mut nodes = alloc::vec![None; problem.machines.len()];
        for (n, machine) in problem.machines.iter().enumerate() {
            let Some(at) = machine.node.filter(|&at| at < cluster.nodes.len()) else { continue };
            what[at] = What::Machine(n);
            nodes[n] = Some(NodeIx(at as u32));
        }
        let mut order: Vec<usize> = (0..problem.machines.len()).collect();
        order.sort_by(|&a, &b| problem.machines[a].name.cmp(&problem.machines[b].name).then(a.cmp(&b)));
        let mut world = Self {
            problem,
            ledger,
            nodes,
            what,
            lost: problem.machines.iter().map(|machine| is_lost(problem, machine)).collect(),
            takes: alloc::vec![false; problem.machines.len()],
            order,
            pods: alloc::vec![Vec::new(); problem.machines.len()],
            base: alloc::vec![0; problem.machines.len()],
            opened: Vec::new(),
            new_of: alloc::vec![0; problem.pools.len()],
            there_of: alloc::vec![0; problem.pools.len()],
            room: Room::of(problem),
            placed: Vec::new(),
            rank: ranks(cluster.specs.iter().chain(extra)),
        };
        world.find_pods();
        world.settle_machines();
        world
    }

    fn find_pods(&mut self) {
        let cluster = self.problem.cluster;
        for (n, pod) in cluster.pods.iter().enumerate() {
            let Some(node) = pod.node.as_ref().and_then(|name| self.ledger.node(name.as_str())) else {
                continue;
            };
            if let What::Machine(machine) = self.what[node.0 as usize] {
                self.pods[machine].push(n as u32);
            }
        }
        for pods in &mut self.pods {
            pods.sort_by(|&a, &b| {
                let (a, b) = (&cluster.pods[a as usize], &cluster.pods[b as usize]);
                (&a.name, &a.uid).cmp(&(&b.name, &b.uid))
            });
        }
    }

    /// Takes out what is gone, stands the template in for what is coming, and finds who takes pods.
    fn settle_machines(&mut self) {
        let problem = self.problem;
        for n in self.order.clone() {
            let machine = &problem.machines[n];
            let stays = matches!(machine.stage, Stage::Coming | Stage::Up) && !self.lost[n];
            if let Some(there) = machine.pool.filter(|_| stays).and_then(|pool| self.there_of.get_mut(pool)) {
                *there += 1;
            }
            match machine.stage {
                Stage::Up => {
                    self.takes[n] = machine.node.is_some_and(|at| {
                        problem.cluster.nodes.get(at).is_some_and(|node| node.ready && !node.draining)
                    });
                }
                Stage::Leaving => {}
                Stage::Ending => {
                    if let Some(node) = self.nodes[n].take() {
                        self.ledger.remove_node(node);
                    }
                }
                Stage::Coming => self.stand_in(n),
            }
        }
    }

    /// A machine on its way is what its pool's template says, with what is on it already.
    fn stand_in(&mut self, n: usize) {
        let machine = &self.problem.machines[n];
        if let Some(node) = self.nodes[n].take() {
            self.ledger.remove_node(node);
        }
        let Some(option) = machine.pool.and_then(|pool| self.problem.pools.get(pool)) else { return };
        let node = self.ledger.add_node(&option.template);
        for &pod in &self.pods[n] {
            let pod = &self.problem.cluster.pods[pod as usize];
            if pod.is_movable() {
                self.ledger.place(pod.spec, node);
            }
        }
        self.base[n] = self.ledger.pods_on(node).count();
        self.what.push(What::Machine(n));
        self.nodes[n] = Some(node);
        self.takes[n] = true;
    }

    pub(super) fn machine(&self, n: usize) -> &'a Machine {
        &self.problem.machines[n]
    }

    /// What this node of the ledger is.
    pub(super) fn what(&self, node: NodeIx) -> What {
        self.what.get(node.0 as usize).copied().unwrap_or(What::Nobody)
    }

    /// The pool of this node of the ledger.
    pub(super) fn pool_of(&self, node: NodeIx) -> Option<usize> {
        match self.what(node) {
            What::Machine(machine) => self.machine(machine).pool,
            What::Opened(n) => Some(self.opened[n].pool),
            What::Nobody => None,
        }
    }

    /// Will this pool do where `only` is asked for? It will if it is the same, or another offering of it.
    pub(super) fn is_of(&self, pool: Option<usize>, only: Option<usize>) -> bool {
        let Some(only) = only else { return true };
        let is_other = |pool| self.room.group(only).is_some_and(|group| self.room.group(pool) == Some(group));
        pool.is_some_and(|pool| pool == only || is_other(pool))
    }

    /// One more machine of the pool, counted against the bounds.
    pub(super) fn open(&mut self, pool: usize, cause: LaunchCause) -> NodeIx {
        let node = self.ledger.add_node(&self.problem.pools[pool].template);
        let nth = self.new_of[pool];
        self.new_of[pool] += 1;
        self.what.truncate(node.0 as usize);
        self.what.push(What::Opened(self.opened.len()));
        self.opened.push(Opened { pool, nth, node, cause });
        self.room.take(pool, 1);
        node
    }

    /// This moment of the world, as far as growth changes it.
    pub(super) fn mark(&self) -> Moment {
        Moment {
            ledger: self.ledger.mark(),
            opened: self.opened.len(),
            new_of: self.new_of.clone(),
            room: self.room.clone(),
            placed: self.placed.len(),
        }
    }

    /// Takes back what was placed and opened since.
    pub(super) fn back_to(&mut self, moment: &Moment) {
        self.ledger.back_to(moment.ledger);
        self.opened.truncate(moment.opened);
        self.what.truncate(self.ledger.len());
        self.new_of.clone_from(&moment.new_of);
        self.room.clone_from(&moment.room);
        self.placed.truncate(moment.placed);
    }

    /// Machines of a pool that are there to stay, or come; new ones too.
    pub(super) fn size_of(&self, pool: usize) -> u64 {
        (self.there_of[pool] + self.new_of[pool]) as u64
    }

    /// The place that this node is.
    pub(super) fn place(&self, node: NodeIx) -> Option<Place> {
        match self.what(node) {
            What::Machine(machine) => Some(Place::Machine(machine)),
            What::Opened(n) => Some(Place::New(self.opened[n].pool, self.opened[n].nth)),
            What::Nobody => None,
        }
    }

    /// Pods on a machine that have to go elsewhere if it goes: those that are not of so low a priority that they may be
    /// lost.
    pub(super) fn movable(&self, machine: usize) -> impl Iterator<Item = u32> + '_ {
        let cluster = self.problem.cluster;
        self.foreign(machine).filter(|&pod| !self.is_expendable(cluster.pods[pod as usize].spec))
    }

    /// Pods on a machine that neither belong to it nor are leaving.
    pub(super) fn foreign(&self, machine: usize) -> impl Iterator<Item = u32> + '_ {
        let cluster = self.problem.cluster;
        self.pods[machine].iter().copied().filter(|&pod| cluster.pods[pod as usize].is_movable())
    }

    /// May pods of this spec be lost, and wait without bringing a node?
    pub(super) fn is_expendable(&self, spec: u32) -> bool {
        self.ledger.spec(spec).is_some_and(|spec| self.problem.policy.is_expendable(spec))
    }

    /// Do only columns and what never changes decide about this spec, and that alike for every node of a
    /// class?
    pub(super) fn is_plain(&self, spec: u32) -> bool {
        self.ledger.is_plain(spec) && !self.ledger.goes_by_name(spec)
    }
}

/// Is the machine's node up, and has it not been ready for too long?
fn is_lost(problem: &Problem<'_>, machine: &Machine) -> bool {
    let node = machine.node.and_then(|at| problem.cluster.nodes.get(at));
    let for_long = |node: &KubeNode| problem.now.since(node.ready_since) >= problem.policy.unready;
    machine.stage == Stage::Up && node.is_some_and(|node| !node.ready && for_long(node))
}

/// Equal specs have equal ranks.
fn ranks<'s>(specs: impl Iterator<Item = &'s PodSpec>) -> Vec<u32> {
    let specs: Vec<&PodSpec> = specs.collect();
    let mut order: Vec<u32> = (0..specs.len() as u32).collect();
    order.sort_by(|&a, &b| specs[a as usize].cmp(specs[b as usize]));
    let mut rank = alloc::vec![0; specs.len()];
    let mut next = 0;
    for (n, &spec) in order.iter().enumerate() {
        if n > 0 && specs[order[n - 1] as usize] != specs[spec as usize] {
            next += 1;
        }
        rank[spec as usize] = next;
    }
    rank
}

impl Room {
    fn of(problem: &Problem<'_>) -> Self {
        let mut names: BTreeMap<&Arc<str>, usize> = BTreeMap::new();
        let mut groups: Vec<u64> = Vec::new();
        let mut group_of = Vec::new();
        for pool in &problem.pools {
            let Some(name) = &pool.group else {
                group_of.push(None);
                continue;
            };
            let group = *names.entry(name).or_insert_with(|| {
                groups.push(u64::MAX);
                groups.len() - 1
            });
            groups[group] = groups[group].min(pool.group_max.map_or(u64::MAX, u64::from));
            group_of.push(Some(group));
        }
        let mut room = Self {
            pools: problem.pools.iter().map(|pool| pool.max.into()).collect(),
            group_of,
            groups,
            total: problem.max_machines.unwrap_or(u64::MAX),
        };
        // Those that are not ours count neither for a pool nor for all.
        for machine in &problem.machines {
            if let Some(pool) = machine.pool.filter(|&pool| pool < problem.pools.len()) {
                room.take(pool, 1);
            }
        }
        room
    }

    /// How many more of this pool.
    pub(super) fn of_pool(&self, pool: usize) -> u64 {
        let group = self.group_of[pool].map_or(u64::MAX, |group| self.groups[group]);
        self.pools[pool].min(group).min(self.total)
    }

    /// How many more of this pool by its own bound.
    pub(super) fn of_pool_alone(&self, pool: usize) -> u64 {
        self.pools[pool]
    }

    pub(super) fn group(&self, pool: usize) -> Option<usize> {
        self.group_of[pool]
    }

    fn take(&mut self, pool: usize, count: u64) {
        self.pools[pool] = self.pools[pool].saturating_sub(count);
        if let Some(group) = self.group_of[pool]
            && self.groups[group] != u64::MAX
        {
            self.groups[group] = self.groups[group].saturating_sub(count);
        }
        if self.total != u64::MAX {
            self.total = self.total.saturating_sub(count);
        }
    }
}
