//! The real outside: which crate makes which kind of provider and workload.

use crate::error::DaemonError;
use crate::rim::{Connect, Connected};
use ostler_config::{
    Command, Configuration, LocalProvider, ProviderConfig, RayAuth, RayConfig, WorkloadKind,
};
use ostler_model::{ProviderId, WorkloadId};
use ostler_provider::Provider;
use ostler_provider_local as local;
use ostler_workload_ray::{Config as RayClient, RayWorkload, Token, TokenSource};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Connects to what the configuration names.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealOutside;

impl Connect for RealOutside {
    fn provider(&self, config: &Configuration, id: &ProviderId) -> Result<Arc<dyn Provider>, DaemonError> {
        match config.providers.get(id) {
            Some(ProviderConfig::Local(config)) => {
                let opened = local::LocalProvider::open(local_config(config));
                let provider = opened.map_err(|error| DaemonError::Rim(format!("provider {id}: {error}")))?;
                Ok(Arc::new(provider))
            }
            None => Err(DaemonError::Rim(format!(
                "provider {id} is not configured [OSTLER-D009]"
            ))),
        }
    }

    fn workload(&self, config: &Configuration, id: &WorkloadId) -> Result<Connected, DaemonError> {
        match config.workloads.iter().find(|workload| workload.id == *id).map(|workload| &workload.kind) {
            Some(WorkloadKind::Ray(ray)) => ray_workload(id, ray, config),
            None => Err(DaemonError::Rim(format!(
                "workload {id} is not configured [OSTLER-D009]"
            ))),
        }
    }
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

fn ray_workload(id: &WorkloadId, ray: &RayConfig, config: &Configuration) -> Result<Connected, DaemonError> {
    let (token, mut environment) =
        auth(&ray.auth).map_err(|error| DaemonError::Rim(format!("workload {id}: {error}")))?;
    environment.insert("RAY_ADDRESS".to_owned(), ray.address.clone());
    let client = RayClient {
        token,
        call_timeout: Duration::from_millis(config.deadlines.observe.0),
        metrics_address: Some(config.api.listen.to_string()),
        ..RayClient::new(ray.address.clone())
    };
    Ok(Connected { workload: Arc::new(RayWorkload::new(client)), kind: "ray", environment })
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
