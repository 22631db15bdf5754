//! What never changes between a pod and a node: labels, taints, cordon, features. Asked once for each kind of pod and
//! class of nodes.

use super::node::Node;
use crate::kube::fit::node_affinity;
use crate::kube::fit::taints;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::Cell;
use ostler_model::kube::{Field, HOSTNAME, KubeNode, NodeSelector, PodSpec, Taint, Toleration};

/// What is known about a pair, bit by bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Facts(u8);

impl Facts {
    const KNOWN: u8 = 1;
    const CORDON: u8 = 2;
    const TAINTS: u8 = 4;
    const AFFINITY: u8 = 8;
    const FEATURES: u8 = 16;

    fn of(spec: &PodSpec, node: &Node<'_>) -> Self {
        let bit = |holds: bool, bit: u8| if holds { bit } else { 0 };
        let facts = node.facts;
        Self(
            Self::KNOWN
                | bit(!facts.unschedulable || taints::bears_cordon(spec), Self::CORDON)
                | bit(taints::first_untolerated(&facts.taints, spec).is_none(), Self::TAINTS)
                | bit(node_affinity::allows(spec, node), Self::AFFINITY)
                | bit(spec.features.is_subset(&facts.features), Self::FEATURES),
        )
    }
    /// Not cordoned, or borne.
    pub(crate) const fn cordon(self) -> bool {
        self.0 & Self::CORDON != 0
    }
    /// Every taint is borne.
    pub(crate) const fn taints(self) -> bool {
        self.0 & Self::TAINTS != 0
    }
    /// The labels and the name are as asked for.
    pub(crate) const fn affinity(self) -> bool {
        self.0 & Self::AFFINITY != 0
    }
    /// Every feature is declared.
    pub(crate) const fn features(self) -> bool {
        self.0 & Self::FEATURES != 0
    }
}

/// Answers for each group of specs and class of nodes.
#[derive(Debug)]
pub(crate) struct Statics<'a> {
    groups: Vec<Group<'a>>,
    /// Labels that some spec's selector names, the host's name apart.
    keys: Vec<&'a Arc<str>>,
    classes: BTreeMap<ClassKey<'a>, u32>,
}

/// Specs that ask the same of a node's nature.
#[derive(Debug)]
struct Group<'a> {
    like: &'a PodSpec,
    /// It goes by the name of the host or node: every node is its own class.
    by_name: bool,
    answers: Vec<Cell<u8>>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ClassKey<'a> {
    labels: Vec<Option<&'a Arc<str>>>,
    taints: &'a [Taint],
    unschedulable: bool,
    features: &'a BTreeSet<Arc<str>>,
}

type GroupKey<'a> =
    (&'a BTreeMap<Arc<str>, Arc<str>>, &'a Option<NodeSelector>, &'a [Toleration], &'a BTreeSet<Arc<str>>);

impl<'a> Statics<'a> {
    /// The group of each spec.
    pub(crate) fn of(specs: &[&'a PodSpec]) -> (Self, Vec<u32>) {
        let mut known: BTreeMap<GroupKey<'a>, u32> = BTreeMap::new();
        let mut groups: Vec<Group<'a>> = Vec::new();
        let mut keys = BTreeSet::new();
        let mut group_of = Vec::with_capacity(specs.len());
        for &spec in specs {
            let key = (&spec.node_selector, &spec.node_affinity, &spec.tolerations[..], &spec.features);
            group_of.push(*known.entry(key).or_insert_with(|| {
                let (by_name, named) = named(spec);
                keys.extend(named);
                groups.push(Group { like: spec, by_name, answers: Vec::new() });
                groups.len() as u32 - 1
            }));
        }
        let keys = keys.into_iter().collect();
        (Self { groups, keys, classes: BTreeMap::new() }, group_of)
    }

    /// The class of a node, new if need be.
    pub(crate) fn class(&mut self, node: &'a KubeNode) -> u32 {
        let key = ClassKey {
            labels: self.keys.iter().map(|&key| node.labels.get(key)).collect(),
            taints: &node.taints,
            unschedulable: node.unschedulable,
            features: &node.features,
        };
        let next = self.classes.len() as u32;
        let class = *self.classes.entry(key).or_insert(next);
        if class == next {
            for group in &mut self.groups {
                group.answers.push(Cell::new(0));
            }
        }
        class
    }

    /// Does the group go by the name of the host or node?
    pub(crate) fn goes_by_name(&self, group: u32) -> bool {
        self.groups.get(group as usize).is_some_and(|group| group.by_name)
    }

    /// What is so between specs of a group and a node.
    pub(crate) fn facts(&self, group: u32, node: &Node<'_>) -> Facts {
        let group = &self.groups[group as usize];
        if group.by_name {
            return Facts::of(group.like, node);
        }
        let answer = &group.answers[node.class as usize];
        if answer.get() & Facts::KNOWN == 0 {
            answer.set(Facts::of(group.like, node).0);
        }
        Facts(answer.get())
    }
}

/// Does a spec go by the name of a host, and which labels else does it name?
fn named(spec: &PodSpec) -> (bool, BTreeSet<&Arc<str>>) {
    let mut by_name = false;
    let mut keys: BTreeSet<&Arc<str>> = spec.node_selector.keys().collect();
    for term in spec.node_affinity.iter().flat_map(|selector| &selector.0) {
        for requirement in &term.requirements {
            match &requirement.field {
                Field::Label(key) => {
                    keys.insert(key);
                }
                Field::Name => by_name = true,
            }
        }
    }
    by_name |= keys.iter().any(|key| &***key == HOSTNAME);
    (by_name, if by_name { BTreeSet::new() } else { keys })
}
