//! One life of Ostler: the synchronous twin of the daemon. It feeds the engine and does what the engine says;
//! all that it knows is gone when it is killed.

use crate::call::{Call, Reply};
use crate::codec;
use crate::world::{World, workload};
use ostler_engine::{Engine, Input, Output, Source};
use ostler_lifecycle::{Act, Effect, due_effect};
use ostler_model::{EffectOutcome, EffectReport, FailureClass, Millis, Timestamp};
use ostler_planner::Plan;
use ostler_store::{CommitError, MemoryStore, Store, Term};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A launch that may have worked is asked for so often, with the same token, before it counts as failed.
const LAUNCH_TRIES: u32 = 3;
/// The wait between two such tries, and between two tries to read the store.
const RETRY_AFTER: Millis = Millis::secs(1);

/// One life of Ostler.
#[derive(Debug)]
pub(crate) struct Shell {
    engine: Engine,
    store: MemoryStore,
    term: Term,
    poll: Millis,
    looks: BTreeMap<Source, Look>,
    seed: u64,
}

/// What is under way for one source.
#[derive(Debug, Default)]
struct Look {
    under_way: bool,
    again: bool,
    began: Timestamp,
    next: Timestamp,
}

/// What the shell wants to happen.
#[derive(Debug)]
pub(crate) enum Wish {
    /// Send this call now.
    Send(Call),
    /// Send this call later.
    SendAt(Timestamp, Call),
    /// Give this back at a time.
    Give(Timestamp, Box<Input>),
    /// Give this back when planning may be over.
    Planned(Box<Plan>),
    /// Look at a source at a time.
    PollAt(Timestamp, Source),
    /// A plan is known to all.
    Published(std::sync::Arc<Plan>),
    /// Something that must never happen.
    Broken(String),
}

impl Shell {
    /// Begins a life: a new term, an engine that knows nothing.
    pub(crate) fn new(world: &World, poll: Millis, seed: u64) -> Result<Self, String> {
        let mut store = world.store.another();
        let term =
            store.acquire("sim", world.now, Millis::secs(10)).map_err(|error| format!("no term: {error}"))?;
        Ok(Self { engine: Engine::new(), store, term, poll, looks: BTreeMap::new(), seed })
    }

    /// Tells the engine something.
    pub(crate) fn handle(&mut self, now: Timestamp, input: Input) -> Vec<Output> {
        self.engine.handle(now, input)
    }

    /// Everything is looked at when a life begins: providers stay configured when their last pool goes, since its
    /// machines may not be gone.
    pub(crate) fn look_at_all(&mut self, world: &World) -> Vec<Wish> {
        let mut sources: Vec<Source> = world.clouds.keys().cloned().map(Source::Provider).collect();
        sources.push(Source::Workload(workload()));
        sources.into_iter().filter_map(|source| self.look(world.now, source)).collect()
    }

    /// What one output of the engine asks for.
    pub(crate) fn carry_out(&mut self, now: Timestamp, output: Output) -> Vec<Wish> {
        let wish = match output {
            Output::Load { .. } => Wish::Send(Call::Load),
            Output::Plan { snapshot } => return plan(&snapshot, now),
            Output::Commit { expected_version, plan, .. } => {
                Wish::Send(Call::Commit(Box::new(codec::commit(&plan, expected_version, self.term))))
            }
            Output::Run { effect, .. } => Wish::Send(Call::Act(effect, 0)),
            Output::Publish { plan, .. } => Wish::Published(plan),
            Output::Look(source) => return self.look(now, source).into_iter().collect(),
            Output::Reply { .. } => return Vec::new(), // nobody asks in this world
            Output::WakeAt(at) => Wish::Give(at, Box::new(Input::Tick)),
            Output::Alarm(alarm) => Wish::Broken(format!("alarm: {alarm:?}")),
        };
        vec![wish]
    }

    /// At most one look at a source is under way; who wants one meanwhile gets one after it.
    fn look(&mut self, now: Timestamp, source: Source) -> Option<Wish> {
        let look = self.looks.entry(source.clone()).or_default();
        if look.under_way {
            look.again = true;
            return None;
        }
        (look.under_way, look.again, look.began) = (true, false, now);
        Some(Wish::Send(Call::Look(source, now)))
    }

    /// The time of a look has come, unless it was put off meanwhile.
    pub(crate) fn poll(&mut self, now: Timestamp, source: Source) -> Option<Wish> {
        let due = self.looks.get(&source).is_some_and(|look| look.next == now && !look.under_way);
        if due { self.look(now, source) } else { None }
    }

    fn looked(&mut self, now: Timestamp, source: Source) -> Vec<Wish> {
        let poll = self.poll;
        let look = self.looks.entry(source.clone()).or_default();
        look.under_way = false;
        if look.again {
            return self.look(now, source).into_iter().collect();
        }
        look.next = now.max(look.began + poll);
        vec![Wish::PollAt(look.next, source)]
    }

    /// What the engine hears of a reply (if anything), and what else follows.
    pub(crate) fn hear(&mut self, now: Timestamp, reply: Reply) -> (Option<Input>, Vec<Wish>) {
        let workload = workload();
        match reply {
            Reply::Loaded(Ok(records)) => match codec::records(&records, self.seed) {
                Ok((instances, memory)) => {
                    let version = records.version;
                    (Some(Input::Loaded { workload, version, instances, memory }), Vec::new())
                }
                Err(text) => (None, vec![Wish::Broken(format!("the store gives back {text}"))]),
            },
            Reply::Loaded(Err(_)) => (None, vec![Wish::SendAt(now + RETRY_AFTER, Call::Load)]),
            Reply::Committed(Ok(version)) => (Some(Input::Committed { workload, version }), Vec::new()),
            Reply::Committed(Err(error @ CommitError::TermLost { .. })) => {
                (None, vec![Wish::Broken(format!("two lives at once: {error}"))])
            }
            Reply::Committed(Err(_)) => (Some(Input::CommitRefused { workload }), Vec::new()),
            Reply::Workload(look) => {
                let wishes = self.looked(now, Source::Workload(workload.clone()));
                (Some(Input::Observed { workload, look }), wishes)
            }
            Reply::Provider(source, look) => {
                let wishes = self.looked(now, source.clone());
                let Source::Provider(provider) = source else { return (None, wishes) };
                (Some(Input::Listed { provider, look }), wishes)
            }
            Reply::Acted { effect, tries, outcome }
                if is_tried_again(&effect, tries, &outcome) && self.is_due(&effect) =>
            {
                (None, vec![Wish::SendAt(now + RETRY_AFTER, Call::Act(effect, tries + 1))])
            }
            Reply::Acted { effect, outcome, .. } => {
                let report =
                    EffectReport { instance: effect.instance, epoch: effect.epoch, at: now, outcome };
                (Some(Input::EffectEnded { workload, report }), Vec::new())
            }
        }
    }

    /// Does its record still call for it? A launch that was withdrawn meanwhile is not tried again.
    fn is_due(&self, effect: &Effect) -> bool {
        let workload = workload();
        let record = self.engine.records(&workload).find(|record| *record.id() == effect.instance);
        record.and_then(due_effect).as_ref() == Some(effect)
    }

    /// Its leadership ends with it.
    pub(crate) fn kill(self) {
        drop(self.store);
    }
}

fn is_tried_again(effect: &Effect, tries: u32, outcome: &EffectOutcome) -> bool {
    let passing = |class| matches!(class, FailureClass::Transient | FailureClass::Throttled);
    let launch = matches!(effect.act, Act::Launch { .. });
    launch && tries < LAUNCH_TRIES && matches!(outcome, EffectOutcome::Failed(f) if passing(f.class))
}

/// A panic of the planner costs one pass, as in the daemon; here it is also a broken promise.
fn plan(snapshot: &ostler_planner::Snapshot, now: Timestamp) -> Vec<Wish> {
    match catch_unwind(AssertUnwindSafe(|| ostler_planner::plan(snapshot))) {
        Ok(plan) => vec![Wish::Planned(Box::new(plan))],
        Err(_) => vec![
            Wish::Give(
                now,
                Box::new(Input::PlanFailed { workload: workload(), message: "panic".to_owned() }),
            ),
            Wish::Broken("the planner panicked".to_owned()),
        ],
    }
}
