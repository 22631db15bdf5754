//! What machines cost, as integers.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Sub};
use serde::{Deserialize, Serialize};

/// Millionths of a currency unit for an hour. Which currency does not matter as long as it is one and the same.
/// Arithmetic saturates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Price(pub u64);

impl Price {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// `self` taken `n` times.
    pub const fn times(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }
}

impl Add for Price {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}
impl AddAssign for Price {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
impl Sub for Price {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}
impl Sum for Price {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Price {
    /// `0.192`: units for an hour, without trailing zeros.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 1_000_000, self.0 % 1_000_000);
        if rest == 0 {
            return f.pad(&alloc::format!("{whole}"));
        }
        let digits = alloc::format!("{rest:06}");
        f.pad(&alloc::format!("{whole}.{}", digits.trim_end_matches('0')))
    }
}
