//! Onto what is there: nodes that are up, machines that are coming, machines that are launched anyway.

use super::lot::{Lot, Waiting};
use crate::kube::bulk::{self, Bits, Group, Spare};
use crate::kube::ledger::NodeIx;
use crate::kube::problem::{Place, Stage};
use crate::kube::world::{What, World};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// Pods that the scheduler has nominated keep their node: others are leaving it for them.
pub(super) fn nominated(world: &mut World<'_>, waiting: &Waiting) {
    let mut list: Vec<_> = world.ledger.nominations().to_vec();
    list.sort_by_key(|one| waiting.ours.binary_search(&one.pod).is_err());
    for one in list {
        let What::Machine(machine) = world.what(one.node) else { continue };
        if !world.takes[machine] || waiting.ours.binary_search(&one.pod).is_err() {
            continue;
        }
        let Some(node) = world.nodes[machine] else { continue };
        world.ledger.withdraw(one.pod);
        world.ledger.place(one.spec, node);
        world.placed.push((one.pod as usize, Place::Machine(machine)));
    }
}

/// Places what fits on these nodes; the lots keep what does not.
pub(super) fn place(world: &mut World<'_>, lots: &mut [Lot], targets: &[NodeIx]) {
    for n in hardest_first(world, lots) {
        seek(world, &mut lots[n], targets);
    }
    crowd(world, lots, targets);
    // Nodes that somebody else is awaited on are judged one by one.
    let awaited: Vec<NodeIx> =
        targets.iter().copied().filter(|&node| world.ledger.is_awaited(node)).collect();
    for lot in lots.iter_mut().filter(|lot| lot.left() > 0 && !awaited.is_empty()) {
        seek(world, lot, &awaited);
    }
}

/// Lots that are not plain, by place: those that ask for the most first.
pub(super) fn hardest_first(world: &World<'_>, lots: &[Lot]) -> Vec<usize> {
    let mut order: Vec<usize> =
        (0..lots.len()).filter(|&n| lots[n].left() > 0 && !world.is_plain(lots[n].spec)).collect();
    order.sort_by_cached_key(|&n| {
        let spec = lots[n].spec;
        let priority = world.ledger.spec(spec).map_or(0, |spec| spec.priority);
        (Reverse((priority, world.ledger.request(spec).to_vec())), world.rank[spec as usize])
    });
    order
}

/// Nodes that are up and take pods, the fullest first, so that the emptiest can go.
pub(super) fn up(world: &World<'_>) -> Vec<NodeIx> {
    fullest_first(world, |stage| stage != Stage::Coming)
}

/// Machines that are coming, the fullest first, then new ones.
pub(super) fn to_be(world: &World<'_>) -> Vec<NodeIx> {
    let mut list = fullest_first(world, |stage| stage == Stage::Coming);
    list.extend(world.opened.iter().map(|opened| opened.node));
    list
}

/// All of them: up before coming before new.
pub(super) fn all(world: &World<'_>) -> Vec<NodeIx> {
    let mut list = up(world);
    list.extend(to_be(world));
    list
}

fn fullest_first(world: &World<'_>, of: impl Fn(Stage) -> bool) -> Vec<NodeIx> {
    let mut list = Vec::new();
    let mut most = [1_i64; 2];
    for &machine in &world.order {
        let (true, Some(node)) = (world.takes[machine], world.nodes[machine]) else { continue };
        most.iter_mut().zip(world.ledger.capacity(node)).for_each(|(most, &has)| *most = (*most).max(has));
        if of(world.machine(machine).stage) {
            list.push(node);
        }
    }
    let share = |free: i64, most: i64| (i128::from(free.max(0)) << 20) / i128::from(most);
    let free = |node: NodeIx| -> i128 {
        world.ledger.free(node).iter().zip(most).map(|(&free, most)| share(free, most)).sum()
    };
    let mut list: Vec<(i128, usize, NodeIx)> =
        list.into_iter().enumerate().map(|(rank, node)| (free(node), rank, node)).collect();
    list.sort_unstable();
    list.into_iter().map(|(.., node)| node).collect()
}

/// One pod after the other, each judged by all filters.
pub(super) fn seek(world: &mut World<'_>, lot: &mut Lot, targets: &[NodeIx]) {
    let may = |world: &World<'_>, node: NodeIx| {
        world.is_of(world.pool_of(node), lot.only)
            && has_room(world.ledger.request(lot.spec), world.ledger.free(node))
            && world.ledger.static_fit(lot.spec, node)
    };
    let mut nodes: Vec<NodeIx> = targets.iter().copied().filter(|&node| may(world, node)).collect();
    if chooses_its_place(world, lot) {
        roomiest_place_first(world, lot, &mut nodes);
    }
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

/// Pods that must be together while none of them is anywhere: all go to the place of the first.
pub(super) fn chooses_its_place(world: &World<'_>, lot: &Lot) -> bool {
    let group = world.ledger.kind(lot.spec).and_then(|kind| kind.affinity);
    group.is_some_and(|group| world.ledger.affinity(group).is_nowhere())
}

/// Puts the nodes of that place at the front that takes the most of the lot; of equals the first.
fn roomiest_place_first(world: &World<'_>, lot: &Lot, nodes: &mut [NodeIx]) {
    let Some(term) = world.ledger.spec(lot.spec).and_then(|spec| spec.affinity.first()) else { return };
    let place = |node: NodeIx| world.ledger.label(node, &term.topology);
    let mut room: BTreeMap<Option<&str>, u64> = BTreeMap::new();
    for &node in nodes.iter() {
        let columns = world.ledger.request(lot.spec).iter().zip(world.ledger.free(node));
        let fits =
            columns.filter(|(ask, _)| **ask > 0).map(|(&ask, &free)| (free / ask).unsigned_abs()).min();
        *room.entry(place(node)).or_default() += fits.unwrap_or(0);
    }
    let takes = |node: &NodeIx| room.get(&place(*node)).copied().unwrap_or(0).min(lot.left());
    nodes.sort_by_key(|node| Reverse(takes(node)));
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
        let pool = world.pool_of(node);
        let key = (world.ledger.class(node), pool.filter(|_| pooled));
        let class = *classes.entry(key).or_insert_with(|| {
            let fits = |&c: &usize| {
                let lot = &lots[crowds[c].lots[0]];
                world.is_of(pool, lot.only) && world.ledger.static_fit(lot.spec, node)
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
