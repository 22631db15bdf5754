//! Mistakes in a configuration: all of them at once, each with its place, what is wrong and what to do.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;

/// Mistakes that are shown at most; the rest are counted. A hundred is more than anyone mends in one go.
const MAX_SHOWN: usize = 100;
/// Characters of a line that a snippet shows.
const SNIPPET_CHARS: usize = 120;

macro_rules! codes {
    ($($name:ident $text:literal $meaning:literal;)*) => {
        /// What kind of mistake; the text never changes its meaning (`docs/reference/errors.md`).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {$(
            #[doc = $meaning]
            $name,
        )*}
        impl Code {
            /// Every code, in order.
            pub const ALL: &[Self] = &[$(Self::$name),*];
            /// Its stable text, such as `OSTLER-C010`.
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => concat!("OSTLER-", $text)),* }
            }
            /// What it stands for.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$name => $meaning),* }
            }
        }
    };
}

codes! {
    TooLarge "C001" "The file is larger than 4 MiB, is nested deeper than 64 levels, or its aliases unfold to more than 200,000 values.";
    BrokenYaml "C002" "The file is not YAML.";
    NotOneDocument "C003" "The file is empty, or holds more than one YAML document.";
    Unreadable "C004" "A file that the configuration names cannot be read.";
    UnknownKey "C010" "A key that nothing reads. Most often a typing mistake, so it is refused and never ignored.";
    DuplicateKey "C011" "A key or name is there twice in one section.";
    MissingKey "C012" "A key that must be there is not.";
    WrongType "C013" "A value of another type, such as a text in place of a number.";
    OutOfRange "C014" "A number below or above what is allowed.";
    BadForm "C015" "A text that is not of the form that is expected: a duration, an address, a name, an amount.";
    UnknownChoice "C016" "A word that is not one of those to choose from.";
    MinAboveMax "C020" "A pool has a higher minimum than its maximum.";
    UnknownPool "C021" "The head names a pool (Ray: node type) that is not there.";
    UnknownProvider "C022" "A pool names a provider that is not there.";
    NotThereYet "C023" "A kind of provider or workload that this version of Ostler does not have.";
    Conflict "C024" "Two settings that exclude each other.";
    BadVariable "C026" "An environment variable has a value that is not of the form that is expected.";
    OpenApi "C027" "The API would listen to other hosts without asking for a token.";
    MinAboveTotal "C030" "Warning: the minimums of all pools together are above `max_workers`, which wins.";
    RayDefault "C031" "Warning: a default of Ray holds that surprises many.";
    NoEffect "C032" "Warning: a key is read and has no effect here.";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// Does it stop us?
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The configuration is refused.
    Error,
    /// The configuration is used.
    Warning,
}

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Does it stop us?
    pub severity: Severity,
    /// What kind of mistake.
    pub code: Code,
    /// The file, as it was named to us, `environment` or `command line`.
    pub file: String,
    /// Where in the file; `None` outside of files.
    pub place: Option<Place>,
    /// The line of the place, with secrets blanked out.
    pub snippet: String,
    /// What is wrong.
    pub message: String,
    /// What to do; may be empty.
    pub hint: String,
}

/// A place in a file; lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Place {
    /// Line.
    pub line: usize,
    /// Column.
    pub column: usize,
    /// Characters that are meant, at least one.
    pub length: usize,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = if self.severity == Severity::Error { "error" } else { "warning" };
        write!(f, "{severity}: {} [{}]", self.message, self.code)?;
        match self.place {
            Some(place) => {
                let number = place.line.to_string();
                let indent = " ".repeat(number.len());
                write!(f, "\n{indent}--> {}:{}:{}", self.file, place.line, place.column)?;
                if !self.snippet.is_empty() {
                    let carets = "^".repeat(place.length.clamp(1, SNIPPET_CHARS));
                    write!(f, "\n{number} | {}", self.snippet)?;
                    // A place in what was cut or blanked out has nothing to point at.
                    if place.column <= self.snippet.chars().count() + 1 {
                        write!(f, "\n{indent} | {}{carets}", " ".repeat(place.column.saturating_sub(1)))?;
                    }
                }
            }
            None => write!(f, "\n --> {}", self.file)?,
        }
        if !self.hint.is_empty() {
            write!(f, "\n hint: {}", self.hint)?;
        }
        Ok(())
    }
}

/// Why a configuration was refused: all mistakes, by place, and the warnings too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistakes {
    /// The first hundred, by file and place.
    pub all: Vec<Mistake>,
    /// How many more there are.
    pub left_off: usize,
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for mistake in &self.all {
            write!(f, "{mistake}\n\n")?;
        }
        let errors = self.all.iter().filter(|mistake| mistake.severity == Severity::Error).count();
        let warnings = self.all.len() - errors;
        write!(f, "{errors} {}", if errors == 1 { "error" } else { "errors" })?;
        if warnings > 0 {
            write!(f, ", {warnings} {}", if warnings == 1 { "warning" } else { "warnings" })?;
        }
        if self.left_off > 0 {
            write!(f, ", and {} more that are not shown", self.left_off)?;
        }
        Ok(())
    }
}

impl std::error::Error for Mistakes {}

/// Collects the mistakes of one file while it is read; reading never stops at the first.
#[derive(Debug)]
pub(crate) struct Notes<'t> {
    file: &'t str,
    lines: Vec<&'t str>,
    found: RefCell<Vec<Mistake>>,
    left_off: Cell<usize>,
}

impl<'t> Notes<'t> {
    pub(crate) fn on(file: &'t str, text: &'t str) -> Self {
        Self { file, lines: text.lines().collect(), found: RefCell::default(), left_off: Cell::new(0) }
    }

    pub(crate) fn error(&self, code: Code, place: Place, message: String, hint: impl Into<String>) {
        self.add(Severity::Error, code, place, message, hint.into());
    }

    pub(crate) fn warning(&self, code: Code, place: Place, message: String, hint: impl Into<String>) {
        self.add(Severity::Warning, code, place, message, hint.into());
    }

    /// A mistake that is not in a file: in the environment or on the command line.
    pub(crate) fn outside(&self, source: &str, code: Code, message: String, hint: impl Into<String>) {
        let file = source.to_owned();
        let (severity, snippet, hint) = (Severity::Error, String::new(), hint.into());
        self.keep(Mistake { severity, code, file, place: None, snippet, message, hint });
    }

    fn add(&self, severity: Severity, code: Code, place: Place, message: String, hint: String) {
        let (place, snippet) = self.snippet(place);
        let file = self.file.to_owned();
        self.keep(Mistake { severity, code, file, place: Some(place), snippet, message, hint });
    }

    fn keep(&self, mistake: Mistake) {
        let mut found = self.found.borrow_mut();
        // The same value may be reached by several ways (aliases); one mistake is told once.
        if found.contains(&mistake) {
            return;
        }
        if found.len() < MAX_SHOWN {
            found.push(mistake);
        } else {
            self.left_off.set(self.left_off.get() + 1);
        }
    }

    /// Takes over the mistakes of another file that this one names.
    pub(crate) fn include(&self, other: Notes<'_>) {
        self.found.borrow_mut().append(&mut other.found.into_inner());
        self.left_off.set(self.left_off.get() + other.left_off.get());
    }

    fn snippet(&self, place: Place) -> (Place, String) {
        let line = self.lines.get(place.line.saturating_sub(1)).copied().unwrap_or_default();
        let shown = blank_secret(line);
        let snippet: String =
            shown.chars().map(|c| if c == '\t' { ' ' } else { c }).take(SNIPPET_CHARS).collect();
        let room = snippet.chars().count().saturating_sub(place.column - 1);
        (Place { length: place.length.min(room).max(1), ..place }, snippet)
    }

    /// The warnings if there is no error, everything if there is one.
    pub(crate) fn verdict(self) -> Result<Vec<Mistake>, Mistakes> {
        let mut all = self.found.into_inner();
        // Stable, by place: in one file top to bottom, the environment last.
        all.sort_by_key(|mistake| (mistake.place.is_none(), mistake.file.clone(), mistake.place));
        if all.iter().any(|mistake| mistake.severity == Severity::Error) || self.left_off.get() > 0 {
            return Err(Mistakes { all, left_off: self.left_off.get() });
        }
        Ok(all)
    }
}

/// What follows a key that sounds like a secret is blanked out: mistakes end up in logs and in bug reports.
fn blank_secret(line: &str) -> Cow<'_, str> {
    const WORDS: [&str; 6] = ["token", "password", "secret", "credential", "private_key", "access_key"];
    let lower = line.to_ascii_lowercase();
    let value_of = |word: &&str| {
        let after = lower.find(word)? + word.len();
        let mark = after + lower[after..].find([':', '='])?;
        let names_a_file = lower[after..mark].ends_with("_file") || lower[after..mark].ends_with("_path");
        let is_text = !line[mark + 1..].trim().is_empty();
        (is_text && !names_a_file).then_some(mark + 1)
    };
    match WORDS.iter().filter_map(value_of).min() {
        Some(start) => format!("{} ***", &line[..start]).into(),
        None => line.into(),
    }
}

pub(crate) fn one_of<'a>(names: impl Iterator<Item = &'a str>) -> String {
    format!("there is `{}`", names.collect::<Vec<_>>().join("`, `"))
}

/// `did you mean …`, or the names that there are.
pub(crate) fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    // Counted in edits where letters may also swap places, the usual typing mistake.
    let near = names.iter().map(|name| (strsim::osa_distance(word, name), *name)).min();
    match near {
        Some((edits, name)) if edits <= 1.max(word.chars().count() / 3) => format!("did you mean `{name}`?"),
        _ if names.len() <= 30 && !names.is_empty() => one_of(names.into_iter()),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_blanked_out() {
        for (line, shown) in [
            ("api_token: hunter2", "api_token: ***"),
            ("  environment: {A: b, API_TOKEN: hunter2}", "  environment: {A: b, API_TOKEN: ***"),
            ("command: x --redis-password=hunter2", "command: x --redis-password= ***"),
            ("token_file: /run/token", "token_file: /run/token"),
            ("  gcp_credentials:", "  gcp_credentials:"),
            ("mode: token", "mode: token"),
        ] {
            assert_eq!(blank_secret(line), shown);
        }
    }
}
