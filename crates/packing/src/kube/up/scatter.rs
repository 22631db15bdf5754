//! New machines for pods that look at other pods, ports or volumes: one machine after the other, each judged
//! by all filters beside those that are there and those that were just opened.

use super::fresh;
use super::lot::Lot;
use super::probe::Probes;
use super::there::{self, has_room, seek};
use crate::kube::bulk;
use crate::kube::ledger::NodeIx;
use crate::kube::world::{Moment, World};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use ostler_model::LaunchCause;
use ostler_model::kube::{Expander, HOSTNAME, PodSpec};

/// Opens machines until the lot has its places, or no new machine would take one.
pub(super) fn open(world: &mut World<'_>, probes: &mut Probes, lot: &mut Lot, cause: LaunchCause) {
    let (moment, before) = (world.mark(), lot.clone());
    let chooses = there::chooses_its_place(world, lot);
    one_by_one(world, probes, lot, cause, None);
    if lot.left() > 0 && chooses {
        elsewhere(world, probes, lot, cause, (&moment, &before));
    }
    let even = world.ledger.spec(lot.spec).is_some_and(|spec| !spec.spread.is_empty());
    if even && world.opened.len() > moment.opened {
        level(world, probes, lot, cause, (&moment, &before));
    }
}

/// The place of the first cannot hold all: another may hold more.
fn elsewhere(
    world: &mut World<'_>,
    probes: &mut Probes,
    lot: &mut Lot,
    cause: LaunchCause,
    (moment, before): (&Moment, &Lot),
) {
    let spec = world.ledger.spec(lot.spec);
    let Some(topology) = spec.and_then(|spec| Some(&spec.affinity.first()?.topology)) else { return };
    let pools = &world.problem.pools;
    let (mut best, mut fewest) = (None, lot.left());
    let mut tried = BTreeSet::new();
    for pool in suits(world, probes, lot) {
        if fewest == 0 || !tried.insert(pools[pool].template.labels.get(topology)) {
            continue;
        }
        world.back_to(moment);
        lot.clone_from(before);
        one_by_one(world, probes, lot, cause, Some(pool));
        if lot.left() < fewest {
            (best, fewest) = (Some(pool), lot.left());
        }
    }
    world.back_to(moment);
    lot.clone_from(before);
    one_by_one(world, probes, lot, cause, best);
}

/// Places pods that must lie evenly once more, all machines that were opened for them there from the beginning: the
/// scheduler will see them all, and the first pods were placed before the last machine was thought of.
fn level(
    world: &mut World<'_>,
    probes: &mut Probes,
    lot: &mut Lot,
    cause: LaunchCause,
    (moment, before): (&Moment, &Lot),
) {
    let pools: Vec<usize> = world.opened[moment.opened..].iter().map(|opened| opened.pool).collect();
    let left = lot.left();
    world.back_to(moment);
    lot.clone_from(before);
    for pool in pools {
        world.open(pool, cause);
    }
    let targets = targets(world, lot.spec);
    seek(world, lot, &targets);
    if lot.left() > left {
        world.back_to(moment);
        lot.clone_from(before);
        one_by_one(world, probes, lot, cause, None);
    }
}

/// Machines that may take such pods after others were opened: what is not up yet, and what is up where a pod elsewhere
/// may let them in.
fn targets(world: &World<'_>, spec: u32) -> Vec<NodeIx> {
    if looks_beyond_hosts(world, spec) { there::all(world) } else { there::to_be(world) }
}

fn looks_beyond_hosts(world: &World<'_>, spec: u32) -> bool {
    world.ledger.spec(spec).is_some_and(|spec| {
        !spec.affinity.is_empty() || spec.spread.iter().any(|rule| &*rule.topology != HOSTNAME)
    })
}

/// Pools of which a new machine would suit the lot and can be had at all.
fn suits(world: &mut World<'_>, probes: &mut Probes, lot: &Lot) -> Vec<usize> {
    let mut suits: Vec<usize> = probes.suits(world, lot.spec).iter().collect();
    suits.retain(|&pool| {
        world.is_of(Some(pool), lot.only)
            && !world.problem.pools[pool].closed
            && has_room(world.ledger.request(lot.spec), &probes.free[pool])
    });
    suits
}

/// One machine after the other. `first`: the pool of the first one, if that is given.
fn one_by_one(
    world: &mut World<'_>,
    probes: &mut Probes,
    lot: &mut Lot,
    cause: LaunchCause,
    mut first: Option<usize>,
) {
    if first.is_none() {
        // Machines that are coming let nodes that are up take more of what must lie evenly.
        let there = there::all(world);
        seek(world, lot, &there);
    }
    let suits = suits(world, probes, lot);
    let even = world.ledger.spec(lot.spec).is_some_and(|spec| !spec.spread.is_empty());
    let beyond = looks_beyond_hosts(world, lot.spec);
    let merits = Merits::of(world, probes, lot, &suits);
    while lot.left() > 0 {
        let forced = first.take();
        let mut order: Vec<usize> = suits
            .iter()
            .copied()
            .filter(|&pool| forced.is_none_or(|forced| forced == pool) && world.room.of_pool(pool) > 0)
            .collect();
        order.sort_by_cached_key(|&pool| merits.key(world, lot, pool));
        let took = order.into_iter().any(|pool| {
            let moment = world.mark();
            let node = world.open(pool, cause);
            if world.ledger.fits(lot.spec, node) {
                lot.seat(world, node, 1);
                return true;
            }
            world.back_to(&moment);
            false
        });
        if !took {
            break;
        }
        // The older ones have said no, unless a pod elsewhere counts for them.
        let newest = world.opened.last().map(|one| one.node);
        let again = if even || beyond { targets(world, lot.spec) } else { newest.into_iter().collect() };
        seek(world, lot, &again);
    }
}

/// What speaks for the pools that would do for a lot.
struct Merits {
    /// How many of the lot one host takes, whatever its size.
    most: u64,
    /// What is free on a new machine, by pool; pools that are alike share that of the first.
    free: BTreeMap<usize, Vec<i64>>,
}

/// The smallest is the best.
type Key = (bool, [i128; 3], u64, usize);

impl Merits {
    fn of(world: &World<'_>, probes: &Probes, lot: &Lot, suits: &[usize]) -> Self {
        let kinds = fresh::kinds(world, probes);
        let first_like = |pool: usize| suits.iter().find(|&&one| bulk::are_alike(&kinds[one], &kinds[pool]));
        let free = |pool: usize| probes.free[first_like(pool).copied().unwrap_or(pool)].clone();
        Self {
            most: world.ledger.spec(lot.spec).map_or(u64::MAX, most_on_a_host),
            free: suits.iter().map(|&pool| (pool, free(pool))).collect(),
        }
    }

    fn key(&self, world: &World<'_>, lot: &Lot, pool: usize) -> Key {
        let option = &world.problem.pools[pool];
        let (ask, free) = (world.ledger.request(lot.spec), &self.free[&pool]);
        let by_size = ask.iter().zip(free).filter(|(ask, _)| **ask > 0);
        let by_size = by_size.map(|(&ask, &free)| (free / ask).unsigned_abs()).min().unwrap_or(1);
        let count = by_size.min(self.most).min(lot.left()).max(1);
        // What would be left of CPU and memory, in 2^-20 of the machine.
        let left = |(&ask, &free): (&i64, &i64)| {
            let left = i128::from(free) - i128::from(ask) * i128::from(count);
            (left.max(0) << 20) / i128::from(free.max(1))
        };
        let waste: i128 = ask.iter().zip(free).take(2).map(left).sum();
        let cost = (i128::from(option.price.0) << 32) / i128::from(count);
        let chosen = match world.problem.policy.expander {
            Expander::Cost => [cost, waste, 0],
            Expander::LeastWaste => [waste, cost, 0],
            Expander::Priority => [-i128::from(option.priority), cost, waste],
            Expander::MostPods => [-i128::from(count), cost, 0],
        };
        (option.doubtful, chosen, world.size_of(pool), pool)
    }
}

/// How many pods of one spec a host takes, by their ports, and by what they say about each other.
fn most_on_a_host(spec: &PodSpec) -> u64 {
    let like = |selector: &Option<ostler_model::kube::LabelSelector>| {
        selector.as_ref().is_some_and(|selector| selector.matches(&spec.labels))
    };
    let apart = spec.anti_affinity.iter().any(|term| &*term.topology == HOSTNAME && like(&term.selector));
    if apart || !spec.ports.is_empty() {
        return 1;
    }
    let even = spec.spread.iter().filter(|rule| &*rule.topology == HOSTNAME && like(&rule.selector));
    even.map(|rule| u64::from(rule.max_skew.max(1))).min().unwrap_or(u64::MAX)
}
