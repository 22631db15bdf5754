//! The nodes that count for a topology spread: those with all of the pod's topology labels that its policies let in.

use super::node::Node;
use super::statics::Statics;
use super::table::{NONE, Topology};
use alloc::vec::Vec;

/// Which nodes count, and how many there are in each place.
#[derive(Debug)]
pub(crate) struct Scope {
    rule: Rule,
    counts: Vec<bool>,
    nodes_in: Vec<u32>,
    places: u32,
}

/// What makes a node count.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rule {
    /// The label whose values are the places.
    pub(crate) key: u32,
    /// Labels that a node must have, this one among them; sorted.
    pub(crate) keys: Vec<u32>,
    /// Pods that ask the same of a node's nature, if one of the policies cares.
    pub(crate) group: Option<u32>,
    /// Node selector and affinity must allow the node.
    pub(crate) affinity: bool,
    /// The taints must be borne.
    pub(crate) taints: bool,
}

impl Scope {
    pub(crate) const fn new(rule: Rule) -> Self {
        Self { rule, counts: Vec::new(), nodes_in: Vec::new(), places: 0 }
    }

    /// The label whose values are the places.
    pub(crate) const fn key(&self) -> u32 {
        self.rule.key
    }

    /// Places with a node that counts.
    pub(crate) const fn places(&self) -> u32 {
        self.places
    }

    /// The place of a node that counts.
    pub(crate) fn place_of(&self, node: usize, topology: &Topology) -> Option<u32> {
        let counts = self.counts.get(node).copied().unwrap_or(false);
        counts.then(|| topology.value(node, self.rule.key))
    }

    /// Does the node count at all, removed or not?
    pub(crate) fn counts(&self, node: usize) -> bool {
        self.counts.get(node).copied().unwrap_or(false)
    }

    /// Learns of one more node, and counts it.
    pub(crate) fn push(&mut self, ix: usize, node: &Node<'_>, topology: &Topology, statics: &Statics<'_>) {
        let labelled = self.rule.keys.iter().all(|&key| topology.value(ix, key) != NONE);
        let allowed = || {
            self.rule.group.is_none_or(|group| {
                let facts = statics.facts(group, node);
                (!self.rule.affinity || facts.affinity()) && (!self.rule.taints || facts.taints())
            })
        };
        let counts = labelled && allowed();
        self.counts.push(counts);
        self.enter(ix, topology);
    }

    /// Takes back the last [`Self::push`], after [`Self::leave`] if the node still counted.
    pub(crate) fn pop(&mut self) {
        self.counts.pop();
    }

    /// The node is there from now on.
    pub(crate) fn enter(&mut self, ix: usize, topology: &Topology) {
        let Some(value) = self.place_of(ix, topology) else { return };
        let value = value as usize;
        if self.nodes_in.len() <= value {
            self.nodes_in.resize(value + 1, 0);
        }
        self.nodes_in[value] += 1;
        self.places += u32::from(self.nodes_in[value] == 1);
    }

    /// The node is not there any more.
    pub(crate) fn leave(&mut self, ix: usize, topology: &Topology) {
        let Some(value) = self.place_of(ix, topology) else { return };
        let nodes = &mut self.nodes_in[value as usize];
        *nodes -= 1;
        self.places -= u32::from(*nodes == 0);
    }
}
