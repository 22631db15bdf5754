//! What is asked for, in the form that fitting needs: amounts by number, selectors by number.

use super::names::Names;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use ostler_model::{Selector, Shape};

/// One distinct request.
#[derive(Clone)]
pub(super) struct Request {
    /// Amounts above zero by resource number.
    pub(super) need: Vec<(usize, i128)>,
    /// Lists of selectors that must each have a selector that the machine meets.
    pub(super) lists: Vec<usize>,
    /// Resources asked for, as bits.
    pub(super) mask: u128,
    /// Asks for more than nothing of a GPU.
    pub(super) wants_gpu: bool,
    /// Names GPU, if only none of it (Ray counts that).
    pub(super) names_gpu: bool,
    /// Terms in the first selector.
    pub(super) terms: usize,
    /// Names, those with an amount of zero included.
    pub(super) names: usize,
    /// All amounts added up, bytes and CPUs alike, as Ray sorts.
    pub(super) sum: i128,
    /// The largest share of any resource that the largest machine has, in 2⁻⁴⁰.
    pub(super) size: i128,
    /// Amounts as they were written, zeros included; the last word in every order.
    pub(super) written: Vec<(usize, i128)>,
}

/// A list of selectors, of which the first that a machine meets counts.
pub(super) struct SelectorList {
    /// The selectors, in order of preference.
    pub(super) selectors: Vec<Selector>,
    /// At least one of them says something.
    pub(super) named: bool,
}

/// All distinct requests and selector lists of a problem.
#[derive(Default)]
pub(super) struct Requests<'a> {
    /// By number.
    pub(super) all: Vec<Request>,
    /// By number.
    pub(super) lists: Vec<SelectorList>,
    shapes: BTreeMap<&'a Shape, usize>,
    known_lists: BTreeMap<&'a [Selector], usize>,
}

impl<'a> Requests<'a> {
    /// The number of a shape; `largest` is the most of each resource that any machine has.
    pub(super) fn intern(&mut self, shape: &'a Shape, names: &Names<'_>, largest: &[i128]) -> usize {
        if let Some(&known) = self.shapes.get(shape) {
            return known;
        }
        let request = self.make(shape, names, largest);
        self.all.push(request);
        self.shapes.insert(shape, self.all.len() - 1);
        self.all.len() - 1
    }

    /// `count` of one and `count` of another on the same machine, as one request.
    pub(super) fn merged(&mut self, parts: &[(usize, u64)], largest: &[i128]) -> Option<usize> {
        let (&(first, _), _) = parts.split_first()?;
        let mut need: BTreeMap<usize, i128> = BTreeMap::new();
        let mut lists: Vec<usize> = Vec::new();
        let mut written: BTreeMap<usize, i128> = BTreeMap::new();
        let mut request = self.all[first].clone();
        for &(part, count) in parts {
            let part = &self.all[part];
            for &(r, amount) in &part.need {
                let sum = need.entry(r).or_default();
                *sum = sum.saturating_add(amount.saturating_mul(i128::from(count)));
            }
            for &(r, amount) in &part.written {
                let sum = written.entry(r).or_default();
                *sum = sum.saturating_add(amount.saturating_mul(i128::from(count)));
            }
            request.mask |= part.mask;
            request.wants_gpu |= part.wants_gpu;
            request.names_gpu |= part.names_gpu;
            lists.extend(&part.lists);
        }
        lists.sort_unstable();
        lists.dedup();
        request.need = need.into_iter().collect();
        request.written = written.into_iter().collect();
        request.names = request.written.len();
        request.sum = request.written.iter().fold(0, |sum: i128, (_, a)| sum.saturating_add(*a));
        request.size = size(&request.need, largest);
        request.lists = lists;
        self.all.push(request);
        Some(self.all.len() - 1)
    }

    fn make(&mut self, shape: &'a Shape, names: &Names<'_>, largest: &[i128]) -> Request {
        // A name that only comes with an amount of zero has no number; it still counts as a name.
        let amounts =
            || shape.resources.iter().map(|(name, a)| (names.get(name), a.as_ten_thousandths().max(0)));
        let written: Vec<_> = amounts().filter_map(|(r, a)| Some((r?, a))).collect();
        let need: Vec<_> = written.iter().copied().filter(|(_, a)| *a > 0).collect();
        Request {
            mask: need.iter().fold(0, |mask, (r, _)| mask | bit(*r)),
            wants_gpu: need.iter().any(|(r, _)| Some(*r) == names.gpu),
            names_gpu: shape.resources.0.contains_key("GPU"),
            terms: shape.selectors.first().map_or(0, |s| s.0.len()),
            names: shape.resources.0.len(),
            sum: need.iter().fold(0, |sum: i128, (_, a)| sum.saturating_add(*a)),
            size: size(&need, largest),
            lists: self.list(&shape.selectors).into_iter().collect(),
            need,
            written,
        }
    }

    fn list(&mut self, selectors: &'a [Selector]) -> Option<usize> {
        if selectors.is_empty() {
            return None;
        }
        Some(*self.known_lists.entry(selectors).or_insert_with(|| {
            let named = selectors.iter().any(|s| !s.0.is_empty());
            self.lists.push(SelectorList { selectors: selectors.to_vec(), named });
            self.lists.len() - 1
        }))
    }
}

/// The bit of a resource. Beyond 128 different names the rest share no bit and simply do not count as matched.
pub(super) const fn bit(resource: usize) -> u128 {
    if resource < 128 { 1 << resource } else { 0 }
}

fn size(need: &[(usize, i128)], largest: &[i128]) -> i128 {
    need.iter().map(|&(r, amount)| super::score::share(amount, largest[r])).max().unwrap_or(0)
}
