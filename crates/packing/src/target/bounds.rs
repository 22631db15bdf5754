//! The bounds over all pools, which the one who asks is shown.

use super::Question;

/// The fewest and the most workers that there may be; `min` is never above `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The fewest.
    pub min: u32,
    /// The most.
    pub max: u32,
}

impl Bounds {
    /// The sums over all pools, within the bound over all of them. Where minimums are above a maximum, the
    /// maximum wins, as everywhere.
    pub fn of(question: &Question) -> Self {
        let sum =
            |bound: fn(&super::Pool) -> u32| question.pools.iter().map(bound).fold(0, u32::saturating_add);
        let max = sum(|pool| pool.max).min(question.max_total.unwrap_or(u32::MAX));
        Self { min: sum(|pool| pool.min.min(pool.max)).min(max), max }
    }
}
