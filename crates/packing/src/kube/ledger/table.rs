//! Dense numbers for what has names: resources, and the values of topology labels.

use super::Node;
use crate::kube::fit::node_affinity::Place;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use ostler_model::kube::{HOSTNAME, KubeNode, PODS, PodSpec};
use ostler_model::{Quantity, Resources as Amounts};

/// The columns, and the requests of all specs in them.
#[derive(Debug)]
pub(crate) struct Resources {
    pub(crate) names: Vec<Arc<str>>,
    pub(crate) requests: Vec<i64>,
}

/// The column of the CPU, in thousandths.
pub(crate) const CPU: usize = 0;
/// The column of the number of pods.
pub(crate) const PODS_COLUMN: usize = 2;

/// A node has at most so much: sums of some thousand pods stay within 64 bits. A petabyte of bytes.
const MOST: i64 = 1 << 50;

impl Resources {
    pub(crate) fn of(specs: &[&PodSpec]) -> Self {
        let first = ["cpu", "memory", PODS];
        let named = specs.iter().flat_map(|spec| spec.requests.0.keys());
        let others: BTreeSet<&Arc<str>> = named.filter(|name| !first.contains(&&***name)).collect();
        let names: Vec<Arc<str>> =
            first.into_iter().map(Arc::from).chain(others.into_iter().cloned()).collect();
        let mut requests = Vec::with_capacity(specs.len() * names.len());
        for spec in specs {
            // An absurd amount is above what any node has.
            requests.extend(columns(&names, &spec.requests).map(|amount| amount.min(MOST + 1)));
            let last = requests.len() - names.len() + PODS_COLUMN;
            requests[last] = 1;
        }
        Self { names, requests }
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    pub(crate) fn capacity(&self, node: &KubeNode) -> impl Iterator<Item = i64> {
        columns(&self.names, &node.allocatable).map(|amount| amount.min(MOST))
    }
}

/// Amounts below zero are none.
fn columns(names: &[Arc<str>], amounts: &Amounts) -> impl Iterator<Item = i64> {
    names.iter().enumerate().map(move |(column, name)| {
        let per_unit = if column == CPU { 10 } else { 10_000 };
        let parts = amounts.get(name).max(Quantity::ZERO).as_ten_thousandths();
        let whole = parts / per_unit + i128::from(parts % per_unit != 0);
        i64::try_from(whole).unwrap_or(i64::MAX)
    })
}

/// No value: the node lacks the label.
pub(crate) const NONE: u32 = u32::MAX;

/// Topology labels and their values, as numbers.
#[derive(Debug, Default)]
pub(crate) struct Topology {
    pub(crate) keys: Vec<Arc<str>>,
    values: Vec<BTreeMap<Arc<str>, u32>>,
    next: Vec<u32>,
    /// The value of each key on each node.
    of: Vec<u32>,
}

impl Topology {
    pub(crate) fn of(specs: &[&PodSpec]) -> Self {
        let mut keys = BTreeSet::new();
        for spec in specs {
            keys.extend(spec.spread.iter().map(|one| &one.topology));
            let terms = spec.affinity.iter().chain(&spec.anti_affinity).chain(&spec.avoids);
            keys.extend(terms.map(|one| &one.topology));
        }
        let keys: Vec<Arc<str>> = keys.into_iter().cloned().collect();
        let (values, next) = (vec![BTreeMap::new(); keys.len()], vec![0; keys.len()]);
        Self { keys, values, next, of: Vec::new() }
    }

    pub(crate) fn key(&self, name: &str) -> u32 {
        self.keys.binary_search_by(|key| (**key).cmp(name)).map_or(NONE, |ix| ix as u32)
    }

    /// The value of a key on a node, or [`NONE`].
    pub(crate) fn value(&self, node: usize, key: u32) -> u32 {
        self.of[node * self.keys.len() + key as usize]
    }

    /// Numbers the values of one more node.
    pub(crate) fn push(&mut self, node: &Node<'_>) {
        for key in 0..self.keys.len() {
            let name = &self.keys[key];
            let value = match node.label(name) {
                None => NONE,
                // A name that was made up occurs once; it needs no entry.
                Some(_) if node.own_name.is_some() && &**name == HOSTNAME && node.named_anew() => {
                    self.next[key] += 1;
                    self.next[key] - 1
                }
                Some(text) => match self.values[key].get(text) {
                    Some(&value) => value,
                    None => {
                        self.values[key].insert(text.into(), self.next[key]);
                        self.next[key] += 1;
                        self.next[key] - 1
                    }
                },
            };
            self.of.push(value);
        }
    }

    /// Takes back the last [`Self::push`]. Numbers that were given to made-up names are used again.
    pub(crate) fn pop(&mut self, node: &Node<'_>) {
        let start = self.of.len() - self.keys.len();
        for key in 0..self.keys.len() {
            let made_up = &*self.keys[key] == HOSTNAME && node.named_anew();
            if made_up && self.of[start + key] != NONE && self.of[start + key] + 1 == self.next[key] {
                self.next[key] -= 1;
            }
        }
        self.of.truncate(start);
    }
}
