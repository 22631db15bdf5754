//! Growth as a whole: all lots at once, in turn where bounds do not let everybody in, and once more with all machines
//! there.

use super::lot::Lot;
use super::probe::Probes;
use super::there::has_room;
use super::{fresh, scatter};
use crate::kube::ledger::NodeIx;
use crate::kube::problem::{Place, Stage};
use crate::kube::world::{Moment, World};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use ostler_model::kube::PodSpec;
use ostler_model::{LaunchCause, Price};

/// Times that pods are placed anew so that all of them lie evenly over the machines that are there in the end. Once is
/// nearly always enough.
const ROUNDS: usize = 4;

/// Opens machines for these lots, given by priority. All at once is the cheapest; only if bounds do not let
/// everybody in do the higher priorities choose first, or those that missed their place before others of their
/// priority. Gives back what found no place.
pub(super) fn bring(
    world: &mut World<'_>,
    probes: &mut Probes,
    levels: &[Vec<Lot>],
    cause: LaunchCause,
) -> Vec<Lot> {
    let levels: Vec<Vec<Lot>> = levels.iter().filter(|lots| !lots.is_empty()).cloned().collect();
    let course = Course { start: world.mark(), cause, levels };
    let all = course.levels.iter().flatten().cloned().collect();
    let mut best = course.run(world, probes, alloc::vec![all]);
    if course.is_contested(world, probes, &best) {
        let mut orders = Vec::new();
        if course.levels.len() > 1 {
            orders.push(course.levels.clone());
        }
        let missed_first = course.missed_first(&best);
        if missed_first.len() > course.levels.len() {
            orders.push(missed_first);
        }
        for steps in orders {
            let found = course.run(world, probes, steps);
            best = if found.score < best.score { found } else { best };
        }
        best = course.run(world, probes, best.steps);
    }
    if course.has_spread(world) {
        best = course.settle(world, probes, best);
    }
    best.left
}

struct Course {
    start: Moment,
    cause: LaunchCause,
    levels: Vec<Vec<Lot>>,
}

/// One way of serving all lots.
struct Outcome {
    /// Lots that are served together, one step after the other.
    steps: Vec<Vec<Lot>>,
    left: Vec<Lot>,
    /// How many found no place, the highest priority first; and what the machines cost.
    score: (Vec<u64>, Price),
}

impl Course {
    fn run(&self, world: &mut World<'_>, probes: &mut Probes, steps: Vec<Vec<Lot>>) -> Outcome {
        self.run_onto(world, probes, steps, &[])
    }

    /// From the start, machines of these pools there before any pod is placed.
    fn run_onto(
        &self,
        world: &mut World<'_>,
        probes: &mut Probes,
        steps: Vec<Vec<Lot>>,
        pools: &[usize],
    ) -> Outcome {
        world.back_to(&self.start);
        for &pool in pools {
            world.open(pool, self.cause);
        }
        let mut left = Vec::new();
        for step in &steps {
            let mut lots = step.clone();
            fresh::open(world, probes, &mut lots, self.cause);
            left.extend(lots.into_iter().filter(|lot| lot.left() > 0));
        }
        self.follow(world, probes, &mut left);
        let score = self.score(world, &left);
        Outcome { steps, left, score }
    }

    /// Some can go only where others are, or as far as others lie elsewhere, and those may have found their place after
    /// their turn.
    fn follow(&self, world: &mut World<'_>, probes: &mut Probes, left: &mut Vec<Lot>) {
        let count = |left: &[Lot]| left.iter().map(Lot::left).sum::<u64>();
        loop {
            let before = count(left);
            for lot in left.iter_mut() {
                let looks_at_others = |spec: &PodSpec| !spec.affinity.is_empty() || !spec.spread.is_empty();
                if world.ledger.spec(lot.spec).is_some_and(looks_at_others) {
                    scatter::open(world, probes, lot, self.cause);
                }
            }
            left.retain(|lot| lot.left() > 0);
            if count(left) == before {
                break;
            }
        }
    }

    fn score(&self, world: &World<'_>, left: &[Lot]) -> (Vec<u64>, Price) {
        let missing = |lots: &Vec<Lot>| {
            let specs: BTreeSet<u32> = lots.iter().map(|lot| lot.spec).collect();
            left.iter().filter(|lot| specs.contains(&lot.spec)).map(Lot::left).sum()
        };
        let prices = world.opened[self.start.opened..].iter().map(|one| world.problem.pools[one.pool].price);
        (self.levels.iter().map(missing).collect(), prices.sum())
    }

    /// Did others take the last machine that something without a place could have had?
    fn is_contested(&self, world: &mut World<'_>, probes: &mut Probes, outcome: &Outcome) -> bool {
        let machines = world.problem.machines.iter().filter(|machine| machine.stage == Stage::Coming);
        let minimums = world.opened[..self.start.opened].iter().map(|one| one.pool);
        let not_up: BTreeSet<usize> = machines.filter_map(|machine| machine.pool).chain(minimums).collect();
        let run_out = |world: &World<'_>, pool: usize| {
            let could_be_had = self.start.room.of_pool(pool) > 0 || not_up.contains(&pool);
            could_be_had && world.room.of_pool(pool) == 0
        };
        outcome.left.iter().any(|lot| {
            let suits = probes.suits(world, lot.spec).clone();
            suits.iter().any(|pool| {
                run_out(world, pool) && has_room(world.ledger.request(lot.spec), &probes.free[pool])
            })
        })
    }

    /// Each level in two steps, what has no place first.
    fn missed_first(&self, outcome: &Outcome) -> Vec<Vec<Lot>> {
        let missed: BTreeSet<u32> = outcome.left.iter().map(|lot| lot.spec).collect();
        let halves = self.levels.iter().flat_map(|lots| {
            let (first, then): (Vec<Lot>, Vec<Lot>) =
                lots.iter().cloned().partition(|lot| missed.contains(&lot.spec));
            [first, then]
        });
        halves.filter(|lots| !lots.is_empty()).collect()
    }

    fn has_spread(&self, world: &World<'_>) -> bool {
        self.levels.iter().flatten().any(|lot| spreads(world, lot.spec))
    }

    /// Pods that must lie evenly were placed before the last machine was opened, and the scheduler will see them all. So
    /// everything is placed anew with those machines there, until no other is wanted.
    fn settle(&self, world: &mut World<'_>, probes: &mut Probes, mut outcome: Outcome) -> Outcome {
        for _ in 0..ROUNDS {
            let opened = &world.opened[self.start.opened..];
            let is_used = |node: NodeIx, pool: usize| world.ledger.free(node) != probes.free[pool];
            let pools: Vec<usize> =
                opened.iter().filter(|one| is_used(one.node, one.pool)).map(|one| one.pool).collect();
            if pools.len() == opened.len() && self.lies_evenly(world) {
                break;
            }
            outcome = self.run_onto(world, probes, outcome.steps, &pools);
        }
        outcome
    }

    /// Would every pod that was placed fit where it is with all machines there?
    fn lies_evenly(&self, world: &mut World<'_>) -> bool {
        let new: BTreeMap<(usize, usize), NodeIx> =
            world.opened.iter().map(|one| ((one.pool, one.nth), one.node)).collect();
        let node = |world: &World<'_>, place: Place| match place {
            Place::Machine(machine) => world.nodes[machine],
            Place::New(pool, nth) => new.get(&(pool, nth)).copied(),
        };
        let pods = &world.problem.cluster.pods;
        let placed = world.placed[self.start.placed..].iter().map(|&(pod, place)| (pods[pod].spec, place));
        let placed: BTreeSet<(u32, Place)> = placed.filter(|&(spec, _)| spreads(world, spec)).collect();
        placed.into_iter().all(|(spec, place)| {
            let Some(node) = node(world, place) else { return true };
            let mark = world.ledger.mark();
            let fits = world.ledger.unplace(spec, node) && world.ledger.fits(spec, node);
            world.ledger.back_to(mark);
            fits
        })
    }
}

fn spreads(world: &World<'_>, spec: u32) -> bool {
    world.ledger.spec(spec).is_some_and(|spec| !spec.spread.is_empty())
}
