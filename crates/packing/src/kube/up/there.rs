//! Onto what is there: nodes that are up, machines that are coming, machines that are launched anyway.

use super::lot::{Lot, Waiting};
use crate::kube::bulk::{self, Bits, Group, Spare};
use crate::kube::ledger::NodeIx;
use crate::kube::problem::{Place, Stage};
use crate::kube::world::{What, World};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Pods that the scheduler has nominated keep their node: others are leaving it for them.
pub(super) fn nominated(world: &mut World<'_>, waiting: &Waiting) {
    let mut list: Vec<_> = world.ledger.nominations().to_vec();
    list.sort_by_key(|one| waiting.ours.binary_search(&one.pod).is_err());
    for one in list {
        let What::Machine(machine) = world.what(one.node) else { continue };
        if !world.takes[machine] || waiting.ours.binary_search(&one.pod).is_err() {
            continue;
        }
        world.ledger.withdraw(one.pod);
        world.ledger.place(one.spec, one.node);
        world.placed.push((one.pod as usize, Place::Machine(machine)));
    }
}

/// Places what fits; the lots keep what does not.
pub(super) fn place(world: &mut World<'_>, lots: &mut [Lot]) {
    let targets = targets(world);
    for lot in &mut *lots {
        if lot.left() > 0 && !world.is_plain(lot.spec) {
            seek(world, lot, &targets);
        }
    }
    crowd(world, lots, &targets);
    // Nodes that somebody else is awaited on are judged one by one.
    let awaited: Vec<NodeIx> = targets.into_iter().filter(|&node| world.ledger.is_awaited(node)).collect();
    for lot in lots.iter_mut().filter(|lot| lot.left() > 0 && !awaited.is_empty()) {
        seek(world, lot, &awaited);
    }
}

/// Nodes that take pods: up before coming before new, the fullest first, so that the emptiest can go.
fn targets(world: &World<'_>) -> Vec<NodeIx> {
    let mut list = Vec::new();
    let mut all = [1_i64; 2];
    for &machine in &world.order {
        let (true, Some(node)) = (world.takes[machine], world.nodes[machine]) else { continue };
        all.iter_mut().zip(world.ledger.capacity(node)).for_each(|(all, &has)| *all = (*all).max(has));
        list.push((machine, node));
    }
    let share = |free: i64, all: i64| (i128::from(free.max(0)) << 20) / i128::from(all);
    let free = |node: NodeIx| -> i128 {
        world.ledger.free(node).iter().zip(all).map(|(&free, all)| share(free, all)).sum()
    };
    let mut list: Vec<(bool, i128, usize, NodeIx)> = list
        .into_iter()
        .enumerate()
        .map(|(rank, (machine, node))| {
            (world.machine(machine).stage == Stage::Coming, free(node), rank, node)
        })
        .collect();
    list.sort_unstable();
    let there = list.into_iter().map(|(.., node)| node);
    there.chain(world.opened.iter().map(|opened| opened.node)).collect()
}

/// One pod after the other, each judged by all filters.
pub(super) fn seek(world: &mut World<'_>, lot: &mut Lot, targets: &[NodeIx]) {
    let may = |world: &World<'_>, node: NodeIx| {
        let pool = || match world.what(node) {
            What::Machine(machine) => world.machine(machine).pool,
            What::Opened(n) => Some(world.opened[n].pool),
            What::Nobody => None,
        };
        lot.only.is_none_or(|only| pool() == Some(only))
            && has_room(world.ledger.request(lot.spec), world.ledger.free(node))
            && world.ledger.static_fit(lot.spec, node)
    };
    let nodes: Vec<NodeIx> = targets.iter().copied().filter(|&node| may(world, node)).collect();
    let (mut at, mut failed) = (0, 0);
    while lot.left() > 0 && failed < nodes.len() {
        let node = nodes[at];
        if world.ledger.fits(lot.spec, node) {
            lot.seat(world, node, 1);
            failed = 0;
        } else {
            at = (at + 1) % nodes.len();
            failed += 1;
        }
    }
}

pub(super) fn has_room(ask: &[i64], free: &[i64]) -> bool {
    ask.iter().zip(free).all(|(&ask, &free)| ask <= 0 || ask <= free)
}

/// Plain lots that are equal to placement.
#[derive(Debug)]
pub(super) struct Crowd {
    /// By place in the list of lots.
    pub(super) lots: Vec<usize>,
    pub(super) group: Group,
}

/// Puts plain lots together that ask the same.
pub(super) fn crowds(world: &World<'_>, lots: &[Lot]) -> Vec<Crowd> {
    let mut crowds: BTreeMap<(Vec<i64>, u32, Option<usize>), Crowd> = BTreeMap::new();
    let mut order: Vec<usize> = (0..lots.len()).collect();
    order.sort_by_key(|&n| (world.rank[lots[n].spec as usize], !lots[n].brings, n));
    for n in order {
        let lot = &lots[n];
        if lot.left() == 0 || !world.is_plain(lot.spec) {
            continue;
        }
        let ask = world.ledger.request(lot.spec).to_vec();
        let key = (ask.clone(), world.ledger.nature(lot.spec), lot.only);
        let crowd = crowds.entry(key).or_insert_with(|| Crowd {
            lots: Vec::new(),
            group: Group { ask, count: 0, kinds: Bits::default() },
        });
        crowd.group.count += lot.left();
        crowd.lots.push(n);
    }
    // The order must not depend on the numbers that natures were given.
    let mut crowds: Vec<Crowd> = crowds.into_values().collect();
    crowds.sort_by_key(|crowd| crowd.lots.first().map(|&n| (world.rank[lots[n].spec as usize], n)));
    crowds
}

/// Seats `count` of a crowd on a node, lot after lot.
pub(super) fn seat(world: &mut World<'_>, crowd: &Crowd, lots: &mut [Lot], node: NodeIx, mut count: u64) {
    for &n in &crowd.lots {
        let taken = count.min(lots[n].left());
        if taken > 0 {
            lots[n].seat(world, node, taken);
            count -= taken;
        }
        if count == 0 {
            break;
        }
    }
}

/// All plain lots at once.
pub(super) fn crowd(world: &mut World<'_>, lots: &mut [Lot], targets: &[NodeIx]) {
    let crowds = crowds(world, lots);
    if crowds.is_empty() {
        return;
    }
    let groups: Vec<Group> = crowds.iter().map(|crowd| crowd.group.clone()).collect();
    let mut classes: BTreeMap<(u32, Option<usize>), usize> = BTreeMap::new();
    let mut takes: Vec<Bits> = Vec::new();
    let mut spares = Vec::new();
    let mut nodes = Vec::new();
    let pooled = lots.iter().any(|lot| lot.only.is_some());
    for &node in targets.iter().filter(|&&node| !world.ledger.is_awaited(node)) {
        let pool = match world.what(node) {
            What::Machine(machine) => world.machine(machine).pool,
            What::Opened(n) => Some(world.opened[n].pool),
            What::Nobody => None,
        };
        let key = (world.ledger.class(node), pool.filter(|_| pooled));
        let class = *classes.entry(key).or_insert_with(|| {
            let fits = |&c: &usize| {
                let lot = &lots[crowds[c].lots[0]];
                lot.only.is_none_or(|only| pool == Some(only)) && world.ledger.static_fit(lot.spec, node)
            };
            takes.push((0..crowds.len()).filter(fits).collect());
            takes.len() - 1
        });
        spares.push(Spare { free: world.ledger.free(node).to_vec(), class });
        nodes.push(node);
    }
    let mut left: Vec<u64> = groups.iter().map(|group| group.count).collect();
    for taken in bulk::spare(&groups, &takes, &spares, &mut left) {
        seat(world, &crowds[taken.group], lots, nodes[taken.spare], taken.count);
    }
}
