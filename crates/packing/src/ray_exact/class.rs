//! What of a node never changes during a decision: how its score is computed.

use alloc::vec::Vec;

use super::catalog::Catalog;
use super::input::Amounts;
use super::intern::List;
use super::score::cubed;

/// Nodes of a class score alike as long as they have the same left.
#[derive(Debug)]
pub(super) struct Class {
    /// Place of its type in (recoverable availability, priority, availability), the least first.
    pub(super) rank: u32,
    /// It has GPUs at all.
    pub(super) gpu: bool,
    /// By resource: it is among the totals, even as 0.
    pub(super) has: List<bool>,
    /// How it scores for demand, and how for the constraint, where all that it has counts as free.
    pub(super) terms: [Terms; 2],
}

/// The items of a node's score: `v * u^3` of each resource that it has, `v` its total, `u` the share in use.
#[derive(Debug, Default)]
pub(super) struct Terms {
    /// Those not 0 for sure, in the order in which Ray adds them up.
    pub(super) items: Vec<Term>,
    /// Number of all items.
    pub(super) count: u32,
    /// The least of the items that demand does not change.
    pub(super) least_fixed: f64,
    /// The share in use of a resource that demand does not change is below 0 or above 1.
    pub(super) invalid: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Term {
    /// Of a resource that no demand names.
    Fixed(f64),
    /// Of a resource that demand may take.
    Of {
        resource: u32,
        total: f64,
        /// It counts only once something of it has been taken: it was not among what is free.
        once_taken: bool,
    },
}

impl Terms {
    fn of<'a>(
        catalog: &Catalog<'_>,
        total: &[(&'a str, f64)],
        free: impl Fn(&'a str) -> Option<f64>,
    ) -> Self {
        let mut terms = Self { least_fixed: f64::INFINITY, ..Self::default() };
        for &(name, amount) in total.iter().filter(|amount| amount.1 != 0.0) {
            match (catalog.resource(name), free(name)) {
                (Some(resource), free) => {
                    let once_taken = free.is_none();
                    if !once_taken || catalog.defaults[resource as usize] > 0.0 {
                        terms.items.push(Term::Of { resource, total: amount, once_taken });
                        terms.count += u32::from(!once_taken);
                    }
                }
                (None, Some(free)) => terms.fixed(amount, (amount - free) / amount),
                (None, None) => {}
            }
        }
        terms
    }

    fn fixed(&mut self, total: f64, used: f64) {
        let item = total * cubed(used);
        self.invalid |= !(0.0..=1.0).contains(&used);
        self.least_fixed = self.least_fixed.min(item);
        self.count += 1;
        if item != 0.0 {
            self.items.push(Term::Fixed(item));
        }
    }

    fn key(&self, key: &mut Vec<u64>) {
        key.extend([u64::from(self.count), self.least_fixed.to_bits(), u64::from(self.invalid)]);
        for item in &self.items {
            match *item {
                Term::Fixed(item) => key.extend([u64::MAX, item.to_bits()]),
                Term::Of { resource, total, once_taken } => {
                    key.extend([u64::from(resource) << 1 | u64::from(once_taken), total.to_bits()]);
                }
            }
        }
        key.push(u64::MAX - 1);
    }
}

impl Class {
    /// The class of a node with these totals, of which this is free: both in the order in which Ray adds up.
    pub(super) fn of(catalog: &Catalog<'_>, total: &Amounts<'_>, free: &Amounts<'_>, rank: u32) -> Self {
        let mut has = alloc::vec![false; catalog.resources()];
        let mut gpu = false;
        for &(name, amount) in total {
            gpu |= name == "GPU" && amount > 0.0;
            if let Some(resource) = catalog.resource(name) {
                has[resource as usize] = true;
            }
        }
        let find = |name: &str| free.iter().find(|amount| amount.0 == name).map(|amount| amount.1);
        let all = |name: &str| total.iter().find(|amount| amount.0 == name).map(|amount| amount.1);
        let terms = [Terms::of(catalog, total, find), Terms::of(catalog, total, all)];
        Self { rank, gpu, has: has.into_boxed_slice(), terms }
    }

    /// Classes of an equal key are equal.
    pub(super) fn key(&self) -> Vec<u64> {
        let mut key = Vec::from([u64::from(self.rank), u64::from(self.gpu)]);
        key.extend(self.has.iter().map(|&has| u64::from(has)));
        self.terms.iter().for_each(|terms| terms.key(&mut key));
        key
    }
}
