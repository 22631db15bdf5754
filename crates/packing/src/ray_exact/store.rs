//! What nodes have left, by number: nodes that have the same left are tried as one.

use alloc::vec::Vec;

use super::class::Class;
use super::intern::{Interner, Keys};

/// What a node has left, for one source. Equal ones have equal numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Holding {
    pub(super) class: u32,
    pub(super) labels: u32,
    pub(super) free: u32,
    /// The shapes that it took, each once, in order.
    pub(super) took: u32,
}

/// The number of having taken nothing.
pub(super) const NOTHING: u32 = 0;

/// What a node has left, in full.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held<'w> {
    pub(super) class: &'w Class,
    pub(super) labels: u32,
    /// Bits of floats, by resource.
    pub(super) free: &'w [u64],
    pub(super) took: &'w [u32],
}

/// All classes and holdings there are.
#[derive(Debug)]
pub(super) struct Store {
    classes: Vec<Class>,
    class_keys: Interner<u64>,
    /// By number of the key: the class.
    running_classes: Vec<u32>,
    /// By class: its nodes run. Of others Ray tries one of those that are equal.
    running: Vec<bool>,
    free: Interner<u64>,
    took: Interner<u32>,
    holdings: Vec<Holding>,
    holding_keys: Keys<Holding>,
    twins: Vec<u32>,
    twin_keys: Keys<Holding>,
}

impl Store {
    pub(super) fn new() -> Self {
        let mut took = Interner::new();
        took.number(&[]);
        Self {
            classes: Vec::new(),
            class_keys: Interner::new(),
            running_classes: Vec::new(),
            running: Vec::new(),
            free: Interner::new(),
            took,
            holdings: Vec::new(),
            holding_keys: Keys::new(),
            twins: Vec::new(),
            twin_keys: Keys::new(),
        }
    }

    pub(super) fn add_class(&mut self, class: Class, running: bool) -> u32 {
        self.classes.push(class);
        self.running.push(running);
        self.classes.len() as u32 - 1
    }

    pub(super) fn running_class(&mut self, key: &[u64], class: impl FnOnce() -> Class) -> u32 {
        let number = self.class_keys.number(key) as usize;
        if number == self.running_classes.len() {
            let class = self.add_class(class(), true);
            self.running_classes.push(class);
        }
        self.running_classes[number]
    }

    pub(super) fn free_number(&mut self, free: &[f64]) -> u32 {
        let bits: Vec<u64> = free.iter().map(|amount| (amount + 0.0).to_bits()).collect();
        self.free.number(&bits)
    }

    pub(super) fn took_number(&mut self, shapes: &[u32]) -> u32 {
        self.took.number(shapes)
    }

    /// The number of a holding.
    pub(super) fn holding(&mut self, holding: Holding) -> u32 {
        let (number, new) = self.holding_keys.number(holding);
        if new {
            let took = if self.running[holding.class as usize] { holding.took } else { u32::MAX };
            self.holdings.push(holding);
            self.twins.push(self.twin_keys.number(Holding { took, ..holding }).0);
        }
        number
    }

    pub(super) fn held(&self, holding: u32) -> Held<'_> {
        let Holding { class, labels, free, took } = self.holdings[holding as usize];
        Held {
            class: &self.classes[class as usize],
            labels,
            free: self.free.get(free),
            took: self.took.get(took),
        }
    }

    pub(super) fn key(&self, holding: u32) -> Holding {
        self.holdings[holding as usize]
    }

    pub(super) fn runs(&self, holding: u32) -> bool {
        self.running[self.key(holding).class as usize]
    }

    /// Nodes of one number are tried as one: the first in the list stands for all. Running ones are equal in all;
    /// of others Ray does not compare what they took.
    pub(super) fn twin(&self, holding: u32) -> usize {
        self.twins[holding as usize] as usize
    }

    pub(super) fn holdings(&self) -> usize {
        self.holdings.len()
    }

    pub(super) fn twin_count(&self) -> usize {
        self.twin_keys.len()
    }
}
