//! The knobs.

use ostler_model::{FailureClass, Millis};
use ostler_provider::ProviderError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// A provider of local processes.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LocalConfig {
    /// Directory for records and logs of the machines; made if it is not there. One running Ostler for each: it
    /// owns every process that was ever started from it.
    pub state_dir: PathBuf,
    /// What a machine runs, unless its pool says otherwise.
    #[serde(default)]
    pub command: Option<Command>,
    /// Variables for each machine, over those that Ostler itself has (its own `OSTLER_…` are not passed on).
    #[serde(default)]
    pub environment: Environment,
    /// Seconds from SIGTERM to SIGKILL when a machine is terminated.
    #[serde(default = "LocalConfig::default_stop_grace_s")]
    pub stop_grace_s: f64,
    /// Machines at most at a time; a launch beyond is refused (quota).
    #[serde(default = "LocalConfig::default_max_machines")]
    pub max_machines: u32,
    /// Bytes of a machine's log at most; when it is full it moves to `….log.old` and starts again.
    #[serde(default = "LocalConfig::default_max_log_bytes")]
    pub max_log_bytes: u64,
}

/// How a pool's machines differ from the provider's usual ones.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LocalTemplate {
    /// What a machine of this pool runs.
    #[serde(default)]
    pub command: Option<Command>,
    /// Variables for machines of this pool, over those of the provider.
    #[serde(default)]
    pub environment: Environment,
}

/// What is run.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Command {
    /// A text for `/bin/sh -c`.
    Shell(String),
    /// A program and its arguments, without a shell; `${NAME}` is replaced by the variable.
    Argv(Vec<String>),
}

/// Variables by name. Their values may be secrets, so they are not printed.
#[derive(Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Environment(pub BTreeMap<String, String>);

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl LocalConfig {
    /// With the defaults, in this directory.
    pub fn new(state_dir: impl Into<PathBuf>, command: Command) -> Self {
        Self {
            state_dir: state_dir.into(),
            command: Some(command),
            environment: Environment::default(),
            stop_grace_s: Self::default_stop_grace_s(),
            max_machines: Self::default_max_machines(),
            max_log_bytes: Self::default_max_log_bytes(),
        }
    }

    /// From the provider's part of a configuration.
    ///
    /// # Errors
    /// `OSTLER-P101`: a key is unknown or missing, or a value is of the wrong type or out of range.
    pub fn from_value(value: serde_json::Value) -> Result<Self, ProviderError> {
        let config: Self = parse("local provider", value)?;
        config.check()?;
        Ok(config)
    }

    /// `OSTLER-P101` if a value is out of range.
    pub(crate) fn check(&self) -> Result<(), ProviderError> {
        const DAY_S: f64 = 86_400.0;
        if !(0.0..=DAY_S).contains(&self.stop_grace_s) {
            let given = self.stop_grace_s;
            return Err(wrong(format!(
                "local provider: stop_grace_s is {given}; give seconds from 0 to {DAY_S}"
            )));
        }
        self.environment.check()
    }

    /// [`stop_grace_s`](Self::stop_grace_s) as a span.
    pub(crate) fn stop_grace(&self) -> Millis {
        Millis((self.stop_grace_s * 1000.0) as u64)
    }

    /// What Ray, too, gives its processes to end.
    fn default_stop_grace_s() -> f64 {
        10.0
    }
    /// Far more than one host runs, and few enough that a mistake does not take the host down.
    fn default_max_machines() -> u32 {
        64
    }
    /// Days of a quiet raylet's output.
    fn default_max_log_bytes() -> u64 {
        16 << 20
    }
}

impl LocalTemplate {
    /// From a pool's template; `null` is the provider's usual machine.
    pub(crate) fn from_value(pool: &str, value: &serde_json::Value) -> Result<Self, ProviderError> {
        if value.is_null() {
            return Ok(Self::default());
        }
        let template: Self = parse(&format!("pool {pool}"), value.clone())?;
        template.environment.check()?;
        Ok(template)
    }
}

impl Environment {
    fn check(&self) -> Result<(), ProviderError> {
        let bad = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
        match self.0.keys().find(bad) {
            Some(name) => {
                Err(wrong(format!("environment: {name:?} cannot be the name of a variable; rename it")))
            }
            None => Ok(()),
        }
    }
}

fn parse<T: DeserializeOwned>(place: &str, value: serde_json::Value) -> Result<T, ProviderError> {
    serde_json::from_value(value).map_err(|why| wrong(format!("{place}: {why}")))
}

fn wrong(message: String) -> ProviderError {
    ProviderError::new(FailureClass::Permanent, "OSTLER-P101", message)
}
