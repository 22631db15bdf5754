//! Equal things get equal numbers, so that they can be compared and grouped by number.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::vec::Vec;

/// Lists of `T`, numbered from 0 in the order in which they were first seen.
#[derive(Debug)]
pub(super) struct Interner<T> {
    numbers: BTreeMap<Rc<[T]>, u32>,
    items: Vec<Rc<[T]>>,
}

impl<T: Ord + Clone> Interner<T> {
    pub(super) fn new() -> Self {
        Self { numbers: BTreeMap::new(), items: Vec::new() }
    }

    pub(super) fn number(&mut self, item: &[T]) -> u32 {
        if let Some(&number) = self.numbers.get(item) {
            return number;
        }
        let (number, item) = (self.items.len() as u32, Rc::<[T]>::from(item));
        self.numbers.insert(item.clone(), number);
        self.items.push(item);
        number
    }

    pub(super) fn get(&self, number: u32) -> &[T] {
        &self.items[number as usize]
    }
}

/// Names, numbered from 0 in the order in which they were first seen.
#[derive(Debug, Default)]
pub(super) struct Names<'a> {
    numbers: BTreeMap<&'a str, u32>,
}

impl<'a> Names<'a> {
    pub(super) fn number(&mut self, name: &'a str) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(name).or_insert(next)
    }

    pub(super) fn find(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }
}

/// A small map from a number triple or so to the next free number.
#[derive(Debug)]
pub(super) struct Keys<K> {
    numbers: BTreeMap<K, u32>,
}

impl<K: Ord> Keys<K> {
    pub(super) fn new() -> Self {
        Self { numbers: BTreeMap::new() }
    }

    /// The number of `key`, and whether it is new.
    pub(super) fn number(&mut self, key: K) -> (u32, bool) {
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(key).or_insert(next);
        (number, number == next)
    }

    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }
}

/// A list that is built once.
pub(super) type List<T> = Box<[T]>;
