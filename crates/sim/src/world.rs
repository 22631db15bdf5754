//! All that is outside of Ostler, and outlives it: the clock, the clouds, the cluster, the store, and the
//! configuration. Nothing in here knows how Ostler decides.

use crate::happening::Happening;
use crate::ray::{Stage, VirtualRay};
use crate::scenario::Scenario;
use ostler_engine::Setup;
use ostler_lifecycle::Instance;
use ostler_model::{
    CloudId, CloudInstance, CloudPhase, EndCause, FailureClass, InstanceId, Millis, Policy, Pool, PoolId,
    ProviderId, Timestamp, WorkloadId,
};
use ostler_provider::fake::FakeCloud;
use ostler_store::{Commit, MemoryStore, Store};
use std::collections::BTreeMap;

/// The world at one moment.
#[derive(Debug)]
pub struct World {
    /// The moment.
    pub now: Timestamp,
    /// The cluster.
    pub ray: VirtualRay,
    /// How the workload wants to be scaled, as the configuration has it now.
    pub policy: Policy,
    /// Its pools, as the configuration has them now.
    pub pools: Vec<Pool>,
    /// Records as the store has them.
    pub records: BTreeMap<InstanceId, Instance>,
    /// What is counted for the score.
    pub tally: Tally,
    /// When something last went wrong, or a fault that lasts ends.
    pub troubled_until: Timestamp,
    /// Until when the cluster shows statuses that nobody knows.
    pub odd_until: Timestamp,
    /// When the configuration last changed.
    pub reconfigured_at: Timestamp,
    pub(crate) clouds: BTreeMap<ProviderId, FakeCloud>,
    pub(crate) store: MemoryStore,
    pub(crate) refusing: BTreeMap<PoolId, (Timestamp, FailureClass)>,
    pub(crate) unlisted: BTreeMap<ProviderId, Timestamp>,
    pub(crate) ended: BTreeMap<CloudId, EndCause>,
    pub(crate) commit_fails: (u32, bool),
    machines: Vec<CloudInstance>,
}

/// What is counted for the score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Milliseconds of machines that existed, added up.
    pub machine_ms: u64,
    /// Machines that were made.
    pub machines: u64,
}

/// The one workload of the world.
pub(crate) fn workload() -> WorkloadId {
    WorkloadId::from("ray")
}

impl World {
    /// The world at time zero.
    pub fn new(scenario: &Scenario) -> Self {
        let mut ray = VirtualRay::new(scenario.ray);
        ray.set_pools(&scenario.pools);
        ray.work.clone_from(&scenario.work);
        let clouds = scenario.clouds.iter();
        let clouds = clouds.map(|(id, habits)| (id.clone(), FakeCloud::new("sim", *habits))).collect();
        Self {
            now: Timestamp(0),
            ray,
            policy: scenario.policy.clone(),
            pools: scenario.pools.clone(),
            records: BTreeMap::new(),
            tally: Tally::default(),
            troubled_until: Timestamp(0),
            odd_until: Timestamp(0),
            reconfigured_at: Timestamp(0),
            clouds,
            store: MemoryStore::new(1),
            refusing: BTreeMap::new(),
            unlisted: BTreeMap::new(),
            ended: BTreeMap::new(),
            commit_fails: (0, false),
            machines: Vec::new(),
        }
    }

    /// The same world a second time. Its store counts its versions anew; nobody has read them yet.
    pub(crate) fn fork(&self) -> Self {
        let mut store = MemoryStore::new(1);
        let found = store.acquire("fork", self.now, Millis(0)).map_err(|error| error.to_string());
        let copied = found.and_then(|term| {
            let records = self.store.load(&workload()).map_err(|error| error.to_string())?;
            let commit = Commit {
                workload: workload(),
                expected_version: 0,
                term,
                upserts: records.instances,
                deletes: Vec::new(),
                memory: records.memory,
                journal: Vec::new(),
            };
            store.commit(&commit).map_err(|error| error.to_string())?;
            store.release(term).map_err(|error| error.to_string())
        });
        copied.expect("a store in memory that nobody else has takes everything");
        Self {
            ray: self.ray.clone(),
            policy: self.policy.clone(),
            pools: self.pools.clone(),
            records: self.records.clone(),
            clouds: self.clouds.clone(),
            store,
            refusing: self.refusing.clone(),
            unlisted: self.unlisted.clone(),
            ended: self.ended.clone(),
            machines: self.machines.clone(),
            ..*self
        }
    }

    /// The configuration as the engine reads it.
    pub fn setup(&self) -> Setup {
        Setup { workload: workload(), policy: self.policy.clone(), pools: self.pools.clone() }
    }

    /// The truth: every machine that exists, listed or not.
    pub fn machines(&self) -> &[CloudInstance] {
        &self.machines
    }

    /// Machines that exist and do not stop.
    pub fn live_machines(&self) -> impl Iterator<Item = &CloudInstance> {
        self.machines.iter().filter(|machine| machine.phase != CloudPhase::Stopping)
    }

    /// A pool of the present configuration.
    pub fn pool(&self, id: &PoolId) -> Option<&Pool> {
        self.pools.iter().find(|pool| pool.id == *id)
    }

    /// Moves time forward; what is due by then has happened.
    pub fn advance(&mut self, now: Timestamp) {
        let span = now.since(self.now);
        self.tally.machine_ms += span.0 * self.machines.len() as u64;
        self.now = self.now.max(now);
        for cloud in self.clouds.values_mut() {
            cloud.set_now(now);
        }
        self.look_around();
        self.ray.advance(self.now, &self.machines, &self.ended);
    }

    /// Learns the truth about machines again, after something was done to a cloud.
    pub(crate) fn look_around(&mut self) {
        self.machines.clear();
        for (provider, cloud) in &self.clouds {
            let known = |machine: CloudInstance| named(provider, machine);
            self.machines.extend(cloud.existing().into_iter().map(known));
        }
    }

    /// Lets something happen. Does the configuration change?
    pub fn happen(&mut self, happening: &Happening) -> bool {
        let now = self.now;
        let mut until = now;
        let mut reconfigured = false;
        match happening {
            Happening::Refuse { pool, class, lasts } => {
                until = now + *lasts;
                self.refusing.insert(pool.clone(), (until, *class));
            }
            Happening::Fault(provider, fault) => {
                if let Some(cloud) = self.clouds.get_mut(provider) {
                    cloud.order(fault.clone());
                }
            }
            Happening::Unlisted(provider, lasts) => {
                until = now + *lasts;
                self.unlisted.insert(provider.clone(), until);
            }
            Happening::Kill(pool) => self.kill(pool),
            Happening::ReplaceHead { down, rejoin } => {
                until = now + *down;
                self.ray.replace_head(now, *down, *rejoin);
            }
            Happening::NeverJoin(count) => self.ray.order_never_join(*count),
            Happening::RejectDrains(count) => self.ray.order_rejected_drains(*count),
            Happening::Silence(lasts) => {
                until = now + *lasts;
                self.ray.order_silence(until);
            }
            Happening::UnknownStatus(lasts) => {
                until = now + *lasts;
                self.ray.order_unknown_status(until);
                self.odd_until = self.odd_until.max(until);
            }
            Happening::BadRecords(lasts) => {
                until = now + *lasts;
                self.ray.order_bad_records(until);
            }
            Happening::CommitFails { times, written } => self.commit_fails = (*times, *written),
            Happening::Bounds { .. } | Happening::Relaunch(_) | Happening::Drop(_) => {
                self.reconfigure(happening);
                reconfigured = true;
            }
            Happening::Crash => {}
        }
        self.troubled_until = self.troubled_until.max(until);
        reconfigured
    }

    fn reconfigure(&mut self, happening: &Happening) {
        self.reconfigured_at = self.now;
        for pool in &mut self.pools {
            match happening {
                Happening::Bounds { pool: id, min, max } if *id == pool.id => {
                    (pool.min, pool.max) = (*min, *max);
                }
                Happening::Relaunch(id) if *id == pool.id => pool.launch_hash.push('+'),
                _ => {}
            }
        }
        self.pools.retain(|pool| !matches!(happening, Happening::Drop(id) if *id == pool.id));
    }

    fn kill(&mut self, pool: &PoolId) {
        let running = |m: &&CloudInstance| m.pool == *pool && m.phase == CloudPhase::Running;
        let oldest = self.machines.iter().filter(running).min_by_key(|m| (m.created_at, m.id.clone()));
        let Some((provider, id)) = oldest.and_then(|machine| split(&machine.id)) else { return };
        if let Some(cloud) = self.clouds.get_mut(&provider) {
            cloud.kill(&id);
        }
        self.look_around();
    }

    /// Every fault ends, and nobody asks for anything any more; work that runs goes on to its end.
    pub fn heal(&mut self) {
        let now = self.now;
        self.ray.heal(now);
        self.ray.work.retain(|work| matches!(work.stage, Stage::Running { .. } | Stage::Done { .. }));
        self.refusing.clear();
        self.unlisted.clear();
        self.commit_fails = (0, false);
        for cloud in self.clouds.values_mut() {
            cloud.cancel_faults();
        }
        self.troubled_until = now;
    }
}

/// Ids of the fake cloud are unique within one cloud; ours say which.
fn named(provider: &ProviderId, machine: CloudInstance) -> CloudInstance {
    CloudInstance { id: named_id(provider, &machine.id), ..machine }
}

pub(crate) fn named_id(provider: &ProviderId, id: &CloudId) -> CloudId {
    CloudId::new(format!("{provider}/{id}"))
}

pub(crate) fn named_all(provider: &ProviderId, machines: Vec<CloudInstance>) -> Vec<CloudInstance> {
    machines.into_iter().map(|machine| named(provider, machine)).collect()
}

/// The cloud of an id of ours, and what it calls the machine.
pub(crate) fn split(id: &CloudId) -> Option<(ProviderId, CloudId)> {
    let (provider, rest) = id.as_str().split_once('/')?;
    Some((ProviderId::from(provider), CloudId::from(rest)))
}
