//! In which order machines are looked at, and which of them are worth keeping.

use crate::kube::bulk;
use crate::kube::keep;
use crate::kube::problem::{Keep, Machine, Removal, Stage};
use crate::kube::world::World;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use ostler_model::Timestamp;

/// What each machine gives for its price.
pub(super) struct Values {
    /// Worth of what a machine has for its price, the more the better; by place of the machine.
    gives: Vec<i64>,
}

impl Values {
    pub(super) fn of(world: &World<'_>) -> Self {
        let problem = world.problem;
        let mut rows: BTreeSet<(Vec<i64>, u64)> = BTreeSet::new();
        let mut demand = alloc::vec![0_i128; world.ledger.resource_names().len()];
        for (n, machine) in problem.machines.iter().enumerate() {
            let (Some(node), Stage::Up) = (world.nodes[n], machine.stage) else { continue };
            if machine.pool.is_none() {
                continue;
            }
            rows.insert((world.ledger.capacity(node).to_vec(), machine.price.0));
            let columns = world.ledger.capacity(node).iter().zip(world.ledger.free(node));
            demand.iter_mut().zip(columns).for_each(|(sum, (has, free))| *sum += i128::from(has - free));
        }
        let rows: Vec<(Vec<i64>, u64)> = rows.into_iter().collect();
        let prices = bulk::Prices::of(&rows, &demand);
        let gives = (0..problem.machines.len()).map(|n| match world.nodes[n] {
            Some(node) => prices.worth_per_price(world.ledger.capacity(node), problem.machines[n].price.0),
            None => 0,
        });
        Self { gives: gives.collect() }
    }

    /// The more the better.
    pub(super) fn gives(&self, machine: usize) -> i64 {
        self.gives[machine]
    }
}

/// Machines that nothing keeps: those in whose place others have come; those found unneeded before, the longest first;
/// then the empty ones; then
/// those that give the least for their price, of equals the least used. Pools take turns, so that none waits
/// for another.
pub(super) fn candidates(
    world: &World<'_>,
    values: &Values,
    kept: &BTreeMap<usize, Keep>,
    removals: &[Removal],
) -> Vec<usize> {
    let gone: BTreeSet<usize> = removals.iter().map(|removal| removal.machine).collect();
    let free = |machine: &usize| !kept.contains_key(machine) && !gone.contains(machine);
    let mut list: Vec<usize> = world.order.iter().copied().filter(free).collect();
    list.sort_by_cached_key(|&machine| worth_keeping(world, values, machine));
    list
}

/// If there were more of them than a plan can look at: after those that have been replaced or found unneeded already,
/// whose clocks run, each has its turn.
pub(super) fn in_turn(world: &World<'_>, mut list: Vec<usize>) -> Vec<usize> {
    let from = &world.problem.turn.empty;
    if from.is_some() {
        let known = |machine: &Machine| machine.replaced || machine.unneeded_since.is_some();
        let first = list.iter().take_while(|&&machine| known(world.machine(machine))).count();
        by_name_from(world, &mut list[first..], from);
    }
    list
}

/// By name, from this one on and around.
pub(super) fn by_name_from(world: &World<'_>, machines: &mut [usize], from: &Option<Arc<str>>) {
    machines.sort_by_cached_key(|&machine| {
        let name = &world.machine(machine).name;
        (from.as_ref().is_some_and(|from| name < from), name.clone())
    });
}

/// The greater, the later a machine goes; of equals the first by name.
type Rank = (bool, Timestamp, bool, i64, u32, Arc<str>);

pub(super) fn worth_keeping(world: &World<'_>, values: &Values, machine: usize) -> Rank {
    let record = world.machine(machine);
    let loaded = world.movable(machine).next().is_some();
    let since = record.unneeded_since.unwrap_or(Timestamp(u64::MAX));
    (
        !record.replaced,
        since,
        loaded,
        values.gives(machine),
        keep::used::share(world, machine),
        record.name.clone(),
    )
}
