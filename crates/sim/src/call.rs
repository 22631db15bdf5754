//! Calls of Ostler to the world outside, and what the world does about them.

use crate::codec;
use crate::world::{World, named_all, named_id, split, workload};
use ostler_engine::Source;
use ostler_lifecycle::{Act, Effect};
use ostler_model::{
    CloudId, CloudInstance, EffectOutcome, EndCause, Failure, FailureClass, LaunchToken, Millis, NodeKind,
    Observed, Timestamp, WorkloadState,
};
use ostler_provider::fake::Answer;
use ostler_provider::{LaunchSpec, ProviderError};
use ostler_store::{Commit, CommitError, Records, Store, StoreError};
use ostler_workload::{DrainAnswer, DrainCause, DrainRequest};

/// A call on its way.
#[derive(Debug, Clone)]
pub(crate) enum Call {
    /// To the store.
    Load,
    /// To the store.
    Commit(Box<Commit>),
    /// To a provider or the workload; the time is that at which the look began.
    Look(Source, Timestamp),
    /// To a provider or the workload; how often this one was tried before.
    Act(Effect, u32),
}

/// What comes back.
#[derive(Debug)]
pub(crate) enum Reply {
    Loaded(Result<Records, StoreError>),
    Committed(Result<u64, CommitError>),
    Workload(Observed<WorkloadState>),
    Provider(Source, Observed<Vec<CloudInstance>>),
    Acted { effect: Effect, tries: u32, outcome: EffectOutcome },
}

impl World {
    /// Carries out a call; the answer leaves at the time that is given with it.
    pub(crate) fn serve(&mut self, call: Call) -> (Timestamp, Reply) {
        let now = self.now;
        let answer = match call {
            Call::Load => (now, Reply::Loaded(self.store.load(&workload()))),
            Call::Commit(commit) => (now, Reply::Committed(self.commit(&commit))),
            Call::Look(Source::Workload(_), began) => {
                (now, Reply::Workload(Observed { at: began, result: self.ray.observe(now) }))
            }
            Call::Look(Source::Provider(provider), began) => {
                let answer = self.list(&provider);
                let result = answer.result.map_err(Failure::from);
                (answer.at, Reply::Provider(Source::Provider(provider), Observed { at: began, result }))
            }
            Call::Act(effect, tries) => {
                let (at, outcome) = self.act(&effect);
                (at, Reply::Acted { effect, tries, outcome })
            }
        };
        self.look_around();
        answer
    }

    fn commit(&mut self, commit: &Commit) -> Result<u64, CommitError> {
        let fails = self.commit_fails.0 > 0;
        self.commit_fails.0 = self.commit_fails.0.saturating_sub(1);
        let broken =
            || StoreError::Other { path: "memory".into(), detail: "as ordered of this store".to_owned() };
        if fails && !self.commit_fails.1 {
            return Err(broken().into());
        }
        let version = self.store.commit(commit)?;
        for id in &commit.deletes {
            self.records.remove(id);
        }
        for (id, text) in &commit.upserts {
            if let Some(instance) = codec::instance(text) {
                self.records.insert(id.clone(), instance);
            }
        }
        if fails { Err(broken().into()) } else { Ok(version) }
    }

    fn list(&mut self, provider: &ostler_model::ProviderId) -> Answer<Vec<CloudInstance>> {
        let now = self.now;
        let unlisted = self.unlisted.get(provider).is_some_and(|until| now < *until);
        match self.clouds.get_mut(provider) {
            Some(cloud) if !unlisted => {
                let Answer { at, result } = cloud.list();
                Answer { at, result: result.map(|listing| named_all(provider, listing.instances)) }
            }
            _ => Answer { at: now, result: Err(trouble("the provider does not answer")) },
        }
    }

    fn act(&mut self, effect: &Effect) -> (Timestamp, EffectOutcome) {
        let now = self.now;
        match &effect.act {
            Act::Launch { token, attempt } => {
                let answer = self.launch(effect, token, *attempt);
                let listed_by = answer.at + self.appears_in(effect);
                (answer.at, answer.result.map_or_else(failed, |_| EffectOutcome::Launched { listed_by }))
            }
            // Nodes of this world join by themselves.
            Act::Install { .. } => (now, EffectOutcome::Done),
            Act::Drain { node, cause, deadline } => {
                let request = DrainRequest {
                    cause: drain_cause(*cause),
                    message: cause.to_string(),
                    deadline: *deadline,
                };
                (now, drained(self.ray.drain(now, node, &request, *cause)))
            }
            // A Ray never takes a drain back.
            Act::Undrain { .. } => (now, failed(trouble("a drain cannot be taken back"))),
            Act::Terminate { cloud, cause } => {
                let answer = self.terminate(cloud, *cause);
                (answer.at, answer.result.map_or_else(failed, |()| EffectOutcome::Done))
            }
        }
    }

    fn launch(&mut self, effect: &Effect, token: &LaunchToken, attempt: u32) -> Answer<CloudId> {
        let now = self.now;
        let pool = self.pools.iter().find(|pool| pool.id == effect.pool);
        let found = pool.and_then(|pool| Some((pool, self.clouds.get_mut(&pool.provider)?)));
        let Some((pool, cloud)) = found else {
            // The configuration no longer says how such a machine is made.
            let error = ProviderError::new(FailureClass::Permanent, "sim.pool", "the pool is not configured");
            return Answer { at: now, result: Err(error) };
        };
        let refused = self.refusing.get(&pool.id).filter(|(until, _)| now < *until);
        let template = refused.map(|(_, class)| serde_json::json!({ "refuse": class }));
        let spec = LaunchSpec {
            workload: workload(),
            pool: pool.id.clone(),
            instance: effect.instance.clone(),
            attempt,
            kind: NodeKind::Worker,
            instance_type: pool.instance_type.clone(),
            resources: pool.resources.clone(),
            labels: pool.labels.clone(),
            tags: std::collections::BTreeMap::new(),
            template: template.unwrap_or_default(),
            environment: std::collections::BTreeMap::new(),
        };
        let before = cloud.existing().len();
        let answer = cloud.launch(&spec, token);
        self.tally.machines += (cloud.existing().len() - before) as u64;
        Answer { at: answer.at, result: answer.result.map(|id| named_id(&pool.provider, &id)) }
    }

    fn appears_in(&self, effect: &Effect) -> Millis {
        let pool = self.pools.iter().find(|pool| pool.id == effect.pool);
        let cloud = pool.and_then(|pool| self.clouds.get(&pool.provider));
        cloud.map_or(Millis(0), |cloud| cloud.habits().appears_in)
    }

    fn terminate(&mut self, id: &CloudId, cause: EndCause) -> Answer<()> {
        let found = split(id).and_then(|(provider, id)| Some((self.clouds.get_mut(&provider)?, id)));
        let Some((cloud, theirs)) = found else {
            return Answer { at: self.now, result: Ok(()) }; // never was
        };
        let stopping = |cloud: &ostler_provider::fake::FakeCloud| {
            let machine = cloud.existing().into_iter().find(|machine| machine.id == theirs);
            machine.is_none_or(|machine| machine.phase == ostler_model::CloudPhase::Stopping)
        };
        let before = stopping(cloud);
        let answer = cloud.terminate(&theirs);
        if !before && stopping(cloud) {
            self.ended.insert(id.clone(), cause);
        }
        answer
    }
}

fn trouble(what: &str) -> ProviderError {
    ProviderError::new(FailureClass::Transient, "sim.away", what)
}

fn failed(error: ProviderError) -> EffectOutcome {
    EffectOutcome::Failed(error.into())
}

/// Only an idle machine may be kept by the workload.
const fn drain_cause(cause: EndCause) -> DrainCause {
    match cause {
        EndCause::Idle | EndCause::PendingIdle => DrainCause::Idle { unused: Millis(0) },
        _ => DrainCause::Preemption,
    }
}

fn drained(answer: Result<DrainAnswer, ostler_workload::WorkloadError>) -> EffectOutcome {
    match answer {
        Ok(DrainAnswer::Accepted) => EffectOutcome::Done,
        Ok(DrainAnswer::Rejected(message)) => EffectOutcome::DrainRejected(message),
        Err(error) => EffectOutcome::Failed(error.into()),
    }
}
