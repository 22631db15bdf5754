//! One way of placing, from floors over gangs to single requests.

use super::book::{book, idle_accelerators, misses, shrink};
use super::bounds::Standing;
use super::fit::{Ask, Item};
use super::gang;
use super::ledger::{Kind, Ledger, Slot, slots};
use super::order;
use super::pass::{Placed, Work, place};
use super::variant::Variant;
use super::world::World;
use crate::problem::LaunchCause;
use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::vec::Vec;

/// Who needs a machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Need {
    Nobody,
    Floor,
    Demand,
}

/// What one way of placing came to.
pub(super) struct Plan {
    /// Who stays, and who goes for the bounds.
    pub(super) standing: Rc<Standing>,
    /// New machines by pool and cause.
    pub(super) launches: BTreeMap<(usize, LaunchCause), u64>,
    /// By machine.
    pub(super) needed: Vec<Need>,
    /// By task: how many of it found no place.
    pub(super) tasks_left: Vec<u64>,
    /// By gang: it found no place.
    pub(super) gangs_left: Vec<bool>,
    /// By floor: a request of it that found no place, and how many requests of the floor did not.
    pub(super) floors_left: Vec<Option<(usize, u64)>>,
    /// Selectors passed over.
    pub(super) misses: u64,
    /// New machines with accelerators that nothing asks for.
    pub(super) wasted: u64,
    /// What the new machines weigh.
    pub(super) cost: i128,
    /// Room that is left.
    pub(super) ledger: Ledger,
}

/// Places everything in one way.
pub(super) struct Run<'r, 'a> {
    pub(super) world: &'r World<'a>,
    pub(super) work: &'r Work,
    pub(super) variant: &'r Variant,
    pub(super) plan: Plan,
}

/// `slots` are the machines that stay.
pub(super) fn run(
    world: &World<'_>,
    work: &Work,
    variant: &Variant,
    standing: &Rc<Standing>,
    slots: &[Slot],
) -> Plan {
    let problem = world.problem;
    let mut all = minimum(world, standing);
    all.extend_from_slice(slots);
    let plan = Plan {
        standing: Rc::clone(standing),
        launches: standing.minimum.iter().map(|&(pool, n)| ((pool, LaunchCause::Min), n)).collect(),
        needed: alloc::vec![Need::Nobody; problem.machines.len()],
        tasks_left: alloc::vec![0; problem.tasks.len()],
        gangs_left: alloc::vec![false; problem.gangs.len()],
        floors_left: alloc::vec![None; problem.floors.len()],
        misses: 0,
        wasted: 0,
        cost: 0,
        ledger: Ledger { slots: all, room: standing.room.clone(), total_room: standing.total_room },
    };
    let mut run = Run { world, work, variant, plan };
    if !variant.floors_last {
        run.floors();
    }
    if variant.gangs_last {
        run.tasks();
    }
    gang::place_all(&mut run);
    if !variant.gangs_last {
        run.tasks();
    }
    if variant.floors_last {
        run.floors();
    }
    run.plan.weigh(world);
    run.plan
}

fn minimum(world: &World<'_>, standing: &Standing) -> Vec<Slot> {
    let new = |&(pool, n): &(usize, u64)| Slot::fresh(world, pool, n, LaunchCause::Min);
    standing.minimum.iter().map(new).collect()
}

impl Run<'_, '_> {
    /// Tries `ask` on the ledger; what cannot be placed stays in it.
    pub(super) fn attempt(&self, ask: &mut Ask, launch: bool) -> Placed {
        let mut placed = place(self.world, self.work, self.variant, &self.plan.ledger, ask, launch);
        if self.variant.shrink {
            shrink(self.world, &self.plan.ledger, ask, &mut placed);
        }
        placed
    }

    /// Makes it so.
    pub(super) fn commit(&mut self, ask: &Ask, placed: &Placed, cause: LaunchCause, need: Need) {
        let (world, plan) = (self.world, &mut self.plan);
        plan.misses = plan.misses.saturating_add(misses(world, &plan.ledger, ask, placed));
        for pick in &placed.fresh {
            *plan.launches.entry((pick.slot, cause)).or_default() += pick.count;
        }
        let needed = &mut plan.needed;
        book(world, self.variant.existing, &mut plan.ledger, ask, placed, cause, |machine| {
            needed[machine] = needed[machine].max(need);
        });
    }

    /// Floors look at whole machines, whatever runs on them.
    fn floors(&mut self) {
        if self.world.floors.iter().all(Vec::is_empty) {
            return;
        }
        let wanted = || self.world.floors.iter().flatten().copied();
        let items = order::sorted(self.world, wanted(), self.variant.order);
        let mut ask = Ask::of(self.world, items, None);
        let mut whole = minimum(self.world, &self.plan.standing);
        whole.extend(slots(self.world, &self.plan.standing.stays, true));
        whole.extend(self.launched());
        let free = core::mem::replace(&mut self.plan.ledger.slots, whole);
        let placed = self.attempt(&mut ask, true);
        let refused = self.variant.all_or_nothing && !ask.is_done();
        if !refused {
            self.commit(&ask, &placed, LaunchCause::Floor, Need::Floor);
        }
        self.plan.ledger.slots = free;
        if !refused {
            // On the new machines nothing runs yet: to demand they are empty, and they are no waste.
            let new =
                placed.fresh.iter().map(|p| Slot::fresh(self.world, p.slot, p.count, LaunchCause::Floor));
            self.plan.ledger.slots.extend(new);
            let asked = |p: &super::pass::Pick| {
                p.takes.iter().fold(0, |m, (i, _)| m | self.world.requests.all[ask.items[*i].request].mask)
            };
            let idle = |p: &super::pass::Pick| {
                if idle_accelerators(self.world, p.slot, asked(p)) > 0 { p.count } else { 0 }
            };
            self.plan.wasted += placed.fresh.iter().map(idle).sum::<u64>();
        }
        self.share_floors(&ask, refused);
    }

    /// Whole machines that are launched for demand already.
    fn launched(&self) -> Vec<Slot> {
        let fresh = self.plan.ledger.slots.iter().filter_map(|slot| match (slot.kind, slot.cause) {
            (Kind::Fresh(pool), Some(cause)) if cause != LaunchCause::Min => Some((pool, slot.count, cause)),
            _ => None,
        });
        fresh.map(|(pool, count, cause)| Slot::fresh(self.world, pool, count, cause)).collect()
    }

    /// Gives what is missing to the floors that asked for it, the last one first.
    fn share_floors(&mut self, ask: &Ask, refused: bool) {
        let mut left: BTreeMap<usize, u64> = ask.items.iter().map(|i| (i.request, i.left)).collect();
        for (n, floor) in self.world.floors.iter().enumerate().rev() {
            for &(request, count) in floor {
                let missing = left.entry(request).or_default();
                let here = if refused { count } else { count.min(*missing) };
                *missing -= here.min(*missing);
                if here > 0 {
                    let before = self.plan.floors_left[n].map_or(0, |(_, n)| n);
                    self.plan.floors_left[n] = Some((request, here.saturating_add(before)));
                }
            }
        }
    }

    fn tasks(&mut self) {
        let world = self.world;
        let wanted =
            world.tasks.iter().zip(&world.problem.tasks).map(|(&request, task)| (request, task.count));
        let items = order::sorted(world, wanted, self.variant.order);
        let mut ask = Ask::of(world, items, None);
        let placed = self.attempt(&mut ask, true);
        self.commit(&ask, &placed, LaunchCause::Demand, Need::Demand);
        let mut left: BTreeMap<usize, u64> = ask
            .items
            .iter()
            .filter(|item| item.left > 0)
            .map(|Item { request, left }| (*request, *left))
            .collect();
        for (n, request) in world.tasks.iter().enumerate().rev() {
            if let Some(missing) = left.get_mut(request) {
                self.plan.tasks_left[n] = (*missing).min(world.problem.tasks[n].count);
                *missing -= self.plan.tasks_left[n];
            }
        }
    }
}

impl Plan {
    fn weigh(&mut self, world: &World<'_>) {
        let weight = |(&(pool, _), &n): (&(usize, LaunchCause), &u64)| {
            world.fresh_weight[pool].saturating_mul(i128::from(n))
        };
        self.cost = self.launches.iter().map(weight).fold(0, i128::saturating_add);
        let idle = |slot: &&Slot| match (slot.kind, slot.cause) {
            (Kind::Fresh(pool), Some(LaunchCause::Gang | LaunchCause::Demand)) => {
                idle_accelerators(world, pool, slot.touched) > 0
            }
            _ => false,
        };
        if world.problem.conserve_gpu {
            self.wasted += self.ledger.slots.iter().filter(idle).map(|slot| slot.count).sum::<u64>();
        } else {
            self.wasted = 0;
        }
    }
    /// New machines by pool, whatever for.
    pub(super) fn by_pool(&self, pools: usize) -> Vec<u64> {
        let mut out = alloc::vec![0; pools];
        self.launches.iter().for_each(|((pool, _), n)| out[*pool] += n);
        out
    }
    /// Requests, gangs and floors that found no place.
    pub(super) fn unplaced(&self) -> u64 {
        let tasks = self.tasks_left.iter().fold(0, |sum: u64, n| sum.saturating_add(*n));
        let gangs = self.gangs_left.iter().filter(|left| **left).count() as u64;
        let floors = self.floors_left.iter().flatten().fold(0, |sum: u64, (_, n)| sum.saturating_add(*n));
        tasks.saturating_add(gangs).saturating_add(floors)
    }
    /// Does it place everything that `other` places?
    pub(super) fn places_all_of(&self, other: &Self) -> bool {
        let fewer = |(a, b): (&u64, &u64)| a <= b;
        self.tasks_left.iter().zip(&other.tasks_left).all(fewer)
            && self.gangs_left.iter().zip(&other.gangs_left).all(|(a, b)| a <= b)
            && self.floors_left.iter().zip(&other.floors_left).all(|(a, b)| missing(a) <= missing(b))
    }
}

fn missing(floor: &Option<(usize, u64)>) -> u64 {
    floor.map_or(0, |(_, n)| n)
}
