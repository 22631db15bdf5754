//! Books what a pass found: machines give what is taken, new machines join the ledger.

use super::fit::{Ask, Takes};
use super::ledger::{Kind, Ledger, Slot};
use super::mark::Mark;
use super::pass::{Pick, Placed, spec};
use super::score::Rule;
use super::world::World;
use crate::problem::LaunchCause;
use alloc::vec::Vec;

/// Books `placed`. Machines with something new on them come first, in the order in which they were chosen, then
/// the untouched, then the new ones: Ray's order, which decides ties of later passes.
pub(super) fn book(
    world: &World<'_>,
    rule: Rule,
    ledger: &mut Ledger,
    ask: &Ask,
    placed: &Placed,
    cause: LaunchCause,
    mut used: impl FnMut(usize),
) {
    let mut slots = core::mem::take(&mut ledger.slots);
    let mut next: Vec<Slot> = Vec::with_capacity(slots.len() + placed.picks.len() + placed.fresh.len());
    for pick in &placed.picks {
        let taken = split(&mut slots[pick.slot], pick.count);
        taken.machines().iter().for_each(|&machine| used(machine));
        next.push(with(world, rule, taken, ask, &pick.takes));
    }
    next.extend(slots.into_iter().filter(|slot| slot.count > 0));
    for pick in &placed.fresh {
        let slot = Slot::fresh(world, pick.slot, pick.count, cause);
        ledger.room[pick.slot] = ledger.room[pick.slot].saturating_sub(pick.count);
        ledger.total_room = ledger.total_room.saturating_sub(pick.count);
        next.push(with(world, rule, slot, ask, &pick.takes));
    }
    ledger.slots = next;
}

/// The first `count` machines of a slot as a slot of their own.
fn split(slot: &mut Slot, count: u64) -> Slot {
    let mut taken = slot.clone();
    taken.count = count;
    slot.count -= count;
    if !slot.members.is_empty() {
        slot.first += usize::try_from(count).unwrap_or(0);
    }
    taken
}

fn with(world: &World<'_>, rule: Rule, mut slot: Slot, ask: &Ask, takes: &Takes) -> Slot {
    let mark = Mark::of(world, rule, &slot, spec(world, slot.kind), ask, takes);
    (slot.touched, slot.gpu, slot.gpu_named, slot.label) =
        (mark.touched, mark.gpu, mark.gpu_named, mark.label);
    for &(item, n) in takes {
        for &(r, amount) in &world.requests.all[ask.items[item].request].need {
            slot.free[r] -= amount * i128::from(n);
        }
    }
    slot
}

/// How far what was placed is from what was preferred: one for each selector that was passed over.
pub(super) fn misses(world: &World<'_>, ledger: &Ledger, ask: &Ask, placed: &Placed) -> u64 {
    let of = |class: usize, pick: &Pick| -> u64 {
        let each = pick.takes.iter().map(|&(item, n)| {
            u64::from(world.rank(ask.items[item].request, class).unwrap_or(0)).saturating_mul(n)
        });
        each.sum::<u64>().saturating_mul(pick.count)
    };
    let old = placed.picks.iter().map(|pick| of(spec(world, ledger.slots[pick.slot].kind).class, pick));
    let new = placed.fresh.iter().map(|pick| of(spec(world, Kind::Fresh(pick.slot)).class, pick));
    old.chain(new).fold(0, u64::saturating_add)
}

/// Replaces each new machine by the lightest that takes the same, in the bounds of the pools.
pub(super) fn shrink(world: &World<'_>, ledger: &Ledger, ask: &Ask, placed: &mut Placed) {
    let mut room = ledger.room.clone();
    placed.fresh.iter().for_each(|pick| room[pick.slot] = room[pick.slot].saturating_sub(pick.count));
    let mut out: Vec<Pick> = Vec::new();
    for mut pick in core::mem::take(&mut placed.fresh) {
        while let Some(pool) = lighter(world, &room, ask, &pick) {
            let count = pick.count.min(room[pool]);
            room[pool] -= count;
            room[pick.slot] += count;
            out.push(Pick { slot: pool, count, takes: pick.takes.clone() });
            pick.count -= count;
            if pick.count == 0 {
                break;
            }
        }
        if pick.count > 0 {
            out.push(pick);
        }
    }
    placed.fresh = out;
}

fn lighter(world: &World<'_>, room: &[u64], ask: &Ask, pick: &Pick) -> Option<usize> {
    let mut need = alloc::vec![0_i128; world.names.len()];
    for &(item, n) in &pick.takes {
        let request = &world.requests.all[ask.items[item].request];
        request.need.iter().for_each(|&(r, a)| need[r] += a * i128::from(n));
    }
    let as_good = |pool: usize| {
        pick.takes.iter().all(|&(item, _)| {
            let rank = |pool: usize| world.rank(ask.items[item].request, world.fresh[pool].class);
            rank(pool).is_some_and(|r| Some(r) <= rank(pick.slot))
        })
    };
    let lighter =
        world.by_weight.iter().take_while(|&&p| world.fresh_weight[p] < world.fresh_weight[pick.slot]);
    let fits = |pool: usize| need.iter().zip(&world.fresh[pool].total).all(|(need, total)| need <= total);
    let no_waste = |pool: usize| wasted(world, pool, ask, pick) <= wasted(world, pick.slot, ask, pick);
    lighter.copied().find(|&p| room[p] > 0 && fits(p) && as_good(p) && no_waste(p))
}

/// Accelerators of a pool's machine that nothing here asks for.
fn wasted(world: &World<'_>, pool: usize, ask: &Ask, pick: &Pick) -> usize {
    let asked =
        pick.takes.iter().fold(0, |m, (item, _)| m | world.requests.all[ask.items[*item].request].mask);
    idle_accelerators(world, pool, asked)
}

/// Kinds of accelerators that a machine of the pool has and `touched` does not name.
pub(super) fn idle_accelerators(world: &World<'_>, pool: usize, touched: u128) -> usize {
    let has = world.fresh[pool].has;
    let idle = |r: &&usize| has & super::request::bit(**r) != 0 && touched & super::request::bit(**r) == 0;
    world.names.accelerators.iter().filter(idle).count()
}
