//! Points in time and lengths of time. There is no `now` here: it is always an argument.

use core::fmt;
use core::ops::{Add, Sub};
use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

/// A length of time in milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub u64);

impl Millis {
    /// Whole seconds.
    pub const fn secs(n: u64) -> Self {
        Self(n.saturating_mul(1000))
    }
}

impl Timestamp {
    /// How long ago `earlier` was; zero if it is not earlier (a clock that was set back makes nothing overdue).
    pub const fn since(self, earlier: Self) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Millis> for Timestamp {
    type Output = Self;
    fn add(self, span: Millis) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}
impl Sub<Millis> for Timestamp {
    type Output = Self;
    fn sub(self, span: Millis) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl fmt::Display for Millis {
    /// `1.5 s`, `2 min`, `3 h`: the largest unit that leaves at most one decimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0;
        match ms {
            0..1_000 => write!(f, "{ms} ms"),
            _ if ms >= 3_600_000 && ms.is_multiple_of(3_600_000) => write!(f, "{} h", ms / 3_600_000),
            _ if ms >= 60_000 && ms.is_multiple_of(60_000) => write!(f, "{} min", ms / 60_000),
            _ if ms.is_multiple_of(1000) => write!(f, "{} s", ms / 1000),
            _ => write!(f, "{}.{} s", ms / 1000, ms % 1000 / 100),
        }
    }
}
impl fmt::Debug for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
