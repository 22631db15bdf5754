//! Acting: each effect as a task of its own. It always ends in a report.

use crate::clock::now;
use crate::kubernetes::Claims;
use crate::rim::Rim;
use crate::sources::within;
use ostler_config::Deadlines;
use ostler_engine::Input;
use ostler_lifecycle::{Act, Effect};
use ostler_model::{
    CloudId, EffectOutcome, EffectReport, EndCause, Failure, FailureClass, LaunchToken, NodeId, NodeKind,
    Timestamp, WorkloadId,
};
use ostler_provider::LaunchSpec;
use ostler_workload::{DrainAnswer, DrainCause, DrainRequest};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};

/// Effects that run at the same time; the others wait. Enough to keep any provider busy, few enough not to run
/// out of connections when a thousand machines end together.
const AT_ONCE: usize = 64;
/// A launch whose answer was lost is asked again with the same token after these waits; then it is reported.
const LAUNCH_AGAIN: [Duration; 3] =
    [Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(2)];

/// Runs effects.
#[derive(Debug, Clone)]
pub(crate) struct Executor {
    rim: Arc<Rim>,
    claims: Claims,
    inputs: mpsc::Sender<Input>,
    slots: Arc<Semaphore>,
}

impl Executor {
    pub(crate) fn new(rim: Arc<Rim>, claims: Claims, inputs: mpsc::Sender<Input>) -> Self {
        Self { rim, claims, inputs, slots: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// Begins an effect. `idle_since`: for a drain of an idle node, since when it has been idle.
    pub(crate) fn run(&self, workload: WorkloadId, effect: Effect, idle: ostler_model::Millis) {
        let this = self.clone();
        tokio::spawn(async move {
            let Ok(_slot) = this.slots.clone().acquire_owned().await else { return };
            let outcome = this.act(&workload, &effect, idle).await;
            tracing::debug!(%workload, instance = %effect.instance, act = ?effect.act, ?outcome, "effect ended");
            let report = EffectReport { instance: effect.instance, epoch: effect.epoch, at: now(), outcome };
            // Nobody listens any more when the daemon stops; the effect is run again after the next start.
            let _ = this.inputs.send(Input::EffectEnded { workload, report }).await;
        });
    }

    async fn act(&self, workload: &WorkloadId, effect: &Effect, idle: ostler_model::Millis) -> EffectOutcome {
        if !self.claims.hold() {
            return failed("another Ostler may lead now [OSTLER-D014]");
        }
        let Some(deadlines) = self.rim.config().map(|config| config.deadlines) else {
            return failed("there is no configuration [OSTLER-D004]");
        };
        let result = match &effect.act {
            Act::Launch { token, attempt } => {
                self.launch(workload, effect, token, *attempt, &deadlines).await
            }
            Act::Install { .. } => {
                return failed("no provider of this version prepares machines [OSTLER-D005]");
            }
            Act::Drain { node, cause, deadline } => {
                self.drain(workload, node, *cause, *deadline, idle, &deadlines).await
            }
            Act::Undrain { node } => {
                self.undrain(workload, node, &deadlines).await.map(|()| EffectOutcome::Done)
            }
            Act::Terminate { cloud, .. } => {
                self.terminate(workload, effect, cloud, &deadlines).await.map(|()| EffectOutcome::Done)
            }
        };
        result.unwrap_or_else(EffectOutcome::Failed)
    }

    async fn launch(
        &self,
        workload: &WorkloadId,
        effect: &Effect,
        token: &LaunchToken,
        attempt: u32,
        deadlines: &Deadlines,
    ) -> Result<EffectOutcome, Failure> {
        let Some(context) = self.rim.launch_context(workload, &effect.pool) else {
            let message = format!("pool {} is no longer configured [OSTLER-D006]", effect.pool);
            return Err(Failure { class: FailureClass::Permanent, message });
        };
        let pool = &context.pool.pool;
        let mut environment = context.environment;
        let name = context.name_variable.map(|name| (name.to_owned(), effect.instance.to_string()));
        environment.extend(name);
        let spec = LaunchSpec {
            workload: workload.clone(),
            pool: effect.pool.clone(),
            instance: effect.instance.clone(),
            attempt,
            kind: NodeKind::Worker,
            instance_type: pool.instance_type.clone(),
            resources: pool.resources.clone(),
            labels: pool.labels.clone(),
            tags: std::collections::BTreeMap::new(),
            template: context.pool.template.clone(),
            environment,
        };
        let mut again = LAUNCH_AGAIN.iter();
        loop {
            let answer = within(deadlines.launch, context.provider.launch(&spec, token)).await;
            let may_pass = |failure: &Failure| {
                matches!(failure.class, FailureClass::Transient | FailureClass::Throttled)
            };
            match (answer, again.next()) {
                (Err(failure), Some(wait)) if may_pass(&failure) => tokio::time::sleep(*wait).await,
                (answer, _) => {
                    let appears_within = context.provider.capabilities().appears_within;
                    return answer.map(|_| EffectOutcome::Launched { listed_by: now() + appears_within });
                }
            }
        }
    }

    async fn drain(
        &self,
        workload: &WorkloadId,
        node: &NodeId,
        cause: EndCause,
        deadline: Option<Timestamp>,
        idle: ostler_model::Millis,
        deadlines: &Deadlines,
    ) -> Result<EffectOutcome, Failure> {
        let Some(connected) = self.rim.workload(workload) else {
            return Ok(failed("the workload is no longer configured [OSTLER-D006]"));
        };
        let (cause, message) = match cause {
            EndCause::Idle => {
                let message = format!("Termination of node that's idle for {idle}.");
                (DrainCause::Idle { unused: idle }, message)
            }
            other => (DrainCause::Preemption, format!("Ostler removes the node: {other}.")),
        };
        let request = DrainRequest { cause, message, deadline };
        let answer = within(deadlines.drain, connected.workload.drain(node, &request)).await?;
        Ok(match answer {
            DrainAnswer::Accepted => EffectOutcome::Done,
            DrainAnswer::Rejected(message) => EffectOutcome::DrainRejected(message),
        })
    }

    async fn undrain(
        &self,
        workload: &WorkloadId,
        node: &NodeId,
        deadlines: &Deadlines,
    ) -> Result<(), Failure> {
        match self.rim.workload(workload) {
            Some(connected) => within(deadlines.drain, connected.workload.undrain(node)).await,
            // Nobody is left who could hold on to a drain.
            None => Ok(()),
        }
    }

    async fn terminate(
        &self,
        workload: &WorkloadId,
        effect: &Effect,
        cloud: &CloudId,
        deadlines: &Deadlines,
    ) -> Result<(), Failure> {
        for provider in self.rim.providers_of(workload, &effect.pool) {
            within(deadlines.terminate, provider.terminate(cloud)).await?;
        }
        Ok(())
    }
}

fn failed(message: &str) -> EffectOutcome {
    EffectOutcome::Failed(Failure { class: FailureClass::Permanent, message: message.to_owned() })
}
