//! Budgets, daemons, namespaces, and room that is to be kept free.

use super::affinity::daemon_tolerations;
use super::names::POOL_LABEL;
use super::pod::{Claim, claims, pod_spec};
use super::quantity::nanos;
use super::selector::label_selector;
use super::{Release, labels, name_of, namespace_of, typed};
use k8s_openapi::api::{apps::v1 as apps, core::v1 as core, policy::v1 as policy};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Written;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use ostler_model::Labels;
use ostler_model::kube::{Budget, PodSpec};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The only strategy of a CapacityBuffer that asks for room.
const ACTIVE: &str = "buffer.x-k8s.io/active-capacity";
/// So many places one buffer may ask for; more is taken as a slip of the pen.
const PLACES_MAX: u32 = 100_000;

/// Reads a PodDisruptionBudget. One whose status is older than its spec allows nothing, as for the API
/// server.
pub fn budget(object: Value) -> Result<Budget, String> {
    let policy::PodDisruptionBudget { metadata, spec, status } = typed(object)?;
    let (namespace, name) = (namespace_of(&metadata), name_of(&metadata)?);
    let selector = spec.and_then(|spec| spec.selector).map(label_selector).transpose()?;
    let status = status.filter(|status| status.observed_generation >= metadata.generation);
    let allowed =
        status.map_or(0, |status| u32::try_from(status.disruptions_allowed.unwrap_or(0)).unwrap_or(0));
    Ok(Budget { namespace, name, selector, allowed })
}

/// Reads the labels of a Namespace.
pub fn namespace(object: Value) -> Result<Labels, String> {
    let core::Namespace { metadata, .. } = typed(object)?;
    Ok(labels(metadata.labels))
}

/// What is kept of a DaemonSet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonFacts {
    /// Unique id, by which its pods name it.
    pub(super) uid: Arc<str>,
    pub(super) spec: Arc<PodSpec>,
    pub(super) claims: Vec<Claim>,
    /// Its pods' priority is in the template; otherwise a live pod tells it.
    pub(super) says_priority: bool,
}

/// Reads a DaemonSet; `None` if it is being deleted.
pub fn daemon(object: Value, release: Release) -> Result<Option<DaemonFacts>, String> {
    let apps::DaemonSet { metadata, spec, .. } = typed(object)?;
    if metadata.deletion_timestamp.is_some() {
        return Ok(None);
    }
    let template = spec.template;
    let host_network = template.spec.as_ref().is_some_and(|spec| spec.host_network == Some(true));
    let says_priority = template.spec.as_ref().is_some_and(|spec| spec.priority.is_some());
    let TemplateFacts { mut spec, claims } = made_from(&metadata, template, release)?;
    let tolerations = &mut Arc::make_mut(&mut spec).tolerations;
    tolerations.extend(daemon_tolerations(host_network));
    tolerations.sort();
    tolerations.dedup();
    Ok(Some(DaemonFacts {
        uid: metadata.uid.unwrap_or_default().into(),
        says_priority: says_priority || spec.priority != 0,
        spec,
        claims,
    }))
}

/// What is kept of a template of pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateFacts {
    pub(super) spec: Arc<PodSpec>,
    pub(super) claims: Vec<Claim>,
}

/// Reads a PodTemplate.
pub fn template(object: Value, release: Release) -> Result<TemplateFacts, String> {
    let core::PodTemplate { metadata, template } = typed(object)?;
    made_from(&metadata, template.ok_or("it has no template")?, release)
}

/// A pod as it would be made from a template of the object with this metadata.
fn made_from(
    of: &ObjectMeta,
    template: core::PodTemplateSpec,
    release: Release,
) -> Result<TemplateFacts, String> {
    let meta = template.metadata.unwrap_or_default();
    let meta = ObjectMeta { namespace: of.namespace.clone(), labels: meta.labels, ..ObjectMeta::default() };
    let spec = template.spec.ok_or("its template has no spec")?;
    let claims = claims(&spec, of.name.as_deref().unwrap_or_default());
    Ok(TemplateFacts { spec: Arc::new(pod_spec(&meta, spec, None, true, release)?), claims })
}

/// A thing that has pods and can have more of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScalableFacts {
    pub(super) template: TemplateFacts,
    pub(super) replicas: u32,
}

/// Reads a Deployment, ReplicaSet, StatefulSet, or whatever has `spec.template` and `spec.replicas`.
pub fn scalable(object: Value, release: Release) -> Result<ScalableFacts, String> {
    #[derive(Deserialize)]
    struct Scalable {
        metadata: ObjectMeta,
        spec: Spec,
    }
    #[derive(Deserialize)]
    struct Spec {
        template: core::PodTemplateSpec,
        replicas: Option<u32>,
        parallelism: Option<u32>,
    }
    let Scalable { metadata, spec } = typed(object)?;
    let replicas = spec.replicas.or(spec.parallelism).unwrap_or(1);
    Ok(ScalableFacts { template: made_from(&metadata, spec.template, release)?, replicas })
}

/// Which thing is meant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScalableRef {
    /// Group of its API.
    pub group: Arc<str>,
    /// Kind.
    pub kind: Arc<str>,
    /// Namespace.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
}

/// What is kept of a CapacityBuffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BufferFacts {
    pub(super) template: Option<Arc<str>>,
    /// The thing whose pods it is like, if it names one.
    pub scalable: Option<ScalableRef>,
    replicas: Option<u32>,
    percent: Option<u32>,
    limits: BTreeMap<String, i128>,
}

/// Reads a CapacityBuffer; `None` if it asks for nothing that we know.
pub fn buffer(object: Value) -> Result<Option<BufferFacts>, String> {
    #[derive(Deserialize)]
    struct Buffer {
        metadata: ObjectMeta,
        spec: Spec,
        status: Option<Status>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Spec {
        pod_template_ref: Option<Named>,
        scalable_ref: Option<Scalable>,
        replicas: Option<u32>,
        percentage: Option<u32>,
        provisioning_strategy: Option<String>,
        limits: Option<BTreeMap<String, Written>>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Status {
        replicas: Option<u32>,
        pod_template_ref: Option<Named>,
    }
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Scalable {
        api_group: Option<String>,
        kind: String,
        name: String,
    }
    let Buffer { metadata, spec, status } = typed(object)?;
    if metadata.deletion_timestamp.is_some() || spec.provisioning_strategy.is_some_and(|kind| kind != ACTIVE)
    {
        return Ok(None);
    }
    // Where a controller of buffers has worked it out, its word counts.
    let told =
        status.as_ref().filter(|status| status.replicas.is_some() && status.pod_template_ref.is_some());
    let template =
        told.and_then(|status| status.pod_template_ref.as_ref()).or(spec.pod_template_ref.as_ref());
    let scalable = spec.scalable_ref.map(|to| ScalableRef {
        group: to.api_group.unwrap_or_default().into(),
        kind: to.kind.into(),
        namespace: namespace_of(&metadata),
        name: to.name.into(),
    });
    let limits = spec.limits.into_iter().flatten();
    let limits = limits.map(|(name, written)| nanos(&written.0).map(|value| (name, value)));
    Ok(Some(BufferFacts {
        template: template.map(|to| to.name.as_str().into()),
        scalable: if told.is_some() { None } else { scalable },
        replicas: told.map_or(spec.replicas, |status| status.replicas),
        percent: if told.is_some() { None } else { spec.percentage },
        limits: limits.collect::<Result<_, _>>().map_err(|why| format!("limits: {why}"))?,
    }))
}

impl BufferFacts {
    /// How many places of this spec it asks for, if its thing has so many replicas. The larger of the
    /// number and the percentage; without either, as many as the limits allow; never more than these.
    pub(super) fn count(&self, spec: &PodSpec, replicas: Option<u32>) -> u32 {
        let part = self.percent.zip(replicas).map(|(percent, of)| {
            let part = (u64::from(of) * u64::from(percent)).div_ceil(100).max(1);
            u32::try_from(part).unwrap_or(u32::MAX)
        });
        let room = self.limits.iter().filter_map(|(name, &limit)| {
            let one =
                spec.requests.get(name).as_ten_thousandths().checked_mul(100_000).filter(|&one| one > 0)?;
            Some(u32::try_from(limit.max(0) / one).unwrap_or(u32::MAX))
        });
        let room = room.min();
        let wanted = self.replicas.max(part).or(room).unwrap_or(0);
        wanted.min(room.unwrap_or(u32::MAX)).min(PLACES_MAX)
    }
}

/// The pool that labels name.
pub(super) fn pool(labels: &Labels) -> Option<ostler_model::PoolId> {
    labels.get(POOL_LABEL).filter(|name| !name.is_empty()).map(|name| ostler_model::PoolId::new(name.clone()))
}
