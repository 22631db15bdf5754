//! The tables of all knobs: Ostler's own file, and Ray's.

pub(crate) mod kubernetes;
pub(crate) mod ostler;
pub(crate) mod polars;
pub(crate) mod ray;
