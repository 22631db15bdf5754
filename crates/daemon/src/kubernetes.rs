//! Kubernetes clusters, and the providers that only they have, as the configuration names them.

use crate::clock::duration;
use crate::error::DaemonError;
use crate::keeper::process_name;
use crate::rim::Connected;
use ostler_config::{
    Configuration, ExternalGrpcConfig, KubeConnection, KubeLease, KubernetesConfig, WorkloadConfig,
    WorkloadKind,
};
use ostler_model::ProviderId;
use ostler_provider::Provider;
use ostler_provider_externalgrpc::{self as external, ExternalGrpcProvider, Tls};
use ostler_provider_kwok::{KwokConfig, KwokProvider};
use ostler_workload_kubernetes::lease::{Claim, Held, Lease, Loss};
use ostler_workload_kubernetes::{Config, KubernetesWorkload};
use std::collections::BTreeMap;
use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::task::Poll;

pub(crate) fn workload(config: &WorkloadConfig, kind: &KubernetesConfig) -> Result<Connected, DaemonError> {
    let started = KubernetesWorkload::start(client(config, kind));
    let workload = started.map_err(|error| DaemonError::Rim(format!("workload {}: {error}", config.id)))?;
    Ok(Connected {
        workload: Arc::new(workload),
        kind: "kubernetes",
        environment: BTreeMap::new(),
        name_variable: None,
    })
}

fn client(config: &WorkloadConfig, kind: &KubernetesConfig) -> Config {
    let kube = config.policy.kube.as_deref().cloned().unwrap_or_default();
    Config {
        kubeconfig: kind.connection.kubeconfig.clone(),
        context: kind.connection.context.clone(),
        namespace: kind.namespace.clone(),
        settle: duration(kind.settle),
        drain_timeout: duration(config.policy.drain_grace),
        batch_idle: duration(kind.batch_idle),
        batch_max: duration(kind.batch_max),
        rules: kube.drain,
        shadow: kube.shadow,
        ..Config::default()
    }
}

/// Simulated nodes; the provider's name tells those of two providers in one cluster apart.
pub(crate) fn kwok(id: &ProviderId, connection: &KubeConnection) -> Result<Arc<dyn Provider>, DaemonError> {
    let config = KwokConfig {
        site: id.to_string(),
        kubeconfig: connection.kubeconfig.clone(),
        context: connection.context.clone(),
    };
    let opened = wait_here(KwokProvider::open(config));
    Ok(Arc::new(opened.map_err(|error| DaemonError::Rim(format!("provider {id}: {error}")))?))
}

/// Connecting is async in the client's library, though it waits for nothing but a file; here nobody is.
fn wait_here<T>(future: impl Future<Output = T>) -> T {
    tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(future))
}

/// Waits until this Ostler leads by every Lease that the configuration names. The store is opened only then, so its
/// term, which fences every commit, is newer than that of every leader before.
///
/// # Errors
/// [`DaemonError::Rim`] if a Lease cannot be had by waiting: no rights, no namespace.
pub async fn lead(configuration: &Configuration) -> Result<Vec<Held>, DaemonError> {
    let mut held = Vec::new();
    for (workload, kind, lease) in leases(configuration) {
        let lease =
            Lease { name: lease.name.clone(), holder: process_name(), lasts: duration(lease.duration) };
        tracing::info!(workload = %workload.id, lease = %lease.name, "waiting to lead");
        let got = lease.hold(&client(workload, kind)).await;
        let got = got.map_err(|error| DaemonError::Rim(format!("workload {}: {error}", workload.id)))?;
        tracing::info!(workload = %workload.id, term = got.term(), "leads by its lease");
        held.push(got);
    }
    Ok(held)
}

/// The Leases that a configuration wants held. A shadow leads nobody: it runs beside whoever does.
fn leases(
    all: &Configuration,
) -> impl Iterator<Item = (&WorkloadConfig, &KubernetesConfig, &KubeLease)> + use<'_> {
    all.workloads.iter().filter(|workload| !workload.policy.is_shadow()).filter_map(|workload| {
        let WorkloadKind::Kubernetes(kind) = &workload.kind else { return None };
        Some((workload, &**kind, kind.lease.as_ref()?))
    })
}

/// Does one want other Leases held than the other?
pub(crate) fn wants_other_leases(one: &Configuration, other: &Configuration) -> bool {
    fn of(all: &Configuration) -> impl Iterator<Item = (&KubeConnection, &str, &KubeLease)> {
        leases(all).map(|(_, kind, lease)| (&kind.connection, &*kind.namespace, lease))
    }
    !of(one).eq(of(other))
}

/// Whether this Ostler leads still, by its own clock. Its store may be its own alone, so that the store's term fences
/// nobody out: nothing is written or begun once a Lease may be another's.
#[derive(Debug, Clone, Default)]
pub struct Claims(Vec<Claim>);

impl Claims {
    /// By these Leases.
    pub fn of(held: &[Held]) -> Self {
        Self(held.iter().map(Held::claim).collect())
    }

    /// Is every Lease ours?
    pub(crate) fn hold(&self) -> bool {
        self.0.iter().all(Claim::holds)
    }
}

/// Ends with the first Lease that is lost; never, if there is none.
pub async fn lost(held: &[Held]) -> Loss {
    let mut losses: Vec<_> = held.iter().map(|held| Box::pin(held.lost())).collect();
    std::future::poll_fn(|context| {
        let lost = losses.iter_mut().map(|loss| loss.as_mut().poll(context)).find(Poll::is_ready);
        lost.unwrap_or(Poll::Pending)
    })
    .await
}

/// Machines of a server of Cluster Autoscaler's external gRPC protocol.
pub(crate) fn external(
    all: &Configuration,
    id: &ProviderId,
    config: &ExternalGrpcConfig,
) -> Result<Arc<dyn Provider>, DaemonError> {
    let trouble = |what: String| DaemonError::Rim(format!("provider {id}: {what}"));
    let file = |path: &Path| {
        std::fs::read(path).map_err(|error| trouble(format!("cannot read {}: {error}", path.display())))
    };
    let identity = match (&config.cert_file, &config.key_file) {
        (Some(certificate), Some(key)) => Some((file(certificate)?, file(key)?)),
        _ => None,
    };
    let tls = config.ca_file.as_deref().map(file).transpose()?.map(|ca| Tls { ca, identity });
    let mut state_file = all.store.path.with_extension("").into_os_string();
    state_file.push(format!("-{id}.json"));
    let opened = wait_here(ExternalGrpcProvider::open(external::Config {
        address: config.address.clone(),
        tls,
        timeout: duration(config.timeout),
        state_file: state_file.into(),
        timing: external::Timing::default(),
    }));
    Ok(Arc::new(opened.map_err(|error| trouble(error.to_string()))?))
}
