//! How well a machine suits what it would take: the tuples that options are compared by. Integers only.

use super::request::bit;
use super::world::Spec;

/// A share of one, in 2⁻⁴⁰: fine enough that no two amounts a person writes down fall together.
pub(super) const WHOLE: i128 = 1 << 40;

/// `part / whole` in 2⁻⁴⁰; above one if `part` is larger, and huge where there is nothing at all.
pub(super) fn share(part: i128, whole: i128) -> i128 {
    if whole <= 0 {
        return WHOLE << 40;
    }
    // Beyond 2⁶³ (9·10¹⁴ bytes) the lowest bits do not matter.
    let beyond = 65_u32.saturating_sub(whole.leading_zeros());
    let (part, whole) = ((part.max(0) >> beyond).min(1 << 80), (whole >> beyond).max(1));
    match (u64::try_from(part), u64::try_from(whole)) {
        (Ok(part), Ok(whole)) => ((u128::from(part) << 40) / u128::from(whole)) as i128,
        _ => (part << 40) / whole,
    }
}

/// By what candidates are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// Ray's document: shares of use in [0, 1].
    Documented,
    /// Ray's code: shares weighted by raw amounts, and by what else the node reports.
    Raw,
    /// The most use for what a machine costs.
    Value,
}

/// The tuple; larger is better, from the first field on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Score {
    /// Preference of the label selectors that it meets.
    label: i32,
    /// Not a GPU machine, or its GPUs are wanted.
    gpu_ok: bool,
    /// Types of resources on it that are asked for.
    matched: u32,
    /// The least used resource.
    least: i128,
    /// All of them on average.
    mean: i128,
    /// Likely to be had, and of high priority.
    standing: u32,
}

/// What is on a candidate once it has taken what it can.
pub(super) struct Filled<'a> {
    pub(super) spec: &'a Spec,
    pub(super) free: &'a [i128],
    pub(super) label: i32,
    pub(super) gpu_ok: bool,
    pub(super) touched: u128,
}

pub(super) fn score(rule: Rule, filled: &Filled<'_>, weights: &[i128]) -> Score {
    let spec = filled.spec;
    let (least, mean) = match rule {
        Rule::Documented => shares(filled),
        Rule::Raw => raw(filled),
        Rule::Value => (value(filled, weights), 0),
    };
    Score {
        label: filled.label,
        gpu_ok: filled.gpu_ok,
        matched: if rule == Rule::Value { 0 } else { (filled.touched & spec.has).count_ones() },
        least,
        mean,
        standing: spec.standing,
    }
}

/// Minimum and mean use over the resources that the pool declares: what else a node reports (its address, the
/// object store, what groups hold) is the same for all and says nothing of waste.
fn shares(filled: &Filled<'_>) -> (i128, i128) {
    let (mut least, mut sum, mut n) = (i128::MAX, 0, 0);
    for (r, (&total, &free)) in filled.spec.total.iter().zip(filled.free).enumerate() {
        if total > 0 && filled.spec.declared & bit(r) != 0 {
            let used = share(total - free, total);
            least = least.min(used);
            sum += used;
            n += 1;
        }
    }
    if n == 0 { (0, 0) } else { (least, sum / n) }
}

/// The same as Ray computes it: `v · u³` with the raw amount `v`, over everything that the node reports as free.
fn raw(filled: &Filled<'_>) -> (i128, i128) {
    let spec = filled.spec;
    let (mut least, mut sum, mut n) = (spec.rest.least, spec.rest.sum, spec.rest.count);
    for (r, (&total, &free)) in spec.total.iter().zip(filled.free).enumerate() {
        if total > 0 && spec.reported & bit(r) != 0 {
            let weighted = cubed(total, free);
            least = Some(least.map_or(weighted, |l| l.min(weighted)));
            sum = i128::saturating_add(sum, weighted);
            n += 1;
        }
    }
    (least.unwrap_or(0), if n == 0 { 0 } else { sum / n })
}

/// `v · u³` in 2⁻⁴⁰ ten-thousandths.
pub(super) fn cubed(total: i128, free: i128) -> i128 {
    let u = share(total.saturating_sub(free), total).min(WHOLE);
    total.saturating_mul(((u * u) >> 40).saturating_mul(u) >> 40)
}

/// The share of the machine's weight that is used.
fn value(filled: &Filled<'_>, weights: &[i128]) -> i128 {
    let of = |amounts: &mut dyn Iterator<Item = i128>| -> i128 {
        amounts.zip(weights).fold(0, |sum: i128, (a, w)| sum.saturating_add(a.saturating_mul(*w) >> 20))
    };
    let used = of(&mut filled.spec.total.iter().zip(filled.free).map(|(t, f)| (t - f).max(0)));
    let all = of(&mut filled.spec.total.iter().copied());
    if all == 0 { WHOLE } else { share(used, all) }
}
