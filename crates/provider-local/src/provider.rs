//! The trait in front of the host: what may block runs apart from the caller's threads.

use crate::config::LocalConfig;
use crate::host::Host;
use crate::janitor::{self, Bell};
use async_trait::async_trait;
use ostler_model::{CloudId, FailureClass, LaunchToken, Millis};
use ostler_provider::{Capabilities, LaunchSpec, Listing, Provider, ProviderError};
use std::sync::Arc;

/// Machines that are processes of this host, see the [crate]. A clone is the same provider. Needs a Tokio runtime.
#[derive(Debug, Clone)]
pub struct LocalProvider {
    host: Arc<Host>,
    bell: Bell,
}

impl LocalProvider {
    /// Takes over the state directory, finds its machines again, and goes on ending those that were to end.
    /// Waits up to 2 s for another Ostler that is just leaving. Dropping it leaves all machines as they are.
    ///
    /// # Errors
    /// `OSTLER-P101` a knob is out of range, `OSTLER-P102` the state directory cannot be used, `OSTLER-P103`
    /// another Ostler uses it, `OSTLER-P109` there is no `/proc`.
    pub fn open(config: LocalConfig) -> Result<Self, ProviderError> {
        let host = Arc::new(Host::open(config)?);
        let bell = janitor::hire(&host).map_err(|error| {
            let message = format!("no thread for ending machines: {error}; raise the limit of threads");
            ProviderError::new(FailureClass::OutOfCapacity, "OSTLER-P111", message)
        })?;
        Ok(Self { host, bell })
    }

    /// A call that is dropped by its caller still runs to its end.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Host) -> Result<T, ProviderError> + Send + 'static,
    ) -> Result<T, ProviderError> {
        let host = self.host.clone();
        let done = tokio::task::spawn_blocking(move || work(&host)).await;
        done.unwrap_or_else(|error| {
            let message = format!("a call did not end: {error}; it is safe to call again");
            Err(ProviderError::new(FailureClass::Transient, "OSTLER-P112", message))
        })
    }
}

#[async_trait]
impl Provider for LocalProvider {
    fn capabilities(&self) -> Capabilities {
        // A start or a look takes milliseconds; the rest is for a host that is busy with its machines.
        const SLACK: Millis = Millis::secs(5);
        Capabilities {
            joins_by_itself: true,
            chooses_victims: false,
            answers_within: SLACK,
            appears_within: Millis(0),
            gone_within: Millis(self.host.config().stop_grace().0 + SLACK.0),
        }
    }

    async fn list(&self) -> Result<Listing, ProviderError> {
        self.run(Host::list).await
    }

    async fn launch(&self, spec: &LaunchSpec, token: &LaunchToken) -> Result<CloudId, ProviderError> {
        let (spec, token) = (spec.clone(), token.clone());
        self.run(move |host| host.launch(&spec, &token)).await
    }

    async fn terminate(&self, id: &CloudId) -> Result<(), ProviderError> {
        let (id, bell) = (id.clone(), self.bell.clone());
        self.run(move |host| host.terminate(&id).inspect(|()| bell.ring())).await
    }

    fn details(&self, id: &CloudId) -> Option<String> {
        self.host.details(id)
    }
}
