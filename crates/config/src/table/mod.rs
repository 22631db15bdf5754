//! The tables of all knobs: Ostler's own file, and Ray's.

pub(crate) mod kubernetes;
pub(crate) mod ostler;
pub(crate) mod polars;
pub(crate) mod ray;

/// More than anybody has of it.
pub(crate) const MANY: u64 = 1_000_000;
/// In milliseconds: who waits longer for an answer of the machinery has lost it.
pub(crate) const DAY: u64 = 86_400_000;
