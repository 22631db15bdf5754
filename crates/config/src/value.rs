//! One value of the tree to one typed value, by the kind of its knob.

use crate::knob::Kind;
use crate::mistake::{Code, Place};
use crate::tree::{Entry, Node, Value};
use ostler_model::{Labels, Millis, Price, Quantity, Resources};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A value that fits its knob.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Typed {
    Text(String),
    Flag(bool),
    Integer(i64),
    Span(Millis),
    Never,
    Shell(String),
    Texts(Vec<String>),
    Pairs(BTreeMap<String, String>),
    Amounts(Resources),
    Price(Price),
}

/// A value that does not fit.
#[derive(Debug)]
pub(crate) struct Wrong {
    pub(crate) code: Code,
    /// `None`: the value itself.
    pub(crate) at: Option<Place>,
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl Wrong {
    fn new(code: Code, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code, at: None, message: message.into(), hint: hint.into() }
    }

    /// The same, told of a key within the value.
    fn under(self, entry: &Entry) -> Self {
        Self { message: format!("`{}`: {}", entry.key, self.message), ..self.at(entry.value.at) }
    }

    fn at(self, place: Place) -> Self {
        Self { at: self.at.or(Some(place)), ..self }
    }
}

/// How a process is started: a text for `/bin/sh -c`, or its words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Command {
    /// One text for `/bin/sh -c`.
    Shell(String),
    /// Program and arguments, no shell.
    Words(Vec<String>),
}

/// A length of time that may be without end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Limit(pub(crate) Option<Millis>);

macro_rules! from_typed {
    ($($target:ty: $($pattern:pat => $value:expr),+;)*) => {$(
        impl TryFrom<Typed> for $target {
            type Error = ();
            fn try_from(typed: Typed) -> Result<Self, ()> {
                match typed { $($pattern => Ok($value),)+ _ => Err(()) }
            }
        }
    )*};
}

from_typed! {
    String: Typed::Text(text) => text;
    bool: Typed::Flag(flag) => flag;
    // Ranges were checked by the kind; a knob is read as the type that its range fits.
    u32: Typed::Integer(n) => u32::try_from(n).unwrap_or(u32::MAX);
    i32: Typed::Integer(n) => i32::try_from(n).unwrap_or(i32::MAX);
    Millis: Typed::Span(span) => span;
    Limit: Typed::Span(span) => Limit(Some(span)), Typed::Never => Limit(None);
    Command: Typed::Shell(text) => Command::Shell(text), Typed::Texts(words) => Command::Words(words);
    Vec<String>: Typed::Texts(texts) => texts;
    BTreeMap<String, String>: Typed::Pairs(pairs) => pairs;
    Labels: Typed::Pairs(pairs) => pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
    Resources: Typed::Amounts(amounts) => amounts;
    Price: Typed::Price(price) => price;
}

/// The value, or everything that is wrong with it.
pub(crate) fn typed(kind: &Kind, node: &Node) -> Result<Typed, Vec<Wrong>> {
    match (kind, &node.value) {
        (Kind::Command | Kind::Texts, Value::List(items))
            if !items.is_empty() || matches!(kind, Kind::Texts) =>
        {
            gather(items.iter().map(|item| text_of(item))).map(Typed::Texts)
        }
        (Kind::Pairs | Kind::Variables, Value::Map(entries)) => {
            let variables = matches!(kind, Kind::Variables);
            gather(entries.iter().map(|entry| pair(entry, variables))).map(Typed::Pairs)
        }
        (Kind::Amounts, Value::Map(entries)) => gather(entries.iter().map(named_amount)).map(Typed::Amounts),
        _ => single(kind, node).map_err(|wrong| vec![wrong]),
    }
}

fn single(kind: &Kind, node: &Node) -> Result<Typed, Wrong> {
    match (kind, &node.value) {
        (Kind::Text | Kind::Address | Kind::Command, Value::Text(text)) if text.trim().is_empty() => {
            Err(Wrong::new(Code::BadForm, "this text is empty", ""))
        }
        (Kind::Text, Value::Text(text)) => Ok(Typed::Text(text.clone())),
        (Kind::Text, Value::Flag(_) | Value::Integer(_) | Value::Decimal(_)) => Err(quotes(node)),
        (Kind::Address, Value::Text(text)) => address(text).map(|()| Typed::Text(text.clone())),
        (Kind::Command, Value::Text(text)) => Ok(Typed::Shell(text.clone())),
        (Kind::Flag, Value::Flag(flag)) => Ok(Typed::Flag(*flag)),
        (Kind::Count(most), Value::Integer(n)) => whole(*n, 0, i128::from(*most)),
        (Kind::Integer, Value::Integer(n)) => whole(*n, i128::from(i32::MIN), i128::from(i32::MAX)),
        (Kind::Factor, Value::Integer(_) | Value::Decimal(_)) => {
            scaled(node, 100, 100_000_000).map(Typed::Integer)
        }
        (Kind::Price, Value::Integer(_) | Value::Decimal(_)) => {
            scaled(node, 1_000_000, 1_000_000_000_000_000).map(|n| Typed::Price(Price(n.unsigned_abs())))
        }
        (Kind::NumberOf(each, _, most), Value::Integer(_) | Value::Decimal(_)) => {
            scaled(node, *each, *most).map(|n| Typed::Span(Millis(n.unsigned_abs())))
        }
        (Kind::DurationOrNever, Value::Text(text)) if text == "never" => Ok(Typed::Never),
        (Kind::Duration | Kind::DurationOrNever, Value::Text(text)) => duration(text).map(Typed::Span),
        (Kind::DurationIn(least, most), Value::Text(text)) => {
            let span = duration(text)?;
            let hint = format!("it goes from {} to {}", Millis(*least), Millis(*most));
            let within = (*least..=*most).contains(&span.0);
            within.then_some(Typed::Span(span)).ok_or_else(|| {
                let wrong = if span.0 < *least { "short" } else { "long" };
                Wrong::new(Code::OutOfRange, format!("`{text}` is too {wrong}"), hint)
            })
        }
        (Kind::Duration | Kind::DurationIn(..) | Kind::DurationOrNever, Value::Integer(n)) => {
            Err(Wrong::new(
                Code::BadForm,
                format!("`{n}` has no unit"),
                format!("write `{n}s` for seconds; there is `ms`, `s`, `min`, `h` and `d`"),
            ))
        }
        (Kind::Choice(words), Value::Text(text)) if words.contains(&text.as_str()) => {
            Ok(Typed::Text(text.clone()))
        }
        (Kind::Choice(words), Value::Text(text)) => Err(Wrong::new(
            Code::UnknownChoice,
            format!("`{text}` is not known"),
            crate::mistake::nearest(text, words.iter().copied()),
        )),
        (Kind::Command, Value::List(_)) => Err(Wrong::new(Code::BadForm, "this command has no words", "")),
        _ => Err(Wrong::new(Code::WrongType, format!("expected {kind}, found {}", node.describe()), "")),
    }
}

fn pair(entry: &Entry, variables: bool) -> Result<(String, String), Wrong> {
    if variables && (entry.key.is_empty() || entry.key.contains(['=', '\0'])) {
        let message = format!("`{}` cannot be the name of a variable", entry.key);
        return Err(Wrong::new(Code::BadForm, message, "rename it").at(entry.key_at));
    }
    match text_of(&entry.value) {
        Ok(text) => Ok((entry.key.clone(), text)),
        Err(wrong) => Err(wrong.under(entry)),
    }
}

/// A text that may be empty, as labels and variables may.
fn text_of(node: &Node) -> Result<String, Wrong> {
    match &node.value {
        Value::Text(text) => Ok(text.clone()),
        Value::List(_) | Value::Map(_) | Value::Null => {
            let message = format!("expected a text, found {}", node.describe());
            Err(Wrong::new(Code::WrongType, message, "").at(node.at))
        }
        _ => Err(quotes(node).at(node.at)),
    }
}

fn quotes(node: &Node) -> Wrong {
    let message = format!("expected a text, found {}", node.describe());
    Wrong::new(Code::WrongType, message, "put it in quotes if it is meant as a text")
}

/// All that fit, or everything that is wrong.
fn gather<T, C: FromIterator<T>>(results: impl Iterator<Item = Result<T, Wrong>>) -> Result<C, Vec<Wrong>> {
    let mut wrong = Vec::new();
    let good = results.filter_map(|result| result.map_err(|one| wrong.push(one)).ok()).collect();
    if wrong.is_empty() { Ok(good) } else { Err(wrong) }
}

fn whole(n: i128, least: i128, most: i128) -> Result<Typed, Wrong> {
    match i64::try_from(n) {
        Ok(small) if (least..=most).contains(&n) => Ok(Typed::Integer(small)),
        _ => Err(Wrong::new(
            Code::OutOfRange,
            format!("{n} is {}", if n < least { "too small" } else { "too large" }),
            format!("it goes from {least} to {most}"),
        )),
    }
}

/// A number times `each`, rounded; at most `most`.
fn scaled(node: &Node, each: u64, most: u64) -> Result<i64, Wrong> {
    let number = match &node.value {
        Value::Integer(n) => *n as f64,
        Value::Decimal(text) => text.parse().unwrap_or(f64::NAN), // YAML's `.nan` and `.inf`
        _ => f64::NAN,
    };
    let scaled = (number * each as f64).round();
    if !(0.0..=most as f64).contains(&scaled) {
        let hint = format!("it goes from 0 to {}", most / each);
        return Err(Wrong::new(Code::OutOfRange, "this number is negative, too large, or none", hint));
    }
    Ok(scaled as i64)
}

/// `1.5h`, `90s`, `250ms`.
pub(crate) fn duration(text: &str) -> Result<Millis, Wrong> {
    let duration = humantime::parse_duration(text).map_err(|_| {
        Wrong::new(
            Code::BadForm,
            format!("`{text}` is not a length of time"),
            "write a number and its unit, such as `500ms`, `30s`, `5min`, `1h30m` or `1d`",
        )
    })?;
    if duration.subsec_nanos() % 1_000_000 != 0 {
        return Err(Wrong::new(Code::BadForm, format!("`{text}` is finer than a millisecond"), ""));
    }
    match u64::try_from(duration.as_millis()) {
        // A hundred years: sums with timestamps never overflow.
        Ok(ms) if ms <= 3_200_000_000_000 => Ok(Millis(ms)),
        _ => Err(Wrong::new(Code::OutOfRange, format!("`{text}` is longer than a hundred years"), "")),
    }
}

/// `HOST:PORT`, with an IPv6 address in brackets.
pub(crate) fn address(text: &str) -> Result<(), Wrong> {
    let good = text.rsplit_once(':').is_some_and(|(host, port)| {
        let bracketed = host.starts_with('[') && host.ends_with(']');
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let host_fits = !host.is_empty() && (bracketed || host.chars().all(fits));
        host_fits && port.parse::<u16>().is_ok()
    });
    if good {
        return Ok(());
    }
    let message = format!("`{text}` is not an address");
    Err(Wrong::new(Code::BadForm, message, "write `HOST:PORT`, such as `127.0.0.1:6379`"))
}

fn named_amount(entry: &Entry) -> Result<(Arc<str>, Quantity), Wrong> {
    match amount(&entry.value) {
        Ok(amount) => Ok((entry.key.as_str().into(), amount)),
        Err(wrong) => Err(wrong.under(entry)),
    }
}

/// `4`, `0.5`, for bytes also `8GiB`, and all that Kubernetes writes: `500m`, `8Gi`, `2k`. The most is 10¹⁸: beyond it Ray's own floats skip whole numbers.
fn amount(node: &Node) -> Result<Quantity, Wrong> {
    let amount = match &node.value {
        Value::Integer(n) => Quantity::ten_thousandths(n.saturating_mul(10_000)),
        Value::Decimal(text) => decimal(text)?,
        Value::Text(text) => with_unit(text)?,
        _ => {
            return Err(Wrong::new(
                Code::WrongType,
                format!("expected an amount, found {}", node.describe()),
                "",
            ));
        }
    };
    if !(Quantity::ZERO..=Quantity::units(1_000_000_000_000_000_000)).contains(&amount) {
        return Err(Wrong::new(
            Code::OutOfRange,
            format!("{amount} is no amount"),
            "it goes from 0 to 10^18",
        ));
    }
    Ok(amount)
}

fn decimal(text: &str) -> Result<Quantity, Wrong> {
    let plain = text.strip_prefix('+').unwrap_or(text).trim_end_matches('0');
    let plain = plain.strip_suffix('.').unwrap_or(plain);
    let exact = if plain.starts_with('.') { format!("0{plain}").parse() } else { plain.parse() };
    let float = || text.parse().ok().and_then(Quantity::from_f64).filter(|_| text.contains(['e', 'E']));
    exact.ok().or_else(float).ok_or_else(|| {
        let hint = "write a number with at most four digits after the point";
        Wrong::new(Code::BadForm, format!("`{text}` is no amount"), hint)
    })
}

fn with_unit(text: &str) -> Result<Quantity, Wrong> {
    const UNITS: [(&str, u64); 19] = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
        ("KB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        // As Kubernetes writes them.
        ("Ki", 1 << 10),
        ("Mi", 1 << 20),
        ("Gi", 1 << 30),
        ("Ti", 1 << 40),
        ("Pi", 1 << 50),
        ("k", 1_000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
        ("T", 1_000_000_000_000),
        ("P", 1_000_000_000_000_000),
        ("", 1),
    ];
    let thousandths = || {
        let count: i128 = text.strip_suffix('m')?.parse().ok()?;
        Some(Quantity::ten_thousandths(count.checked_mul(10)?))
    };
    UNITS
        .iter()
        .find_map(|(unit, each)| {
            Some(text.strip_suffix(unit)?.trim_end().parse::<Quantity>().ok()?.times(*each))
        })
        .or_else(thousandths)
        .ok_or_else(|| {
            let hint = "write a number; also `500m`, and for bytes `512MiB` or `8Gi`";
            Wrong::new(Code::BadForm, format!("`{text}` is no amount"), hint)
        })
}
