//! One node of the ledger.

use crate::kube::fit::node_affinity::Place;
use alloc::sync::Arc;
use alloc::vec::Vec;
use ostler_model::kube::{HOSTNAME, KubeNode};

/// A node, with what is on it.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    /// What it is like.
    pub(crate) facts: &'a KubeNode,
    /// The name of a node that does not exist yet.
    pub(crate) own_name: Option<Arc<str>>,
    /// It has not been removed.
    pub(crate) alive: bool,
    /// Nodes that are alike to every selector are of one class.
    pub(crate) class: u32,
    /// What is on it.
    pub(crate) pods: Vec<Placed>,
    /// Ports that are taken, by number of the ledger, each with how many take it.
    pub(crate) ports: Vec<(u32, u32)>,
    /// Volumes that are in use on it, likewise.
    pub(crate) volumes: Vec<(u32, u32)>,
    /// Nominations that count here.
    pub(crate) awaited: u32,
}

/// A pod on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Placed {
    pub(crate) spec: u32,
    pub(crate) terminating: bool,
}

impl<'a> Node<'a> {
    pub(crate) fn new(facts: &'a KubeNode, own_name: Option<Arc<str>>, class: u32) -> Self {
        Self {
            facts,
            own_name,
            alive: true,
            class,
            pods: Vec::new(),
            ports: Vec::new(),
            volumes: Vec::new(),
            awaited: 0,
        }
    }

    /// Is the label of the host's name one that we made up?
    pub(crate) fn named_anew(&self) -> bool {
        self.own_name.is_some() && !self.facts.labels.contains_key(HOSTNAME)
    }
}

impl Place for Node<'_> {
    fn label(&self, key: &str) -> Option<&str> {
        let given = self.facts.labels.get(key).map(|value| &**value);
        given.or_else(|| self.own_name.as_deref().filter(|_| key == HOSTNAME))
    }

    fn name(&self) -> Option<&str> {
        Some(self.own_name.as_deref().unwrap_or(self.facts.id.as_str()))
    }
}

/// A node as the selectors of a volume see it: without a name.
pub(crate) struct Nameless<'n, 'a>(pub(crate) &'n Node<'a>);

impl Place for Nameless<'_, '_> {
    fn label(&self, key: &str) -> Option<&str> {
        self.0.label(key)
    }

    fn name(&self) -> Option<&str> {
        None
    }
}

/// Counts `by` more of `what`; none left is no entry.
pub(crate) fn count(list: &mut Vec<(u32, u32)>, what: u32, by: i64) {
    let at = list.binary_search_by_key(&what, |&(one, _)| one);
    match at {
        Ok(at) => {
            let left = i64::from(list[at].1) + by;
            match u32::try_from(left) {
                Ok(left) if left > 0 => list[at].1 = left,
                _ => {
                    list.remove(at);
                }
            }
        }
        Err(at) => {
            if let Ok(by @ 1..) = u32::try_from(by) {
                list.insert(at, (what, by));
            }
        }
    }
}
