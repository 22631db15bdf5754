//! The loop.

use crate::input::{Input, Setup};
use crate::output::{Alarm, Declined, Output, Source};
use crate::room::{Room, Stage};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use ostler_lifecycle::Act;
use ostler_model::{
    CloudInstance, EffectOutcome, EffectReport, Observed, ProviderId, Scale, Scoring, Timestamp, WorkloadId,
};
use ostler_planner::Plan;

/// Decides when to plan, and hands out effects once their plan is committed.
#[derive(Debug, Default)]
pub struct Engine {
    rooms: BTreeMap<WorkloadId, Room>,
    listings: BTreeMap<ProviderId, Observed<Vec<CloudInstance>>>,
}

impl Engine {
    /// An engine that knows nothing yet; begin with [`Input::Configured`].
    pub fn new() -> Self {
        Self::default()
    }

    /// The records of a workload, for status pages and tests.
    pub fn records(&self, workload: &WorkloadId) -> impl Iterator<Item = &ostler_lifecycle::Instance> {
        self.rooms.get(workload).into_iter().flat_map(|room| room.records.values())
    }

    /// The newest look at a workload.
    pub fn state(&self, workload: &WorkloadId) -> Option<&Observed<ostler_model::WorkloadState>> {
        self.rooms.get(workload)?.state.as_ref()
    }

    /// What to show of a workload that is scaled to a target; `None` before its records have been read.
    pub fn scale(&self, now: Timestamp, workload: &WorkloadId) -> Option<Scale> {
        let room = self.rooms.get(workload).filter(|room| room.loaded)?;
        let by_target = room.setup.policy.scoring == Scoring::Target;
        by_target.then(|| room.standing(now, &room.memory, &self.listings).scale())
    }

    /// Takes in one thing that happened and says what to do about it.
    pub fn handle(&mut self, now: Timestamp, input: Input) -> Vec<Output> {
        let mut outputs = Vec::new();
        match input {
            Input::Configured(setups) => self.configured(setups, &mut outputs),
            Input::Loaded { workload, version, instances, memory } => {
                if let Some(room) = self.rooms.get_mut(&workload) {
                    room.version = version;
                    room.records = instances.into_iter().map(|i| (i.id().clone(), i)).collect();
                    room.memory = memory;
                    room.loaded = true;
                    room.stage = Stage::Idle;
                    room.dirty = true;
                    room.reconciled = false;
                }
            }
            Input::Observed { workload, look } => {
                if let Some(room) = self.rooms.get_mut(&workload) {
                    room.seen(look);
                }
            }
            Input::Listed { provider, look } => {
                let as_before = self.listings.get(&provider).is_some_and(|known| known.result == look.result);
                for room in self.rooms.values_mut().filter(|room| room.providers().contains(&provider)) {
                    room.noticed(as_before);
                }
                self.listings.insert(provider, look);
            }
            Input::Planned { workload, plan } => self.planned(now, &workload, plan, &mut outputs),
            Input::PlanFailed { workload, message } => self.plan_failed(workload, message, &mut outputs),
            Input::Committed { workload, version } => self.committed(now, &workload, version, &mut outputs),
            Input::CommitRefused { workload } => {
                if let Some(room) = self.rooms.get_mut(&workload) {
                    room.take_back();
                    outputs.push(Output::Load { workload });
                }
            }
            Input::Asked { workload, request } => match self.rooms.get_mut(&workload) {
                Some(room) if room.setup.policy.scoring == Scoring::Target => {
                    room.ask(now, request, &mut outputs)
                }
                _ => outputs.push(Output::Reply { id: request.id, answer: Err(Declined::Unavailable) }),
            },
            Input::EffectEnded { workload, report } => self.effect_ended(&workload, report, &mut outputs),
            Input::Tick => {
                for room in self.rooms.values_mut() {
                    // While records are read again, those at hand are known to be old.
                    if room.reconciled && !matches!(room.stage, Stage::Loading) {
                        run_due(now, room, &mut outputs);
                    }
                    room.dirty = true;
                }
            }
        }
        for room in self.rooms.values_mut().filter(|room| matches!(room.stage, Stage::Idle)) {
            room.answer(now, &self.listings, &mut outputs);
        }
        self.plan_what_is_due(now, &mut outputs);
        outputs
    }

    fn configured(&mut self, setups: Vec<Setup>, outputs: &mut Vec<Output>) {
        self.rooms.retain(|workload, room| {
            let stays = setups.iter().any(|setup| setup.workload == *workload);
            if !stays {
                room.decline_all(outputs);
            }
            stays
        });
        for setup in setups {
            match self.rooms.get_mut(&setup.workload) {
                Some(room) => {
                    room.setup = setup;
                    room.dirty = true;
                }
                None => {
                    let workload = setup.workload.clone();
                    self.rooms.insert(workload.clone(), Room::new(setup));
                    outputs.push(Output::Load { workload });
                }
            }
        }
    }

    /// Judges a plan and has it written. A plan that breaks a promise is dropped; nothing else is tried until
    /// something new is seen.
    fn planned(&mut self, now: Timestamp, workload: &WorkloadId, plan: Plan, outputs: &mut Vec<Output>) {
        let Some(room) = self.rooms.get_mut(workload) else { return };
        let stage = core::mem::replace(&mut room.stage, Stage::Idle);
        let Stage::Planning(snapshot) = stage else {
            room.stage = stage; // an answer that nobody waits for
            return;
        };
        if room.gives_way(now, &self.listings, outputs) {
            return;
        }
        room.planned(now, snapshot.now, plan.is_quiet(&snapshot.memory));
        let findings = ostler_audit::check(&snapshot, &plan);
        if !findings.is_empty() {
            let workload = workload.clone();
            outputs.push(Output::Alarm(Alarm::PlanDropped { workload, findings }));
        } else if plan.is_empty() {
            room.drop_reports(&snapshot);
            // After a restart the effects that the records call for go out here, once a look has shown which of
            // them are overdue: those that are get a new attempt instead.
            room.reconciled = true;
            run_due(now, room, outputs);
            outputs.push(Output::Publish { workload: workload.clone(), plan: Arc::new(plan) });
        } else {
            let plan = Arc::new(plan);
            outputs.push(Output::Commit {
                workload: workload.clone(),
                expected_version: room.version,
                plan: plan.clone(),
            });
            room.stage = Stage::Committing(plan, snapshot);
        }
    }

    fn plan_failed(&mut self, workload: WorkloadId, message: String, outputs: &mut Vec<Output>) {
        if let Some(room) = self.rooms.get_mut(&workload)
            && matches!(room.stage, Stage::Planning(_))
        {
            room.stage = Stage::Idle;
            outputs.push(Output::Alarm(Alarm::PlanFailed { workload, message }));
        }
    }

    fn committed(&mut self, now: Timestamp, workload: &WorkloadId, version: u64, outputs: &mut Vec<Output>) {
        let Some(room) = self.rooms.get_mut(workload) else { return };
        let stage = core::mem::replace(&mut room.stage, Stage::Idle);
        if let Stage::Accepting(plan, answered) = stage {
            room.accepted(&plan, version, answered, outputs);
            return;
        }
        let Stage::Committing(plan, snapshot) = stage else {
            room.stage = stage;
            return;
        };
        room.apply(&plan, version);
        room.drop_reports(&snapshot);
        room.reconciled = true;
        run_due(now, room, outputs);
        outputs.push(Output::Publish { workload: workload.clone(), plan });
    }

    /// What an effect brought about shows in a look at whom it was about. A report about a transition that the
    /// record has left behind is late and says nothing.
    fn effect_ended(&mut self, workload: &WorkloadId, report: EffectReport, outputs: &mut Vec<Output>) {
        let Some(room) = self.rooms.get_mut(workload) else { return };
        let effect = room.records.get(&report.instance).and_then(ostler_lifecycle::due_effect);
        let Some(effect) = effect.filter(|effect| effect.epoch == report.epoch) else { return };
        let pool = room.setup.pools.iter().find(|pool| pool.id == effect.pool);
        match (&effect.act, pool) {
            (Act::Drain { .. } | Act::Undrain { .. }, _) => {
                outputs.push(Output::Look(Source::Workload(workload.clone())))
            }
            (_, Some(pool)) => outputs.push(Output::Look(Source::Provider(pool.provider.clone()))),
            (_, None) => {}
        }
        match report.outcome {
            EffectOutcome::Done => {}
            // It says something only together with the look.
            EffectOutcome::Launched { .. } => room.push_report(report),
            EffectOutcome::DrainRejected(_) | EffectOutcome::Failed(_) => {
                room.push_report(report);
                room.dirty = true;
            }
        }
    }

    /// Plans each workload that has news, has nothing under way, and whose sources have all answered once.
    fn plan_what_is_due(&mut self, now: Timestamp, outputs: &mut Vec<Output>) {
        for room in self.rooms.values_mut() {
            let idle = matches!(room.stage, Stage::Idle);
            let looked_at = room.state.is_some()
                && room.providers().iter().all(|provider| self.listings.contains_key(*provider));
            if idle && looked_at && room.wants_plan(now) {
                (room.dirty, room.again) = (false, false);
                let snapshot = Arc::new(room.snapshot(now, &self.listings));
                room.stage = Stage::Planning(snapshot.clone());
                outputs.push(Output::Plan { snapshot });
            }
        }
    }
}

/// Hands out the effects that the committed records call for. A shadow goes on with nothing, whatever it had begun
/// before it became one.
fn run_due(now: Timestamp, room: &mut Room, outputs: &mut Vec<Output>) {
    if room.setup.policy.is_shadow() {
        return;
    }
    let due = room.effects.due(room.records.values(), now);
    for effect in due.now {
        outputs.push(Output::Run { workload: room.setup.workload.clone(), effect });
    }
    if let Some(next) = due.next {
        outputs.push(Output::WakeAt(next));
    }
}
