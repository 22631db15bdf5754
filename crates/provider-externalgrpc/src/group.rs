//! One group: looks at it, and what is done about it. Two locks, always in this order: `turn` for what
//! changes the group, `looked` for a look and what the book makes of it. Whoever waited for another's look
//! takes that one.

use crate::book::{Ending, Launch, Lowering, Raised, Shelf, Stage, Standing, Trouble, Why};
use crate::client::Client;
use crate::config::{Config, Group, Timing};
use crate::error::{NO_ANSWER, STILL_THERE, refuse};
use crate::ledger::Ledger;
use crate::look::Look;
use ostler_model::{CloudId, FailureClass, Millis, Timestamp};
use ostler_provider::ProviderError;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::Mutex;

/// The server, and when it was last told to refresh what it knows.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) client: Client,
    refreshed: Mutex<Option<Instant>>,
}

impl Server {
    pub(crate) fn new(config: &Config) -> Result<Self, ProviderError> {
        Ok(Self { client: Client::new(config)?, refreshed: Mutex::default() })
    }

    /// Servers that keep what they know look again now. Once for all that have asked before it began.
    pub(crate) async fn refresh(&self, asked: Instant) -> Result<(), ProviderError> {
        let mut last = self.refreshed.lock().await;
        if last.is_none_or(|began| began < asked) {
            let began = Instant::now();
            self.client.refresh().await?;
            *last = Some(began);
        }
        Ok(())
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Herd {
    pub(crate) group: Group,
    timing: Timing,
    server: Arc<Server>,
    ledger: Ledger,
    looked: Mutex<Option<(Instant, Arc<Look>)>>,
    turn: Mutex<Option<Instant>>,
}

/// What is to be done about an end.
enum Step {
    Call,
    Done,
    /// It may still be heard.
    Wait,
    Stuck,
}

impl Herd {
    pub(crate) fn new(group: Group, timing: Timing, server: Arc<Server>, ledger: Ledger) -> Self {
        Self { group, timing, server, ledger, looked: Mutex::default(), turn: Mutex::default() }
    }

    fn id(&self) -> &str {
        &self.group.group
    }

    /// The group at a time after `asked`; the book knows all of it.
    pub(crate) async fn look(&self, asked: Instant) -> Result<Arc<Look>, ProviderError> {
        let mut last = self.looked.lock().await;
        if let Some((_, look)) = last.as_ref().filter(|(began, _)| *began >= asked) {
            return Ok(look.clone());
        }
        let began = Instant::now();
        self.server.refresh(asked).await?;
        let look = Arc::new(self.server.client.look(self.id()).await?);
        let (seen, now) = (look.clone(), now());
        self.ledger.change(self.id(), move |shelf| shelf.settle(&seen, now)).await?;
        *last = Some((began, look.clone()));
        Ok(look)
    }

    /// A machine for this launch. Ends with an error that is not transient only if there will be none.
    pub(crate) async fn obtain(&self, launch: Launch) -> Result<CloudId, ProviderError> {
        let standing = || self.ledger.read(self.id(), |shelf| shelf.standing(&launch.token));
        if standing() == Standing::Over {
            // What is there before the wish is noted is not its machine.
            self.look(ago(self.timing.poll)).await?;
            let (wish, now) = (launch.clone(), now());
            self.ledger.change(self.id(), move |shelf| shelf.wish(&wish, now)).await??;
        }
        loop {
            match standing() {
                Standing::Here(id) => return Ok(id),
                Standing::Over => {
                    let launch = launch.clone();
                    return Err(self.ledger.change(self.id(), move |shelf| shelf.answer(&launch)).await?);
                }
                Standing::Waiting => {}
            }
            self.advance(Instant::now()).await.map_err(unsure)?;
            if standing() == Standing::Waiting {
                tokio::time::sleep(self.timing.poll).await;
            }
        }
    }

    /// Brings the group nearer to what the book says, once for all that have asked before it began: ends what
    /// could not be made, takes back what did not come, and asks for what is missing.
    pub(crate) async fn advance(&self, asked: Instant) -> Result<(), ProviderError> {
        let mut turn = self.turn.lock().await;
        if turn.is_some_and(|began| began >= asked) {
            return Ok(());
        }
        let began = Instant::now();
        let look = self.look(began).await?;
        self.clear_broken(&look).await;
        self.give_up(&look).await?;
        self.level(&look).await?;
        *turn = Some(began);
        Ok(())
    }

    /// What could not be made is ended, so that the group's size falls with it.
    async fn clear_broken(&self, look: &Look) {
        let again = millis(self.timing.ask_again_after);
        for (id, _) in look.machines.iter().filter(|(_, seen)| seen.trouble.is_some()) {
            let ending = self.ledger.read(self.id(), |shelf| shelf.machines.get(id).and_then(|m| m.ending));
            let due = ending.is_none_or(|e| e.stage == Stage::Asked || now().since(e.at) >= again);
            if !due {
                continue;
            }
            match self.end(look, id).await {
                Ok(()) => {}
                Err(error) if error.code == NO_ANSWER => {
                    tracing::debug!(machine = %id, %error, "the end of a machine that could not be made");
                }
                Err(error) => {
                    tracing::warn!(machine = %id, %error, "a machine that could not be made cannot be ended")
                }
            }
        }
    }

    /// What was asked for long ago and has not come is taken back, once.
    async fn give_up(&self, look: &Look) -> Result<(), ProviderError> {
        let (after, now) = (millis(self.timing.give_up_after), now());
        let (overdue, wanted, broken, lowering) = self.ledger.read(self.id(), |shelf| {
            (shelf.overdue(after, now), shelf.wanted(look), shelf.broken(look), shelf.lowering)
        });
        if overdue == 0 && lowering.is_none() {
            return Ok(());
        }
        let target = self.server.client.target(self.id()).await?;
        let to = (target - overdue).max(wanted - overdue + broken).max(0);
        let done_before = lowering.filter(|lowering| target <= lowering.to);
        let mut moved = done_before.map_or(0, |lowering| -lowering.by);
        let by = target - to;
        let settle = millis(self.timing.settle);
        if done_before.is_none() && lowering.is_some_and(|lowering| now.since(lowering.at) < settle) {
            return Ok(()); // it may still be heard
        }
        if done_before.is_none() && overdue > 0 && by > 0 {
            let intent = Lowering { to, by, at: now };
            self.ledger.change(self.id(), move |shelf| shelf.lowering = Some(intent)).await?;
            match self.server.client.decrease(self.id(), by).await {
                Ok(()) => moved = -by,
                // Asked again at the next turn, unless the size has fallen.
                Err(error) if error.code == NO_ANSWER => {
                    tracing::warn!(group = self.id(), by, %error, "a size may not have been taken back");
                    return Ok(());
                }
                Err(error) => tracing::warn!(group = self.id(), by, %error, "a size cannot be taken back"),
            }
        }
        let over = move |shelf: &mut Shelf| {
            shelf.refuse_overdue(after, now);
            shelf.moved_by(moved);
            shelf.lowering = None;
        };
        self.ledger.change(self.id(), over).await
    }

    /// Asks for as many more as launches wait for and are not coming. What is overdue is asked for no more.
    async fn level(&self, look: &Look) -> Result<(), ProviderError> {
        let (after, now) = (millis(self.timing.give_up_after), now());
        if self.ledger.read(self.id(), |shelf| shelf.waiting() - shelf.overdue(after, now)) == 0 {
            return Ok(());
        }
        let target = self.server.client.target(self.id()).await?;
        let settle = millis(self.timing.settle);
        let (size, broken, missing) = self.ledger.read(self.id(), |shelf| {
            let (size, broken, overdue) =
                (shelf.size(target, now, settle), shelf.broken(look), shelf.overdue(after, now));
            let missing = shelf.wanted(look) - overdue - (size - broken);
            (size, broken, missing.clamp(0, shelf.waiting() - overdue))
        });
        if missing == 0 {
            return Ok(());
        }
        let Some(bounds) = self.server.client.bounds(self.id()).await? else {
            let text = format!("the server has no group {:?}; correct template.group", self.id());
            return self.refuse(missing, Why::Refused, FailureClass::Permanent, text).await;
        };
        let room = (bounds.max - size.max(target)).max(0);
        let by = missing.min(room);
        // Where something broken makes room soon, a launch waits for it.
        let too_many = missing - by - broken;
        if too_many > 0 {
            let text =
                format!("group {} has its {} machines; raise its bound at the server", self.id(), bounds.max);
            self.refuse(too_many, Why::Full, FailureClass::Quota, text).await?;
        }
        if by > 0 { self.raise(size + by, by, now).await } else { Ok(()) }
    }

    async fn raise(&self, to: i64, by: i64, at: Timestamp) -> Result<(), ProviderError> {
        let note = move |shelf: &mut Shelf| {
            shelf.moved_by(by);
            shelf.raised.replace(Raised { to, at })
        };
        let before = self.ledger.change(self.id(), note).await?;
        match self.server.client.increase(self.id(), by).await {
            Err(error) if error.class != FailureClass::Transient => {
                let undo = move |shelf: &mut Shelf| {
                    shelf.raised = before;
                    shelf.moved -= by;
                };
                self.ledger.change(self.id(), undo).await?;
                self.refuse(by, Why::Refused, error.class, error.message).await
            }
            other => other,
        }
    }

    async fn refuse(&self, n: i64, why: Why, class: FailureClass, text: String) -> Result<(), ProviderError> {
        let now = now();
        let refuse = move |shelf: &mut Shelf| {
            shelf.refuse_newest(n, why, &Trouble { class, text }, now);
        };
        self.ledger.change(self.id(), refuse).await
    }

    /// Ends a machine, if it is there and not ending.
    pub(crate) async fn terminate(&self, id: &CloudId) -> Result<(), ProviderError> {
        if self.is_accepted(id) {
            return Ok(());
        }
        let _turn = self.turn.lock().await;
        let look = self.look(Instant::now()).await?;
        match look.machines.get(id) {
            Some(seen) if !seen.is_deleting() => self.end(&look, id).await,
            _ => Ok(()),
        }
    }

    /// The server said yes to its end a short while ago.
    fn is_accepted(&self, id: &CloudId) -> bool {
        let ending = self.ledger.read(self.id(), |shelf| shelf.machines.get(id).and_then(|m| m.ending));
        let again = millis(self.timing.ask_again_after);
        ending.is_some_and(|e| e.stage == Stage::Accepted && now().since(e.at) < again)
    }

    /// Asks for the end of one machine that is listed. A repeated call would lower the group's size again at
    /// some servers, and a healthy machine would go: what may have been heard is looked for in the size
    /// first.
    async fn end(&self, look: &Look, id: &CloudId) -> Result<(), ProviderError> {
        let target = self.server.client.target(self.id()).await?;
        let (key, now, again) = (id.clone(), now(), millis(self.timing.ask_again_after));
        let look = look.clone();
        let settle = millis(self.timing.settle);
        let ask = move |shelf: &mut Shelf| step(shelf, &look, &key, target, now, (settle, again));
        match self.ledger.change(self.id(), ask).await? {
            Step::Done => return Ok(()),
            Step::Stuck => {
                let text = format!(
                    "{id}: its end was accepted, group {} counts it no more, and it is still \
                     listed after {again}; look at it in the cloud",
                    self.id()
                );
                return Err(refuse(FailureClass::Transient, STILL_THERE, text));
            }
            Step::Wait => {
                let text = format!(
                    "{id}: its end was asked for and not answered; it is seen within {settle}, or asked again"
                );
                return Err(refuse(FailureClass::Transient, NO_ANSWER, text));
            }
            Step::Call => {}
        }
        let outcome = self.server.client.delete(self.id(), id).await;
        let stage = match &outcome {
            Ok(()) => Stage::Accepted,
            Err(error) if error.class == FailureClass::Transient => return outcome,
            Err(_) => Stage::Refused,
        };
        let key = id.clone();
        let note = move |shelf: &mut Shelf| note_end(shelf, &key, stage, now);
        self.ledger.change(self.id(), note).await?;
        outcome
    }

    pub(crate) fn needs_care(&self) -> bool {
        self.ledger.read(self.id(), Shelf::needs_care)
    }
}

fn step(
    shelf: &mut Shelf,
    look: &Look,
    id: &CloudId,
    target: i64,
    now: Timestamp,
    (settle, again): (Millis, Millis),
) -> Step {
    let (moved, wanted) = (shelf.moved, shelf.wanted(look));
    let Some(machine) = shelf.machines.get_mut(id) else { return Step::Done };
    match machine.ending {
        Some(ending) if ending.stage == Stage::Accepted => {
            if now.since(ending.at) < again {
                return Step::Done;
            }
            if target <= wanted {
                return Step::Stuck;
            }
        }
        Some(ending) if ending.stage == Stage::Asked && target < ending.target + moved - ending.moved => {
            note_end(shelf, id, Stage::Accepted, now);
            return Step::Done;
        }
        Some(ending) if ending.stage == Stage::Asked && now.since(ending.at) < settle => return Step::Wait,
        _ => {}
    }
    machine.ending = Some(Ending { stage: Stage::Asked, at: now, target, moved });
    Step::Call
}

fn note_end(shelf: &mut Shelf, id: &CloudId, stage: Stage, now: Timestamp) {
    // It may have left the listing, and the book, while the server answered.
    let ended = shelf.ended.iter_mut().rev().find(|ended| ended.id == *id).map(|ended| &mut ended.machine);
    if let Some(ending) = shelf.machines.get_mut(id).or(ended).and_then(|machine| machine.ending.as_mut()) {
        (ending.stage, ending.at) = (stage, now);
    }
    if stage == Stage::Accepted {
        shelf.moved_by(-1);
    }
}

/// A launch was noted, and may be under way.
fn unsure(error: ProviderError) -> ProviderError {
    ProviderError { class: FailureClass::Transient, ..error }
}

pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(since.as_millis() as u64)
}

pub(crate) fn ago(span: Duration) -> Instant {
    let now = Instant::now();
    now.checked_sub(span).unwrap_or(now)
}

pub(crate) fn millis(span: Duration) -> Millis {
    Millis(span.as_millis().try_into().unwrap_or(u64::MAX))
}
