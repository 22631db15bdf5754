//! The contract, kept by a Kubernetes cluster.

use crate::cache::Cache;
use crate::client::{client, found};
use crate::config::Config;
use crate::drain::Drains;
use crate::look::Looks;
use crate::publish::Publisher;
use crate::{evict, watch};
use async_trait::async_trait;
use kube::Client;
use ostler_model::{FailureClass, NodeId, WorkloadState};
use ostler_workload::{Capabilities, Door, DrainAnswer, DrainRequest, Published, Workload, WorkloadError};
use std::fmt;
use std::sync::Arc;

/// A Kubernetes cluster, through its API server. Dropping it ends its tasks.
pub struct KubernetesWorkload {
    cache: Arc<Cache>,
    looks: Looks,
    drains: Drains,
    publisher: Publisher,
    _tasks: watch::Tasks,
}

impl fmt::Debug for KubernetesWorkload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KubernetesWorkload").field("version", &self.cache.version()).finish_non_exhaustive()
    }
}

impl KubernetesWorkload {
    /// Reads the kubeconfig and starts watching; call it in a tokio runtime. A cluster that cannot be
    /// reached is no error here: the looks tell.
    pub fn start(config: Config) -> Result<Self, WorkloadError> {
        let odd = |why: String| WorkloadError::new(FailureClass::Transient, "kubernetes.start", why);
        // The constructors of a configuration are async, though nothing in them waits for long; here nobody
        // is.
        let found = std::thread::scope(|scope| {
            let wait = || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.map(|runtime| runtime.block_on(found(&config)))
            };
            scope.spawn(wait).join()
        });
        let found = found.map_err(|_| odd("reading the kubeconfig panicked".to_owned()))?;
        let found = found.map_err(|error| odd(format!("no runtime to read the kubeconfig: {error}")))??;
        Ok(Self::with(client(found)?, config))
    }

    /// The same with a client that is there already.
    pub fn with(client: Client, config: Config) -> Self {
        let cache = Arc::new(Cache::new(watch::kinds(), config.outage));
        let publisher = Publisher::new(client.clone(), &config);
        let mut tasks = watch::start(&client, &cache, &config);
        if !config.shadow {
            tasks.spawn(evict::run(client.clone(), cache.clone(), publisher.events(), config.rules));
        }
        let drains = Drains::new(client, cache.clone(), &config);
        Self { cache, looks: Looks::default(), drains, publisher, _tasks: tasks }
    }
}

#[async_trait]
impl Workload for KubernetesWorkload {
    fn capabilities(&self) -> Capabilities {
        Capabilities { undrain: true, rejects_busy_drain: true, waits_for_deadline: true }
    }

    async fn observe(&self) -> Result<WorkloadState, WorkloadError> {
        self.looks.look(&self.cache).await
    }

    async fn drain(&self, node: &NodeId, request: &DrainRequest) -> Result<DrainAnswer, WorkloadError> {
        self.drains.drain(node, request).await
    }

    async fn undrain(&self, node: &NodeId) -> Result<(), WorkloadError> {
        self.drains.undrain(node).await
    }

    async fn publish(&self, status: &Published) -> Result<(), WorkloadError> {
        self.publisher.publish(status).await
    }

    fn door(&self) -> Option<&Door> {
        Some(&self.cache.door)
    }
}
