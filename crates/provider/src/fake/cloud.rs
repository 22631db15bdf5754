//! The cloud itself, as a plain value.

use super::fault::{self, Call, Fault, Trouble};
use crate::{LaunchSpec, Listing, ProviderError, tags};
use ostler_model::{
    CloudId, CloudInstance, CloudPhase, FailureClass, LaunchToken, Millis, PoolId, Timestamp,
};
use std::collections::BTreeMap;

/// How long things take when all goes well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Habits {
    /// From the launch until a listing shows the machine.
    pub appears_in: Millis,
    /// From the launch until it runs.
    pub boots_in: Millis,
    /// From the termination until it is gone.
    pub stops_in: Millis,
}

/// What a call gives, and when its answer arrives: never before the cloud's time at the call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Answer<T> {
    /// When the caller has it.
    pub at: Timestamp,
    /// What it says.
    pub result: Result<T, ProviderError>,
}

/// How often each method was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Calls {
    /// Listings.
    pub list: u64,
    /// Launches, repeated ones too.
    pub launch: u64,
    /// Terminations, repeated ones too.
    pub terminate: u64,
}

/// A cloud with one account. It outlives whoever talks to it, so a restart of Ostler is a new caller.
#[derive(Debug, Clone)]
pub struct FakeCloud {
    site: String,
    habits: Habits,
    now: Timestamp,
    machines: BTreeMap<CloudId, Machine>,
    tokens: BTreeMap<LaunchToken, CloudId>,
    faults: Vec<Fault>,
    calls: Calls,
}

#[derive(Debug, Clone)]
struct Machine {
    tags: BTreeMap<String, String>,
    created_at: Timestamp,
    appears_at: Timestamp,
    runs_at: Timestamp,
    gone_at: Option<Timestamp>,
}

impl FakeCloud {
    /// An empty cloud at time zero, as the Ostler of this site sees it.
    pub fn new(site: impl Into<String>, habits: Habits) -> Self {
        Self {
            site: site.into(),
            habits,
            now: Timestamp(0),
            machines: BTreeMap::new(),
            tokens: BTreeMap::new(),
            faults: Vec::new(),
            calls: Calls::default(),
        }
    }

    /// Its time.
    pub fn now(&self) -> Timestamp {
        self.now
    }
    /// Moves its time forward; an earlier time changes nothing.
    pub fn set_now(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
        let now = self.now;
        self.machines.retain(|_, machine| machine.gone_at.is_none_or(|at| now < at));
    }
    /// How long things take.
    pub fn habits(&self) -> Habits {
        self.habits
    }
    /// Orders a fault.
    pub fn order(&mut self, fault: Fault) {
        if fault.times > 0 {
            self.faults.push(fault);
        }
    }
    /// Takes back every fault that was ordered and is not used up.
    pub fn cancel_faults(&mut self) {
        self.faults.clear();
    }
    /// How often it was called.
    pub fn calls(&self) -> Calls {
        self.calls
    }

    /// [`Provider::launch`](crate::Provider::launch). A template `{"refuse": CLASS}` is refused with that class.
    pub fn launch(&mut self, spec: &LaunchSpec, token: &LaunchToken) -> Answer<CloudId> {
        self.calls.launch += 1;
        let trouble = fault::take(&mut self.faults, Call::Launch, Some(&spec.pool));
        self.answer(trouble, "launch", |cloud, lag| cloud.make(spec, token, lag))
    }

    /// [`Provider::terminate`](crate::Provider::terminate)
    pub fn terminate(&mut self, id: &CloudId) -> Answer<()> {
        self.calls.terminate += 1;
        let pool = self
            .machines
            .get(id)
            .and_then(|m| m.tags.get(tags::POOL))
            .map(|pool| PoolId::from(pool.as_str()));
        let trouble = fault::take(&mut self.faults, Call::Terminate, pool.as_ref());
        self.answer(trouble, "terminate", |cloud, lag| {
            cloud.end(id, lag);
            Ok(())
        })
    }

    /// [`Provider::list`](crate::Provider::list)
    pub fn list(&mut self) -> Answer<Listing> {
        self.calls.list += 1;
        let trouble = fault::take(&mut self.faults, Call::List, None);
        self.answer(trouble, "list", |cloud, _| Ok(cloud.listing(|machine| machine.appears_at <= cloud.now)))
    }

    /// The truth: all machines of this site that exist, listed already or not.
    pub fn existing(&self) -> Vec<CloudInstance> {
        self.listing(|_| true).instances
    }

    /// A machine dies by itself, at once.
    pub fn kill(&mut self, id: &CloudId) {
        self.machines.remove(id);
    }

    /// Puts in a machine with these tags, as somebody else would; it runs until it is killed.
    pub fn insert(&mut self, id: CloudId, tags: BTreeMap<String, String>) {
        let now = self.now;
        self.machines
            .insert(id, Machine { tags, created_at: now, appears_at: now, runs_at: now, gone_at: None });
    }

    /// Is there a machine of this id, whosever it is?
    pub fn has(&self, id: &CloudId) -> bool {
        self.machines.contains_key(id)
    }

    fn answer<T>(
        &mut self,
        trouble: Option<Trouble>,
        call: &str,
        work: impl FnOnce(&mut Self, Millis) -> Result<T, ProviderError>,
    ) -> Answer<T> {
        let now = self.now;
        let (at, result) = match trouble {
            None => (now, work(self, Millis(0))),
            Some(Trouble::Lag(lag)) => (now, work(self, lag)),
            Some(Trouble::Slow(delay)) => (now + delay, work(self, Millis(0))),
            Some(Trouble::Refuse(class)) => (now, Err(refused(class, call))),
            Some(Trouble::LoseAnswer) => {
                let done = work(self, Millis(0));
                (now, done.and_then(|_| Err(lost(call))))
            }
        };
        Answer { at, result }
    }

    fn make(
        &mut self,
        spec: &LaunchSpec,
        token: &LaunchToken,
        lag: Millis,
    ) -> Result<CloudId, ProviderError> {
        if let Some(id) = self.tokens.get(token) {
            return Ok(id.clone());
        }
        if let Some(class) = refusal(spec) {
            return Err(refused(class, "launch"));
        }
        let tags = tags::write(&self.site, spec, token)?;
        let id = CloudId::new(format!("fake-{}", self.tokens.len() + 1));
        let machine = Machine {
            tags,
            created_at: self.now,
            appears_at: self.now + self.habits.appears_in + lag,
            runs_at: self.now + self.habits.boots_in,
            gone_at: None,
        };
        self.tokens.insert(token.clone(), id.clone());
        self.machines.insert(id.clone(), machine);
        Ok(id)
    }

    fn end(&mut self, id: &CloudId, lag: Millis) {
        let gone_at = self.now + self.habits.stops_in + lag;
        let ours = |machine: &&mut Machine| tags::read(&self.site, &machine.tags).is_some();
        if let Some(machine) = self.machines.get_mut(id).filter(ours) {
            machine.gone_at.get_or_insert(gone_at);
        }
        self.set_now(self.now);
    }

    fn listing(&self, seen: impl Fn(&Machine) -> bool) -> Listing {
        let mut listing = Listing::default();
        for (id, machine) in self.machines.iter().filter(|(_, machine)| seen(machine)) {
            match tags::read(&self.site, &machine.tags) {
                None => {}
                Some(Ok(tagged)) => listing.instances.push(machine.describe(id, tagged, self.now)),
                Some(Err(why)) => listing.skipped.push(format!("{id}: {why}")),
            }
        }
        listing
    }
}

impl Machine {
    fn describe(&self, id: &CloudId, tagged: tags::Tagged, now: Timestamp) -> CloudInstance {
        let phase = match self.gone_at {
            Some(_) => CloudPhase::Stopping,
            None if now < self.runs_at => CloudPhase::Pending,
            None => CloudPhase::Running,
        };
        CloudInstance {
            id: id.clone(),
            workload: tagged.workload,
            pool: tagged.pool,
            launched_for: Some(tagged.launched_for),
            kind: tagged.kind,
            phase,
            created_at: Some(self.created_at),
            address: id.to_string(),
        }
    }
}

fn refusal(spec: &LaunchSpec) -> Option<FailureClass> {
    serde_json::from_value(spec.template.get("refuse")?.clone()).ok()
}

fn refused(class: FailureClass, call: &str) -> ProviderError {
    ProviderError::new(class, "OSTLER-P002", format!("{call}: refused, as ordered of this fake cloud"))
}

fn lost(call: &str) -> ProviderError {
    let message = format!("{call}: the answer was lost, as ordered of this fake cloud; call again");
    ProviderError::new(FailureClass::Transient, "OSTLER-P003", message)
}
