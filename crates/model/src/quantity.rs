//! Amounts of a resource, as integers. No float decides anything outside `packing::ray_exact`.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Sub, SubAssign};
use core::str::FromStr;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// An amount in ten-thousandths, the finest step that Ray knows. `i128`, since 10¹⁵ bytes in ten-thousandths
/// no longer fit 64 bits. Arithmetic saturates: an absurd amount stays absurd, it never wraps into a small one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Quantity(i128);

const PER_UNIT: i128 = 10_000;

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// One whole unit.
    pub const ONE: Self = Self(PER_UNIT);

    /// Whole units: CPUs, GPUs, bytes.
    pub const fn units(n: i64) -> Self {
        Self(n as i128 * PER_UNIT)
    }
    /// From ten-thousandths of a unit.
    pub const fn ten_thousandths(n: i128) -> Self {
        Self(n)
    }
    /// In ten-thousandths of a unit.
    pub const fn as_ten_thousandths(self) -> i128 {
        self.0
    }
    /// The nearest quantity to a float; `None` for NaN and infinities.
    #[allow(clippy::float_arithmetic, reason = "the border: floats of a wire become integers here")]
    pub fn from_f64(value: f64) -> Option<Self> {
        if !value.is_finite() {
            return None;
        }
        // Whole numbers (bytes) convert exactly; scaling them as floats would lose their last digits.
        let whole = value as i128;
        if whole as f64 == value {
            return Some(Self(whole.saturating_mul(PER_UNIT)));
        }
        let scaled = value * PER_UNIT as f64;
        Some(Self(if scaled < 0.0 { scaled - 0.5 } else { scaled + 0.5 } as i128))
    }
    /// As a float, for wires and for repeating Ray's arithmetic.
    #[allow(clippy::float_arithmetic, reason = "the border, the other way")]
    pub fn to_f64(self) -> f64 {
        if self.0 % PER_UNIT == 0 { (self.0 / PER_UNIT) as f64 } else { self.0 as f64 / PER_UNIT as f64 }
    }
    /// Exactly nothing?
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// `self - other`, not below zero.
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0).max(0))
    }
    /// `self` taken `n` times.
    pub fn times(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n as i128))
    }
}

impl Add for Quantity {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}
impl Sub for Quantity {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}
impl AddAssign for Quantity {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
impl SubAssign for Quantity {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}
impl Sum for Quantity {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0.unsigned_abs() / 10_000, self.0.unsigned_abs() % 10_000);
        let sign = if self.0 < 0 { "-" } else { "" };
        if rest == 0 {
            return f.pad(&alloc::format!("{sign}{whole}"));
        }
        let digits = alloc::format!("{rest:04}");
        f.pad(&alloc::format!("{sign}{whole}.{}", digits.trim_end_matches('0')))
    }
}
impl fmt::Debug for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is not a decimal number with at most four digits after the point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseQuantityError(String);

impl fmt::Display for ParseQuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is not an amount: write a decimal number with at most four digits after the point",
            self.0
        )
    }
}
impl core::error::Error for ParseQuantityError {}

impl FromStr for Quantity {
    type Err = ParseQuantityError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || ParseQuantityError(text.to_string());
        let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let numeric = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || fraction.len() > 4 || !numeric(whole) || !numeric(fraction) {
            return Err(bad());
        }
        let whole: i128 = whole.parse().map_err(|_| bad())?;
        let fraction: i128 = alloc::format!("{fraction:0<4}").parse().map_err(|_| bad())?;
        let value = whole.saturating_mul(PER_UNIT).saturating_add(fraction);
        Ok(Self(if negative { -value } else { value }))
    }
}

// As decimal text, so that a recording keeps every digit whatever reads it.
impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// Amounts by the name of the resource. A name that is absent is an amount of zero.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Resources(pub BTreeMap<Arc<str>, Quantity>);

impl Resources {
    /// The amount under a name, zero if absent.
    pub fn get(&self, name: &str) -> Quantity {
        self.0.get(name).copied().unwrap_or_default()
    }
    /// Names and amounts, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, Quantity)> {
        self.0.iter().map(|(name, &amount)| (name, amount))
    }
    /// Adds another set, name by name.
    pub fn add(&mut self, other: &Self) {
        for (name, amount) in other.iter() {
            *self.0.entry(name.clone()).or_default() += amount;
        }
    }
}

impl<N: Into<Arc<str>>> FromIterator<(N, Quantity)> for Resources {
    fn from_iter<I: IntoIterator<Item = (N, Quantity)>>(iter: I) -> Self {
        Self(iter.into_iter().map(|(name, amount)| (name.into(), amount)).collect())
    }
}

impl fmt::Display for Resources {
    /// `CPU 4, GPU 1`, or `nothing`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("nothing");
        }
        for (n, (name, amount)) in self.iter().enumerate() {
            write!(f, "{}{name} {amount}", if n == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        for text in ["0", "1", "0.0001", "-2.5", "1000000000000000", "340282366920938"] {
            assert_eq!(text.parse::<Quantity>().map(|q| q.to_string()).as_deref(), Ok(text));
        }
        for text in ["", ".", "1.00001", "1e3", "a", "--1", "1.-1"] {
            assert!(text.parse::<Quantity>().is_err(), "{text}");
        }
    }

    #[test]
    fn floats_in_and_out_keep_four_digits() {
        for value in [0.0, 0.1, 0.3333, 0.0001, 1.5, 64.0, 1e15, 137_438_953_472.0] {
            assert_eq!(Quantity::from_f64(value).map(Quantity::to_f64), Some(value));
        }
        assert_eq!(Quantity::from_f64(f64::NAN), None);
        assert_eq!(Quantity::from_f64(f64::INFINITY), None);
    }
}
