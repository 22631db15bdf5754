//! The problem in the form that placing needs: distinct machines with counts, requests and names by number.

use super::labels::{Class, Classes};
use super::names::{Names, shapes};
use super::request::{Requests, bit};
use super::score::cubed;
use crate::problem::{Machine, Phase, PoolOption, Problem, Removal, Up};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use ostler_model::{NodeKind, PoolId, Quantity, Resources, Strategy};

/// What is the same for all machines of one kind.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spec {
    /// Its pool, unless the configuration no longer has it.
    pub(super) pool: Option<usize>,
    /// Capacity by resource number.
    pub(super) total: Vec<i128>,
    /// Resources that it has.
    pub(super) has: u128,
    /// Resources that its use is measured by.
    pub(super) declared: u128,
    /// Resources that it reports as free (Ray leaves out the used-up ones).
    pub(super) reported: u128,
    /// What it reports beyond the numbered resources, as Ray scores it.
    pub(super) rest: Rest,
    /// Label class: which selectors it meets, which gangs it must keep off.
    pub(super) class: usize,
    /// Rank of its pool by recoverable availability, priority, availability; higher is better.
    pub(super) standing: u32,
}

/// `v · u³` of the resources that have no number, summed up.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rest {
    pub(super) least: Option<i128>,
    pub(super) sum: i128,
    pub(super) count: i128,
}

/// The bundles of a gang in one of its versions: `(request, count)`.
pub(super) struct BundleSet {
    /// The parts as they are; those of a strict pack merged by selector.
    pub(super) parts: Vec<(usize, u64)>,
    /// All of them on one machine (strict pack only, and only if that is not what `parts` already says).
    pub(super) whole: Option<usize>,
}

/// The problem, prepared.
pub(super) struct World<'a> {
    pub(super) problem: &'a Problem,
    pub(super) names: Names<'a>,
    pub(super) requests: Requests<'a>,
    /// What a unit of each resource weighs, in 2⁻⁴⁰ CPUs.
    pub(super) weights: Vec<i128>,
    /// An empty machine of each pool.
    pub(super) fresh: Vec<Spec>,
    /// What it weighs.
    pub(super) fresh_weight: Vec<i128>,
    /// Pools by that.
    pub(super) by_weight: Vec<usize>,
    pub(super) classes: Vec<Class>,
    /// Distinct kinds of machines that exist.
    pub(super) specs: Vec<Spec>,
    /// By machine: its kind and what is free on it; `None`: takes nothing, ever.
    pub(super) hosts: Vec<Option<(usize, Vec<i128>)>>,
    /// By machine: index of its pool.
    pub(super) pool_of: Vec<Option<usize>>,
    /// Machines by instance id, so that the order of the input decides nothing.
    pub(super) canonical: Vec<usize>,
    /// Machines that were found idle, and go.
    pub(super) released: Vec<Removal>,
    /// The request of each task.
    pub(super) tasks: Vec<usize>,
    /// The versions of each gang, in order of preference.
    pub(super) gangs: Vec<Vec<BundleSet>>,
    /// The requests of each floor, with counts.
    pub(super) floors: Vec<Vec<(usize, u64)>>,
}

impl<'a> World<'a> {
    pub(super) fn of(problem: &'a Problem) -> Self {
        let names = Names::of(problem);
        let pools: BTreeMap<&PoolId, usize> =
            problem.pools.iter().enumerate().rev().map(|(n, option)| (&option.pool.id, n)).collect();
        let mut canonical: Vec<usize> = (0..problem.machines.len()).collect();
        canonical.sort_by(|&a, &b| problem.machines[a].instance.cmp(&problem.machines[b].instance));
        let mut world = Self {
            weights: weights(&names),
            pool_of: problem.machines.iter().map(|m| pools.get(&m.pool).copied()).collect(),
            requests: Requests::default(),
            fresh: Vec::new(),
            fresh_weight: Vec::new(),
            by_weight: Vec::new(),
            classes: Vec::new(),
            specs: Vec::new(),
            hosts: Vec::new(),
            released: Vec::new(),
            tasks: Vec::new(),
            gangs: Vec::new(),
            floors: Vec::new(),
            problem,
            names,
            canonical,
        };
        world.read_demand();
        world.read_machines();
        world
    }

    fn read_demand(&mut self) {
        let largest = largest(self.problem, &self.names);
        for shape in shapes(self.problem) {
            self.requests.intern(shape, &self.names, &largest);
        }
        let (requests, names) = (&mut self.requests, &self.names);
        let mut number = |shape| requests.intern(shape, names, &largest);
        self.tasks = self.problem.tasks.iter().map(|task| number(&task.shape)).collect();
        let floors = self.problem.floors.iter();
        self.floors = floors.map(|f| f.tasks.iter().map(|t| (number(&t.shape), t.count)).collect()).collect();
        for gang in &self.problem.gangs {
            let versions = core::iter::once(&gang.bundles).chain(&gang.fallbacks);
            let sets = versions.map(|set| {
                let parts: Vec<_> =
                    set.iter().map(|b| (requests.intern(&b.shape, names, &largest), b.count)).collect();
                if gang.strategy == Strategy::StrictPack {
                    strict_pack(requests, parts, &largest)
                } else {
                    BundleSet { parts, whole: None }
                }
            });
            self.gangs.push(sets.collect());
        }
    }

    fn read_machines(&mut self) {
        let problem = self.problem;
        let mut classes = Classes::of(problem);
        for option in &problem.pools {
            let total = self.names.amounts(&option.pool.resources);
            let declared = mask(&total);
            let class = classes.number(&option.pool.labels, &self.requests);
            let rest = Rest::default();
            self.fresh.push(Spec {
                pool: Some(self.fresh.len()),
                has: declared,
                declared,
                reported: declared,
                rest,
                class,
                total,
                standing: standing(problem, option),
            });
        }
        self.fresh_weight = self.fresh.iter().map(|spec| self.weight(&spec.total)).collect();
        self.by_weight = (0..self.fresh.len()).collect();
        self.by_weight.sort_by_key(|&pool| self.fresh_weight[pool]);
        let mut known: BTreeMap<Spec, usize> = BTreeMap::new();
        for (n, machine) in problem.machines.iter().enumerate() {
            let host = self.host(n, machine, &mut classes).map(|(spec, free)| {
                let next = known.len();
                (*known.entry(spec).or_insert(next), free)
            });
            self.hosts.push(host);
        }
        self.classes = classes.all;
        let mut specs: Vec<(Spec, usize)> = known.into_iter().collect();
        specs.sort_unstable_by_key(|(_, n)| *n);
        self.specs = specs.into_iter().map(|(spec, _)| spec).collect();
    }

    /// What a machine can take, if anything: one on its way counts as a whole empty machine of its pool.
    fn host(&self, n: usize, machine: &Machine, classes: &mut Classes) -> Option<(Spec, Vec<i128>)> {
        let pool = self.pool_of[n];
        if machine.phase.is_coming() {
            let spec = self.fresh[pool?].clone();
            let free = spec.total.clone();
            return Some((spec, free));
        }
        let up = machine.up.as_ref().filter(|_| machine.phase == Phase::Running)?;
        let total = self.names.amounts(&up.total);
        // More free than there is: no machine is launched on account of a reading that is wrong for a moment.
        let free = self.names.amounts(&up.available);
        let has = mask(&total);
        let fresh = pool.map(|p| &self.fresh[p]);
        let spec = Spec {
            pool,
            has,
            declared: fresh.map_or(has, |f| f.declared & has),
            reported: self.reported(up),
            rest: rest(up, &self.names),
            class: classes.number(&up.labels, &self.requests),
            total,
            standing: fresh.map_or(0, |f| f.standing),
        };
        Some((spec, free))
    }

    fn reported(&self, up: &Up) -> u128 {
        up.available.0.keys().filter_map(|name| self.names.get(name)).fold(0, |mask, r| mask | bit(r))
    }

    /// Is it the head? It is never removed, and has a place of its own in the bounds.
    pub(super) fn is_head(&self, machine: usize) -> bool {
        self.problem.machines[machine].kind == NodeKind::Head
    }
    /// Index of the head's pool.
    pub(super) fn head_pool(&self) -> Option<usize> {
        let head = self.problem.head_pool.as_ref()?;
        self.problem.pools.iter().position(|option| option.pool.id == *head)
    }
    /// The index of the first selector that machines of this class meet, for each list of the request; the worst
    /// of them counts. `None`: they meet none.
    pub(super) fn rank(&self, request: usize, class: usize) -> Option<u32> {
        let lists = &self.requests.all[request].lists;
        lists.iter().try_fold(0, |worst, &list| self.classes[class].met[list].map(|met| worst.max(met)))
    }
    /// What a machine weighs, in 2⁻²⁰ ten-thousandths of a CPU. The machine itself counts as two CPUs, for what
    /// runs on it to make it one of the cluster, and for cutting what is free into pieces.
    fn weight(&self, total: &[i128]) -> i128 {
        let own = 20_000 << 20;
        let parts = total.iter().zip(&self.weights);
        parts.fold(own, |sum: i128, (a, w)| sum.saturating_add(a.saturating_mul(*w) >> 20))
    }
}

/// The bundles of a strict pack are one request. Those with other selectors stay apart, since Ray places them
/// apart; that they fit one machine together is tried first.
fn strict_pack(requests: &mut Requests<'_>, parts: Vec<(usize, u64)>, largest: &[i128]) -> BundleSet {
    let mut by_lists: BTreeMap<Vec<usize>, Vec<(usize, u64)>> = BTreeMap::new();
    for &(request, count) in &parts {
        by_lists.entry(requests.all[request].lists.clone()).or_default().push((request, count));
    }
    let merged: Vec<_> =
        by_lists.values().filter_map(|p| requests.merged(p, largest)).map(|r| (r, 1)).collect();
    let whole = if merged.len() > 1 { requests.merged(&parts, largest) } else { None };
    BundleSet { parts: merged, whole }
}

/// What a unit weighs: a CPU is 1, 8 GiB of memory are 1, an accelerator is 16 (about what clouds ask). Anything
/// else is a mark on a machine rather than a thing that costs.
fn weights(names: &Names<'_>) -> Vec<i128> {
    let mut weights = alloc::vec![0; names.len()];
    let mut set = |name: &str, weight| names.get(name).into_iter().for_each(|r| weights[r] = weight);
    set("CPU", 1 << 40);
    set("memory", (1 << 40) >> 33);
    names.accelerators.iter().for_each(|&r| weights[r] = 16 << 40);
    weights
}

/// The most of each resource that one machine, there or to be had, has.
fn largest(problem: &Problem, names: &Names<'_>) -> Vec<i128> {
    let mut largest = alloc::vec![0; names.len()];
    let mut see = |resources: &Resources| {
        for (name, amount) in resources.iter() {
            if let Some(r) = names.get(name) {
                largest[r] = amount.as_ten_thousandths().max(largest[r]);
            }
        }
    };
    problem.pools.iter().for_each(|option| see(&option.pool.resources));
    largest
}

/// How many pools are less likely to be had, or as likely and of lower priority.
fn standing(problem: &Problem, option: &PoolOption) -> u32 {
    let key = |option: &PoolOption| (option.recoverable, option.pool.priority, option.availability);
    problem.pools.iter().filter(|other| key(other) < key(option)).count() as u32
}

fn mask(total: &[i128]) -> u128 {
    total.iter().enumerate().filter(|(_, t)| **t > 0).fold(0, |mask, (r, _)| mask | bit(r))
}

fn rest(up: &Up, names: &Names<'_>) -> Rest {
    let mut rest = Rest::default();
    for (name, total) in up.total.iter() {
        let (Some(&free), true, None) = (up.available.0.get(name), total > Quantity::ZERO, names.get(name))
        else {
            continue;
        };
        let weighted = cubed(total.as_ten_thousandths(), free.as_ten_thousandths());
        rest.least = Some(rest.least.map_or(weighted, |least| least.min(weighted)));
        rest.sum = rest.sum.saturating_add(weighted);
        rest.count += 1;
    }
    rest
}
