//! Times, spans and reasons in words.

use ostler_model::{Millis, PoolId, Timestamp};
use ostler_packing::problem::Unfit;
use ostler_planner::{REASONS, Reason, ReasonDoc};
use serde::{Deserialize, Serialize};
use std::time::{Duration, UNIX_EPOCH};

/// Why something is as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    /// The stable code.
    pub code: String,
    /// In words.
    pub text: String,
}

impl From<&Reason> for Why {
    fn from(reason: &Reason) -> Self {
        Self { code: reason.code().to_owned(), text: reason.to_string() }
    }
}

/// What a code means and what to do about it.
pub fn meaning(code: &str) -> Option<&'static ReasonDoc> {
    REASONS.iter().find(|doc| doc.code == code)
}

/// What stands against one pool: `cpu is at its maximum of 3`.
pub fn unfit(pool: &PoolId, unfit: &Unfit) -> String {
    Reason::Infeasible { why: vec![(pool.clone(), unfit.clone())] }.to_string()
}

/// A span of time in its two largest units: `0.4 s`, `12 s`, `3 min 20 s`, `2 h`, `3 d 4 h`.
pub fn span(span: Millis) -> String {
    let (ms, s) = (span.0, span.0 / 1000);
    match s {
        0 => format!("0.{} s", ms / 100),
        1..60 => format!("{s} s"),
        60..3_600 => two(s / 60, "min", s % 60, "s"),
        3_600..86_400 => two(s / 3_600, "h", s % 3_600 / 60, "min"),
        _ => two(s / 86_400, "d", s % 86_400 / 3_600, "h"),
    }
}

fn two(large: u64, unit: &str, small: u64, subunit: &str) -> String {
    if small == 0 { format!("{large} {unit}") } else { format!("{large} {unit} {small} {subunit}") }
}

/// How long ago something was, `never` if it was not.
pub fn ago(now: Timestamp, then: Option<Timestamp>) -> String {
    then.map_or_else(|| "never".to_owned(), |then| format!("{} ago", span(now.since(then))))
}

/// A point in time in UTC, to the second: `2026-11-01T10:15:43Z`.
pub fn utc(at: Timestamp) -> String {
    // The form has four digits for the year; whatever claims to be later is shown as the last second of 9999.
    const LAST: u64 = 253_402_300_799;
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs((at.0 / 1000).min(LAST))).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_in_two_units() {
        let spans = [0, 450, 12_000, 60_000, 200_000, 7_200_000, 7_500_000, 273_600_000];
        let words: Vec<String> = spans.into_iter().map(|ms| span(Millis(ms))).collect();
        assert_eq!(words, ["0.0 s", "0.4 s", "12 s", "1 min", "3 min 20 s", "2 h", "2 h 5 min", "3 d 4 h"]);
    }

    #[test]
    fn any_time_can_be_written() {
        assert_eq!(utc(Timestamp(0)), "1970-01-01T00:00:00Z");
        assert_eq!(utc(Timestamp(u64::MAX)), "9999-12-31T23:59:59Z");
    }
}
