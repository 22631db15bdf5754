//! The outside: the workloads and providers of the configuration as objects, and what a launch needs to know.

use crate::error::DaemonError;
use crate::kubernetes::wants_other_leases;
use ostler_config::{Configuration, PoolConfig};
use ostler_engine::{Setup, Source};
use ostler_model::{PoolId, ProviderId, WorkloadId};
use ostler_provider::{Provider, ServedPool};
use ostler_workload::Workload;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// Makes objects of what the configuration names. A trait, so that tests can put in others.
pub trait Connect: Send + Sync + Debug {
    /// The provider of this name.
    ///
    /// # Errors
    /// [`DaemonError::Rim`] if it cannot be used as configured.
    fn provider(&self, config: &Configuration, id: &ProviderId) -> Result<Arc<dyn Provider>, DaemonError>;

    /// The workload of this name, and the variables that a machine needs to join it.
    ///
    /// # Errors
    /// [`DaemonError::Rim`] if it cannot be used as configured.
    fn workload(&self, config: &Configuration, id: &WorkloadId) -> Result<Connected, DaemonError>;
}

/// A workload, and what a machine must know to join it.
#[derive(Debug, Clone)]
pub struct Connected {
    /// The workload.
    pub workload: Arc<dyn Workload>,
    /// What kind it is, for people.
    pub kind: &'static str,
    /// Variables for each machine. May hold secrets.
    pub environment: BTreeMap<String, String>,
    /// The variable that tells a machine's program its name, where that is the record's id.
    pub name_variable: Option<&'static str>,
}

/// The outside as it is configured now. Cheap to share; a reload replaces its parts.
#[derive(Debug)]
pub struct Rim {
    connect: Arc<dyn Connect>,
    parts: Mutex<Parts>,
}

#[derive(Debug, Default)]
struct Parts {
    config: Option<Arc<Configuration>>,
    providers: BTreeMap<ProviderId, Arc<dyn Provider>>,
    workloads: BTreeMap<WorkloadId, Connected>,
    pokes: BTreeMap<Source, Arc<Notify>>,
}

/// What a launch needs beside its record.
#[derive(Debug, Clone)]
pub(crate) struct LaunchContext {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) pool: PoolConfig,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) name_variable: Option<&'static str>,
}

impl Rim {
    /// The outside of a configuration.
    ///
    /// # Errors
    /// [`DaemonError::Rim`] if a part cannot be used as configured.
    pub fn new(connect: Arc<dyn Connect>, config: Configuration) -> Result<Self, DaemonError> {
        let rim = Self { connect, parts: Mutex::default() };
        rim.replace(config)?;
        Ok(rim)
    }

    /// Takes over a new configuration: all of it, or after an error nothing.
    pub(crate) fn replace(&self, config: Configuration) -> Result<(), DaemonError> {
        let (mut providers, mut workloads) = (BTreeMap::new(), BTreeMap::new());
        let old = self.config();
        if old.as_ref().is_some_and(|old| wants_other_leases(old, &config)) {
            let what = "which Leases are held is settled at the start; restart Ostler for another `lease` or `shadow`";
            return Err(DaemonError::Rim(format!("{what} [OSTLER-D013]")));
        }
        for id in config.providers.keys() {
            let same = old.as_ref().is_some_and(|old| old.providers.get(id) == config.providers.get(id));
            let known = self.provider(id).filter(|_| same);
            let provider = known.map_or_else(|| self.connect.provider(&config, id), Ok)?;
            providers.insert(id.clone(), provider);
        }
        for workload in &config.workloads {
            let kind =
                |c: &Configuration| c.workloads.iter().find(|w| w.id == workload.id).map(|w| w.kind.clone());
            // How the nodes of a Kubernetes cluster are emptied is part of its policy.
            let emptied = |c: &Configuration| {
                let found = c.workloads.iter().find(|w| w.id == workload.id)?;
                found.policy.kube.is_some().then(|| found.policy.clone())
            };
            let same = old
                .as_ref()
                .is_some_and(|old| kind(old) == kind(&config) && emptied(old) == emptied(&config));
            let known = self.workload(&workload.id).filter(|_| same);
            let connected = known.map_or_else(|| self.connect.workload(&config, &workload.id), Ok)?;
            workloads.insert(workload.id.clone(), connected);
        }
        configure(&config, &providers).inspect_err(|_| {
            // Those that took the new one already go back to what they had.
            let back = old.as_ref().map(|old| configure(old, &providers));
            tracing::debug!(?back, "the new configuration is refused by a provider");
        })?;
        let mut parts = self.lock();
        let sources = providers.keys().map(|id| Source::Provider(id.clone()));
        let sources = sources.chain(workloads.keys().map(|id| Source::Workload(id.clone())));
        let poke = |source: Source| {
            let known = parts.pokes.get(&source).cloned();
            (source, known.unwrap_or_default())
        };
        let pokes: BTreeMap<Source, Arc<Notify>> = sources.map(poke).collect();
        *parts = Parts { config: Some(Arc::new(config)), providers, workloads, pokes };
        Ok(())
    }

    /// Every workload.
    pub(crate) fn workloads(&self) -> Vec<(WorkloadId, Connected)> {
        self.lock().workloads.iter().map(|(id, connected)| (id.clone(), connected.clone())).collect()
    }

    /// What is looked at.
    pub(crate) fn sources(&self) -> Vec<(Source, Arc<Notify>)> {
        self.lock().pokes.iter().map(|(source, poke)| (source.clone(), poke.clone())).collect()
    }

    /// Has a source looked at soon.
    pub(crate) fn poke(&self, source: &Source) {
        if let Some(poke) = self.lock().pokes.get(source) {
            poke.notify_one();
        }
    }

    pub(crate) fn config(&self) -> Option<Arc<Configuration>> {
        self.lock().config.clone()
    }

    pub(crate) fn provider(&self, id: &ProviderId) -> Option<Arc<dyn Provider>> {
        self.lock().providers.get(id).cloned()
    }

    pub(crate) fn workload(&self, id: &WorkloadId) -> Option<Connected> {
        self.lock().workloads.get(id).cloned()
    }

    /// The provider of a pool. A pool that the configuration no longer has belongs to the only provider, if
    /// there is only one; else its machines are found by asking each.
    pub(crate) fn providers_of(&self, workload: &WorkloadId, pool: &PoolId) -> Vec<Arc<dyn Provider>> {
        let parts = self.lock();
        match parts.pool(workload, pool).and_then(|pool| parts.providers.get(&pool.pool.provider)) {
            Some(provider) => vec![provider.clone()],
            None => parts.providers.values().cloned().collect(),
        }
    }

    pub(crate) fn launch_context(&self, workload: &WorkloadId, pool: &PoolId) -> Option<LaunchContext> {
        let parts = self.lock();
        let pool = parts.pool(workload, pool)?.clone();
        let provider = parts.providers.get(&pool.pool.provider)?.clone();
        let connected = parts.workloads.get(workload)?;
        let (environment, name_variable) = (connected.environment.clone(), connected.name_variable);
        Some(LaunchContext { provider, pool, environment, name_variable })
    }

    /// The workloads for the engine.
    pub(crate) fn setups(&self) -> Vec<Setup> {
        let parts = self.lock();
        let workloads = parts.config.iter().flat_map(|config| &config.workloads);
        let setup = |workload: &ostler_config::WorkloadConfig| {
            let provider_of = |pool: &PoolConfig| parts.providers.get(&pool.pool.provider);
            let joins =
                |pool: &PoolConfig| provider_of(pool).is_none_or(|p| p.capabilities().joins_by_itself);
            let mut policy = workload.policy.clone();
            policy.install = policy.install || !workload.pools.iter().all(joins);
            let blind =
                |pool: &&PoolConfig| provider_of(pool).is_some_and(|p| p.capabilities().chooses_victims);
            policy.blind_pools =
                workload.pools.iter().filter(blind).map(|pool| pool.pool.id.clone()).collect();
            Setup {
                workload: workload.id.clone(),
                policy,
                pools: workload.pools.iter().map(|pool| pool.pool.clone()).collect(),
            }
        };
        workloads.map(setup).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells each provider the pools that it serves.
fn configure(
    config: &Configuration,
    providers: &BTreeMap<ProviderId, Arc<dyn Provider>>,
) -> Result<(), DaemonError> {
    for (id, provider) in providers {
        let pools = config.workloads.iter().flat_map(|workload| &workload.pools);
        let served = pools.filter(|pool| pool.pool.provider == *id).map(|pool| ServedPool {
            workload: pool.pool.workload.clone(),
            pool: pool.pool.id.clone(),
            template: pool.template.clone(),
        });
        let told = provider.configure(&served.collect::<Vec<_>>());
        told.map_err(|error| DaemonError::Rim(format!("provider {id}: {error}")))?;
    }
    Ok(())
}

impl Parts {
    fn pool(&self, workload: &WorkloadId, pool: &PoolId) -> Option<&PoolConfig> {
        let workload = self.config.as_ref()?.workloads.iter().find(|w| w.id == *workload)?;
        workload.pools.iter().find(|p| p.pool.id == *pool)
    }
}
