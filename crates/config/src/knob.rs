//! What a knob is. One table of knobs is the reader's list of what is known, the schema for editors, and the page
//! of documentation, so the three cannot differ.

use std::fmt;

/// A section: its knobs, in the order of the documentation.
#[derive(Debug)]
pub(crate) struct Table {
    /// Heading in the documentation.
    pub(crate) title: &'static str,
    /// What the section is for.
    pub(crate) doc: &'static str,
    pub(crate) knobs: &'static [Knob],
}

/// One key of a section.
#[derive(Debug)]
pub(crate) struct Knob {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) default: Default,
    pub(crate) doc: &'static str,
}

/// What holds when the key is not there.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Default {
    /// It must be there.
    Required,
    /// This text, read as if it stood in the file.
    Is(&'static str),
    /// Nothing; the text says what that means.
    Absent(&'static str),
}

/// What a value must be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// Any text that is not empty.
    Text,
    /// `HOST:PORT`.
    Address,
    /// `true` or `false`.
    Flag,
    /// A whole number from 0 to this.
    Count(u64),
    /// A whole number of either sign.
    Integer,
    /// A number of at least 0 without unit, kept in hundredths.
    Factor,
    /// What a machine costs for an hour: a number with at most six digits after the point.
    Price,
    /// A length of time with its unit: `30s`.
    Duration,
    /// The same, from so many milliseconds to so many.
    DurationIn(u64, u64),
    /// A length of time, or `never`.
    DurationOrNever,
    /// A number of so many milliseconds each, as Ray's file counts time, and the most milliseconds.
    NumberOf(u64, &'static str, u64),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A text for the shell, or a list of words without one.
    Command,
    /// A list of texts.
    Texts,
    /// Names and texts.
    Pairs,
    /// Environment variables and their values.
    Variables,
    /// Names of resources and amounts.
    Amounts,
    /// Anything; handed on as it is.
    Free,
    /// A section of its own.
    Section(&'static Table),
    /// A section, where one of its keys says which table holds.
    Variant(&'static Tag),
    /// Names, chosen by the user, and a section each.
    Named(&'static Table),
    /// The same, where one key of each section says which table holds.
    Tagged(&'static Tag),
}

/// Sections of several kinds, told apart by one key.
#[derive(Debug)]
pub(crate) struct Tag {
    /// The key: `kind`, `type`.
    pub(crate) key: &'static str,
    pub(crate) variants: &'static [(&'static str, &'static Table)],
    /// Kinds that people will ask for and that are not there yet.
    pub(crate) absent: &'static [&'static str],
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "a text",
            Self::Address => "`HOST:PORT`",
            Self::Flag => "`true` or `false`",
            Self::Count(_) => "a whole number of at least 0",
            Self::Integer => "a whole number",
            Self::Factor | Self::Price => "a number of at least 0",
            Self::Duration | Self::DurationIn(..) => {
                "a length of time with its unit, such as `30s` or `5min`"
            }
            Self::DurationOrNever => "a length of time with its unit, such as `30s`, or `never`",
            Self::NumberOf(_, unit, _) => return write!(f, "a number of {unit}"),
            Self::Choice(words) => return write!(f, "`{}`", words.join("`, `")),
            Self::Command => "a command for the shell, or a list of words",
            Self::Texts => "a list of texts",
            Self::Pairs => "names and texts",
            Self::Variables => "variables and texts",
            Self::Amounts => "resources and their amounts",
            Self::Free => "anything",
            Self::Section(_) | Self::Variant(_) => "a section",
            Self::Named(_) | Self::Tagged(_) => "names, and a section for each",
        })
    }
}
