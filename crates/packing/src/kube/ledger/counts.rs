//! Pods counted by place: for topology spread, affinity and anti-affinity. Only what is not zero has an entry.

use super::scope::Scope;
use super::table::{NONE, Topology};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Counts by the value of one topology label.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tally(BTreeMap<u32, u32>);

impl Tally {
    /// How many at a value.
    pub(crate) fn get(&self, value: u32) -> u32 {
        self.0.get(&value).copied().unwrap_or(0)
    }

    /// Counts `by` more, and returns how many there were and are.
    fn add(&mut self, value: u32, by: i64) -> (u32, u32) {
        let was = self.get(value);
        let is = u32::try_from((i64::from(was) + by).max(0)).unwrap_or(u32::MAX);
        if is == 0 {
            self.0.remove(&value);
        } else {
            self.0.insert(value, is);
        }
        (was, is)
    }

    /// None anywhere?
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn first(&self) -> Option<(u32, u32)> {
        self.0.first_key_value().map(|(&value, &count)| (value, count))
    }

    fn second(&self) -> Option<u32> {
        self.0.keys().nth(1).copied()
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

/// Topology spread.
#[derive(Debug, Default)]
pub(crate) struct Spreads {
    pub(crate) scopes: Vec<Scope>,
    pub(crate) groups: Vec<Spread>,
}

/// Pods of one namespace and selector over the places of one scope.
#[derive(Debug)]
pub(crate) struct Spread {
    pub(crate) scope: u32,
    pods: Tally,
    /// How many places have each count above zero.
    places_with: Tally,
}

impl Spread {
    pub(crate) fn new(scope: u32) -> Self {
        Self { scope, pods: Tally::default(), places_with: Tally::default() }
    }

    /// Pods in a place.
    pub(crate) fn pods(&self, place: u32) -> u32 {
        self.pods.get(place)
    }

    /// The fewest pods that any of the scope's places has, were there `more` in one of them.
    pub(crate) fn fewest(&self, scope: &Scope, place: u32, more: u32) -> u32 {
        let empty = (scope.places() as usize).saturating_sub(self.pods.len());
        let here = self.pods.get(place);
        let others_empty = empty - usize::from(more > 0 && here == 0 && empty > 0);
        if others_empty > 0 {
            return 0;
        }
        let least = self.places_with.first();
        if more == 0 {
            return least.map_or(0, |(count, _)| count);
        }
        // The place itself leaves its count for a higher one.
        let other = match least {
            Some((count, 1)) if count == here => self.places_with.second(),
            Some((count, _)) => Some(count),
            None => None,
        };
        other.map_or(here + more, |other| other.min(here + more))
    }

    fn add(&mut self, place: u32, by: i64) {
        let (was, is) = self.pods.add(place, by);
        if was == is {
            return;
        }
        if was > 0 {
            self.places_with.add(was, -1);
        }
        if is > 0 {
            self.places_with.add(is, 1);
        }
    }
}

/// Affinity: one entry for each distinct list of terms.
#[derive(Debug, Default)]
pub(crate) struct Affinities(pub(crate) Vec<Affinity>);

/// Pods that all terms of one list mean.
#[derive(Debug)]
pub(crate) struct Affinity {
    /// The labels of the terms' places, each once, with how many of those pods are in each place.
    places: Vec<(u32, Tally)>,
    /// Those of them that are on a node with at least one of the labels.
    total: u32,
}

impl Affinity {
    pub(crate) fn new(mut keys: Vec<u32>) -> Self {
        keys.sort_unstable();
        keys.dedup();
        Self { places: keys.into_iter().map(|key| (key, Tally::default())).collect(), total: 0 }
    }

    /// How many in the place of this value of this label.
    pub(crate) fn pods(&self, key: u32, value: u32) -> u32 {
        self.places.iter().find(|(one, _)| *one == key).map_or(0, |(_, tally)| tally.get(value))
    }

    /// Is there none anywhere?
    pub(crate) const fn is_nowhere(&self) -> bool {
        self.total == 0
    }

    fn add(&mut self, node: usize, topology: &Topology, by: i64) {
        let mut placed = false;
        for (key, tally) in &mut self.places {
            let value = topology.value(node, *key);
            if value != NONE {
                tally.add(value, by);
                placed = true;
            }
        }
        if placed {
            self.total = u32::try_from((i64::from(self.total) + by).max(0)).unwrap_or(u32::MAX);
        }
    }
}

/// Anti-affinity: one entry for each distinct term.
#[derive(Debug, Default)]
pub(crate) struct Antis(pub(crate) Vec<Anti>);

/// One term of anti-affinity.
#[derive(Debug)]
pub(crate) struct Anti {
    /// The label of its places.
    pub(crate) key: u32,
    /// Pods that it means.
    pub(crate) meant: Tally,
    /// Pods that have it.
    pub(crate) holders: Tally,
}

impl Anti {
    pub(crate) fn new(key: u32) -> Self {
        Self { key, meant: Tally::default(), holders: Tally::default() }
    }
}

impl Spreads {
    pub(crate) fn add(&mut self, group: u32, node: usize, topology: &Topology, by: i64) {
        let group = &mut self.groups[group as usize];
        if let Some(place) = self.scopes[group.scope as usize].place_of(node, topology) {
            group.add(place, by);
        }
    }
}

impl Affinities {
    pub(crate) fn add(&mut self, group: u32, node: usize, topology: &Topology, by: i64) {
        self.0[group as usize].add(node, topology, by);
    }
}

impl Antis {
    pub(crate) fn add_meant(&mut self, term: u32, node: usize, topology: &Topology, by: i64) {
        let term = &mut self.0[term as usize];
        let value = topology.value(node, term.key);
        if value != NONE {
            term.meant.add(value, by);
        }
    }

    pub(crate) fn add_holder(&mut self, term: u32, node: usize, topology: &Topology, by: i64) {
        let term = &mut self.0[term as usize];
        let value = topology.value(node, term.key);
        if value != NONE {
            term.holders.add(value, by);
        }
    }
}
