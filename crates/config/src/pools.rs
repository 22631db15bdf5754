//! What every kind of workload says of its pools.

use crate::configuration::{PoolConfig, ProviderConfig};
use crate::hash::launch_hash;
use crate::mistake::{Code, nearest};
use crate::providers::{Providers, local_parts};
use crate::read::{Named, Section};
use crate::table::{kubernetes, ostler as table};
use crate::value::Command;
use ostler_model::{Millis, PoolId, ProviderId};
use std::collections::BTreeMap;

/// What they have in common.
pub(crate) struct PoolParts {
    pub(crate) id: PoolId,
    pub(crate) provider: ProviderId,
    pub(crate) min: u32,
    pub(crate) max: u32,
    pub(crate) launch_hash: String,
}

pub(crate) fn pool_parts(one: &Named<'_, '_>, providers: &Providers) -> PoolParts {
    let section = &one.section;
    let provider = ProviderId::from(section.need::<String>("provider"));
    let known = providers.get(provider.as_str());
    if known.is_none() && section.has("provider") {
        let message = format!("`{}`: there is no provider `{provider}`", section.name_of("provider"));
        let hint = nearest(provider.as_str(), providers.keys().map(ProviderId::as_str));
        section.notes.error(Code::UnknownProvider, section.place("provider"), message, hint);
    }
    let (min, max) = (section.need("min"), section.need("max"));
    if section.has("max") {
        check_bounds(section, "min", min, "max", max);
    }
    let parts = match known {
        Some(ProviderConfig::Local(local)) => {
            let own = section.section_by("template", &table::LOCAL_TEMPLATE);
            check_command(section, &own, local.command.as_ref(), max);
            serde_json::json!({ "provider": local_parts(local), "template": section.json("template") })
        }
        Some(ProviderConfig::Kwok(_)) => {
            check_simulated(&section.section_by("template", &kubernetes::KWOK_TEMPLATE));
            serde_json::json!({ "template": section.json("template") })
        }
        Some(ProviderConfig::ExternalGrpc(_)) | None => serde_json::Value::Null,
    };
    PoolParts { id: PoolId::from(one.name.as_str()), provider, min, max, launch_hash: launch_hash(&parts) }
}

/// Reads a simulated node's template for its mistakes; the provider reads it again.
fn check_simulated(own: &Section<'_, '_>) {
    own.get::<Millis>("boot");
    own.get::<Millis>("startup");
    own.get::<Millis>("stop");
    own.get::<bool>("never_ready");
    own.get::<Vec<String>>("taints");
    own.get::<Vec<String>>("startup_taints");
    own.get::<String>("refuse");
}

/// A pool that may launch needs a command, its own or the provider's. Reads its own for its mistakes, too.
pub(crate) fn check_command(
    pool: &Section<'_, '_>,
    own: &Section<'_, '_>,
    general: Option<&Command>,
    max: u32,
) {
    let own_command: Option<Command> = own.get("command");
    own.get::<BTreeMap<String, String>>("environment");
    if own_command.is_none() && !own.has("command") && general.is_none() && max > 0 {
        let message =
            format!("`{}` is missing, and its provider has no `command` either", own.name_of("command"));
        pool.notes.error(
            Code::MissingKey,
            pool.at,
            message,
            "say what starts a machine, in one of the two places",
        );
    }
}

pub(crate) fn check_bounds(section: &Section<'_, '_>, min_key: &str, min: u32, max_key: &str, max: u32) {
    if min > max {
        let message = format!("`{}` is {min}, `{max_key}` is {max}", section.name_of(min_key));
        section.notes.error(
            Code::MinAboveMax,
            section.place(min_key),
            message,
            "raise the one or lower the other",
        );
    }
}

/// Minimums that no maximum allows are a warning: the maximum wins, as it does in planning.
pub(crate) fn check_total(section: &Section<'_, '_>, key: &str, most: Option<u32>, pools: &[PoolConfig]) {
    let sum: u64 = pools.iter().map(|pool| u64::from(pool.pool.min)).sum();
    if let Some(most) = most.filter(|most| sum > u64::from(*most)) {
        let message =
            format!("`{}` is {most}, the minimums of all pools together are {sum}", section.name_of(key));
        section.notes.warning(
            Code::MinAboveTotal,
            section.place(key),
            message,
            "not all minimums can be kept",
        );
    }
}
