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

/// A resource that a node has, with the number by which demand knows it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    name: &'a str,
    resource: Option<u32>,
    total: f64,
    /// `None` where it is not among what is free.
    free: Option<f64>,
}

/// Fills `rows`, in the order of `total`.
pub(super) fn rows<'a>(
    catalog: &Catalog<'_>,
    total: &Amounts<'a>,
    free: &Amounts<'a>,
    rows: &mut Vec<Row<'a>>,
) {
    rows.clear();
    for (index, &(name, total)) in total.iter().enumerate() {
        // what is free mostly stands in the same order
        let same = free.get(index).filter(|amount| amount.0 == name);
        let free = same.or_else(|| free.iter().find(|amount| amount.0 == name)).map(|amount| amount.1);
        rows.push(Row { name, resource: catalog.resource(name), total, free });
    }
}

impl Row<'_> {
    pub(super) fn name(&self) -> &str {
        self.name
    }

    fn is_gpu(&self) -> bool {
        self.total > 0.0 && self.name == "GPU"
    }

    /// The share in use and the item, of a resource that no demand names.
    fn fixed(&self) -> Option<(f64, f64)> {
        let free = self.free.filter(|_| self.resource.is_none())?;
        let used = if free == self.total { 0.0 } else { (self.total - free) / self.total };
        Some((used, self.total * cubed(used)))
    }
}

impl Terms {
    fn of<'a>(catalog: &Catalog<'_>, rows: impl Iterator<Item = Row<'a>>) -> Self {
        let mut terms = Self { least_fixed: f64::INFINITY, ..Self::default() };
        for row in rows.filter(|row| row.total != 0.0) {
            if let Some(resource) = row.resource {
                let once_taken = row.free.is_none();
                if !once_taken || catalog.defaults[resource as usize] > 0.0 {
                    terms.items.push(Term::Of { resource, total: row.total, once_taken });
                    terms.count += u32::from(!once_taken);
                }
            } else if let Some((used, item)) = row.fixed() {
                terms.fixed(used, item);
            }
        }
        terms
    }

    fn fixed(&mut self, used: f64, item: f64) {
        self.invalid |= !(0.0..=1.0).contains(&used);
        self.least_fixed = self.least_fixed.min(item);
        self.count += 1;
        if item != 0.0 {
            self.items.push(Term::Fixed(item));
        }
    }
}

impl Class {
    /// The class of a node with these resources, in the order in which Ray adds up.
    pub(super) fn of(catalog: &Catalog<'_>, rows: &[Row<'_>], rank: u32) -> Self {
        let mut has = alloc::vec![false; catalog.resources()];
        rows.iter().filter_map(|row| row.resource).for_each(|resource| has[resource as usize] = true);
        let all_free = rows.iter().map(|row| Row { free: Some(row.total), ..*row });
        let terms = [Terms::of(catalog, rows.iter().copied()), Terms::of(catalog, all_free)];
        Self { rank, gpu: rows.iter().any(Row::is_gpu), has: has.into_boxed_slice(), terms }
    }
}

/// Fills `key`: nodes with an equal key are of equal classes.
pub(super) fn class_key(rows: &[Row<'_>], rank: u32, key: &mut Vec<u64>) {
    let (mut known, mut zeros, mut gpu) = (0, 0, false);
    key.clear();
    for row in rows {
        gpu |= row.is_gpu();
        if let Some(resource) = row.resource {
            key.extend([u64::from(resource) << 1 | u64::from(row.free.is_some()), row.total.to_bits()]);
        } else if row.total != 0.0 {
            known += 1;
            match row.fixed() {
                Some((_, 0.0)) => zeros += 1,
                Some((used, item)) => key.extend([u64::MAX, used.to_bits(), item.to_bits()]),
                None => {}
            }
        }
    }
    key.extend([u64::from(rank) << 1 | u64::from(gpu), known, zeros]);
}
