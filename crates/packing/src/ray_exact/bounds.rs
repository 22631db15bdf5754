//! What the configuration asks for by itself: nodes of today's configuration, neither too few nor too many.

use alloc::vec::Vec;
use core::cmp::Reverse;

use super::decision::Cause;
use super::input::{Amounts, State};
use super::score::Real;
use super::world::{Entry, Fate, World};

/// Ends workers whose pool is gone or launches with another configuration now.
pub(super) fn end_outdated(world: &mut World<'_, '_>) {
    if world.input.disable_launch_config_check {
        return;
    }
    for at in 0..world.list.len() {
        let entry = world.list[at];
        let node = &world.nodes[entry.node as usize];
        let wanted = world.pool(node.kind_of).map(|pool| pool.launch_config_hash);
        let outdated =
            wanted.is_none_or(|wanted| !wanted.is_empty() && wanted != launched_with(world, entry));
        if node.fate == Fate::Keep && !node.head && outdated {
            world.nodes[entry.node as usize].fate = Fate::End(Cause::Outdated);
        }
    }
}

/// Ray does not carry the hash over before the node runs.
fn launched_with<'a>(world: &World<'_, 'a>, entry: Entry) -> &'a str {
    let instance = world.input.instances.get(entry.slot as usize);
    instance
        .filter(|instance| instance.state == State::Running)
        .map_or("", |instance| instance.launch_config_hash)
}

/// Adds new nodes, before all others in the list, until each pool has its minimum. One object stands for all of them.
pub(super) fn fill_to_min(world: &mut World<'_, '_>) {
    let shape = world.shape();
    let mut list = Vec::new();
    for pool in world.pool_indices() {
        let min = world.input.pools[pool as usize].min_workers;
        let missing = min.saturating_sub(shape[pool as usize]);
        if missing > 0 {
            let node = world.new_node(pool);
            world.nodes.push(node);
        }
        for _ in 0..missing {
            list.push(Entry { slot: world.new_slot(pool), node: world.nodes.len() as u32 - 1 });
        }
    }
    list.append(&mut world.list);
    world.list = list;
}

/// Ends nodes above the maximum of their pool. The list is grouped by type afterwards, those to end first.
pub(super) fn end_over_pool_max(world: &mut World<'_, '_>) {
    let (mut ending, staying) = split(world);
    let mut types: Vec<u32> = Vec::new();
    let mut by_type = alloc::vec![Vec::new(); world.type_count];
    for entry in staying {
        let kind_of = world.nodes[entry.node as usize].kind_of;
        if by_type[kind_of as usize].is_empty() {
            types.push(kind_of);
        }
        by_type[kind_of as usize].push(entry);
    }
    let mut rest = Vec::new();
    for kind_of in types {
        let mut nodes = core::mem::take(&mut by_type[kind_of as usize]);
        // nodes without a pool are outdated or were left out by now, so this is only about a pool that was left out
        let max = world.pool(kind_of).map_or(u64::MAX, |pool| world.input.max_nodes_of(pool));
        let over = (nodes.len() as u64).saturating_sub(max);
        if over > 0 {
            let ended = end_some(world, &mut nodes, over as usize, Cause::MaxNodesPerPool { max });
            ending.extend(ended);
        }
        rest.extend(nodes);
    }
    ending.extend(rest);
    world.list = ending;
}

/// Ends nodes above the maximum of all. A maximum of 0 does not count here.
pub(super) fn end_over_max(world: &mut World<'_, '_>) {
    let (mut ending, mut staying) = split(world);
    let max = world.input.max_nodes.filter(|&max| max > 0).unwrap_or(u64::MAX);
    let over = (staying.len() as u64).saturating_sub(max);
    if over == 0 {
        return;
    }
    ending.extend(end_some(world, &mut staying, over as usize, Cause::MaxNodes { max }));
    ending.extend(staying);
    world.list = ending;
}

fn split(world: &World<'_, '_>) -> (Vec<Entry>, Vec<Entry>) {
    world.list.iter().partition(|entry| world.nodes[entry.node as usize].ends())
}

/// Ends the first `count` in the order of ending, never the head, which moves to the end of those that stay.
fn end_some(world: &mut World<'_, '_>, nodes: &mut Vec<Entry>, count: usize, cause: Cause) -> Vec<Entry> {
    nodes.sort_by_cached_key(|&entry| ending_key(world, entry));
    let head = nodes.iter().position(|entry| world.nodes[entry.node as usize].head);
    let head = head.map(|at| nodes.remove(at));
    let rest = nodes.split_off(count.min(nodes.len()));
    let ended = core::mem::replace(nodes, rest);
    nodes.extend(head);
    for entry in &ended {
        world.nodes[entry.node as usize].fate = Fate::End(cause);
    }
    ended
}

/// The least ends first: without a Ray node, then idle for longest, then least used.
pub(super) fn ending_key(world: &World<'_, '_>, entry: Entry) -> (bool, Reverse<i64>, Real) {
    let node = &world.nodes[entry.node as usize];
    let instance = node.instance.map(|index| &world.input.instances[index as usize]);
    let running = instance.filter(|instance| instance.state == State::Running);
    let named = running.is_some_and(|instance| instance.has_ray_node_id);
    let reported = running.and_then(|instance| instance.node.as_ref());
    let used = reported.map_or(0.0, |node| mean_used(&node.total, &node.available));
    (named, Reverse(node.idle_ms), Real(used + 0.0))
}

/// Mean share in use over all that there is; what is not among the free counts as used up.
///
/// Before demand is placed: whoever is looked at for ending has none, or is looked at before.
fn mean_used(total: &Amounts<'_>, free: &Amounts<'_>) -> f64 {
    let mut total: Vec<_> = total.iter().filter(|amount| amount.1 > 0.0).collect();
    total.sort_unstable_by_key(|amount| amount.0);
    let find = |name: &str| free.iter().find(|amount| amount.0 == name).map_or(0.0, |amount| amount.1);
    let used = total.iter().fold(0.0, |sum, amount| sum + (amount.1 - find(amount.0)) / amount.1);
    if total.is_empty() { 0.0 } else { used / total.len() as f64 }
}
