//! Kubernetes' amounts and Go's lengths of time, as integers. Finer than nano is rounded up, as the API
//! server does.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Written;
use ostler_model::{Millis, Quantity, Resources};
use std::collections::BTreeMap;

/// The largest amount that Kubernetes holds, in whole units; a larger one counts as this.
const UNITS_MAX: i128 = i64::MAX as i128;
const NANO: i128 = 1_000_000_000;
/// Digits beyond these change nothing but could overflow.
const DIGITS_MAX: usize = 60;
/// So many digits hold every amount up to [`UNITS_MAX`], and leave room for a power of two of sixty.
const DIGITS_KEPT: usize = 19;

/// Amounts by name, in billionths, so that sums are exact before they are rounded.
pub(crate) type Amounts = BTreeMap<String, i128>;

/// One amount in billionths of a unit.
pub(crate) fn nanos(text: &str) -> Result<i128, String> {
    let bad = || format!("{text:?} is not an amount");
    let (negative, rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let (number, suffix) = rest.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = whole.len() + fraction.len();
    if digits == 0 || digits > DIGITS_MAX || fraction.contains('.') {
        return Err(bad());
    }
    let value = scaled(whole, fraction, scale(suffix).ok_or_else(bad)?);
    Ok(if negative { -value } else { value })
}

/// How a suffix scales: by a power of two or of ten.
#[derive(Clone, Copy)]
enum Scale {
    Two(u32),
    Ten(i32),
}

fn scale(suffix: &str) -> Option<Scale> {
    Some(match suffix {
        "" => Scale::Ten(0),
        "n" => Scale::Ten(-9),
        "u" => Scale::Ten(-6),
        "m" => Scale::Ten(-3),
        "k" => Scale::Ten(3),
        "M" => Scale::Ten(6),
        "G" => Scale::Ten(9),
        "T" => Scale::Ten(12),
        "P" => Scale::Ten(15),
        "E" => Scale::Ten(18),
        "Ki" => Scale::Two(10),
        "Mi" => Scale::Two(20),
        "Gi" => Scale::Two(30),
        "Ti" => Scale::Two(40),
        "Pi" => Scale::Two(50),
        "Ei" => Scale::Two(60),
        _ => Scale::Ten(suffix.strip_prefix(['e', 'E'])?.parse().ok()?),
    })
}

/// `whole.fraction` times the scale, in billionths, rounded up, and at most [`UNITS_MAX`] units.
fn scaled(whole: &str, fraction: &str, scale: Scale) -> i128 {
    let (mut power, two) = match scale {
        Scale::Ten(power) => (power.clamp(-200, 200) + 9, 0),
        Scale::Two(two) => (9, two),
    };
    let digits: Vec<u8> =
        whole.bytes().chain(fraction.bytes()).map(|b| b - b'0').skip_while(|&d| d == 0).collect();
    let (kept, cut) = digits.split_at(digits.len().min(DIGITS_KEPT));
    power += cut.len() as i32 - fraction.len() as i32; // both are below DIGITS_MAX
    let mut over = cut.iter().any(|&d| d != 0);
    let mut value = kept.iter().fold(0i128, |value, &d| value * 10 + i128::from(d)) << two;
    for _ in 0..power.max(0) {
        value = value.saturating_mul(10);
    }
    for _ in power..0 {
        over |= value % 10 != 0;
        value /= 10;
    }
    (value + i128::from(over && value < i128::MAX)).min(UNITS_MAX * NANO)
}

/// A list of amounts; an error names the resource.
pub(crate) fn amounts(list: Option<&BTreeMap<String, Written>>) -> Result<Amounts, String> {
    let list = list.into_iter().flatten();
    list.map(|(name, written)| match nanos(&written.0) {
        Ok(value) if value >= 0 => Ok((name.clone(), value)),
        Ok(_) => Err(format!("{name} is {}, below zero", written.0)),
        Err(why) => Err(format!("{name}: {why}")),
    })
    .collect()
}

/// Adds amounts, name by name.
pub(crate) fn add(sum: &mut Amounts, more: &Amounts) {
    for (name, value) in more {
        let entry = sum.entry(name.clone()).or_default();
        *entry = entry.saturating_add(*value);
    }
}

/// The larger of the two, name by name.
pub(crate) fn largest(most: &mut Amounts, other: &Amounts) {
    for (name, value) in other {
        let entry = most.entry(name.clone()).or_insert(*value);
        *entry = (*entry).max(*value);
    }
}

/// As the scheduler counts: CPU up to thousandths, everything else up to whole units; what it does not
/// count is out.
pub(crate) fn counted(amounts: &Amounts) -> Resources {
    let counted = amounts.iter().filter(|(name, _)| is_counted(name));
    counted.map(|(name, &value)| (name.as_str(), rounded(name, value))).collect()
}

fn rounded(name: &str, value: i128) -> Quantity {
    let (step, parts) = if name == "cpu" { (NANO / 1000, 10) } else { (NANO, 10_000) };
    Quantity::ten_thousandths((value + step - 1).div_euclid(step).saturating_mul(parts))
}

/// Names that the scheduler has an account for.
fn is_counted(name: &str) -> bool {
    let native = !name.contains('/') || name.contains("kubernetes.io/");
    match name {
        "cpu" | "memory" | "ephemeral-storage" | "pods" => true,
        _ if name.starts_with("hugepages-") || name.starts_with("attachable-volumes-") => true,
        _ if native => name.contains("kubernetes.io/"),
        _ => !name.starts_with("requests."),
    }
}

/// A length of time as Go writes it (`600s`, `1h30m`, `1.5h`); `None` if it is none, or below zero.
pub(crate) fn duration(text: &str) -> Option<Millis> {
    if text == "0" {
        return Some(Millis(0));
    }
    let (mut rest, mut sum) = (text.strip_prefix('+').unwrap_or(text), 0i128);
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(end);
        let unit = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        let millis: i128 = match unit {
            "h" => 3_600_000,
            "m" => 60_000,
            "s" => 1000,
            "ms" => 1,
            "us" | "µs" | "μs" | "ns" => 0,
            _ => return None,
        };
        sum = sum.saturating_add(nanos(number).ok()?.saturating_mul(millis) / NANO);
        rest = after;
    }
    u64::try_from(sum).ok().map(Millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suffix() {
        let cases = [
            ("0", 0),
            ("1", NANO),
            ("+2", 2 * NANO),
            ("-2", -2 * NANO),
            ("100m", NANO / 10),
            ("1n", 1),
            ("1u", 1000),
            ("0.1n", 1),
            ("1.5", 1_500_000_000),
            (".5", 500_000_000),
            ("5.", 5 * NANO),
            ("1k", 1000 * NANO),
            ("1Ki", 1024 * NANO),
            ("1.5Gi", 1_610_612_736 * NANO),
            ("0.1Ki", 102_400_000_000),
            ("1M", 1_000_000 * NANO),
            ("1Mi", 1_048_576 * NANO),
            ("2G", 2_000_000_000 * NANO),
            ("1T", 1_000_000_000_000 * NANO),
            ("1Ti", 1_099_511_627_776 * NANO),
            ("1P", 1_000_000_000_000_000 * NANO),
            ("1Pi", 1_125_899_906_842_624 * NANO),
            ("1E", 1_000_000_000_000_000_000 * NANO),
            ("1Ei", 1_152_921_504_606_846_976 * NANO),
            ("1e3", 1000 * NANO),
            ("1E3", 1000 * NANO),
            ("12e-3", 12_000_000),
            ("1e-300", 1),
            ("100E", UNITS_MAX * NANO),
            ("1e300", UNITS_MAX * NANO),
            ("99999999999999999999999999", UNITS_MAX * NANO),
            ("0.00000000000000000000000001", 1),
            ("1.0000000000000000000000000", NANO),
            ("1.0000000000000000000000001", NANO + 1),
            ("9007199254740993123", 9_007_199_254_740_993_123 * NANO),
        ];
        for (text, value) in cases {
            assert_eq!(nanos(text), Ok(value), "{text}");
        }
    }

    #[test]
    fn what_is_no_amount() {
        for text in ["", "-", ".", "1.2.3", "1X", "1ki", "1KI", "abc", "1e", "1e1.5", "1 Gi", "--1", "0x1"] {
            assert!(nanos(text).is_err(), "{text}");
        }
        let list = |text: &str| BTreeMap::from([("cpu".to_owned(), Written(text.to_owned()))]);
        assert_eq!(amounts(Some(&list("-1"))), Err("cpu is -1, below zero".to_owned()));
        assert_eq!(amounts(Some(&list("?"))), Err("cpu: \"?\" is not an amount".to_owned()));
    }

    #[test]
    fn counted_as_the_scheduler_counts() {
        let written = [
            ("cpu", "1n"),
            ("memory", "100m"),
            ("nvidia.com/gpu", "2"),
            ("hugepages-2Mi", "1Ki"),
            ("attachable-volumes-aws-ebs", "25"),
            ("kubernetes.io/batch", "1"),
            ("requests.example.com/x", "1"),
            ("storage", "1"),
        ];
        let list = written.map(|(name, text)| (name.to_owned(), Written(text.to_owned()))).into();
        let counted = counted(&amounts(Some(&list)).unwrap());
        assert_eq!(
            counted.to_string(),
            "attachable-volumes-aws-ebs 25, cpu 0.001, hugepages-2Mi 1024, kubernetes.io/batch 1, memory 1, \
             nvidia.com/gpu 2"
        );
    }

    #[test]
    fn lengths_of_time() {
        let cases = [
            ("600s", 600_000),
            ("1h30m", 5_400_000),
            ("1.5h", 5_400_000),
            ("10ms", 10),
            ("0", 0),
            ("2m0.5s", 120_500),
        ];
        for (text, millis) in cases {
            assert_eq!(duration(text), Some(Millis(millis)), "{text}");
        }
        for text in ["", "5", "true", "-5s", "5d", "s", "5s5"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }
}
