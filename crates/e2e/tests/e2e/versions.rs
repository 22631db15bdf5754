//! The Rays that are supported.

/// The newest.
pub(crate) const NEWEST: &str = "2.60.0";
/// The oldest.
pub(crate) const OLDEST: &str = "2.48.0";
