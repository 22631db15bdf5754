//! Walks the tree by the tables and gives typed values; every mistake is noted and reading goes on with the default.

use crate::knob::{Default, Kind, Knob, Table, Tag};
use crate::mistake::{Code, Notes, Place, nearest, one_of};
use crate::tree::{Entry, Node, Value, resolve};
use crate::value::{self, Typed};
use std::rc::Rc;

/// Longest name of a pool, provider or workload: what a DNS name and a cloud's tag may have.
const MAX_NAME: usize = 200;

/// A section of the file, checked for unknown and missing keys.
#[derive(Debug)]
pub(crate) struct Section<'n, 't> {
    pub(crate) notes: &'n Notes<'t>,
    pub(crate) at: Place,
    /// Where it is, for messages: `workloads.main`.
    path: String,
    knobs: &'static [Knob],
    node: Option<Rc<Node>>,
}

/// A name that the user chose, and the section under it.
#[derive(Debug)]
pub(crate) struct Named<'n, 't> {
    pub(crate) name: String,
    pub(crate) section: Section<'n, 't>,
}

impl<'n, 't> Section<'n, 't> {
    /// The whole file.
    pub(crate) fn root(notes: &'n Notes<'t>, table: &'static Table, node: Rc<Node>) -> Self {
        let at = Place { length: 1, ..node.at };
        Self::open(notes, table.knobs, node, at, String::new(), &[])
    }

    /// A section that is not in the file: every key has its default.
    pub(crate) fn absent(notes: &'n Notes<'t>, table: &'static Table) -> Self {
        Self { notes, at: Place::default(), path: String::new(), knobs: table.knobs, node: None }
    }

    fn open(
        notes: &'n Notes<'t>,
        knobs: &'static [Knob],
        node: Rc<Node>,
        at: Place,
        path: String,
        also: &[&str],
    ) -> Self {
        let mut section = Self { notes, at, path, knobs, node: None };
        match &node.value {
            Value::Map(entries) => entries.iter().for_each(|entry| section.check_known(entry, also)),
            Value::Null => {}
            _ => {
                let message = format!("{}expected a section, found {}", section.prefix(), node.describe());
                notes.error(Code::WrongType, node.at, message, "write `key: value` below it, indented");
                return section;
            }
        }
        section.node = Some(node);
        for knob in knobs.iter().filter(|knob| matches!(knob.default, Default::Required)) {
            if !section.has(knob.name) {
                let message = format!("{}`{}` is missing", section.prefix(), knob.name);
                notes.error(Code::MissingKey, at, message, format!("it is {}: {}", knob.kind, knob.doc));
            }
        }
        section
    }

    fn check_known(&self, entry: &Entry, also: &[&str]) {
        let known = self.knobs.iter().map(|knob| knob.name).chain(also.iter().copied());
        if known.clone().any(|name| name == entry.key) {
            return;
        }
        let message = format!("{}unknown key `{}`", self.prefix(), entry.key);
        self.notes.error(Code::UnknownKey, entry.key_at, message, nearest(&entry.key, known));
    }

    fn prefix(&self) -> String {
        if self.path.is_empty() { String::new() } else { format!("`{}`: ", self.path) }
    }

    /// The full name of a key, for messages.
    pub(crate) fn name_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Is there such a key in the section's table? Tells sections of different kinds apart.
    pub(crate) fn has_knob(&self, key: &str) -> bool {
        self.knobs.iter().any(|knob| knob.name == key)
    }

    /// Was the key given a value?
    pub(crate) fn has(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }

    /// Where the value of a key is, or the section if it is not there.
    pub(crate) fn place(&self, key: &str) -> Place {
        self.entry(key).map_or(self.at, |entry| entry.value.at)
    }

    /// Where the key itself is, or the section if it is not there.
    pub(crate) fn key_place(&self, key: &str) -> Place {
        self.entry(key).map_or(self.at, |entry| entry.key_at)
    }

    /// A key without a value (`docker:`) counts as not there.
    fn entry(&self, key: &str) -> Option<&Entry> {
        let entry = self.node.as_ref()?.entry(key)?;
        (!matches!(entry.value.value, Value::Null)).then_some(entry)
    }

    fn knob(&self, key: &str) -> &'static Knob {
        self.knobs
            .iter()
            .find(|knob| knob.name == key)
            .expect("the table of this section has every key that is read")
    }

    /// The value of a key; its default if it is not there or is wrong (which is noted); `None` if there is none.
    pub(crate) fn get<T: TryFrom<Typed>>(&self, key: &str) -> Option<T> {
        let knob = self.knob(key);
        let given = self.entry(key).and_then(|entry| match value::typed(&knob.kind, &entry.value) {
            Ok(typed) => Some(typed),
            Err(several) => {
                for wrong in several {
                    let at = wrong.at.unwrap_or(entry.value.at);
                    let message = format!("`{}`: {}", self.name_of(key), wrong.message);
                    self.notes.error(wrong.code, at, message, wrong.hint);
                }
                None
            }
        });
        given.or_else(|| default(knob)).and_then(|typed| T::try_from(typed).ok())
    }

    /// The same, for a key that has a default or must be there (then its absence is noted already).
    pub(crate) fn need<T: TryFrom<Typed> + std::default::Default>(&self, key: &str) -> T {
        self.get(key).unwrap_or_default()
    }

    /// What is under a key that is handed on as it is.
    pub(crate) fn json(&self, key: &str) -> serde_json::Value {
        self.entry(key).map_or(serde_json::Value::Null, |entry| entry.value.to_json())
    }

    /// The section under a key; an empty one if it is not there.
    pub(crate) fn section(&self, key: &str) -> Self {
        let Kind::Section(table) = self.knob(key).kind else {
            unreachable!("`{key}` is no section in its table")
        };
        self.section_by(key, table)
    }

    /// The section under a key that its own table leaves free, read by this table.
    pub(crate) fn section_by(&self, key: &str, table: &'static Table) -> Self {
        match self.entry(key) {
            Some(entry) => {
                let path = self.name_of(key);
                Self::open(self.notes, table.knobs, entry.value.clone(), entry.key_at, path, &[])
            }
            None => Self {
                notes: self.notes,
                at: self.at,
                path: self.name_of(key),
                knobs: table.knobs,
                node: None,
            },
        }
    }

    /// The sections under names that the user chose, in the order of the file.
    pub(crate) fn named(&self, key: &str) -> Vec<Named<'n, 't>> {
        let kind = self.knob(key).kind;
        let Some(entry) = self.entry(key) else { return Vec::new() };
        let Value::Map(entries) = &entry.value.value else {
            let message =
                format!("`{}`: expected {kind}, found {}", self.name_of(key), entry.value.describe());
            self.notes.error(Code::WrongType, entry.value.at, message, "write `NAME:` below it, indented");
            return Vec::new();
        };
        entries.iter().filter_map(|entry| self.named_one(key, kind, entry)).collect()
    }

    fn named_one(&self, key: &str, kind: Kind, entry: &Entry) -> Option<Named<'n, 't>> {
        let path = format!("{}.{}", self.name_of(key), entry.key);
        self.check_name(&path, entry, matches!(kind, Kind::Tagged(_)));
        let node = entry.value.clone();
        let section = match kind {
            Kind::Tagged(tag) => self.variant(tag, entry, path)?,
            Kind::Named(table) => Self::open(self.notes, table.knobs, node, entry.key_at, path, &[]),
            _ => unreachable!("`{key}` has no names in its table"),
        };
        Some(Named { name: entry.key.clone(), section })
    }

    fn check_name(&self, path: &str, entry: &Entry, strict: bool) {
        let hint = if strict { check_strict_name(&entry.key) } else { check_loose_name(&entry.key) };
        if let Some(hint) = hint {
            self.notes.error(Code::BadForm, entry.key_at, format!("`{path}`: this is no name"), hint);
        }
    }

    /// The section under a key, read by the table that one of its own keys names.
    pub(crate) fn tagged(&self, key: &str) -> Option<Self> {
        let Kind::Variant(tag) = self.knob(key).kind else {
            unreachable!("`{key}` has no variants in its table")
        };
        self.variant(tag, self.entry(key)?, self.name_of(key))
    }

    fn variant(&self, tag: &'static Tag, entry: &Entry, path: String) -> Option<Self> {
        let names = || tag.variants.iter().map(|variant| variant.0);
        let Some(chosen) = entry.value.entry(tag.key) else {
            let message = format!("`{path}`: `{}` is missing", tag.key);
            self.notes.error(Code::MissingKey, entry.key_at, message, one_of(names()));
            return None;
        };
        let at = chosen.value.at;
        let Value::Text(word) = &chosen.value.value else {
            let message = format!("`{path}.{}`: expected a text, found {}", tag.key, chosen.value.describe());
            self.notes.error(Code::WrongType, at, message, one_of(names()));
            return None;
        };
        if tag.absent.contains(&word.as_str()) {
            let message =
                format!("`{path}.{}`: `{word}` is not there yet in this version of Ostler", tag.key);
            self.notes.error(Code::NotThereYet, at, message, one_of(names()));
            return None;
        }
        let Some((_, table)) = tag.variants.iter().find(|(name, _)| name == word) else {
            let message = format!("`{path}.{}`: `{word}` is not known", tag.key);
            self.notes.error(Code::UnknownChoice, at, message, nearest(word, names()));
            return None;
        };
        Some(Self::open(self.notes, table.knobs, entry.value.clone(), entry.key_at, path, &[tag.key]))
    }
}

/// Names of workloads and providers become parts of paths and tags. The hint, if this is none.
pub(crate) fn check_strict_name(name: &str) -> Option<String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let good = name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(fits)
        && name.len() <= MAX_NAME;
    (!good).then(|| {
        format!("begin with a letter or digit; use letters, digits, `-`, `_` and `.`, at most {MAX_NAME}")
    })
}

/// Names of pools are Ray's node types, which may have spaces.
fn check_loose_name(name: &str) -> Option<String> {
    let fits = |c: char| !c.is_control() && c != '/';
    let good = !name.trim().is_empty() && name.chars().all(fits) && name.len() <= MAX_NAME;
    (!good).then(|| format!("use anything but `/` and line breaks, at most {MAX_NAME} bytes"))
}

fn default(knob: &Knob) -> Option<Typed> {
    match knob.default {
        Default::Is(text) => {
            let node = Node::new(Place::default(), resolve(text));
            Some(value::typed(&knob.kind, &node).unwrap_or_else(|wrong| {
                unreachable!("the default of `{}` does not fit its own kind: {wrong:?}", knob.name)
            }))
        }
        Default::Required | Default::Absent(_) => None,
    }
}
