//! Pods.

use super::affinity::{affinity, ports, spread, tolerations};
use super::names::{DO_NOT_DISRUPT, NO_SCALE_UP, SAFE_TO_EVICT, SAFE_VOLUMES, SCALE_UP_DELAY};
use super::quantity::duration;
use super::requests::effective;
use super::{Release, annotation, created, name_of, namespace_of, time, typed};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use ostler_model::kube::{Eviction, Owner, PodSpec};
use ostler_model::{Millis, NodeId, Timestamp};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// How long a pod may take to stop if it says nothing.
const GRACE: Millis = Millis::secs(30);
const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// What is kept of a pod that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodFacts {
    /// Its name; its namespace is in the spec.
    pub name: Arc<str>,
    /// Unique id.
    pub uid: Arc<str>,
    /// What it asks for, its claims of volumes not looked up yet.
    pub spec: Arc<PodSpec>,
    /// Those claims.
    pub claims: Vec<Claim>,
    /// Where it is bound to.
    pub node: Option<NodeId>,
    /// Where the scheduler means to put it.
    pub nominated: Option<NodeId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// It is being deleted, and was to be gone by then.
    pub gone_by: Option<Timestamp>,
    /// It waits, and not for want of room.
    pub waits: Option<Arc<str>>,
    /// It brings no node before this.
    pub not_before: Option<Timestamp>,
    /// What controls it.
    pub owner: Option<Arc<Owner>>,
    /// What speaks for and against moving it.
    pub eviction: Eviction,
}

/// A claim of a volume.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Claim {
    /// The PersistentVolumeClaim's name.
    pub name: Arc<str>,
    /// It is made with the pod, of this class (`None`: of none), and may not be there yet.
    pub made_with_pod: Option<Option<Arc<str>>>,
}

/// Reads a pod as the scheduler of a release does; `None` if it has ended.
pub fn pod(object: Value, release: Release) -> Result<Option<PodFacts>, String> {
    let core::Pod { metadata, spec, status } = typed(object)?;
    let phase = status.as_ref().and_then(|status| status.phase.as_deref());
    if matches!(phase, Some("Succeeded" | "Failed")) {
        return Ok(None);
    }
    let spec = spec.ok_or("it has no spec")?;
    let name = name_of(&metadata)?;
    let node = spec.node_name.as_deref().filter(|node| !node.is_empty()).map(NodeId::from);
    let created_at = created(&metadata);
    let started = status.as_ref().and_then(|status| time(status.start_time.as_ref()));
    let nominated = status.as_ref().and_then(|status| status.nominated_node_name.as_deref());
    let nominated = nominated.filter(|node| !node.is_empty()).map(NodeId::from);
    let delay = annotation(&metadata, SCALE_UP_DELAY).and_then(duration);
    let claims = claims(&spec, &name);
    let facts = PodFacts {
        uid: metadata.uid.as_deref().unwrap_or_default().into(),
        waits: waits(&metadata, &spec),
        owner: owner(&metadata, node.as_ref()).map(Arc::new),
        eviction: eviction(&metadata, &spec, started.unwrap_or(created_at)),
        gone_by: time(metadata.deletion_timestamp.as_ref()),
        not_before: delay.filter(|_| node.is_none()).map(|delay| created_at + delay),
        nominated: nominated.filter(|_| node.is_none()),
        spec: Arc::new(pod_spec(
            &metadata,
            spec,
            status.as_ref().filter(|_| node.is_some()),
            false,
            release,
        )?),
        name,
        claims,
        node,
        created_at,
    };
    Ok(Some(facts))
}

/// All that the scheduler's filters look at, of a pod or of one that would be made from a template.
pub(super) fn pod_spec(
    meta: &ObjectMeta,
    spec: core::PodSpec,
    status: Option<&core::PodStatus>,
    template: bool,
    release: Release,
) -> Result<PodSpec, String> {
    let mut odd = unjudged(&spec);
    let mut read = PodSpec {
        namespace: namespace_of(meta),
        labels: super::labels(meta.labels.clone()),
        requests: effective(&spec, status, template, release)?,
        ports: ports(&spec, template),
        features: if release.declares_features() { features(&spec) } else { BTreeSet::new() },
        priority: spec.priority.or_else(|| priority(spec.priority_class_name.as_deref())).unwrap_or(0),
        never_preempts: spec.preemption_policy.as_deref() == Some("Never"),
        scheduler: spec.scheduler_name.as_deref().unwrap_or(DEFAULT_SCHEDULER).into(),
        tolerations: tolerations(spec.tolerations, &mut odd),
        node_selector: super::labels(spec.node_selector),
        ..PodSpec::default()
    };
    read.spread = spread(spec.topology_spread_constraints, &read.labels, &mut odd);
    if let Some(from) = spec.affinity {
        affinity(from, template, release, &mut read, &mut odd);
    }
    read.unjudged = odd.map(Arc::from);
    Ok(read)
}

/// Classes that every cluster has; of others the API server writes the number into the pod.
fn priority(class: Option<&str>) -> Option<i32> {
    match class {
        Some("system-node-critical") => Some(2_000_001_000),
        Some("system-cluster-critical") => Some(2_000_000_000),
        _ => None,
    }
}

/// What only others can judge.
fn unjudged(spec: &core::PodSpec) -> Option<String> {
    if spec.resource_claims.as_ref().is_some_and(|claims| !claims.is_empty()) {
        return Some("it claims devices (resourceClaims)".to_owned());
    }
    if spec.scheduling_group.is_some() {
        return Some("it is placed together with its group (schedulingGroup)".to_owned());
    }
    let volumes = spec.volumes.iter().flatten();
    let single = volumes.filter_map(|volume| {
        let kinds = [
            (volume.gce_persistent_disk.is_some(), "gcePersistentDisk"),
            (volume.aws_elastic_block_store.is_some(), "awsElasticBlockStore"),
            (volume.iscsi.is_some(), "iscsi"),
            (volume.rbd.is_some(), "rbd"),
        ];
        let kind = kinds.into_iter().find_map(|(is, kind)| is.then_some(kind))?;
        Some(format!("its volume {} names a disk itself ({kind})", volume.name))
    });
    single.into_iter().next()
}

/// What the node must declare that it can do.
fn features(spec: &core::PodSpec) -> BTreeSet<Arc<str>> {
    let containers = || spec.init_containers.iter().flatten().chain(&spec.containers);
    let mut mounts = containers().flat_map(|container| container.volume_mounts.iter().flatten());
    let mut rules = containers().flat_map(|container| container.restart_policy_rules.iter().flatten());
    let needed = [
        ("RestartAllContainersOnContainerExits", rules.any(|rule| rule.action == "RestartAllContainers")),
        (
            "UserNamespacesHostNetworkSupport",
            spec.host_network == Some(true) && spec.host_users == Some(false),
        ),
        (
            "VolumeBindMountOptions",
            mounts.any(|mount| mount.bind_mount_options.as_ref().is_some_and(|options| !options.is_empty())),
        ),
    ];
    needed.into_iter().filter(|&(_, is)| is).map(|(name, _)| name.into()).collect()
}

fn waits(meta: &ObjectMeta, spec: &core::PodSpec) -> Option<Arc<str>> {
    let gates: Vec<_> = spec.scheduling_gates.iter().flatten().map(|gate| gate.name.as_str()).collect();
    if !gates.is_empty() {
        return Some(format!("scheduling gates: {}", gates.join(", ")).into());
    }
    annotation(meta, NO_SCALE_UP).map(|why| if why.is_empty() { NO_SCALE_UP[0].into() } else { why.into() })
}

/// The controller; for a pod that the kubelet made from a file it is the node.
fn owner(meta: &ObjectMeta, node: Option<&NodeId>) -> Option<Owner> {
    let controller = meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true));
    let source = annotation(meta, &["kubernetes.io/config.source"]);
    let mirror = annotation(meta, &["kubernetes.io/config.mirror"]).is_some();
    if mirror || source.is_some_and(|source| source != "api") {
        let uid = controller.filter(|owner| owner.kind == "Node").map_or("", |owner| &owner.uid);
        let name = node.map_or("", NodeId::as_str);
        return Some(Owner { kind: "Node".into(), name: name.into(), uid: uid.into() });
    }
    let of = |owner: &k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference| Owner {
        kind: owner.kind.as_str().into(),
        name: owner.name.as_str().into(),
        uid: owner.uid.as_str().into(),
    };
    controller.map(of)
}

fn eviction(meta: &ObjectMeta, spec: &core::PodSpec, started: Timestamp) -> Eviction {
    let told = annotation(meta, SAFE_TO_EVICT);
    let keep = annotation(meta, DO_NOT_DISRUPT);
    let safe = match (keep, told) {
        (Some("true"), _) | (_, Some("false")) => Some(false),
        (_, Some("true")) => Some(true),
        _ => None,
    };
    let grace = spec.termination_grace_period_seconds.and_then(|secs| u64::try_from(secs).ok());
    Eviction {
        local_storage: loses_storage(meta, spec),
        safe,
        not_before: keep.and_then(duration).map(|span| started + span),
        on_completion: told == Some("on-completion"),
        grace: grace.map_or(GRACE, Millis::secs),
    }
}

/// Has it storage that is lost with it, beside what an annotation gives up?
fn loses_storage(meta: &ObjectMeta, spec: &core::PodSpec) -> bool {
    let given_up = annotation(meta, SAFE_VOLUMES).unwrap_or_default();
    let given_up: BTreeSet<_> = given_up.split(',').map(str::trim).collect();
    let local = |volume: &&core::Volume| {
        let on_disk = |dir: &core::EmptyDirVolumeSource| dir.medium.as_deref() != Some("Memory");
        volume.host_path.is_some() || volume.empty_dir.as_ref().is_some_and(on_disk)
    };
    spec.volumes.iter().flatten().filter(local).any(|volume| !given_up.contains(volume.name.as_str()))
}

/// Claims of volumes, each once.
pub(super) fn claims(spec: &core::PodSpec, pod: &str) -> Vec<Claim> {
    let of = |volume: &core::Volume| {
        if let Some(claim) = &volume.persistent_volume_claim {
            return Some(Claim { name: claim.claim_name.as_str().into(), made_with_pod: None });
        }
        let template = volume.ephemeral.as_ref()?.volume_claim_template.as_ref()?;
        let class = template.spec.storage_class_name.as_deref().filter(|class| !class.is_empty());
        let name = format!("{pod}-{}", volume.name).into();
        Some(Claim { name, made_with_pod: Some(class.map(Arc::from)) })
    };
    let mut all: Vec<_> = spec.volumes.iter().flatten().filter_map(of).collect();
    all.sort();
    all.dedup();
    all
}
