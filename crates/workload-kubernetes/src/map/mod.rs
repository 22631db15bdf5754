//! Between Kubernetes' words and ours. Pure. An object that makes no sense is left out and named; it costs
//! nobody else.
//!
//! Two steps: each object is read once, when it changes, into the few facts that are needed (`pod`, `node`,
//! `volume`, `policy`; `facts` holds them); a look joins the facts of all of them (`join`, `specs`, `load`).

mod affinity;
mod facts;
mod join;
mod load;
mod names;
mod node;
mod pod;
mod policy;
pub(crate) mod quantity;
mod release;
mod requests;
mod selector;
mod shared;
mod specs;
mod volume;

pub use facts::{Facts, Key, Named, Odd};
pub use join::{Joiner, workload_state};
pub use names::*;
pub use node::{NodeFacts, node};
pub use pod::{Claim, PodFacts, pod};
pub use policy::{
    BufferFacts, DaemonFacts, ScalableFacts, ScalableRef, TemplateFacts, budget, buffer, daemon, namespace,
    scalable, template,
};
pub use release::Release;
pub use shared::Shared;
pub use volume::{
    ClaimFacts, ClassFacts, CsiFacts, VolumeFacts, class, csi_node, persistent_volume, volume_claim,
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use ostler_model::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Any error text is cut here: names of fields, not whole objects.
const WHY_MAX: usize = 300;

/// An object in its type.
fn typed<T: DeserializeOwned>(object: Value) -> Result<T, String> {
    serde_json::from_value(object).map_err(|error| {
        let mut why = error.to_string();
        let end = (0..=WHY_MAX).rev().find(|&n| why.is_char_boundary(n)).unwrap_or(0);
        why.truncate(end);
        why
    })
}

fn time(time: Option<&Time>) -> Option<Timestamp> {
    time.and_then(|time| u64::try_from(time.0.as_millisecond()).ok()).map(Timestamp)
}

fn created(meta: &ObjectMeta) -> Timestamp {
    time(meta.creation_timestamp.as_ref()).unwrap_or_default()
}

fn labels(map: Option<BTreeMap<String, String>>) -> BTreeMap<Arc<str>, Arc<str>> {
    map.into_iter().flatten().map(|(key, value)| (Arc::from(key), Arc::from(value))).collect()
}

fn name_of(meta: &ObjectMeta) -> Result<Arc<str>, String> {
    meta.name.as_deref().map(Arc::from).ok_or_else(|| "it has no name".to_owned())
}

fn namespace_of(meta: &ObjectMeta) -> Arc<str> {
    meta.namespace.as_deref().unwrap_or_default().into()
}

/// The first of these annotations that is there, ours before those of others.
fn annotation<'a>(meta: &'a ObjectMeta, names: &[&str]) -> Option<&'a str> {
    let all = meta.annotations.as_ref()?;
    names.iter().find_map(|&name| all.get(name)).map(String::as_str)
}

fn arcs(list: Option<Vec<String>>) -> Vec<Arc<str>> {
    list.into_iter().flatten().map(Arc::from).collect()
}

#[cfg(test)]
mod tests;
