//! The best of several plans.
//!
//! Ray's own way is the measure: what it places must be placed. Among the plans that do so the best leaves the
//! least unplaced, then passes over the fewest preferred selectors, then wastes the fewest accelerators, then is
//! the lightest; equals go to the documented scoring, which is tried first.

use super::bounds::{Standing, standing};
use super::ledger::{Slot, slots};
use super::pass::Work;
use super::plan::{Plan, run};
use super::variant::{DOCUMENTED, OTHERS, RAY, Variant};
use super::world::World;
use alloc::rc::Rc;
use alloc::vec::Vec;

/// Other ways are tried until this much was weighed up: some tens of milliseconds. Only problems of thousands of
/// different machines reach it.
const ENOUGH: u64 = 100_000;

/// Decides by the best of the ways that are worth trying.
pub(super) fn best(world: &World<'_>) -> Plan {
    let work = Work::default();
    let standings = Standings::of(world);
    let attempt = |variant: &Variant| {
        let (standing, slots) = standings.of_variant(variant);
        run(world, &work, variant, standing, slots)
    };
    let documented = attempt(&DOCUMENTED);
    if documented.unplaced() == 0 && !launches_for_demand(&documented) {
        return documented;
    }
    let ray = attempt(&RAY);
    let mut plans: Vec<Plan> = Vec::new();
    plans.push(documented);
    let no_gangs = world.gangs.is_empty();
    for variant in OTHERS.iter().filter(|variant| !(variant.gangs_last && no_gangs)) {
        if work.done() > ENOUGH {
            break;
        }
        plans.push(attempt(variant));
    }
    plans.retain(|plan| plan.places_all_of(&ray));
    // `min_by_key` takes the first of equals.
    let Some(best) = plans.into_iter().min_by_key(quality) else { return ray };
    if quality(&ray) < quality(&best) || is_more_than(world, &best, &ray) { ray } else { best }
}

/// What is there, or on its way, is used before anything is launched, whatever was preferred: so what was launched
/// in one decision is not found wanting in the next.
fn quality(plan: &Plan) -> (u64, bool, u64, u64, i128) {
    (plan.unplaced(), launches_for_demand(plan), plan.misses, plan.wasted, plan.cost)
}

fn launches_for_demand(plan: &Plan) -> bool {
    plan.launches.keys().any(|(_, cause)| *cause != crate::problem::LaunchCause::Min)
}

/// Launches all that `ray` launches and more, and places no more for it.
fn is_more_than(world: &World<'_>, plan: &Plan, ray: &Plan) -> bool {
    let (mine, rays) = (plan.by_pool(world.fresh.len()), ray.by_pool(world.fresh.len()));
    mine != rays && mine.iter().zip(&rays).all(|(a, b)| a >= b) && plan.unplaced() >= ray.unplaced()
}

/// Who stays, by either order of victims, and what is free there; one and the same where nobody has to go.
struct Standings {
    warm: Rc<(Rc<Standing>, Vec<Slot>)>,
    raw: Rc<(Rc<Standing>, Vec<Slot>)>,
}

impl Standings {
    fn of(world: &World<'_>) -> Self {
        let by = |raw| {
            let standing = standing(world, raw);
            let slots = slots(world, &standing.stays, false);
            Rc::new((Rc::new(standing), slots))
        };
        let warm = by(false);
        let raw = if warm.0.removals.is_empty() { Rc::clone(&warm) } else { by(true) };
        Self { warm, raw }
    }
    fn of_variant(&self, variant: &Variant) -> &(Rc<Standing>, Vec<Slot>) {
        if variant.raw_victims { &self.raw } else { &self.warm }
    }
}
