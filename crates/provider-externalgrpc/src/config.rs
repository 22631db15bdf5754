//! The knobs.

use crate::error::{CONFIG, refuse};
use ostler_model::{FailureClass, PoolId, WorkloadId};
use ostler_provider::{ProviderError, ServedPool};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// A provider of a server's node groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// `HOST:PORT` of the server.
    pub address: String,
    /// With it the connection is by TLS; without it, it is plain.
    pub tls: Option<Tls>,
    /// No answer to a call within this is none. Above zero.
    pub timeout: Duration,
    /// The ledger; `NAME.lock` and `NAME.new` are beside it. One running Ostler for each.
    pub state_file: PathBuf,
    /// How long things may take.
    pub timing: Timing,
}

/// A node group, and the pool that its machines count for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    /// The server's id of it.
    pub(crate) group: String,
    /// Whose machines they are.
    pub(crate) workload: WorkloadId,
    /// Of which pool.
    pub(crate) pool: PoolId,
}

/// What TLS needs, each in PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Tls {
    /// Certificates that the server's must be signed by.
    pub ca: Vec<u8>,
    /// Our own certificate and its key, for servers that ask who we are.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
}

impl fmt::Debug for Tls {
    /// Nothing of the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("has_identity", &self.identity.is_some()).finish_non_exhaustive()
    }
}

/// How long things may take; the defaults suit clouds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Between two looks at a group while a launch waits for its machine.
    pub poll: Duration,
    /// A launch that has no machine by then says so, and is to be repeated. At least four times the timeout
    /// of a call is taken.
    pub patience: Duration,
    /// So long a server may take to show the size that was asked for, even if the answer was lost; a size is
    /// not asked for again before.
    pub settle: Duration,
    /// What was asked for and has not come by then is taken back.
    pub give_up_after: Duration,
    /// An accepted end of a machine that is still listed is not asked for again before.
    pub ask_again_after: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            poll: Duration::from_secs(1),
            patience: Duration::from_secs(20),
            settle: Duration::from_secs(30),
            give_up_after: Duration::from_secs(20 * 60),
            ask_again_after: Duration::from_secs(10 * 60),
        }
    }
}

/// How a pool says which group it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Template {
    #[serde(default)]
    group: Option<String>,
}

/// The group of a pool: `template.group`, or else the pool's name.
///
/// # Errors
/// `OSTLER-P301`: the template has something else in it.
pub(crate) fn group_of(pool: &PoolId, template: &serde_json::Value) -> Result<String, ProviderError> {
    if template.is_null() {
        return Ok(pool.to_string());
    }
    let template: Template =
        serde_json::from_value(template.clone()).map_err(|why| wrong(format!("pool {pool}: {why}")))?;
    Ok(template.group.unwrap_or_else(|| pool.to_string()))
}

/// The groups of these pools.
///
/// # Errors
/// `OSTLER-P301`: a template has something else in it, or two pools have one group.
pub(crate) fn groups_of(pools: &[ServedPool]) -> Result<Vec<Group>, ProviderError> {
    let mut seen = BTreeSet::new();
    let group = |served: &ServedPool| {
        let group = group_of(&served.pool, &served.template)?;
        if group.is_empty() || !seen.insert(group.clone()) {
            return Err(wrong(format!(
                "pool {}: group {group:?} is empty or is another pool's too; give each pool its own",
                served.pool
            )));
        }
        Ok(Group { group, workload: served.workload.clone(), pool: served.pool.clone() })
    };
    pools.iter().map(group).collect()
}

impl Config {
    /// With the default timing, without TLS.
    pub fn new(address: impl Into<String>, state_file: impl Into<PathBuf>) -> Self {
        Self {
            address: address.into(),
            tls: None,
            timeout: Duration::from_secs(5),
            state_file: state_file.into(),
            timing: Timing::default(),
        }
    }

    /// `OSTLER-P301` if a value is out of range.
    pub(crate) fn check(&self) -> Result<(), ProviderError> {
        let port = self.address.rsplit_once(':').filter(|(host, _)| !host.is_empty());
        if port.is_none_or(|(_, port)| port.parse::<u16>().is_err()) || self.address.contains('/') {
            return Err(wrong(format!(
                "address {:?} is not HOST:PORT; write e.g. cloud-provider.kube-system:8086",
                self.address
            )));
        }
        if self.timeout.is_zero() || self.timing.poll.is_zero() {
            return Err(wrong("timeout and poll must be above zero; give e.g. 5s".into()));
        }
        Ok(())
    }

    /// A launch, or another call whose server is slow, has ended by then.
    pub(crate) fn patience(&self) -> Duration {
        self.timing.patience.max(self.timeout.saturating_mul(4))
    }
}

pub(crate) fn wrong(message: String) -> ProviderError {
    refuse(FailureClass::Permanent, CONFIG, format!("externalgrpc provider: {message}"))
}
