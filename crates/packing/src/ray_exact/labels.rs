//! Labels of nodes, as far as demand asks for them, and how well they match selectors.
//!
//! Only keys that a selector or a placement constraint names are kept: nodes that differ in others are equal here.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::input::{Operator, Placement, Request, Selector};
use super::intern::{Interner, List, Names};

/// A key and a value, as numbers.
pub(super) type Label = (u32, u32);

/// All that demand says about labels, and the sets of labels that nodes have.
#[derive(Debug)]
pub(super) struct Labels<'a> {
    keys: Names<'a>,
    values: Names<'a>,
    selectors: Interner<Conjunction>,
    sets: Interner<Label>,
    /// By set and selectors, filled when asked for: -1 is not known yet.
    matches: Vec<Vec<i32>>,
}

type Conjunction = List<Rule>;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Rule {
    key: u32,
    operator: Op,
    values: List<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Op {
    In,
    NotIn,
    Never,
}

impl<'a> Labels<'a> {
    pub(super) fn new() -> Self {
        Self {
            keys: Names::default(),
            values: Names::default(),
            selectors: Interner::new(),
            sets: Interner::new(),
            matches: Vec::new(),
        }
    }

    /// The number of a request's selectors; `None` where it has none at all.
    pub(super) fn selectors(&mut self, request: &Request<'a>) -> Option<u32> {
        if request.selectors.is_empty() {
            return None;
        }
        let list: List<Conjunction> = request.selectors.iter().map(|s| self.conjunction(s)).collect();
        Some(self.selectors.number(&list))
    }

    fn conjunction(&mut self, selector: &Selector<'a>) -> Conjunction {
        let rules = selector.iter().map(|rule| Rule {
            key: self.keys.number(rule.key),
            operator: match rule.operator {
                Operator::In => Op::In,
                Operator::NotIn => Op::NotIn,
                Operator::Unknown => Op::Never,
            },
            values: rule.values.iter().map(|value| self.values.number(value)).collect(),
        });
        rules.collect()
    }

    /// The labels by which a request keeps away from its own kind.
    pub(super) fn apart(&mut self, request: &Request<'a>) -> List<Label> {
        let mut labels = Vec::new();
        for placement in &request.placement {
            if let Placement::AntiAffinity(key, value) = *placement {
                labels.push((self.keys.number(key), self.values.number(value)));
            }
        }
        labels.into_boxed_slice()
    }

    /// The set of a node's labels; later ones overlay earlier ones. All demand has to be known by now.
    pub(super) fn set<'l>(&mut self, labels: impl Iterator<Item = &'l (&'a str, &'a str)>) -> u32
    where
        'a: 'l,
    {
        if self.keys.len() == 0 {
            return self.set_number(&[]);
        }
        let mut set = BTreeMap::new();
        for &(key, value) in labels {
            if let Some(key) = self.keys.find(key) {
                set.insert(key, self.values.number(value));
            }
        }
        self.set_number(&set.into_iter().collect::<Vec<_>>())
    }

    fn set_number(&mut self, labels: &[Label]) -> u32 {
        let number = self.sets.number(labels);
        if number as usize == self.matches.len() {
            self.matches.push(Vec::new());
        }
        number
    }

    /// Whether the set has one of these labels.
    pub(super) fn has_any(&self, set: u32, labels: &[Label]) -> bool {
        let set = self.sets.get(set);
        labels.iter().any(|label| set.contains(label))
    }

    /// The set with these labels added; `None` if it has one of the keys with another value.
    pub(super) fn with(&mut self, set: u32, labels: &[Label]) -> Option<u32> {
        let mut all: BTreeMap<u32, u32> = self.sets.get(set).iter().copied().collect();
        for &(key, value) in labels {
            if *all.entry(key).or_insert(value) != value {
                return None;
            }
        }
        Some(self.set_number(&all.into_iter().collect::<Vec<_>>()))
    }

    /// 0 if no selector of the list holds, the length of the list if the first does, one less for each further one.
    pub(super) fn preference(&mut self, selectors: u32, set: u32) -> i32 {
        let known = &mut self.matches[set as usize];
        if known.len() <= selectors as usize {
            known.resize(selectors as usize + 1, -1);
        }
        if known[selectors as usize] < 0 {
            let list = self.selectors.get(selectors);
            let first = list.iter().position(|all| all.iter().all(|rule| rule.holds(self.sets.get(set))));
            known[selectors as usize] = first.map_or(0, |at| (list.len() - at) as i32);
        }
        known[selectors as usize]
    }
}

impl Rule {
    fn holds(&self, set: &[Label]) -> bool {
        let value = set.iter().find(|label| label.0 == self.key).map(|label| label.1);
        let among = value.is_some_and(|value| self.values.contains(&value));
        match self.operator {
            Op::In => among,
            Op::NotIn => !among,
            Op::Never => false,
        }
    }
}
