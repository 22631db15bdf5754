//! The real outside: which crate makes which kind of provider and workload.

use crate::clock::duration;
use crate::error::DaemonError;
use crate::kubernetes;
use crate::rim::{Connect, Connected};
use ostler_config::{
    Command, Configuration, LocalProvider, PolarsConfig, PolarsProbeKind, ProviderConfig, RayAuth, RayConfig,
    WorkloadKind,
};
use ostler_model::{ProviderId, WorkloadId};
use ostler_provider::Provider;
use ostler_provider_local as local;
use ostler_workload_polars::{self as polars, PolarsWorkload};
use ostler_workload_ray::{Config as RayClient, RayWorkload, Token, TokenSource};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Connects to what the configuration names.
#[derive(Debug, Clone, Default)]
pub struct RealOutside {
    polars: ostler_workload_polars::Sockets,
}

impl Connect for RealOutside {
    fn provider(&self, all: &Configuration, id: &ProviderId) -> Result<Arc<dyn Provider>, DaemonError> {
        match all.providers.get(id) {
            Some(ProviderConfig::Local(config)) => {
                let opened = local::LocalProvider::open(local_config(config));
                let provider = opened.map_err(|error| DaemonError::Rim(format!("provider {id}: {error}")))?;
                Ok(Arc::new(provider))
            }
            Some(ProviderConfig::Kwok(connection)) => kubernetes::kwok(id, connection),
            Some(ProviderConfig::ExternalGrpc(config)) => kubernetes::external(all, id, config),
            None => Err(DaemonError::Rim(format!("provider {id} is not configured [OSTLER-D009]"))),
        }
    }

    fn workload(&self, config: &Configuration, id: &WorkloadId) -> Result<Connected, DaemonError> {
        let found = config.workloads.iter().find(|workload| workload.id == *id);
        match found.map(|workload| (workload, &workload.kind)) {
            Some((_, WorkloadKind::Ray(ray))) => ray_workload(id, ray, config),
            Some((_, WorkloadKind::Polars(polars))) => self.polars_workload(id, polars, config),
            Some((workload, WorkloadKind::Kubernetes(kind))) => kubernetes::workload(workload, kind),
            None => Err(DaemonError::Rim(format!("workload {id} is not configured [OSTLER-D009]"))),
        }
    }
}

/// What the service is told, with the secrets read.
fn polars_config(config: &PolarsConfig) -> Result<polars::Config, polars::PolarsError> {
    let rest = config.rest.as_ref().map(|rest| {
        let secret = rest.secret_path_file.as_deref().map(secret_path).transpose()?;
        let (path, secret) = secret.map_or((rest.path.clone(), false), |path| (path, true));
        Ok(polars::Rest { listen: rest.listen, path, secret })
    });
    let kind = match &config.probe.kind {
        PolarsProbeKind::Running => polars::ProbeKind::Running,
        PolarsProbeKind::Tcp(port) => polars::ProbeKind::Tcp(*port),
        PolarsProbeKind::Http(port, path) => polars::ProbeKind::Http(*port, path.clone()),
        PolarsProbeKind::Command(Command::Words(words)) => polars::ProbeKind::Command(words.clone()),
        PolarsProbeKind::Command(Command::Shell(text)) => {
            polars::ProbeKind::Command(vec!["/bin/sh".to_owned(), "-c".to_owned(), text.clone()])
        }
    };
    let network =
        |network: &ostler_config::Network| polars::Network { address: network.address, bits: network.bits };
    let probe = &config.probe;
    Ok(polars::Config {
        rest: rest.transpose()?,
        grpc: config.grpc,
        tls: config.tls.as_ref().map(|tls| polars::TlsFiles {
            certificate: tls.certificate_file.clone(),
            key: tls.key_file.clone(),
            client_ca: tls.client_ca_file.clone(),
        }),
        token: config.token_file.as_deref().map(token).transpose()?,
        networks: config.networks.iter().map(network).collect(),
        insecure: config.insecure,
        max_body_bytes: config.max_body_bytes,
        probe: polars::Probe { kind, interval: duration(probe.interval), timeout: duration(probe.timeout) },
    })
}

fn token(file: &Path) -> Result<polars::Token, polars::PolarsError> {
    polars::Token::new(&secret(file)?).ok_or_else(|| unusable(file, "it is empty"))
}

/// A path that nobody guesses.
fn secret_path(file: &Path) -> Result<String, polars::PolarsError> {
    /// As many bits as a good password, in letters and digits.
    const SHORTEST: usize = 16;
    let text = secret(file)?;
    let path = text.trim().trim_matches('/');
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.~".contains(c);
    if path.len() < SHORTEST || !path.chars().all(fits) {
        let why = "it must hold one path of at least 16 letters, digits, `-`, `_`, `.` and `~`";
        return Err(unusable(file, why));
    }
    Ok(format!("/{path}"))
}

fn secret(file: &Path) -> Result<String, polars::PolarsError> {
    std::fs::read_to_string(file).map_err(|error| unusable(file, &error.to_string()))
}

fn unusable(file: &Path, reason: &str) -> polars::PolarsError {
    polars::PolarsError::Secret { what: file.display().to_string(), reason: reason.to_owned() }
}

fn local_config(config: &LocalProvider) -> local::LocalConfig {
    let command = config.command.clone().map(|command| match command {
        Command::Shell(text) => local::Command::Shell(text),
        Command::Words(words) => local::Command::Argv(words),
    });
    local::LocalConfig {
        command,
        environment: local::Environment(config.environment.clone()),
        stop_grace_s: config.stop_grace.0 as f64 / 1000.0,
        max_machines: config.max_machines,
        ..local::LocalConfig::new(config.state_dir.clone(), local::Command::Argv(Vec::new()))
    }
}

impl RealOutside {
    fn polars_workload(
        &self,
        id: &WorkloadId,
        config: &PolarsConfig,
        all: &Configuration,
    ) -> Result<Connected, DaemonError> {
        let of =
            all.workloads.iter().filter(|workload| workload.id == *id).flat_map(|workload| &workload.pools);
        let providers = of.map(|pool| pool.pool.provider.clone()).collect();
        let started =
            polars_config(config).and_then(|config| PolarsWorkload::start(config, providers, &self.polars));
        let service = started.map_err(|error| DaemonError::Rim(format!("workload {id}: {error}")))?;
        Ok(Connected {
            workload: Arc::new(service),
            kind: "polars",
            environment: BTreeMap::new(),
            name_variable: Some(ostler_workload_polars::NAME_VARIABLE),
        })
    }
}

fn ray_workload(id: &WorkloadId, ray: &RayConfig, config: &Configuration) -> Result<Connected, DaemonError> {
    let (client, mut environment) = ray_client(id, ray, config)?;
    environment.insert("RAY_ADDRESS".to_owned(), ray.address.clone());
    Ok(Connected {
        workload: Arc::new(RayWorkload::new(client)),
        kind: "ray",
        environment,
        name_variable: None,
    })
}

/// How the cluster is reached, and what a machine needs to prove who it is.
pub(crate) fn ray_client(
    id: &WorkloadId,
    ray: &RayConfig,
    config: &Configuration,
) -> Result<(RayClient, BTreeMap<String, String>), DaemonError> {
    let (token, environment) =
        auth(&ray.auth).map_err(|error| DaemonError::Rim(format!("workload {id}: {error}")))?;
    let client = RayClient {
        token,
        call_timeout: Duration::from_millis(config.deadlines.observe.0),
        metrics_address: Some(config.api.listen.to_string()),
        ..RayClient::new(ray.address.clone())
    };
    Ok((client, environment))
}

/// Where our token comes from, and what a machine needs to find the same one.
fn auth(auth: &RayAuth) -> Result<(TokenSource, BTreeMap<String, String>), ostler_workload::WorkloadError> {
    let token_mode = ("RAY_AUTH_MODE".to_owned(), "token".to_owned());
    let by_file = |path: &std::path::Path| {
        let path_variable = ("RAY_AUTH_TOKEN_PATH".to_owned(), path.to_string_lossy().into_owned());
        (TokenSource::File(path.to_owned()), BTreeMap::from([token_mode.clone(), path_variable]))
    };
    Ok(match auth {
        RayAuth::None => (TokenSource::Nowhere, BTreeMap::new()),
        RayAuth::File(path) => by_file(path),
        RayAuth::FileIfThere(path) if path.exists() => by_file(path),
        RayAuth::FileIfThere(_) => (TokenSource::Nowhere, BTreeMap::new()),
        RayAuth::Variable(name) => {
            let text = std::env::var(name).unwrap_or_default();
            let source = TokenSource::Given(Token::new(&text)?);
            (source, BTreeMap::from([token_mode, ("RAY_AUTH_TOKEN".to_owned(), text)]))
        }
    })
}
