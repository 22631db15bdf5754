//! YAML text to a tree in which every key and value knows its place.
//!
//! Plain scalars mean what they mean to Python's YAML (version 1.1: `yes` is true), since Ray reads its file with
//! it. Aliases share nodes, so nothing unfolds; the size that it would have is bounded before anything walks it.

use crate::mistake::{Code, Notes, Place};
use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};
use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

/// Largest file. Ray's largest examples have 10 KiB; ten thousand pools fit.
pub(crate) const MAX_BYTES: usize = 4 << 20;
/// Deepest nesting. The deepest of ours has 6 levels, a pod template some 15.
const MAX_DEPTH: usize = 64;
/// Most values, counted as they are written and again with all aliases unfolded: a bomb of aliases reaches
/// billions with ten lines.
const MAX_VALUES: usize = 200_000;

/// A value and its place.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) at: Place,
    pub(crate) value: Value,
    /// Number of values in it when all aliases are unfolded.
    weight: usize,
}

#[derive(Debug)]
pub(crate) enum Value {
    Null,
    Flag(bool),
    Integer(i128),
    /// A number with a point, as it is written (without `_`), since a float would lose digits.
    Decimal(String),
    Text(String),
    List(Vec<Rc<Node>>),
    Map(Vec<Entry>),
}

/// A key of a mapping and its value; keys are unique and in the order of the file.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_at: Place,
    pub(crate) value: Rc<Node>,
}

impl Node {
    pub(crate) fn new(at: Place, value: Value) -> Self {
        let weight = match &value {
            Value::List(items) => items.iter().map(|item| item.weight).fold(1, usize::saturating_add),
            Value::Map(entries) => {
                entries.iter().map(|entry| entry.value.weight).fold(1, usize::saturating_add)
            }
            _ => 1,
        };
        Self { at, value, weight }
    }

    /// What it is, for messages.
    pub(crate) fn describe(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Flag(_) => "true or false",
            Value::Integer(_) => "a whole number",
            Value::Decimal(_) => "a number with a point",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a section",
        }
    }

    /// The entry under a key, if this is a mapping that has it.
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// As JSON, for what we hand on and do not read ourselves.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        use serde_json::{Number, Value as Json};
        match &self.value {
            Value::Null => Json::Null,
            Value::Flag(flag) => Json::Bool(*flag),
            Value::Integer(n) => {
                Number::from_i128(*n).map_or_else(|| Json::String(n.to_string()), Json::Number)
            }
            // Infinities and NaN have no number in JSON.
            Value::Decimal(text) => text
                .parse()
                .ok()
                .and_then(Number::from_f64)
                .map_or_else(|| Json::String(text.clone()), Json::Number),
            Value::Text(text) => Json::String(text.clone()),
            Value::List(items) => items.iter().map(|item| item.to_json()).collect(),
            Value::Map(entries) => {
                entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json())).collect()
            }
        }
    }
}

/// The one document of a text; `None` if it is too broken to be read on, which is noted.
pub(crate) fn parse(text: &str, notes: &Notes<'_>) -> Option<Rc<Node>> {
    let start = Place { line: 1, column: 1, length: 1 };
    if text.len() > MAX_BYTES {
        let message = format!("the file has {} MiB, the most is {}", text.len() >> 20, MAX_BYTES >> 20);
        notes.error(Code::TooLarge, start, message, "");
        return None;
    }
    let mut builder = Builder { notes, open: Vec::new(), anchors: HashMap::new(), values: 0, root: None };
    for event in Parser::new_from_str(text) {
        let (event, span) = match event {
            Ok(event) => event,
            Err(error) => {
                let at = place(Span::empty(*error.marker()));
                // The parser has a limit of its own on brackets that it must look ahead over.
                if error.info().contains("recursion limit") {
                    too_deep(notes, at);
                    return None;
                }
                notes.error(
                    Code::BrokenYaml,
                    at,
                    format!("this is not YAML: {}", error.info()),
                    indent_hint(text, at),
                );
                return None;
            }
        };
        builder.take(event, place(span))?;
    }
    let root = builder.root.filter(|root| !matches!(root.value, Value::Null));
    let Some(root) = root else {
        notes.error(Code::NotOneDocument, start, "the file is empty".to_owned(), "");
        return None;
    };
    if root.weight > MAX_VALUES {
        too_many_values(notes, start);
        return None;
    }
    Some(root)
}

fn too_many_values(notes: &Notes<'_>, at: Place) {
    let message = format!("with its aliases unfolded the file has more than {MAX_VALUES} values");
    notes.error(Code::TooLarge, at, message, "use fewer aliases (`*name`) within aliases");
}

fn too_deep(notes: &Notes<'_>, at: Place) {
    notes.error(Code::TooLarge, at, format!("nested deeper than {MAX_DEPTH} levels"), "");
}

fn place(span: Span) -> Place {
    let one_line = span.end.line() == span.start.line();
    let length = if one_line { span.end.col().saturating_sub(span.start.col()) } else { usize::MAX };
    Place { line: span.start.line().max(1), column: span.start.col() + 1, length: length.max(1) }
}

fn indent_hint(text: &str, at: Place) -> &'static str {
    let tab = text
        .lines()
        .skip(at.line.saturating_sub(2))
        .take(2)
        .any(|line| line.trim_start_matches(' ').starts_with('\t'));
    if tab {
        "indent with spaces, never with tabs"
    } else {
        "look at this line and the one above it: indentation, a missing `:`, an open quote or bracket"
    }
}

/// A list or mapping that is not closed yet.
#[derive(Default)]
struct Open {
    at: Place,
    anchor: usize,
    items: Vec<Rc<Node>>,
    entries: Vec<Entry>,
    /// The lines of the keys so far.
    keys: HashMap<String, usize>,
    /// A mapping's key that waits for its value: its text, place, and whether it is the merge key.
    key: Option<(String, Place, bool)>,
    merged: Vec<Rc<Node>>,
    is_map: bool,
}

struct Builder<'n, 't> {
    notes: &'n Notes<'t>,
    open: Vec<Open>,
    anchors: HashMap<usize, Rc<Node>>,
    /// Values looked at so far.
    values: usize,
    root: Option<Rc<Node>>,
}

impl Builder<'_, '_> {
    /// `None`: give up, the reason is noted.
    fn take(&mut self, event: Event<'_>, at: Place) -> Option<()> {
        self.values += 1;
        if self.values > MAX_VALUES {
            too_many_values(self.notes, at);
            return None;
        }
        match event {
            Event::DocumentStart(_) if self.root.is_some() => {
                let message = "a second document begins here, only one is read".to_owned();
                self.notes.error(Code::NotOneDocument, at, message, "remove it, with its `---`");
                return None;
            }
            Event::Alias(anchor) => match self.anchors.get(&anchor).cloned() {
                Some(node) => self.add(node, at),
                None => {
                    let message = "this alias stands within the value that it names".to_owned();
                    self.notes.error(Code::TooLarge, at, message, "");
                    return None;
                }
            },
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain;
                let merge = plain && text == "<<";
                let value = scalar(&text, plain, tag.as_deref());
                let value = value.unwrap_or_else(|message| {
                    self.notes.error(Code::WrongType, at, message, "");
                    Value::Text(text.clone().into_owned())
                });
                // A key is its text, whatever it would be as a value.
                if self.key_is_next() {
                    self.take_key(text.into_owned(), at, merge);
                } else {
                    self.finish(Node::new(at, value), anchor);
                }
            }
            Event::SequenceStart(anchor, _) => self.begin(at, anchor, false)?,
            Event::MappingStart(anchor, _) => self.begin(at, anchor, true)?,
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            _ => {}
        }
        Some(())
    }

    fn key_is_next(&self) -> bool {
        self.open.last().is_some_and(|open| open.is_map && open.key.is_none())
    }

    fn begin(&mut self, at: Place, anchor: usize, is_map: bool) -> Option<()> {
        if self.open.len() >= MAX_DEPTH {
            too_deep(self.notes, at);
            return None;
        }
        if self.key_is_next() {
            let message = "a list or section cannot be a key".to_owned();
            self.notes.error(Code::WrongType, at, message, "put a text in quotes here");
            return None;
        }
        let at = Place { length: 1, ..at };
        self.open.push(Open { at, anchor, is_map, ..Open::default() });
        Some(())
    }

    fn close(&mut self) {
        let Some(mut open) = self.open.pop() else { return };
        for from in std::mem::take(&mut open.merged) {
            self.merge(&from, &mut open);
        }
        let value = if open.is_map { Value::Map(open.entries) } else { Value::List(open.items) };
        self.finish(Node::new(open.at, value), open.anchor);
    }

    /// `<<: *base` adds the keys that are not there yet.
    fn merge(&mut self, from: &Node, open: &mut Open) {
        match &from.value {
            Value::Map(more) => {
                // Counted, so that a thousand merges of a large section end as too many values.
                self.values = self.values.saturating_add(more.len());
                let room = self.values <= MAX_VALUES;
                for entry in more.iter().filter(|_| room) {
                    if open.keys.insert(entry.key.clone(), entry.key_at.line).is_none() {
                        open.entries.push(entry.clone());
                    }
                }
            }
            Value::List(several) => several.iter().for_each(|one| self.merge(one, open)),
            _ => self.notes.error(
                Code::WrongType,
                from.at,
                format!("`<<` merges a section, found {}", from.describe()),
                "write `<<: *name`",
            ),
        }
    }

    fn take_key(&mut self, text: String, at: Place, merge: bool) {
        if let Some(open) = self.open.last_mut() {
            open.key = Some((text, at, merge));
        }
    }

    fn finish(&mut self, node: Node, anchor: usize) {
        let at = node.at;
        let node = Rc::new(node);
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        self.add(node, at);
    }

    fn add(&mut self, node: Rc<Node>, at: Place) {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return;
        };
        if !open.is_map {
            open.items.push(node);
            return;
        }
        match open.key.take() {
            None => {
                // An alias as a key: its text is the key.
                let key = match &node.value {
                    Value::Text(text) => text.clone(),
                    _ => String::new(),
                };
                open.key = Some((key, at, false));
            }
            Some((_, _, true)) => open.merged.push(node),
            Some((key, key_at, false)) => {
                if let Some(first) = open.keys.insert(key.clone(), key_at.line) {
                    let message = format!("`{key}` is here a second time, first in line {first}");
                    self.notes.error(Code::DuplicateKey, key_at, message, "keep one of them");
                    return;
                }
                open.entries.push(Entry { key, key_at, value: node });
            }
        }
    }
}

/// What a scalar means. `Err`: what is wrong with its tag.
fn scalar(text: &str, plain: bool, tag: Option<&Tag>) -> Result<Value, String> {
    let Some(tag) = tag else {
        return Ok(if plain { resolve(text) } else { Value::Text(text.to_owned()) });
    };
    let known = tag.is_yaml_core_schema();
    match tag.suffix.as_str() {
        "str" if known => Ok(Value::Text(text.to_owned())),
        "" if tag.handle == "!" => Ok(Value::Text(text.to_owned())),
        "int" | "float" | "bool" | "null" if known => Ok(resolve(text)),
        _ => Err(format!("the tag `{tag}` is not known")),
    }
}

/// What a plain scalar means to YAML 1.1, without its base-60 numbers (`1:30`), which stay texts.
pub(crate) fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => return Value::Flag(true),
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => {
            return Value::Flag(false);
        }
        _ => {}
    }
    let digits: Cow<'_, str> = if text.contains('_') { text.replace('_', "").into() } else { text.into() };
    if text.starts_with('_') {
        return Value::Text(text.to_owned());
    }
    if let Some(integer) = integer(&digits) {
        return Value::Integer(integer);
    }
    if is_decimal(&digits) { Value::Decimal(digits.into_owned()) } else { Value::Text(text.to_owned()) }
}

fn integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x', ..] => (16, &digits[2..]),
        [b'0', b'b', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    // More than 128 bits is out of every range; it stays a number, so that the message says so.
    let all_digits = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
    let value = i128::from_str_radix(digits, radix).ok().or(all_digits.then_some(i128::MAX))?;
    Some(if negative { -value } else { value })
}

fn is_decimal(text: &str) -> bool {
    let body = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(body, ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let (number, exponent) = body.split_once(['e', 'E']).map_or((body, None), |(n, e)| (n, Some(e)));
    let Some((whole, fraction)) = number.split_once('.') else { return false };
    let numeric = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let signed =
        |e: &str| e.strip_prefix(['-', '+']).is_some_and(|digits| !digits.is_empty() && numeric(digits));
    numeric(whole)
        && numeric(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(signed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_mean_what_they_mean_to_python() {
        let cases = [
            ("", "Null"),
            ("~", "Null"),
            ("yes", "Flag(true)"),
            ("Off", "Flag(false)"),
            ("y", "Text(\"y\")"),
            ("12", "Integer(12)"),
            ("-1_000", "Integer(-1000)"),
            ("010", "Integer(8)"),
            ("0x1F", "Integer(31)"),
            ("0b11", "Integer(3)"),
            ("08", "Text(\"08\")"),
            ("1e3", "Text(\"1e3\")"),
            ("1.5e+3", "Decimal(\"1.5e+3\")"),
            ("1.5", "Decimal(\"1.5\")"),
            (".5", "Decimal(\".5\")"),
            ("5.", "Decimal(\"5.\")"),
            (".", "Text(\".\")"),
            (".nan", "Decimal(\".nan\")"),
            ("-.inf", "Decimal(\"-.inf\")"),
            ("1:30", "Text(\"1:30\")"),
            ("1.2.3", "Text(\"1.2.3\")"),
            ("-", "Text(\"-\")"),
            ("+", "Text(\"+\")"),
            ("0x", "Text(\"0x\")"),
            ("0x-1", "Text(\"0x-1\")"),
            ("_1", "Text(\"_1\")"),
            ("30s", "Text(\"30s\")"),
        ];
        for (text, expected) in cases {
            assert_eq!(format!("{:?}", resolve(text)), expected, "{text}");
        }
    }
}
