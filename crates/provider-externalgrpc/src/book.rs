//! What the ledger says: pure. The wire knows how many machines a group wants, and not for whom; this is the
//! rest.
//!
//! Each change is made to a copy and counts once it is on disk, so that a crash leaves the book before it or
//! the book after it. Each can be made again: looks come from several callers.

use crate::error::{FAILED, OVERTAKEN, refuse};
use crate::look::Look;
use ostler_model::{CloudId, CloudPhase, FailureClass, InstanceId, LaunchToken, Millis, NodeKind, Timestamp};
use ostler_provider::{LaunchSpec, ProviderError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Ended machines of a group that are remembered, the newest: days of a busy group, and under a megabyte.
const ENDED_KEPT: usize = 2_000;
/// Refusals that nobody has fetched are remembered so long: a launch is repeated within minutes.
const REFUSALS_KEPT: Millis = Millis::secs(3600);

/// All groups, by the server's id.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Book {
    pub(crate) format: u32,
    #[serde(default)]
    pub(crate) groups: BTreeMap<String, Arc<Shelf>>,
}

/// One group.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Shelf {
    /// Launches without a machine, the oldest first.
    pub(crate) outstanding: Vec<Wish>,
    /// All machines of the last look.
    pub(crate) machines: BTreeMap<CloudId, Machine>,
    /// Those that are in it no more, the newest last.
    pub(crate) ended: Vec<Ended>,
    /// What was refused and not told yet.
    pub(crate) refused: Vec<Refusal>,
    /// The size that was asked for last.
    pub(crate) raised: Option<Raised>,
    /// The size that is being taken back.
    pub(crate) lowering: Option<Lowering>,
    /// By how much the size has changed through us, ever.
    pub(crate) moved: i64,
}

/// For whom a machine is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Launch {
    pub(crate) token: LaunchToken,
    pub(crate) instance: InstanceId,
    pub(crate) attempt: u32,
    pub(crate) head: bool,
}

/// A launch that waits for a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Wish {
    pub(crate) launch: Launch,
    /// When its first attempt was noted.
    pub(crate) since: Timestamp,
}

/// A machine that is there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// `None`: it was there before us, or the server made it by itself.
    pub(crate) launch: Option<Launch>,
    /// It could not be made.
    pub(crate) trouble: Option<Trouble>,
    pub(crate) ending: Option<Ending>,
}

/// Why something came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Trouble {
    pub(crate) class: FailureClass,
    pub(crate) text: String,
}

/// We want its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ending {
    pub(crate) stage: Stage,
    pub(crate) at: Timestamp,
    /// The group's size when it was asked, and [`Shelf::moved`].
    pub(crate) target: i64,
    pub(crate) moved: i64,
}

/// How far an end is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stage {
    /// Written before the call: whether it was heard is not known.
    Asked,
    /// The server said yes.
    Accepted,
    /// The server said no.
    Refused,
}

/// A machine that was there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ended {
    pub(crate) id: CloudId,
    pub(crate) machine: Machine,
}

/// A launch that came to nothing, to be told to its caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refusal {
    pub(crate) launch: Launch,
    pub(crate) why: Why,
    pub(crate) trouble: Trouble,
    pub(crate) at: Timestamp,
}

/// Which code a refusal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Why {
    Refused,
    Full,
    GivenUp,
}

/// A size that was asked for. Written before the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Raised {
    pub(crate) to: i64,
    pub(crate) at: Timestamp,
}

/// A size that is to be taken back to. Written before the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Lowering {
    pub(crate) to: i64,
    pub(crate) by: i64,
    pub(crate) at: Timestamp,
}

/// How it stands with a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    Here(CloudId),
    Waiting,
    /// Known no more, or refused: [`Shelf::answer`] says which.
    Over,
}

impl Launch {
    pub(crate) fn of(spec: &LaunchSpec, token: &LaunchToken) -> Self {
        Self {
            token: token.clone(),
            instance: spec.instance.clone(),
            attempt: spec.attempt,
            head: spec.kind == NodeKind::Head,
        }
    }

    pub(crate) fn kind(&self) -> NodeKind {
        if self.head { NodeKind::Head } else { NodeKind::Worker }
    }
}

impl Machine {
    fn is_of(&self, token: &LaunchToken) -> bool {
        self.launch.as_ref().is_some_and(|launch| launch.token == *token)
    }

    /// Is it, or will it be, none of the machines that the group wants?
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.is_some_and(|ending| ending.stage != Stage::Refused)
    }
}

impl Shelf {
    /// Notes a launch, unless it is known. A new attempt takes the place of the one before it, so that a
    /// record never waits for two machines.
    pub(crate) fn wish(&mut self, launch: &Launch, now: Timestamp) -> Result<(), ProviderError> {
        if self.standing(&launch.token) != Standing::Over {
            return Ok(());
        }
        if let Some(told) = self.take_refusal(&launch.token) {
            return Err(told);
        }
        if let Some(wish) = self.outstanding.iter_mut().find(|w| w.launch.instance == launch.instance) {
            if wish.launch.attempt > launch.attempt {
                return Err(overtaken(launch));
            }
            wish.launch = launch.clone();
        } else {
            self.outstanding.push(Wish { launch: launch.clone(), since: now });
        }
        Ok(())
    }

    /// How it stands with this token. Changes nothing, so that waiting costs no write.
    pub(crate) fn standing(&self, token: &LaunchToken) -> Standing {
        if self.outstanding.iter().any(|wish| wish.launch.token == *token) {
            return Standing::Waiting;
        }
        let ended = self.ended.iter().rev().map(|ended| (&ended.id, &ended.machine));
        match self.machines.iter().chain(ended).find(|(_, machine)| machine.is_of(token)) {
            Some((id, machine)) if machine.trouble.is_none() => Standing::Here(id.clone()),
            _ => Standing::Over,
        }
    }

    /// The answer to a launch that is over. It is told once: the same token asked again is a new wish.
    pub(crate) fn answer(&mut self, launch: &Launch) -> ProviderError {
        self.take_refusal(&launch.token).unwrap_or_else(|| overtaken(launch))
    }

    fn take_refusal(&mut self, token: &LaunchToken) -> Option<ProviderError> {
        let ended = self.ended.iter_mut().map(|ended| (&ended.id, &mut ended.machine));
        let mut all = self.machines.iter_mut().chain(ended);
        if let Some((id, machine)) = all.find(|(_, machine)| machine.is_of(token)) {
            let trouble = machine.trouble.as_ref()?;
            let text = format!("{id} could not be made: {}; the cloud's own words", trouble.text);
            let told = refuse(trouble.class, FAILED, text);
            machine.launch = None;
            return Some(told);
        }
        let at = self.refused.iter().position(|refusal| refusal.launch.token == *token)?;
        let refusal = self.refused.remove(at);
        Some(refuse(refusal.trouble.class, refusal.why.code(), refusal.trouble.text))
    }

    /// Brings the book up to date with a look: machines that are new go to the launches that wait, the oldest
    /// first; what is left over was not asked for by us.
    pub(crate) fn settle(&mut self, look: &Look, now: Timestamp) {
        let gone: Vec<_> =
            self.machines.keys().filter(|id| !look.machines.contains_key(*id)).cloned().collect();
        for id in gone {
            let machine = self.machines.remove(&id).unwrap_or_default();
            self.ended.push(Ended { id, machine });
        }
        for (id, seen) in &look.machines {
            if !self.machines.contains_key(id) {
                let machine = self.recall(id).unwrap_or_else(|| self.adopt(seen.is_deleting()));
                self.machines.insert(id.clone(), machine);
            }
            let machine = self.machines.entry(id.clone()).or_default();
            // Kept until it is told, also while the machine goes; one that runs after all has none.
            machine.trouble = match seen.phase {
                CloudPhase::Running => None,
                _ => seen.trouble.clone().or(machine.trouble.take()),
            };
        }
        self.refused.retain(|refusal| now.since(refusal.at) < REFUSALS_KEPT);
        let surplus = self.ended.len().saturating_sub(ENDED_KEPT);
        self.ended.drain(..surplus);
    }

    /// A machine that was missing from a listing and is back is the one that it was. One that we ended is
    /// not: then the server uses its name again.
    fn recall(&mut self, id: &CloudId) -> Option<Machine> {
        let at = self.ended.iter().rposition(|ended| ended.id == *id)?;
        let was = &self.ended[at].machine;
        let back = !was.is_ending() && was.trouble.is_none();
        back.then(|| self.ended.remove(at).machine)
    }

    fn adopt(&mut self, is_deleting: bool) -> Machine {
        let takes = !is_deleting && !self.outstanding.is_empty();
        Machine { launch: takes.then(|| self.outstanding.remove(0).launch), ..Machine::default() }
    }

    /// How many machines the group should want: those that stay, and those that launches wait for (overdue
    /// ones among them).
    pub(crate) fn wanted(&self, look: &Look) -> i64 {
        count(look.machines.iter().filter(|(id, seen)| {
            let stays = self.machines.get(*id).is_none_or(|machine| !machine.is_ending());
            stays && seen.is_good()
        })) + self.waiting()
    }

    /// How many it seems to want and will not get: what could not be made, and is not taken back yet. Neither
    /// is what is being taken back: whether the size holds it still is not known, and it is not asked for
    /// twice.
    pub(crate) fn broken(&self, look: &Look) -> i64 {
        count(look.machines.iter().filter(|(id, seen)| {
            let stays = self.machines.get(*id).is_none_or(|machine| !machine.is_ending());
            stays && seen.trouble.is_some()
        }))
    }

    pub(crate) fn waiting(&self) -> i64 {
        self.outstanding.len() as i64
    }

    /// The size that the group has, or will show soon.
    pub(crate) fn size(&self, target: i64, now: Timestamp, settle: Millis) -> i64 {
        let soon = self.raised.filter(|raised| now.since(raised.at) < settle);
        soon.map_or(target, |raised| raised.to.max(target))
    }

    /// The newest launches that wait are refused.
    pub(crate) fn refuse_newest(&mut self, n: i64, why: Why, trouble: &Trouble, now: Timestamp) {
        for _ in 0..n {
            let Some(wish) = self.outstanding.pop() else { return };
            self.refuse(wish, why, trouble.clone(), now);
        }
    }

    /// Launches that have waited too long are over.
    pub(crate) fn refuse_overdue(&mut self, after: Millis, now: Timestamp) {
        let (over, wait): (Vec<_>, Vec<_>) =
            self.outstanding.drain(..).partition(|wish| now.since(wish.since) >= after);
        self.outstanding = wait;
        for wish in over {
            let text =
                format!("no machine came within {after}; it was taken back, look at the cloud for why");
            self.refuse(wish, Why::GivenUp, Trouble { class: FailureClass::OutOfCapacity, text }, now);
        }
    }

    fn refuse(&mut self, wish: Wish, why: Why, trouble: Trouble, now: Timestamp) {
        tracing::warn!(instance = %wish.launch.instance, why = trouble.text, "a launch came to nothing");
        // Of one record only the newest refusal is of use.
        self.refused.retain(|refusal| refusal.launch.instance != wish.launch.instance);
        self.refused.push(Refusal { launch: wish.launch, why, trouble, at: now });
    }

    pub(crate) fn overdue(&self, after: Millis, now: Timestamp) -> i64 {
        count(self.outstanding.iter().filter(|wish| now.since(wish.since) >= after))
    }

    /// The size has changed through us.
    pub(crate) fn moved_by(&mut self, by: i64) {
        self.moved += by;
        if by < 0
            && let Some(raised) = &mut self.raised
        {
            raised.to += by;
        }
    }

    /// Is something to be done even if nobody calls?
    pub(crate) fn needs_care(&self) -> bool {
        let broken = |machine: &Machine| machine.trouble.is_some();
        !self.outstanding.is_empty() || self.lowering.is_some() || self.machines.values().any(broken)
    }
}

impl Why {
    fn code(self) -> &'static str {
        match self {
            Self::Refused => crate::error::REFUSED,
            Self::Full => crate::error::FULL,
            Self::GivenUp => crate::error::GIVEN_UP,
        }
    }
}

fn count<T>(items: impl Iterator<Item = T>) -> i64 {
    items.count() as i64
}

fn overtaken(launch: &Launch) -> ProviderError {
    let text = format!("{}: a newer attempt of {} has taken its place", launch.token, launch.instance);
    refuse(FailureClass::Transient, OVERTAKEN, text)
}
