//! Nodes that nothing needs any more.

use alloc::borrow::ToOwned;
use alloc::vec::Vec;

use super::bounds::ending_key;
use super::decision::{Cause, Memory};
use super::input::State;
use super::world::{Entry, Fate, Node, World};

/// Ends nodes idle for longer than their timeout, longest first, down to the minimum of their pool. Nodes that are to
/// be launched count to the minimum.
pub(super) fn end_idle(world: &mut World<'_, '_>) {
    let mut count = world.shape();
    for entry in candidates(world) {
        let node = &mut world.nodes[entry.node as usize];
        let (kind_of, idle_ms) = (node.kind_of, node.idle_ms);
        let min = world.pool(kind_of).map_or(0, |pool| pool.min_workers);
        if count[kind_of as usize] > min {
            count[kind_of as usize] -= 1;
            world.nodes[entry.node as usize].fate = Fate::End(Cause::Idle { idle_ms });
        }
    }
}

/// Workers that took nothing and are over their timeout, in the order of ending.
fn candidates(world: &World<'_, '_>) -> Vec<Entry> {
    let over = |node: &Node| timeout_s(world, node).is_some_and(|s| node.idle_ms as f64 > s * 1000.0);
    let ends = |entry: &&Entry| {
        let node = &world.nodes[entry.node as usize];
        node.fate == Fate::Keep && !node.head && over(node) && world.untouched(node)
    };
    let mut entries: Vec<Entry> = world.list.iter().filter(ends).copied().collect();
    entries.sort_by_cached_key(|&entry| ending_key(world, entry));
    entries
}

fn timeout_s(world: &World<'_, '_>, node: &Node) -> Option<f64> {
    if pending_rank(node).is_some() {
        return world.input.pending_idle.map(|pending| pending.timeout_s);
    }
    world.pool(node.kind_of).and_then(|pool| pool.idle_timeout_s).or(world.input.idle_timeout_s)
}

/// Nodes on their way that can be ended without a drain, the cheapest first. A request to the provider cannot be
/// taken back, so `Requested` is none of them.
fn pending_rank(node: &Node) -> Option<u8> {
    match node.state? {
        State::Queued => Some(0),
        State::Allocated => Some(1),
        State::Installing => Some(2),
        _ => None,
    }
}

/// Gives nodes on their way that nothing needs an idle time, the longest to the cheapest to end. Times are kept by
/// number, not by node: which of several equal nodes demand takes is chance.
pub(super) fn time_pending(world: &mut World<'_, '_>, memory: &mut Memory) {
    let Some(pending) = world.input.pending_idle else { return };
    let mut unneeded = alloc::vec![Vec::new(); world.type_count];
    for entry in &world.list {
        let node = &world.nodes[entry.node as usize];
        if let Some(rank) = pending_rank(node)
            && node.fate == Fate::Keep
            && !node.head
            && world.untouched(node)
        {
            unneeded[node.kind_of as usize].push((rank, entry.node));
        }
    }
    let mut before = core::mem::take(&mut memory.unneeded_since_s);
    for (kind_of, mut nodes) in unneeded.into_iter().enumerate() {
        let Some(name) = world.pool(kind_of as u32).map(|pool| pool.name).filter(|_| !nodes.is_empty())
        else {
            continue;
        };
        nodes.sort_by_key(|node| node.0);
        let mut since = before.remove(name).unwrap_or_default();
        since.resize(nodes.len(), pending.now_s);
        for ((_, node), since_s) in nodes.into_iter().zip(&since) {
            world.nodes[node as usize].idle_ms = ((pending.now_s - since_s) * 1000.0) as i64;
        }
        memory.unneeded_since_s.insert(name.to_owned(), since);
    }
}

/// Forgets the times of nodes on their way that end for being idle: the rest must not inherit them.
pub(super) fn forget_ended(world: &World<'_, '_>, memory: &mut Memory) {
    if world.input.pending_idle.is_none() {
        return;
    }
    for node in world.list.iter().map(|entry| &world.nodes[entry.node as usize]) {
        let idle = matches!(node.fate, Fate::End(Cause::Idle { .. })) && pending_rank(node).is_some();
        let pool = world.pool(node.kind_of).filter(|_| idle);
        if let Some(since) = pool.and_then(|pool| memory.unneeded_since_s.get_mut(pool.name))
            && !since.is_empty()
        {
            since.remove(0);
        }
    }
}
