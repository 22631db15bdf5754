//! One of several Ostlers leads: the one that holds the Lease. Each time it changes hands its count of
//! transitions rises, and that count is the leader's term: whoever fences what he writes by the term shuts
//! out every leader of before, also one that was asleep and does not know. Who does not write where the next leader
//! writes is shut out by his own clock: see [`Claim`].
//!
//! Clocks of different hosts are never compared: a Lease has run out if it was not renewed for its whole
//! length by our own clock.

use crate::client::{client, found};
use crate::config::Config;
use crate::error::{explain, status};
use k8s_openapi::api::coordination::v1::{Lease as Object, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff;
use kube::api::{Api, PostParams};
use ostler_workload::WorkloadError;
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// A try to renew that fails is repeated after this.
const AGAIN: Duration = Duration::from_millis(500);
/// Another's Lease is looked at this often at most.
const LOOK: Duration = Duration::from_secs(2);

/// Which Lease, and for whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Its name, in the namespace of the configuration.
    pub name: String,
    /// Who asks; no two that run at the same time may have the same name (pod name and process, say).
    pub holder: String,
    /// For how long it holds without being renewed; whole seconds. It is renewed three times as often.
    pub lasts: Duration,
}

/// Ours until then unless it is renewed before, or lost.
type Until = Result<Instant, Loss>;

/// How a Lease was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Somebody else has it.
    Taken,
    /// It could not be renewed in time. Maybe nobody has it.
    NotRenewed,
}

/// Whether a Lease is ours still, by our own clock.
#[derive(Debug, Clone)]
pub struct Claim(watch::Receiver<Until>);

impl Claim {
    /// `false` as soon as somebody else may have taken it over: also at the first moment after a long sleep, when
    /// nobody has told us yet.
    pub fn holds(&self) -> bool {
        self.0.borrow().is_ok_and(|until| Instant::now() < until)
    }
}

/// The Lease is ours. Dropping this stops renewing it; [`Held::release`] gives it up at once.
#[derive(Debug)]
pub struct Held {
    term: u64,
    claim: Claim,
    stop: Option<oneshot::Sender<()>>,
    renewing: JoinHandle<()>,
}

impl Held {
    /// The term: higher than that of every leader before, as long as nobody removes the Lease.
    pub fn term(&self) -> u64 {
        self.term
    }

    /// Waits until it is not ours any more: somebody has taken it over, or it could not be renewed for two
    /// thirds of its length, so that we stop before anybody else may begin.
    pub async fn lost(&self) -> Loss {
        let mut until = self.claim.0.clone();
        let loss = until.wait_for(Result::is_err).await.ok().and_then(|until| until.err());
        loss.unwrap_or(Loss::NotRenewed) // the task has ended
    }

    /// For whoever writes or acts by it.
    pub fn claim(&self) -> Claim {
        self.claim.clone()
    }

    /// Gives it up, so that the next one need not wait.
    pub async fn release(mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(()); // it may be lost already
        }
        let _ = (&mut self.renewing).await; // a panic in there loses it as well
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.stop.is_some() {
            self.renewing.abort();
        }
    }
}

impl Lease {
    /// Waits until the Lease is ours. Trouble with the API server is waited out; what waiting does not help
    /// is an error.
    pub async fn hold(&self, config: &Config) -> Result<Held, WorkloadError> {
        let client = client(found(config).await?)?;
        let leases = Api::namespaced(client, &config.namespace);
        let mut seen: Option<(Option<String>, Instant)> = None;
        loop {
            let asked = Instant::now();
            match self.try_to_take(&leases, &mut seen).await {
                Ok(Some(object)) => return Ok(self.keep(leases, object, asked)),
                Ok(None) => {}
                Err(error) if matches!(status(&error), Some(401 | 403 | 404 | 422)) => {
                    return Err(explain(
                        &format!("lease {} in namespace {}", self.name, config.namespace),
                        &error,
                    ));
                }
                Err(error) => {
                    tracing::warn!(lease = self.name, %error, "the Lease cannot be read; trying again")
                }
            }
            tokio::time::sleep(LOOK.min(self.lasts / 4)).await;
        }
    }

    /// One try. `seen` is the Lease's version and since when it is so.
    async fn try_to_take(
        &self,
        leases: &Api<Object>,
        seen: &mut Option<(Option<String>, Instant)>,
    ) -> Result<Option<Object>, kube::Error> {
        let Some(mut object) = leases.get_opt(&self.name).await? else {
            let metadata = ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() };
            let new = Object { metadata, spec: Some(self.spec(1)) };
            return taken(leases.create(&PostParams::default(), &new).await);
        };
        let spec = object.spec.unwrap_or_default();
        let version = object.metadata.resource_version.clone();
        let since = match seen {
            Some((known, since)) if *known == version => *since,
            _ => seen.insert((version, Instant::now())).1,
        };
        let holder = spec.holder_identity.as_deref().unwrap_or_default();
        let lasts = u64::try_from(spec.lease_duration_seconds.unwrap_or(0)).unwrap_or(0);
        let free =
            holder.is_empty() || holder == self.holder || since.elapsed() >= Duration::from_secs(lasts);
        if !free {
            return Ok(None);
        }
        object.spec = Some(self.spec(spec.lease_transitions.unwrap_or(0).saturating_add(1)));
        taken(leases.replace(&self.name, &PostParams::default(), &object).await)
    }

    fn spec(&self, term: i32) -> LeaseSpec {
        let now = MicroTime(jiff::Timestamp::now());
        LeaseSpec {
            holder_identity: Some(self.holder.clone()),
            lease_duration_seconds: Some(i32::try_from(self.lasts.as_secs().max(1)).unwrap_or(i32::MAX)),
            acquire_time: Some(now.clone()),
            renew_time: Some(now),
            lease_transitions: Some(term),
            ..LeaseSpec::default()
        }
    }

    fn keep(&self, leases: Api<Object>, object: Object, asked: Instant) -> Held {
        let term = object.spec.as_ref().and_then(|spec| spec.lease_transitions).unwrap_or(0);
        let term = u64::try_from(term).unwrap_or(0);
        tracing::info!(lease = self.name, holder = self.holder, term, "the Lease is ours");
        let renewing = Renewing { lease: self.clone(), leases, object, renewed: asked };
        let (until, claim) = watch::channel(Ok(renewing.end()));
        let (stop, stopped) = oneshot::channel();
        let renewing = tokio::spawn(async move {
            let loss = renewing.run(stopped, &until).await;
            until.send_modify(|until| *until = Err(loss));
        });
        Held { term, claim: Claim(claim), stop: Some(stop), renewing }
    }
}

/// Somebody else was quicker: no error.
fn taken(result: Result<Object, kube::Error>) -> Result<Option<Object>, kube::Error> {
    match result {
        Err(error) if status(&error) == Some(409) => Ok(None),
        result => result.map(Some),
    }
}

struct Renewing {
    lease: Lease,
    leases: Api<Object>,
    object: Object,
    renewed: Instant,
}

impl Renewing {
    /// From then on we do not count on it.
    fn end(&self) -> Instant {
        self.renewed + self.lease.lasts * 2 / 3
    }

    /// Until it is lost or given up.
    async fn run(mut self, mut stopped: oneshot::Receiver<()>, until: &watch::Sender<Until>) -> Loss {
        let every = self.lease.lasts / 3;
        let mut wait = every;
        loop {
            tokio::select! {
                told = &mut stopped => {
                    if told.is_ok() {
                        self.give_up().await;
                    }
                    return Loss::NotRenewed;
                }
                () = tokio::time::sleep(wait) => {}
            }
            let end = self.end();
            let Ok(result) = tokio::time::timeout_at(end, self.renew()).await else {
                tracing::error!(
                    lease = self.lease.name,
                    "the Lease could not be renewed in time; it is lost"
                );
                return Loss::NotRenewed;
            };
            match result {
                Ok(true) => {
                    wait = every;
                    until.send_modify(|until| *until = Ok(self.end()));
                }
                Ok(false) => {
                    tracing::error!(lease = self.lease.name, "somebody else has the Lease; it is lost");
                    return Loss::Taken;
                }
                Err(error) => {
                    tracing::warn!(lease = self.lease.name, %error, "the Lease could not be renewed; trying again");
                    wait = AGAIN.min(end.saturating_duration_since(Instant::now()));
                }
            }
        }
    }

    /// `false`: it is somebody else's.
    async fn renew(&mut self) -> Result<bool, kube::Error> {
        let begun = Instant::now();
        if let Some(spec) = &mut self.object.spec {
            spec.renew_time = Some(MicroTime(jiff::Timestamp::now()));
        }
        match self.leases.replace(&self.lease.name, &PostParams::default(), &self.object).await {
            Ok(object) => {
                self.object = object;
                self.renewed = begun;
                Ok(true)
            }
            // An answer that was lost leaves us with an old version of what is still ours.
            Err(error) if status(&error) == Some(409) => {
                let Some(now) = self.leases.get_opt(&self.lease.name).await? else { return Ok(false) };
                let same = |object: &Object| {
                    object.spec.as_ref().map(|spec| (spec.holder_identity.clone(), spec.lease_transitions))
                };
                if same(&now) != same(&self.object) {
                    return Ok(false);
                }
                self.object = now;
                Err(error)
            }
            Err(error) if status(&error) == Some(404) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn give_up(&mut self) {
        if let Some(spec) = &mut self.object.spec {
            spec.holder_identity = Some(String::new());
            spec.lease_duration_seconds = Some(1);
        }
        let how = PostParams::default();
        let replace = self.leases.replace(&self.lease.name, &how, &self.object);
        // If it cannot be told, the Lease runs out.
        let _ = tokio::time::timeout(self.lease.lasts, replace).await;
    }
}
