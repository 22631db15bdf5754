//! How well a node does with the requests that it would take. Greater is better; the first of equals in the list wins.

use super::class::{Term, Terms};

/// Ray's score, compared from the first field on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Score {
    /// How early in its list the selector stands that holds, of the first request for which one does.
    pub(super) preference: i32,
    /// It is no GPU node, or some request names GPU.
    pub(super) gpu_ok: bool,
    /// How many resources that the node has are asked for.
    pub(super) resources: u32,
    /// The least of `v * u^3` over what the node has.
    pub(super) least: Real,
    /// Their mean.
    pub(super) mean: Real,
    /// Place in (recoverable availability, priority, availability).
    pub(super) rank: u32,
}

/// A float in its order. There is no NaN here, and no -0.0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Real(pub(super) f64);

impl Ord for Real {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Real {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Real {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Real {}

/// The least and the mean of a node's items; `None` if a share in use is below 0 or above 1, where Ray fails.
pub(super) fn least_and_mean(
    terms: &Terms,
    free: &[f64],
    taken: impl Fn(u32) -> bool,
) -> Option<(Real, Real)> {
    let (mut sum, mut least, mut count) = (0.0, terms.least_fixed, terms.count);
    for term in &terms.items {
        match *term {
            Term::Fixed(item) => sum += item,
            Term::Of { resource, total, once_taken } => {
                if once_taken {
                    if !taken(resource) {
                        continue;
                    }
                    count += 1;
                }
                let used = (total - free[resource as usize]) / total;
                if !(0.0..=1.0).contains(&used) {
                    return None;
                }
                let item = total * cubed(used);
                sum += item;
                least = least.min(item);
            }
        }
    }
    match count {
        _ if terms.invalid => None,
        0 => Some((Real(0.0), Real(0.0))),
        // adding 0.0 turns -0.0 into 0.0
        _ => Some((Real(least + 0.0), Real(sum / f64::from(count) + 0.0))),
    }
}

/// `u` to the third, rounded once.
///
/// Ray takes C's `pow(u, 3)`. `u * u * u` rounds twice and is off in one case of four, a portable `pow` in one of ten.
/// The exact product in two parts, rounded at the end, is what glibc gives but for one case in a thousand (where
/// glibc rounds wrongly); for shares like 1/2 or 3/8, all agree.
pub(super) fn cubed(u: f64) -> f64 {
    let (square, square_rest) = product(u, u);
    let (cube, cube_rest) = product(square, u);
    cube + (cube_rest + square_rest * u)
}

/// The product in two parts whose sum is exact (T. J. Dekker, 1971), for factors of a moderate size.
fn product(a: f64, b: f64) -> (f64, f64) {
    let ((a_high, a_low), (b_high, b_low)) = (halves(a), halves(b));
    let product = a * b;
    (product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low)
}

fn halves(a: f64) -> (f64, f64) {
    const SPLIT: f64 = 134_217_729.0; // 2^27 + 1
    let scaled = a * SPLIT;
    let high = scaled - (scaled - a);
    (high, a - high)
}
