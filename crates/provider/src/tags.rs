//! How a machine is known again: tags that it carries from its first moment.
//!
//! The keys are lower-case letters and dashes, which every cloud and Kubernetes allow as they are.

use crate::contract::LaunchSpec;
use crate::error::ProviderError;
use ostler_model::{FailureClass, InstanceId, LaunchToken, NodeKind, PoolId, WorkloadId};
use std::collections::BTreeMap;

/// Tags of ours begin so; a user's may not.
pub const PREFIX: &str = "ostler-";
/// Which Ostler launched it: two of them in one account do not see each other's machines.
pub const SITE: &str = "ostler-site";
/// The workload.
pub const WORKLOAD: &str = "ostler-workload";
/// The pool.
pub const POOL: &str = "ostler-pool";
/// The record that asked for it.
pub const INSTANCE: &str = "ostler-instance";
/// The attempt of that record.
pub const ATTEMPT: &str = "ostler-attempt";
/// `head` or `worker`.
pub const KIND: &str = "ostler-kind";
/// The launch token, by which a repeated launch finds it.
pub const TOKEN: &str = "ostler-token";

/// What the tags of one machine say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tagged {
    /// The workload.
    pub workload: WorkloadId,
    /// The pool.
    pub pool: PoolId,
    /// The record and attempt that asked for it.
    pub launched_for: (InstanceId, u32),
    /// Head or worker.
    pub kind: NodeKind,
    /// The launch token.
    pub token: LaunchToken,
}

/// All tags of a machine: ours and the user's.
///
/// # Errors
/// `OSTLER-P001` if a tag of the user has our prefix.
pub fn write(
    site: &str,
    spec: &LaunchSpec,
    token: &LaunchToken,
) -> Result<BTreeMap<String, String>, ProviderError> {
    if let Some(key) = spec.tags.keys().find(|key| key.starts_with(PREFIX)) {
        let message =
            format!("pool {}: tag {key:?} begins with {PREFIX:?}, which is ours; rename it", spec.pool);
        return Err(ProviderError::new(FailureClass::Permanent, "OSTLER-P001", message));
    }
    let kind = if spec.kind == NodeKind::Head { "head" } else { "worker" };
    let ours = [
        (SITE, site),
        (WORKLOAD, spec.workload.as_str()),
        (POOL, spec.pool.as_str()),
        (INSTANCE, spec.instance.as_str()),
        (ATTEMPT, &spec.attempt.to_string()),
        (KIND, kind),
        (TOKEN, token.as_str()),
    ];
    let mut tags = spec.tags.clone();
    tags.extend(ours.map(|(key, value)| (key.to_owned(), value.to_owned())));
    Ok(tags)
}

/// Reads the tags of one machine. `None`: it is not of this site. `Some(Err)`: it is, and a tag is missing or
/// wrong; the text says which.
pub fn read(site: &str, tags: &BTreeMap<String, String>) -> Option<Result<Tagged, String>> {
    (tags.get(SITE).map(String::as_str) == Some(site)).then(|| parse(tags))
}

fn parse(tags: &BTreeMap<String, String>) -> Result<Tagged, String> {
    let get = |key| tags.get(key).map(String::as_str).ok_or_else(|| format!("tag {key:?} is missing"));
    let attempt = get(ATTEMPT)?;
    Ok(Tagged {
        workload: get(WORKLOAD)?.into(),
        pool: get(POOL)?.into(),
        launched_for: (
            get(INSTANCE)?.into(),
            attempt.parse().map_err(|_| format!("tag {ATTEMPT:?} is {attempt:?}, not a number"))?,
        ),
        kind: match get(KIND)? {
            "head" => NodeKind::Head,
            "worker" => NodeKind::Worker,
            other => return Err(format!("tag {KIND:?} is {other:?}, neither \"head\" nor \"worker\"")),
        },
        token: get(TOKEN)?.into(),
    })
}
