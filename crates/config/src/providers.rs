//! Where machines come from.

use crate::configuration::{ExternalGrpcConfig, KubeConnection, LocalProvider, ProviderConfig, StoreConfig};
use crate::environment::Host;
use crate::mistake::Code;
use crate::read::{Named, Section};
use crate::value::Command;
use ostler_model::ProviderId;
use std::collections::BTreeMap;
use std::path::PathBuf;

pub(crate) type Providers = BTreeMap<ProviderId, ProviderConfig>;

pub(crate) fn providers(root: &Section<'_, '_>, host: &Host<'_>, store: &StoreConfig) -> Providers {
    let provider = |one: &Named<'_, '_>| {
        let id = ProviderId::from(one.name.as_str());
        let provider = if one.section.has_knob("kubeconfig") {
            ProviderConfig::Kwok(kubernetes(&one.section, host))
        } else if one.section.has_knob("address") {
            ProviderConfig::ExternalGrpc(external(&one.section, host))
        } else {
            ProviderConfig::Local(local(&one.section, host, "stop_grace").settled(store, &id))
        };
        (id, provider)
    };
    root.named("providers").iter().map(provider).collect()
}

/// A local provider whose place for state may still depend on where the store is.
pub(crate) struct Unsettled {
    pub(crate) local: LocalProvider,
    pub(crate) state_dir: Option<PathBuf>,
}

impl Unsettled {
    pub(crate) fn settled(self, store: &StoreConfig, id: &ProviderId) -> LocalProvider {
        let beside = || {
            let mut name = store.path.with_extension("").into_os_string();
            name.push(format!("-{id}"));
            name.into()
        };
        LocalProvider { state_dir: self.state_dir.unwrap_or_else(beside), ..self.local }
    }
}

pub(crate) fn local(section: &Section<'_, '_>, host: &Host<'_>, stop_grace: &str) -> Unsettled {
    // One that is there and is wrong counts as there: its mistake is told, and not once more for each pool.
    let command =
        section.get("command").or_else(|| section.has("command").then(|| Command::Words(Vec::new())));
    let local = LocalProvider {
        command,
        environment: section.need("environment"),
        stop_grace: section.need(stop_grace),
        state_dir: PathBuf::new(),
        max_machines: section.need("max_machines"),
    };
    Unsettled { local, state_dir: section.get::<String>("state_dir").map(|path| host.path(&path)) }
}

/// What of a local provider makes a machine what it is.
pub(crate) fn local_parts(local: &LocalProvider) -> serde_json::Value {
    let command = local.command.as_ref().map(|command| match command {
        Command::Shell(text) => serde_json::json!(text),
        Command::Words(words) => serde_json::json!(words),
    });
    serde_json::json!({ "command": command, "environment": local.environment })
}

/// How an API server is reached.
pub(crate) fn kubernetes(section: &Section<'_, '_>, host: &Host<'_>) -> KubeConnection {
    KubeConnection {
        kubeconfig: section.get::<String>("kubeconfig").map(|path| host.path(&path)),
        context: section.get("context"),
    }
}

fn external(section: &Section<'_, '_>, host: &Host<'_>) -> ExternalGrpcConfig {
    let file = |key: &str| section.get::<String>(key).map(|path| host.path(&path));
    let config = ExternalGrpcConfig {
        address: section.need("address"),
        ca_file: file("ca_file"),
        cert_file: file("cert_file"),
        key_file: file("key_file"),
        timeout: section.need("timeout"),
    };
    if config.cert_file.is_some() != config.key_file.is_some() {
        let message =
            format!("`{}` and `{}` go together", section.name_of("cert_file"), section.name_of("key_file"));
        section.notes.error(Code::MissingKey, section.at, message, "give both or none");
    }
    config
}
