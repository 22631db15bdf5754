//! The desk: takes what is asked from outside and makes a plan of it that changes the target and nothing else.
//! Committed like any other plan, and the next pass goes on from it.

use crate::memory::RefusedWish;
use crate::plan::{Note, Plan, Severity, Subject};
use crate::reason::Reason;
use crate::report::Report;
use crate::standing::Standing;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use ostler_model::{InstanceId, PoolId, Target, Wish};
use ostler_packing::target::{Bounds, Question};
use serde::{Deserialize, Serialize};

/// Names in one list that are remembered before the providers have been seen; afterwards only names that mean
/// something are. More than any pool has workers.
const NAMES_MAX: usize = 100_000;

/// Why a wish is not accepted. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// Workers would have to go from a pool whose provider decides itself which, while some are protected.
    CannotChoose {
        /// The pool.
        pool: PoolId,
    },
    /// It lists more names than can be remembered.
    TooManyNames,
}

/// What comes of a wish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Accepted, or why not.
    pub answer: Result<(), Refusal>,
    /// What to write before the answer is given; `None`: nothing has changed.
    pub plan: Option<Plan>,
}

impl Standing<'_> {
    /// Judges a wish.
    pub fn accept(&self, wish: &Wish) -> Verdict {
        if wish.keep.len().max(wish.delete.len()) > NAMES_MAX {
            return Verdict { answer: Err(Refusal::TooManyNames), plan: None };
        }
        match self.blocked(wish) {
            Some(pool) => self.refuse(wish, pool),
            None => self.take(wish),
        }
    }

    fn take(&self, wish: &Wish) -> Verdict {
        let (wish, unknown) = self.known(wish);
        let last = self.memory.target.as_ref();
        if last.is_some_and(|last| last.wish == wish) && self.memory.refused.is_none() {
            return Verdict { answer: Ok(()), plan: None };
        }
        let seq = last.map_or(1, |last| last.seq + 1);
        let mut notes = self.notes(&wish, seq, unknown);
        notes.sort_by_key(|note| note.severity);
        let target = Some(Target { wish, seq, accepted_at: self.now });
        let memory = crate::Memory { target, refused: None, ..self.memory.clone() };
        Verdict { answer: Ok(()), plan: Some(self.plan(memory, notes)) }
    }

    fn refuse(&self, wish: &Wish, pool: PoolId) -> Verdict {
        let refused =
            RefusedWish { at: self.now, amount: wish.amount, kept: wish.keep.len(), pool: pool.clone() };
        let again = self.memory.refused.as_ref().is_some_and(|last| last.is_like(&refused));
        let note = note(Severity::Warning, Reason::TargetRefused { amount: wish.amount, pool: pool.clone() });
        let memory = crate::Memory { refused: Some(refused), ..self.memory.clone() };
        let plan = (!again).then(|| self.plan(memory, alloc::vec![note]));
        Verdict { answer: Err(Refusal::CannotChoose { pool }), plan }
    }

    /// The pool that would have to shrink and may not: there is somebody to protect, and its provider cannot.
    fn blocked(&self, wish: &Wish) -> Option<PoolId> {
        if wish.keep.is_empty() {
            return None;
        }
        let (question, records) = self.question();
        let names = self.names();
        let Bounds { min, max } = Bounds::of(&question);
        let kept = |n: &usize| wish.keep.contains(names.of(records[*n]));
        let blind = |n: &usize| question.workers[*n].pool.is_some_and(|pool| question.pools[pool].blind);
        let of = |wanted: &dyn Fn(&usize) -> bool| (0..question.workers.len()).filter(wanted).count();
        let surplus = question.workers.len().saturating_sub(wish.amount.clamp(min, max) as usize);
        let free = of(&|n| !kept(n) && !blind(n));
        let in_danger = (0..question.workers.len()).rev().find(blind)?;
        (surplus > free).then(|| records[in_danger].pool().clone())
    }

    /// The wish without names that mean nothing, and those names.
    fn known(&self, wish: &Wish) -> (Wish, Vec<InstanceId>) {
        if !self.all_seen() {
            return (wish.clone(), Vec::new());
        }
        let known = self.known_names();
        let keep: BTreeSet<InstanceId> = wish.keep.intersection(&known).cloned().collect();
        let delete = wish.delete.intersection(&known).filter(|name| !keep.contains(*name)).cloned().collect();
        let unknown = wish.keep.union(&wish.delete).filter(|name| !known.contains(*name)).cloned().collect();
        (Wish { amount: wish.amount, keep, delete }, unknown)
    }

    fn notes(&self, wish: &Wish, seq: u64, unknown: Vec<InstanceId>) -> Vec<Note> {
        let (question, _) = self.question();
        let Bounds { min, max } = Bounds::of(&Question { amount: Some(wish.amount), ..question });
        let count = |names: &BTreeSet<_>| u32::try_from(names.len()).unwrap_or(u32::MAX);
        let (keep, delete) = (count(&wish.keep), count(&wish.delete));
        let to = wish.amount.clamp(min, max);
        let mut notes = alloc::vec![note(
            Severity::Info,
            Reason::TargetAccepted { seq, amount: wish.amount, keep, delete }
        )];
        if to != wish.amount {
            notes.push(note(Severity::Info, Reason::TargetClamped { amount: wish.amount, to, min, max }));
        }
        if keep > to {
            notes.push(note(Severity::Info, Reason::KeepWins { amount: to, keep }));
        }
        if !unknown.is_empty() {
            notes.push(note(Severity::Info, Reason::names_unknown(&unknown)));
        }
        notes
    }

    fn plan(&self, memory: crate::Memory, notes: Vec<Note>) -> Plan {
        let report = Report::empty(self.now);
        Plan {
            steps: Vec::new(),
            changed: Vec::new(),
            forgotten: Vec::new(),
            memory: Some(memory),
            notes,
            report,
        }
    }
}

fn note(severity: Severity, reason: Reason) -> Note {
    Note { subject: Subject::Workload, severity, reason }
}
