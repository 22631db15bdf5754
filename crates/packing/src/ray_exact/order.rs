//! The order in which requests are tried, and gangs merged: what Ray does to demand before it looks for nodes.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Ordering;

use super::input::{Amounts, Gang, Operator, Placement, Request, Selector};

/// Ray's sort key, the greatest first: number of placement constraints, length of the first selector, number of
/// resources (zeros count), their sum (bytes and CPUs added up), and the amounts by name.
///
/// Ray adds up in the order of a protobuf map, which differs from process to process; here it is the order of names.
#[derive(Debug)]
pub(super) struct SortKey<'a> {
    placements: usize,
    first_selector: usize,
    sum: f64,
    amounts: Amounts<'a>,
}

impl<'a> SortKey<'a> {
    pub(super) fn of(request: &Request<'a>) -> Self {
        let mut amounts = request.resources.clone();
        amounts.sort_by(|a, b| a.0.cmp(b.0));
        Self {
            placements: request.placement.len(),
            first_selector: request.selectors.first().map_or(0, |selector| selector.len()),
            sum: amounts.iter().map(|amount| amount.1).sum::<f64>() + 0.0,
            amounts,
        }
    }

    /// `Less` is tried first. Requests of an equal key keep their order.
    pub(super) fn cmp(&self, other: &Self) -> Ordering {
        let counts = |key: &Self| (key.placements, key.first_selector, key.amounts.len());
        counts(other)
            .cmp(&counts(self))
            .then_with(|| other.sum.total_cmp(&self.sum))
            .then_with(|| cmp_amounts(&other.amounts, &self.amounts))
    }
}

fn cmp_amounts(a: &Amounts<'_>, b: &Amounts<'_>) -> Ordering {
    let pairs = a.iter().zip(b.iter());
    let first = pairs.map(|(a, b)| a.0.cmp(b.0).then(a.1.total_cmp(&b.1))).find(|order| order.is_ne());
    first.unwrap_or(Ordering::Equal)
}

/// Gangs in the order in which they are tried: most placement constraints first, then most bundles.
pub(super) fn gangs(gangs: &[Gang<'_>]) -> Vec<usize> {
    let size = |gang: &Gang<'_>| {
        let bundles = gang.bundles.iter().filter(|_| gang.in_requests_field);
        bundles.fold((0, 0), |(constraints, count), bundle| {
            (constraints + bundle.count * bundle.placement.len() as u64, count + bundle.count)
        })
    };
    let mut order: Vec<usize> = (0..gangs.len()).collect();
    order.sort_by_key(|&gang| core::cmp::Reverse(size(&gangs[gang])));
    order
}

/// The bundles of a gang with those that have to be together merged into one, at the end. Amounts add up in the order
/// of the bundles.
pub(super) fn merged<'a>(gang: &Gang<'a>) -> Vec<Request<'a>> {
    let mut requests = Vec::new();
    let mut groups: Vec<Request<'a>> = Vec::new();
    let mut group_of = BTreeMap::new();
    for bundle in gang.bundles.iter().filter(|bundle| bundle.count > 0) {
        let Some(&Placement::Affinity(label, value)) = bundle.placement.first() else {
            requests.push(bundle.clone());
            continue;
        };
        let key = (label, value, selector_key(&bundle.selectors));
        let group = *group_of.entry(key).or_insert_with(|| {
            groups.push(Request { resources: Vec::new(), count: 1, ..bundle.clone() });
            groups.len() - 1
        });
        for _ in 0..bundle.count {
            add(&mut groups[group].resources, &bundle.resources);
        }
    }
    requests.extend(groups);
    requests
}

type RuleKey<'a> = (&'a str, u8, Vec<&'a str>);

/// Selectors that differ in the order of values only are the same.
fn selector_key<'a>(selectors: &[Selector<'a>]) -> Vec<Vec<RuleKey<'a>>> {
    let operator = |operator| match operator {
        Operator::In => 0,
        Operator::NotIn => 1,
        Operator::Unknown => 2,
    };
    let sorted = |values: &Vec<&'a str>| {
        let mut values = values.clone();
        values.sort_unstable();
        values
    };
    let rules = |selector: &Selector<'a>| {
        selector.iter().map(|rule| (rule.key, operator(rule.operator), sorted(&rule.values))).collect()
    };
    selectors.iter().map(rules).collect()
}

fn add<'a>(total: &mut Amounts<'a>, more: &Amounts<'a>) {
    for &(name, amount) in more {
        match total.iter_mut().find(|known| known.0 == name) {
            Some(known) => known.1 += amount,
            None => total.push((name, amount)),
        }
    }
}
