//! Nodes as the scheduler sees them, in a list whose order decides ties.
//!
//! A list entry names a node object. Entries may share one: Ray makes the new nodes that `min_workers` asks for by
//! repeating one object, and what is done to one of them is done to all, until it is copied when it takes demand.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::catalog::Catalog;
use super::class::{self, Class, Row};
use super::decision::{Cause, Demand, NodeRef, Placed, Record};
use super::input::{Amounts, Input, Instance, Kind, Pool, State};
use super::score::Real;
use super::screen::LeftOut;
use super::store::{Holding, NOTHING, Store};

/// Demand takes what is free; the constraint takes from the totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Demand,
    Constraint,
}

/// A place in the list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// Stays when the node object is copied: an instance's index, or beyond them a number for each new node.
    pub(super) slot: u32,
    pub(super) node: u32,
}

/// A node object.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// Number of its type: the pools in order, then types that the configuration does not have.
    pub(super) kind_of: u32,
    pub(super) instance: Option<u32>,
    pub(super) state: Option<State>,
    pub(super) head: bool,
    pub(super) idle_ms: i64,
    pub(super) fate: Fate,
    /// By source: number of what it has left.
    pub(super) holds: [u32; 2],
}

impl Node {
    pub(super) fn ends(&self) -> bool {
        matches!(self.fate, Fate::End(_))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Launch,
    Keep,
    End(Cause),
}

#[derive(Debug)]
pub(super) struct World<'i, 'a> {
    pub(super) input: &'i Input<'a>,
    pub(super) catalog: Catalog<'a>,
    pub(super) list: Vec<Entry>,
    pub(super) nodes: Vec<Node>,
    pub(super) placed: Vec<Placed>,
    /// By pool, whether it counts; one that is left out does not.
    pub(super) pools: Vec<bool>,
    types: BTreeMap<&'a str, u32>,
    /// By instance: its type.
    kinds: Vec<u32>,
    /// Pools, and types that the configuration does not have.
    pub(super) type_count: usize,
    ranks: Vec<u32>,
    pub(super) store: Store,
    new_slots: Vec<u32>,
    blanks: BTreeMap<(u32, bool), [u32; 2]>,
    /// Room for `reported`.
    rows: Vec<Row<'a>>,
    key: Vec<u64>,
}

impl<'i, 'a> World<'i, 'a> {
    pub(super) fn build(input: &'i Input<'a>, catalog: Catalog<'a>, left_out: &LeftOut) -> Self {
        let mut world = Self {
            input,
            catalog,
            list: Vec::new(),
            nodes: Vec::new(),
            placed: Vec::new(),
            pools: (0..input.pools.len()).map(|pool| !left_out.has(Record::Pool(pool))).collect(),
            types: BTreeMap::new(),
            kinds: Vec::with_capacity(input.instances.len()),
            type_count: 0,
            ranks: Vec::new(),
            store: Store::new(),
            new_slots: Vec::new(),
            blanks: BTreeMap::new(),
            rows: Vec::new(),
            key: Vec::new(),
        };
        world.name_types();
        for (index, instance) in input.instances.iter().enumerate() {
            if !left_out.has(Record::Instance(index)) {
                world.adopt(index as u32, instance);
            }
        }
        world
    }

    fn name_types(&mut self) {
        for (index, pool) in self.input.pools.iter().enumerate() {
            self.types.insert(pool.name, index as u32);
        }
        let mut next = self.input.pools.len() as u32;
        for instance in &self.input.instances {
            let kind_of = *self.types.entry(instance.pool).or_insert(next);
            next += u32::from(kind_of == next);
            self.kinds.push(kind_of);
        }
        self.type_count = next as usize;
        self.ranks = ranks(self);
    }

    /// The pool of a type, if the configuration has it.
    pub(super) fn pool(&self, kind_of: u32) -> Option<&'i Pool<'a>> {
        let index = kind_of as usize;
        self.pools.get(index).is_some_and(|&counts| counts).then(|| &self.input.pools[index])
    }

    pub(super) fn pool_indices(&self) -> impl Iterator<Item = u32> + use<> {
        let counting: Vec<u32> = (0..self.pools.len() as u32).filter(|&i| self.pools[i as usize]).collect();
        counting.into_iter()
    }

    /// Puts an instance into the list, if it is one for the scheduler.
    fn adopt(&mut self, index: u32, instance: &'i Instance<'a>) {
        let kind_of = self.kinds[index as usize];
        let node = match (instance.state, &instance.node) {
            (State::Other, _) | (State::Running, None) => return,
            (State::Running, Some(node)) => {
                let holds = self.reported(kind_of, node);
                self.node(kind_of, index, instance, node.idle_ms, holds, instance.kind == Kind::Head)
            }
            _ if self.pool(kind_of).is_some() => {
                let head = instance.kind == Kind::Head;
                let holds = self.blank(kind_of, head);
                self.node(kind_of, index, instance, 0, holds, head)
            }
            _ if self.input.disable_launch_config_check => return,
            _ => {
                let holds = self.blank(kind_of, false);
                let node = self.node(kind_of, index, instance, 0, holds, false);
                Node { fate: Fate::End(Cause::Outdated), ..node }
            }
        };
        self.list.push(Entry { slot: index, node: self.nodes.len() as u32 });
        self.nodes.push(node);
    }

    fn node(
        &self,
        kind_of: u32,
        i: u32,
        of: &Instance<'_>,
        idle_ms: i64,
        holds: [u32; 2],
        head: bool,
    ) -> Node {
        Node { kind_of, instance: Some(i), state: Some(of.state), head, idle_ms, fate: Fate::Keep, holds }
    }

    /// A node of a pool that is to be launched: the object, for one or more entries.
    pub(super) fn new_node(&mut self, kind_of: u32) -> Node {
        let holds = self.blank(kind_of, false);
        Node { kind_of, instance: None, state: None, head: false, idle_ms: 0, fate: Fate::Launch, holds }
    }

    pub(super) fn new_slot(&mut self, kind_of: u32) -> u32 {
        self.new_slots.push(kind_of);
        (self.input.instances.len() + self.new_slots.len() - 1) as u32
    }

    pub(super) fn node_ref(&self, slot: u32) -> NodeRef {
        match (slot as usize).checked_sub(self.input.instances.len()) {
            None => NodeRef::Instance(slot as usize),
            Some(new) => NodeRef::New(new, self.new_slots[new] as usize),
        }
    }

    /// What an empty node of a type holds: all that the configuration says, nothing if it says nothing.
    fn blank(&mut self, kind_of: u32, head: bool) -> [u32; 2] {
        if let Some(&holds) = self.blanks.get(&(kind_of, head)) {
            return holds;
        }
        let nothing = Pool::default();
        let pool = self.pool(kind_of).unwrap_or(&nothing);
        let mut rows = Vec::new();
        class::rows(&self.catalog, &pool.resources, &pool.resources, &mut rows);
        let class = Class::of(&self.catalog, &rows, self.ranks[kind_of as usize]);
        let class = self.store.add_class(class, false); // one of its own: Ray never takes nodes of two types for equal
        let labels = self.catalog.labels.set(pool.labels.iter());
        let free = self.free_of(&pool.resources);
        let holding = self.store.holding(Holding { class, labels, free, took: NOTHING });
        self.blanks.insert((kind_of, head), [holding; 2]);
        [holding; 2]
    }

    /// What a running node holds.
    fn reported(&mut self, kind_of: u32, node: &super::input::Node<'a>) -> [u32; 2] {
        let (rank, catalog) = (self.ranks[kind_of as usize], &self.catalog);
        class::rows(catalog, &node.total, &node.available, &mut self.rows);
        self.rows.sort_unstable_by(|a, b| a.name().cmp(b.name()));
        class::class_key(&self.rows, rank, &mut self.key);
        let class = self.store.running_class(&self.key, || Class::of(catalog, &self.rows, rank));
        let labels = self.catalog.labels.set(node.labels.iter().chain(&node.dynamic_labels));
        [&node.available, &node.total].map(|amounts| {
            let free = self.free_of(amounts);
            self.store.holding(Holding { class, labels, free, took: NOTHING })
        })
    }
}

impl World<'_, '_> {
    fn free_of(&mut self, amounts: &Amounts<'_>) -> u32 {
        let mut free = self.catalog.defaults.clone();
        for &(name, amount) in amounts {
            if let Some(resource) = self.catalog.resource(name) {
                free[resource as usize] = amount;
            }
        }
        self.store.free_number(&free)
    }

    /// The node with another holding for one source; labels are common to both.
    pub(super) fn with_holding(&mut self, mut node: Node, source: Source, holding: u32) -> Node {
        let labels = self.store.key(holding).labels;
        for (side, holds) in node.holds.iter_mut().enumerate() {
            if side == source as usize {
                *holds = holding;
            } else if self.store.key(*holds).labels != labels {
                *holds = self.store.holding(Holding { labels, ..self.store.key(*holds) });
            }
        }
        node
    }

    /// By type: how many more nodes its pool may have. Nodes that are to end still count.
    pub(super) fn room(&self) -> Vec<u64> {
        let mut room = alloc::vec![0; self.type_count];
        for pool in self.pool_indices() {
            room[pool as usize] = self.input.max_nodes_of(&self.input.pools[pool as usize]);
        }
        for entry in &self.list {
            let room = &mut room[self.nodes[entry.node as usize].kind_of as usize];
            *room = room.saturating_sub(1);
        }
        room
    }

    /// By type: how many nodes are not to end.
    pub(super) fn shape(&self) -> Vec<u64> {
        let mut shape = alloc::vec![0; self.type_count];
        for node in self.list.iter().map(|entry| &self.nodes[entry.node as usize]) {
            shape[node.kind_of as usize] += u64::from(!node.ends());
        }
        shape
    }

    /// Whether nothing was placed on it.
    pub(super) fn untouched(&self, node: &Node) -> bool {
        node.holds.iter().all(|&holding| self.store.key(holding).took == NOTHING)
    }

    pub(super) fn note(&mut self, slot: u32, demand: Demand, count: u64) {
        let node = self.node_ref(slot);
        self.placed.push(Placed { node, demand, count });
    }
}

/// By type: its place in (recoverable availability, priority, availability), the least first.
fn ranks(world: &World<'_, '_>) -> Vec<u32> {
    let of = |list: &[(&str, f64)], name: &str| {
        list.iter().rev().find(|entry| entry.0 == name).map_or(1.0, |entry| entry.1 + 0.0)
    };
    let mut keys = Vec::from_iter(core::iter::repeat_n((Real(1.0), 0, Real(1.0)), world.type_count));
    for (&name, &kind_of) in &world.types {
        let priority = world.pool(kind_of).map_or(0, |pool| pool.priority);
        let recoverable = of(&world.input.recoverable_availabilities, name);
        keys[kind_of as usize] = (Real(recoverable), priority, Real(of(&world.input.availabilities, name)));
    }
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    sorted.dedup();
    keys.iter().map(|key| sorted.partition_point(|known| known < key) as u32).collect()
}
