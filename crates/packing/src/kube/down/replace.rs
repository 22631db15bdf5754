//! Cheaper machines in the place of dearer ones: one for one, or a few for many.
//!
//! Looked for when nothing else moves: no machine could just go, none is on its way in or out. The machines
//! that are worth the least for their price are given up together, one, two, four and so on; their pods go
//! where there is room, and for the rest new machines are packed as the expander would. The set that saves
//! the most is taken, if it saves enough of what it replaces, and only if the plan that comes after it would
//! indeed find all pods a place. Prices fall with every replacement, so there is no way back to where it began.

use super::moving::Mover;
use super::order::{self, Values};
use super::{Going, WINDOWS};
use crate::kube::bulk::{self, Ask, Choice, Group};
use crate::kube::keep;
use crate::kube::problem::{Decision, Keep, RemovalCause, Replacement, Stage};
use crate::kube::up::Grown;
use crate::kube::up::{fresh, probe::Probes};
use crate::kube::world::World;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use ostler_model::kube::Expander;

/// So many machines are looked at one by one: half of them the dearest for their use, the others in turn. The sets of
/// many look at all.
const SINGLES: usize = 200;

/// A set of machines, and what would stand for it.
struct Exchange {
    old: Vec<usize>,
    new: Vec<(usize, u64)>,
    saves: u64,
}

/// The best exchange, if there is one; at most one in a plan, so that each is seen through before the next.
pub(super) fn cheaper<'a>(
    world: &mut World<'a>,
    values: &Values,
    grown: &Grown,
    (before, kept): (&BTreeMap<usize, Keep>, &mut BTreeMap<usize, Keep>),
    go: &mut Going<'a>,
    decision: &Decision,
) -> Vec<Replacement> {
    let restless = |machine: &crate::kube::problem::Machine| {
        machine.replaces || matches!(machine.stage, Stage::Coming | Stage::Leaving)
    };
    if go.holds.gate.is_some()
        || !decision.launches.is_empty()
        || !go.removals.is_empty()
        || go.unneeded.iter().any(|machine| !go.holds.waits.contains_key(machine))
        || world.problem.machines.iter().any(restless)
    {
        return Vec::new();
    }
    let mut probes = Probes::of(world);
    let mut mover = Mover::of(world, values, kept, grown, WINDOWS[0]);
    let scene = Scene { values, grown, kept: before };
    let mut found: Vec<Exchange> = Vec::new();
    found.extend(for_due(world, &mut mover, &mut probes, &scene, kept));
    let is_due = !found.is_empty();
    if !is_due && world.problem.policy.consolidate {
        let order = candidates(world, kept);
        let mut size = 2;
        while size / 2 < order.len() {
            let set = &order[..size.min(order.len())];
            found.extend(
                exchange(world, &mut mover, &mut probes, set, true).filter(|one| one.saves_enough(world)),
            );
            size *= 2;
        }
        let pools = world.problem.pools.iter().filter(|pool| !pool.gone);
        let cheapest = pools.map(|pool| pool.price).min().unwrap_or_default();
        let mut singles = order.clone();
        singles.retain(|&machine| world.machine(machine).price > cheapest);
        go.turn.replace = None;
        if singles.len() > SINGLES {
            let others = &mut singles[SINGLES / 2..];
            order::by_name_from(world, others, &world.problem.turn.replace);
            go.turn.replace = Some(world.machine(others[SINGLES / 2]).name.clone());
            singles.truncate(SINGLES);
        }
        for machine in &singles {
            let single = core::slice::from_ref(machine);
            found.extend(
                exchange(world, &mut mover, &mut probes, single, true).filter(|one| one.saves_enough(world)),
            );
        }
        found.sort_by(|a, b| b.saves.cmp(&a.saves).then(a.old.len().cmp(&b.old.len())));
    }
    let Some(chosen) = found.into_iter().take(8).find(|one| scene.holds(world, one)) else {
        return Vec::new();
    };
    let ripe = is_due || chosen.old.iter().all(|&machine| keep::long_enough(world, machine));
    for &machine in &chosen.old {
        go.unneeded.push(machine);
        kept.insert(machine, if ripe { Keep::ReplacementComing } else { Keep::NotLongEnough });
    }
    if !ripe {
        return Vec::new();
    }
    alloc::vec![Replacement { old: chosen.old, new: chosen.new }]
}

/// For the first machine that is to go whatever it costs, and for whose pods others can be had. If none are wanted it
/// could go, and waits for something else.
fn for_due(
    world: &mut World<'_>,
    mover: &mut Mover,
    probes: &mut Probes,
    scene: &Scene<'_>,
    kept: &BTreeMap<usize, Keep>,
) -> Option<Exchange> {
    let mut due = candidates(world, kept);
    due.retain(|machine| matches!(kept[machine], Keep::Due { .. }));
    due.truncate(SINGLES);
    due.into_iter().find_map(|machine| {
        let by_priority = matches!(kept[&machine], Keep::Due { cause: RemovalCause::Outdated, .. });
        let one = exchange(world, mover, probes, &[machine], by_priority)?;
        (!one.new.is_empty() && scene.holds(world, &one)).then_some(one)
    })
}

/// Machines that nothing but their pods keeps, those first whose pods are worth the least for the price.
fn candidates(world: &World<'_>, kept: &BTreeMap<usize, Keep>) -> Vec<usize> {
    let only_pods = |machine: &usize| {
        let keep = kept.get(machine);
        matches!(keep, Some(Keep::Used { .. } | Keep::NoPlace { .. } | Keep::Due { .. } | Keep::NotLookedAt))
    };
    let mut list: Vec<_> = world
        .order
        .iter()
        .copied()
        .filter(only_pods)
        .enumerate()
        .map(|(rank, machine)| {
            let price = u64::from(keep::used::share(world, machine)).saturating_mul(1_000_000);
            // Used for its price: by the share of it, and what that share costs.
            let dear = world.machine(machine).price.0.max(1);
            ((price / dear, rank), machine)
        })
        .collect();
    list.sort_unstable();
    list.into_iter().map(|(_, machine)| machine).collect()
}

/// The cheapest machines for what of these has no place elsewhere. `by_priority`: as the expander prefers pools, no worse
/// than those that these are of.
fn exchange(
    world: &mut World<'_>,
    mover: &mut Mover,
    probes: &mut Probes,
    old: &[usize],
    by_priority: bool,
) -> Option<Exchange> {
    let mark = world.ledger.mark();
    let rest = mover.rest(world, old);
    world.ledger.back_to(mark);
    let rest = rest?;
    // Pods that look at other pods are judged one by one afterwards; here they count by their size.
    let mut groups: BTreeMap<(u32, Vec<i64>), (u32, u64)> = BTreeMap::new();
    for spec in rest {
        let key = (world.ledger.nature(spec), world.ledger.request(spec).to_vec());
        groups.entry(key).or_insert((spec, 0)).1 += 1;
    }
    let mut list = Vec::new();
    for ((_, ask), (spec, count)) in groups {
        list.push((
            world.rank[spec as usize],
            Group { ask, count, kinds: probes.suits(world, spec).clone() },
        ));
    }
    list.sort_by_key(|(rank, _)| *rank);
    let groups: Vec<Group> = list.into_iter().map(|(_, group)| group).collect();
    let mut kinds = fresh::kinds(world, probes);
    if by_priority && world.problem.policy.expander == Expander::Priority {
        // What was preferred is not given up for what is not, however cheap.
        let pools = old.iter().filter_map(|&machine| world.machine(machine).pool);
        let least = pools.map(|pool| world.problem.pools[pool].priority).max();
        kinds.iter_mut().filter(|kind| Some(kind.priority) < least).for_each(|kind| kind.room = 0);
    }
    let ask = Ask {
        groups: &groups,
        kinds: &kinds,
        shares: &world.room.groups,
        total: world.room.total,
        // What the expander would not choose it would soon undo.
        choice: Choice::from(world.problem.policy.expander),
    };
    let packed = bulk::pack(&ask);
    if packed.unplaced() > 0 {
        return None;
    }
    let mut new: BTreeMap<usize, u64> = BTreeMap::new();
    for batch in &packed.batches {
        *new.entry(batch.kind).or_default() += batch.count;
    }
    let price: u64 = old.iter().map(|&machine| world.machine(machine).price.0).sum();
    let costs = u64::try_from(packed.price(&kinds)).unwrap_or(u64::MAX);
    let new: Vec<(usize, u64)> = new.into_iter().collect();
    Some(Exchange { old: old.to_vec(), new, saves: price.saturating_sub(costs) })
}

/// What exchanges are judged by.
struct Scene<'s> {
    values: &'s Values,
    grown: &'s Grown,
    kept: &'s BTreeMap<usize, Keep>,
}

impl Scene<'_> {
    /// Would the plan that comes once the new machines are up find all pods of the old ones a place? It takes the old
    /// ones in an order that may have shifted by then.
    fn holds(&self, world: &mut World<'_>, exchange: &Exchange) -> bool {
        let mut order = exchange.old.clone();
        order.sort_by_cached_key(|&machine| order::worth_keeping(world, self.values, machine));
        let orders = [order.clone(), order.into_iter().rev().collect()];
        let ways = WINDOWS.iter().flat_map(|&window| orders.iter().map(move |order| (window, order)));
        let mut all_go = |(window, order): (usize, &Vec<usize>)| {
            let mark = world.ledger.mark();
            let mut mover = Mover::of(world, self.values, self.kept, self.grown, window);
            let mut nodes = Vec::new();
            for &(pool, count) in &exchange.new {
                let template = &world.problem.pools[pool].template;
                nodes.extend((0..count).map(|_| world.ledger.add_node(template)));
            }
            mover.prefer(&nodes);
            let all = order.iter().all(|&machine| mover.empty(world, machine).is_ok());
            world.ledger.back_to(mark);
            all
        };
        let mut ways = ways;
        ways.all(&mut all_go)
    }
}

impl Exchange {
    /// Has every pool its minimum once the old machines are gone?
    fn keeps_minimums(&self, world: &World<'_>) -> bool {
        world.problem.pools.iter().enumerate().all(|(pool, option)| {
            let gone =
                self.old.iter().filter(|&&machine| world.machine(machine).pool == Some(pool)).count() as u64;
            let new = self.new.iter().filter(|(of, _)| *of == pool).map(|(_, count)| count).sum::<u64>();
            gone == 0 || world.size_of(pool) + new >= gone + u64::from(option.min)
        })
    }

    fn saves_enough(&self, world: &World<'_>) -> bool {
        let price: u64 = self.old.iter().map(|&machine| world.machine(machine).price.0).sum();
        let wanted = u128::from(price) * u128::from(world.problem.policy.min_saving_percent);
        self.saves > 0
            && !self.new.is_empty()
            && self.keeps_minimums(world)
            && u128::from(self.saves) * 100 >= wanted
    }
}
