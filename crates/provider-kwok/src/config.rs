//! The knobs.

use ostler_model::{FailureClass, Millis};
use ostler_provider::ProviderError;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A provider of simulated nodes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct KwokConfig {
    /// Whose nodes: two providers in one cluster have different sites, and leave each other's nodes alone.
    pub site: String,
    /// The way into the cluster; the pod's service account if absent.
    #[serde(default)]
    pub kubeconfig: Option<PathBuf>,
    /// A context of it; its current one if absent.
    #[serde(default)]
    pub context: Option<String>,
}

/// How the nodes of a pool are made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct KwokTemplate {
    /// How they behave.
    #[serde(flatten)]
    pub behaviour: Behaviour,
    /// Taints that stay, `KEY=VALUE:Effect` or `KEY:Effect`.
    pub taints: Vec<String>,
    /// Taints until [`Behaviour::startup`] is over.
    pub startup_taints: Vec<String>,
    /// What a node says of itself where that differs from what the pool promises: name to amount, as in
    /// Kubernetes (`cpu: 3900m`).
    pub allocatable: BTreeMap<String, String>,
    /// Launches are refused so.
    pub refuse: Option<Refusal>,
}

/// How a simulated node behaves. Spans are texts: `500ms`, `2s`, `1m30s`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct Behaviour {
    /// From the launch until the node is ready.
    #[serde(with = "span")]
    pub boot: Millis,
    /// From ready until its startup taints are gone.
    #[serde(with = "span")]
    pub startup: Millis,
    /// How long a pod takes to end, its grace period at most.
    #[serde(with = "span")]
    pub stop: Millis,
    /// It never becomes ready.
    pub never_ready: bool,
    /// Taints that go when [`startup`](Self::startup) is over. Not a knob: filled in from the template.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub startup_keys: Vec<String>,
    /// When it was asked for, in milliseconds since 1970; the API server rounds to seconds. Not a knob.
    pub asked_at: u64,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            boot: Millis::secs(1),
            startup: Millis(0),
            stop: Millis::secs(1),
            never_ready: false,
            startup_keys: Vec::new(),
            asked_at: 0,
        }
    }
}

/// How launches of a pool are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// No such machine just now.
    OutOfCapacity,
    /// The limit of the account.
    Quota,
    /// Not allowed.
    Denied,
    /// May pass by itself; nothing was made.
    Transient,
}

impl From<Refusal> for FailureClass {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::OutOfCapacity => Self::OutOfCapacity,
            Refusal::Quota => Self::Quota,
            Refusal::Denied => Self::Denied,
            Refusal::Transient => Self::Transient,
        }
    }
}

impl KwokTemplate {
    /// From a pool's template; `null` is the usual node.
    pub(crate) fn from_value(pool: &str, value: &serde_json::Value) -> Result<Self, ProviderError> {
        if value.is_null() {
            return Ok(Self::default());
        }
        serde_json::from_value(value.clone()).map_err(|why| {
            let message = format!("pool {pool}: template of a simulated node: {why}");
            ProviderError::new(FailureClass::Permanent, "OSTLER-P201", message)
        })
    }
}

/// `1m30s`; `None` if it is no span of time.
pub(crate) fn parse_span(text: &str) -> Option<Millis> {
    let span = humantime::parse_duration(text).ok()?;
    u64::try_from(span.as_millis()).ok().map(Millis)
}

mod span {
    use super::{Deserialize, Deserializer, Millis, de, parse_span};
    use serde::Serializer;

    pub(super) fn serialize<S: Serializer>(span: &Millis, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{}ms", span.0))
    }
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Millis, D::Error> {
        let text = String::deserialize(from)?;
        parse_span(&text).ok_or_else(|| {
            de::Error::custom(format!("{text:?} is no span of time: write one like `500ms`, `2s` or `1m30s`"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_template_is_read_and_its_mistakes_are_named() {
        let read = |value| KwokTemplate::from_value("p", &value);
        assert_eq!(read(json!(null)), Ok(KwokTemplate::default()));
        let good = read(json!({"boot": "2s", "refuse": "quota", "taints": ["a=b:NoSchedule"]}));
        let good = good.expect("a good template");
        assert_eq!((good.behaviour.boot, good.refuse), (Millis::secs(2), Some(Refusal::Quota)));
        for (wrong, word) in
            [(json!({"boot": "soon"}), "soon"), (json!({"bot": "1s"}), "bot"), (json!(7), "7")]
        {
            let error = read(wrong).expect_err("a mistake");
            assert_eq!((error.class, error.code), (FailureClass::Permanent, "OSTLER-P201"));
            assert!(error.message.contains(word), "{error}");
        }
    }
}
