//! Labels of machines and the selectors that ask for them (Ray's label selectors: `in` and `not in`).

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize};

/// Key to value.
pub type Labels = BTreeMap<Arc<str>, Arc<str>>;

/// All terms must hold; no terms hold everywhere.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Selector(pub Vec<Term>);

/// One condition on one key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Term {
    /// The label's key.
    pub key: Arc<str>,
    /// How the value is compared.
    pub operator: Operator,
    /// Any of these values.
    pub values: Vec<Arc<str>>,
}

/// How a [`Term`] compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operator {
    /// The key is there and its value is one of those listed.
    In,
    /// The key is missing, or its value is none of those listed.
    NotIn,
}

impl Selector {
    /// Do these labels satisfy every term?
    pub fn matches(&self, labels: &Labels) -> bool {
        self.0.iter().all(|term| term.matches(labels))
    }
}

impl Term {
    /// Do these labels satisfy this term?
    pub fn matches(&self, labels: &Labels) -> bool {
        let found = labels.get(&self.key).is_some_and(|value| self.values.contains(value));
        match self.operator {
            Operator::In => found,
            Operator::NotIn => !found,
        }
    }
}

impl fmt::Display for Selector {
    /// `zone in (a, b), team not in (x)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, term) in self.0.iter().enumerate() {
            let operator = if term.operator == Operator::In { "in" } else { "not in" };
            let separator = if n == 0 { "" } else { ", " };
            write!(f, "{separator}{} {operator} ({})", term.key, term.values.join(", "))?;
        }
        Ok(())
    }
}
