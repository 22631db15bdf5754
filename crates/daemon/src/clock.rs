//! The only place that reads the clock.

use ostler_model::{Millis, Timestamp};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Now.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// A span for timers.
pub(crate) fn duration(span: Millis) -> Duration {
    Duration::from_millis(span.0)
}

/// How long until a point in time; nothing if it is past.
pub(crate) fn until(at: Timestamp) -> Duration {
    duration(at.since(now()))
}

/// Microseconds since then, for the log.
pub(crate) fn micros(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX)
}
