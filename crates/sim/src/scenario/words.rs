//! The words of one line, read one after the other.

use ostler_model::{Labels, Millis, Operator, Quantity, Resources, Selector, Term};
use std::str::FromStr;

/// What is left of a line.
#[derive(Debug)]
pub(super) struct Words<'a>(std::iter::Peekable<std::str::SplitWhitespace<'a>>);

impl<'a> Words<'a> {
    pub(super) fn of(line: &'a str) -> Self {
        Self(line.split_whitespace().peekable())
    }

    /// The next word; `what` it should be is said if there is none.
    pub(super) fn word(&mut self, what: &str) -> Result<&'a str, String> {
        self.0.next().ok_or_else(|| format!("{what} is missing"))
    }

    /// Takes the next word if it is this one.
    pub(super) fn takes(&mut self, word: &str) -> bool {
        self.0.next_if_eq(&word).is_some()
    }

    pub(super) fn expect(&mut self, word: &str) -> Result<(), String> {
        match self.0.next() {
            Some(found) if found == word => Ok(()),
            Some(found) => Err(format!("{found:?}: expected {word:?}")),
            None => Err(format!("{word:?} is missing")),
        }
    }

    /// The next word as a number, an id, an amount.
    pub(super) fn parse<T: FromStr>(&mut self, what: &str) -> Result<T, String> {
        let word = self.word(what)?;
        word.parse().map_err(|_| format!("{word:?} is not {what}"))
    }

    /// The next word as a length of time.
    pub(super) fn time(&mut self) -> Result<Millis, String> {
        time(self.word("a time")?)
    }

    /// `CPU=1,GPU=2`, or `nothing`.
    pub(super) fn resources(&mut self) -> Result<Resources, String> {
        let word = self.word("an amount of resources")?;
        if word == "nothing" {
            return Ok(Resources::default());
        }
        pairs(word)?
            .into_iter()
            .map(|(name, amount)| {
                let bad = || format!("{amount:?} is not an amount of {name}");
                Ok((name, amount.parse::<Quantity>().map_err(|_| bad())?))
            })
            .collect()
    }

    /// `zone=a,kind=b` as labels of a machine.
    pub(super) fn labels(&mut self) -> Result<Labels, String> {
        let word = self.word("labels")?;
        Ok(pairs(word)?.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }

    /// `where zone=a,kind=b` as a wish for labels, if it is there.
    pub(super) fn selectors(&mut self) -> Result<Vec<Selector>, String> {
        if !self.takes("where") {
            return Ok(Vec::new());
        }
        let term = |(key, value): (&str, &str)| Term {
            key: key.into(),
            operator: Operator::In,
            values: vec![value.into()],
        };
        let terms = pairs(self.word("labels")?)?.into_iter().map(term).collect();
        Ok(vec![Selector(terms)])
    }

    /// Nothing may be left.
    pub(super) fn end(mut self) -> Result<(), String> {
        self.0.next().map_or(Ok(()), |word| Err(format!("{word:?} is too much on this line")))
    }
}

fn pairs(word: &str) -> Result<Vec<(&str, &str)>, String> {
    let pair = |part: &'_ str| format!("{part:?}: write NAME=VALUE, several with commas between");
    word.split(',').map(|part| part.split_once('=').ok_or_else(|| pair(part))).collect()
}

/// `500ms`, `5s`, `2min`, `1h`.
pub(super) fn time(word: &str) -> Result<Millis, String> {
    let bad = || format!("{word:?} is not a time: write 500ms, 5s, 2min or 1h");
    let at = word.find(|c: char| !c.is_ascii_digit()).ok_or_else(bad)?;
    let (number, unit) = word.split_at(at);
    let number: u64 = number.parse().map_err(|_| bad())?;
    let unit = match unit {
        "ms" => 1,
        "s" => 1000,
        "min" => 60_000,
        "h" => 3_600_000,
        _ => return Err(bad()),
    };
    Ok(Millis(number.saturating_mul(unit)))
}
