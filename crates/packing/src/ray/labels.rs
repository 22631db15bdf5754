//! Label sets that mean the same to every request are one class.

use super::request::{Requests, SelectorList};
use crate::problem::Problem;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use ostler_model::{Labels, Strategy};

/// What a label class means.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Class {
    /// By selector list: the index of the first selector that is met.
    pub(super) met: Vec<Option<u32>>,
    /// Strictly spread gangs that already have a part here.
    pub(super) parts_of: Vec<usize>,
}

/// Gives label sets their class.
pub(super) struct Classes {
    pub(super) all: Vec<Class>,
    known: BTreeMap<Class, usize>,
    /// Labels that mark a part of a strictly spread gang, with the gang's index.
    marks: Vec<(String, usize)>,
    /// The class of labels that mean nothing to anyone.
    plain: Option<usize>,
}

impl Classes {
    pub(super) fn of(problem: &Problem) -> Self {
        let gangs = problem.gangs.iter().enumerate();
        let strict = gangs.filter(|(_, gang)| gang.strategy == Strategy::StrictSpread);
        // Ray marks a node that holds a part of a placement group with this label.
        let marks = strict.map(|(n, gang)| (alloc::format!("_PG_{}", gang.id), n)).collect();
        Self { all: Vec::new(), known: BTreeMap::new(), marks, plain: None }
    }

    pub(super) fn number(&mut self, labels: &Labels, requests: &Requests<'_>) -> usize {
        let plain = labels.is_empty() || (requests.lists.is_empty() && self.marks.is_empty());
        if let (true, Some(class)) = (plain, self.plain) {
            return class;
        }
        let first = |list: &SelectorList| {
            let met = list.selectors.iter().position(|selector| selector.matches(labels))?;
            u32::try_from(met).ok()
        };
        let here = self.marks.iter().filter(|(mark, _)| labels.contains_key(mark.as_str()));
        let parts_of = here.map(|(_, gang)| *gang).collect();
        let class = Class { met: requests.lists.iter().map(first).collect(), parts_of };
        let next = self.all.len();
        let number = *self.known.entry(class.clone()).or_insert(next);
        if number == next {
            self.all.push(class);
        }
        if plain {
            self.plain = Some(number);
        }
        number
    }
}
