//! The way in.

use crate::config::Config;
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use ostler_model::FailureClass;
use ostler_workload::WorkloadError;
use std::time::Duration;

/// Calls that are not watches are answered, or fail, within this time.
const CONNECT: Duration = Duration::from_secs(10);

fn bad(why: String) -> WorkloadError {
    WorkloadError::new(FailureClass::Permanent, "kubernetes.config", why)
}

/// A client. Connects with its first call.
pub(crate) fn client(found: kube::Config) -> Result<Client, WorkloadError> {
    Client::try_from(found).map_err(|error| bad(format!("the API server's address or keys: {error}")))
}

/// Where the API server is and who we are, as configured.
pub(crate) async fn found(config: &Config) -> Result<kube::Config, WorkloadError> {
    let mut found = match &config.kubeconfig {
        Some(path) => {
            let bad = |error: kube::config::KubeconfigError| bad(format!("{}: {error}", path.display()));
            let options =
                KubeConfigOptions { context: config.context.clone(), ..KubeConfigOptions::default() };
            let file = Kubeconfig::read_from(path).map_err(bad)?;
            kube::Config::from_custom_kubeconfig(file, &options).await.map_err(bad)?
        }
        None if config.context.is_none() && std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() => {
            kube::Config::incluster().map_err(|error| bad(format!("the pod's service account: {error}")))?
        }
        None => {
            let options =
                KubeConfigOptions { context: config.context.clone(), ..KubeConfigOptions::default() };
            let found = kube::Config::from_kubeconfig(&options).await;
            found.map_err(|error| bad(format!("no kubeconfig is given, and where kubectl looks: {error}")))?
        }
    };
    found.connect_timeout = Some(CONNECT);
    // We retry ourselves: an eviction that a budget forbids must come back at once, with its reason.
    found.default_retry = false;
    Ok(found)
}
