//! Volumes: claims, volumes, their classes, and what each node can attach. What a claim means for the place
//! of a pod is worked out when the facts are joined.

use super::pod::Claim;
use super::quantity::{amounts, nanos};
use super::selector::{label_selector, node_selector};
use super::{Named, labels, name_of, typed};
use k8s_openapi::api::{core::v1 as core, storage::v1 as storage};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use ostler_model::Labels;
use ostler_model::kube::{
    Field, LabelSelector, NodeOperator, NodeRequirement, NodeSelector, NodeSelectorTerm, VolumeNeed,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The provisioner of classes whose volumes are made by hand.
const BY_HAND: &str = "kubernetes.io/no-provisioner";
/// The access mode of a volume for one pod alone.
const ALONE: &str = "ReadWriteOncePod";
const CLASS_BEFORE: &str = "volume.beta.kubernetes.io/storage-class";
const ZONE_BEFORE: &str = "failure-domain.beta.kubernetes.io/zone";
const REGION_BEFORE: &str = "failure-domain.beta.kubernetes.io/region";
const REGION: &str = "topology.kubernetes.io/region";
use ostler_model::kube::ZONE;

/// What is kept of a PersistentVolumeClaim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimFacts {
    /// The volume that it names.
    volume: Option<Arc<str>>,
    /// That volume is bound to it in both directions.
    bound: bool,
    /// It is being deleted, or its volume is lost.
    going: bool,
    class: Arc<str>,
    /// Where the scheduler has decided to have its volume made.
    node: Option<Arc<str>>,
    modes: BTreeSet<Arc<str>>,
    block: bool,
    size: i128,
    selector: Option<LabelSelector>,
}

/// What is kept of a PersistentVolume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeFacts {
    /// What it counts as on a node.
    unique: Arc<str>,
    driver: Arc<str>,
    nodes: Option<NodeSelector>,
    /// Where its labels say that it is.
    zones: Option<NodeSelector>,
    odd: Option<Arc<str>>,
    class: Arc<str>,
    /// Nobody has it.
    free: bool,
    /// Kept for this claim (`namespace/name`).
    kept_for: Option<Arc<str>>,
    modes: BTreeSet<Arc<str>>,
    block: bool,
    size: i128,
    labels: Labels,
}

/// What is kept of a StorageClass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassFacts {
    driver: Arc<str>,
    by_hand: bool,
    /// Volumes are made where the first pod is placed.
    waits: bool,
    nodes: Option<NodeSelector>,
}

/// What is kept of a CSINode: volumes that can be attached, by driver.
pub type CsiFacts = BTreeMap<Arc<str>, u32>;

fn modes(list: Option<Vec<String>>) -> BTreeSet<Arc<str>> {
    list.into_iter().flatten().map(Arc::from).collect()
}

fn class_of(meta: &ObjectMeta, told: Option<String>) -> Arc<str> {
    super::annotation(meta, &[CLASS_BEFORE]).map(Arc::from).or(told.map(Arc::from)).unwrap_or_default()
}

/// Reads a PersistentVolumeClaim.
pub fn volume_claim(object: Value) -> Result<ClaimFacts, String> {
    let core::PersistentVolumeClaim { metadata, spec, status } = typed(object)?;
    let spec = spec.unwrap_or_default();
    let volume = spec.volume_name.filter(|name| !name.is_empty()).map(Arc::from);
    let phase = status.and_then(|status| status.phase);
    let requests = spec.resources.and_then(|resources| resources.requests);
    Ok(ClaimFacts {
        bound: volume.is_some()
            && super::annotation(&metadata, &["pv.kubernetes.io/bind-completed"]).is_some(),
        going: metadata.deletion_timestamp.is_some() || phase.as_deref() == Some("Lost"),
        class: class_of(&metadata, spec.storage_class_name),
        node: super::annotation(&metadata, &["volume.kubernetes.io/selected-node"]).map(Arc::from),
        modes: modes(spec.access_modes),
        block: spec.volume_mode.as_deref() == Some("Block"),
        size: amounts(requests.as_ref())?.get("storage").copied().unwrap_or(0),
        selector: spec.selector.map(label_selector).transpose()?,
        volume,
    })
}

/// Reads a PersistentVolume.
pub fn persistent_volume(object: Value) -> Result<VolumeFacts, String> {
    let core::PersistentVolume { metadata, spec, status } = typed(object)?;
    let (name, spec) = (name_of(&metadata)?, spec.ok_or("it has no spec")?);
    let mut odd = None;
    let phase = status.and_then(|status| status.phase);
    let (driver, unique) = attached(&spec, &name);
    let required = spec.node_affinity.and_then(|affinity| affinity.required);
    let nodes = required.map(|required| node_selector(required, &mut odd));
    let size = spec.capacity.as_ref().and_then(|capacity| capacity.get("storage"));
    let kept_for = spec.claim_ref.map(|claim| {
        format!("{}/{}", claim.namespace.unwrap_or_default(), claim.name.unwrap_or_default()).into()
    });
    Ok(VolumeFacts {
        unique,
        driver,
        nodes,
        zones: zones(&metadata),
        odd: odd.map(Arc::from),
        class: class_of(&metadata, spec.storage_class_name),
        free: kept_for.is_none() && phase.as_deref() == Some("Available"),
        kept_for,
        modes: modes(spec.access_modes),
        block: spec.volume_mode.as_deref() == Some("Block"),
        size: size.map_or(Ok(0), |size| nanos(&size.0))?,
        labels: labels(metadata.labels),
    })
}

/// The driver that attaches it, empty if none does, and what it counts as.
fn attached(spec: &core::PersistentVolumeSpec, name: &Arc<str>) -> (Arc<str>, Arc<str>) {
    if let Some(csi) = &spec.csi {
        return (csi.driver.as_str().into(), format!("{}^{}", csi.driver, csi.volume_handle).into());
    }
    let kinds = [
        (spec.aws_elastic_block_store.is_some(), "kubernetes.io/aws-ebs"),
        (spec.gce_persistent_disk.is_some(), "kubernetes.io/gce-pd"),
        (spec.azure_disk.is_some(), "kubernetes.io/azure-disk"),
        (spec.azure_file.is_some(), "kubernetes.io/azure-file"),
        (spec.cinder.is_some(), "kubernetes.io/cinder"),
        (spec.vsphere_volume.is_some(), "kubernetes.io/vsphere-volume"),
        (spec.portworx_volume.is_some(), "kubernetes.io/portworx-volume"),
    ];
    let kind = kinds.into_iter().find_map(|(is, kind)| is.then_some(kind));
    (kind.map(|kind| driver(kind).into()).unwrap_or_default(), name.clone())
}

/// The driver behind a provisioner: those that were once part of Kubernetes have moved out.
fn driver(provisioner: &str) -> &str {
    match provisioner {
        "kubernetes.io/aws-ebs" => "ebs.csi.aws.com",
        "kubernetes.io/gce-pd" => "pd.csi.storage.gke.io",
        "kubernetes.io/azure-disk" => "disk.csi.azure.com",
        "kubernetes.io/azure-file" => "file.csi.azure.com",
        "kubernetes.io/cinder" => "cinder.csi.openstack.org",
        "kubernetes.io/vsphere-volume" => "csi.vsphere.vmware.com",
        "kubernetes.io/portworx-volume" => "pxd.portworx.com",
        other => other,
    }
}

// ---- where a volume can be reached ----

fn requirement(label: &str, operator: NodeOperator, values: &[Arc<str>]) -> NodeRequirement {
    NodeRequirement { field: Field::Label(label.into()), operator, values: values.to_vec() }
}

/// Labels of a volume that name its zone and region (several are divided by `__`): the node must have the
/// same, or no such label at all, as in a cluster of one zone.
fn zones(meta: &ObjectMeta) -> Option<NodeSelector> {
    let labels = meta.labels.as_ref()?;
    let mut terms = vec![Vec::new()];
    let mut told = false;
    for label in [ZONE_BEFORE, REGION_BEFORE, ZONE, REGION] {
        let Some(value) = labels.get(label) else { continue };
        told = true;
        let values: Vec<Arc<str>> = value.split("__").map(Arc::from).collect();
        let now = match label {
            ZONE_BEFORE => ZONE,
            REGION_BEFORE => REGION,
            other => other,
        };
        let mut either = vec![vec![requirement(label, NodeOperator::In, &values)]];
        if now != label {
            let moved = requirement(now, NodeOperator::In, &values);
            either.push(vec![requirement(label, NodeOperator::DoesNotExist, &[]), moved]);
        }
        terms = crossed(&terms, &either);
    }
    let bare = [ZONE_BEFORE, REGION_BEFORE, ZONE, REGION];
    terms.push(bare.iter().map(|label| requirement(label, NodeOperator::DoesNotExist, &[])).collect());
    let terms = terms.into_iter().map(|requirements| NodeSelectorTerm { requirements });
    told.then(|| NodeSelector(terms.collect()))
}

fn crossed(left: &[Vec<NodeRequirement>], right: &[Vec<NodeRequirement>]) -> Vec<Vec<NodeRequirement>> {
    let pair = |a: &Vec<NodeRequirement>, b: &Vec<NodeRequirement>| a.iter().chain(b).cloned().collect();
    left.iter().flat_map(|a| right.iter().map(move |b| pair(a, b))).collect()
}

/// Both must hold. A term without requirements holds nowhere, and stays so.
fn both(left: Option<NodeSelector>, right: Option<NodeSelector>) -> Option<NodeSelector> {
    let (Some(left), Some(right)) = (&left, &right) else { return left.or(right) };
    let terms = |selector: &NodeSelector| -> Vec<Vec<NodeRequirement>> {
        let full = selector.0.iter().filter(|term| !term.requirements.is_empty());
        full.map(|term| term.requirements.clone()).collect()
    };
    let terms = crossed(&terms(left), &terms(right));
    Some(NodeSelector(terms.into_iter().map(|requirements| NodeSelectorTerm { requirements }).collect()))
}

/// Either will do; `None` is everywhere.
fn either(left: Option<NodeSelector>, right: Option<NodeSelector>) -> Option<NodeSelector> {
    let (mut left, right) = (left?, right?);
    left.0.extend(right.0.into_iter().filter(|term| !left.0.contains(term)).collect::<Vec<_>>());
    Some(left)
}

/// Reads a StorageClass.
pub fn class(object: Value) -> Result<ClassFacts, String> {
    let class: storage::StorageClass = typed(object)?;
    let terms = class.allowed_topologies.into_iter().flatten().map(|term| {
        let requirements = term.match_label_expressions.into_iter().flatten().map(|expression| {
            let values: Vec<Arc<str>> = expression.values.into_iter().map(Arc::from).collect();
            requirement(&expression.key, NodeOperator::In, &values)
        });
        NodeSelectorTerm { requirements: requirements.collect() }
    });
    let terms: Vec<_> = terms.collect();
    Ok(ClassFacts {
        driver: driver(&class.provisioner).into(),
        by_hand: class.provisioner == BY_HAND,
        waits: class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer"),
        nodes: (!terms.is_empty()).then_some(NodeSelector(terms)),
    })
}

/// Reads a CSINode.
pub fn csi_node(object: Value) -> Result<CsiFacts, String> {
    let node: storage::CSINode = typed(object)?;
    let limit = |driver: storage::CSINodeDriver| {
        let count = driver.allocatable?.count?;
        Some((driver.name.into(), u32::try_from(count).unwrap_or(0)))
    };
    Ok(node.spec.drivers.into_iter().filter_map(limit).collect())
}

// ---- what a claim means for a pod ----

/// All that is known of volumes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Volumes<'a> {
    pub(super) claims: &'a Named<ClaimFacts>,
    pub(super) volumes: &'a Named<VolumeFacts>,
    pub(super) classes: &'a Named<ClassFacts>,
}

impl Volumes<'_> {
    /// What a claim asks of the node, and what in it nobody can judge.
    pub(super) fn need(&self, namespace: &str, claim: &Claim) -> (VolumeNeed, Option<Arc<str>>) {
        let name: Arc<str> = format!("{namespace}/{}", claim.name).into();
        let missing =
            |why: String| (VolumeNeed::Missing { what: format!("claim {name} {why}").into() }, None);
        let Some(facts) = self.claims.get(namespace, &claim.name) else {
            return match &claim.made_with_pod {
                Some(Some(class)) => match self.classes.get("", class) {
                    Some(class) if class.waits => {
                        (Self::unbound(name, class, class.nodes.clone(), false), None)
                    }
                    Some(_) => missing("is not there yet".to_owned()),
                    None => missing(format!("wants the class {class}, which is not there")),
                },
                _ => missing("is not there".to_owned()),
            };
        };
        if facts.going {
            return missing("is being deleted, or its volume is lost".to_owned());
        }
        match &facts.volume {
            Some(volume) if facts.bound => match self.volumes.get("", volume) {
                Some(volume) => (
                    VolumeNeed::Bound {
                        volume: volume.unique.clone(),
                        driver: volume.driver.clone(),
                        nodes: volume.nodes.clone(),
                        exclusive: facts.modes.contains(ALONE),
                    },
                    volume.odd.clone(),
                ),
                None => missing(format!("is bound to the volume {volume}, which is not there")),
            },
            Some(volume) => missing(format!("is not bound to its volume {volume} yet")),
            None => match self.classes.get("", &facts.class) {
                Some(class) if class.waits => self.waiting(name, facts, class),
                _ => missing("is not bound yet".to_owned()),
            },
        }
    }

    /// What a claim is beside its need: where the labels of its volume say that it is; and if it is one that nobody
    /// can begin to use, the place that it takes all the same on the node of a pod that uses it already.
    pub(super) fn beside(&self, namespace: &str, claim: &Claim) -> Option<VolumeNeed> {
        let facts = self.claims.get(namespace, &claim.name)?;
        let volume = facts.volume.as_ref().and_then(|name| self.volumes.get("", name));
        let exclusive = facts.modes.contains(ALONE);
        match volume {
            Some(volume) if facts.bound && !facts.going => {
                let nodes = volume.zones.clone()?;
                Some(VolumeNeed::Zone { volume: volume.unique.clone(), nodes })
            }
            Some(volume) => Some(VolumeNeed::Bound {
                volume: volume.unique.clone(),
                driver: volume.driver.clone(),
                nodes: None,
                exclusive,
            }),
            None => {
                let class = self.classes.get("", &facts.class)?;
                let waits = class.waits && !facts.going && facts.volume.is_none();
                let name = format!("{namespace}/{}", claim.name).into();
                (!waits).then(|| Self::unbound(name, class, None, exclusive))
            }
        }
    }

    fn unbound(
        claim: Arc<str>,
        class: &ClassFacts,
        nodes: Option<NodeSelector>,
        exclusive: bool,
    ) -> VolumeNeed {
        let driver = if class.by_hand { Arc::default() } else { class.driver.clone() };
        VolumeNeed::Unbound { claim, driver, nodes, exclusive }
    }

    /// A claim that waits for its pod: one of the free volumes that would do, or one that the class makes.
    fn waiting(
        &self,
        name: Arc<str>,
        facts: &ClaimFacts,
        class: &ClassFacts,
    ) -> (VolumeNeed, Option<Arc<str>>) {
        let nowhere = Some(NodeSelector::default());
        let free = self.volumes.iter().filter(|(_, volume)| would_do(volume, facts, &name));
        // Once a node is chosen, a volume is made there.
        let free = free.filter(|_| facts.node.is_none());
        let free = free.fold(nowhere.clone(), |sum, (_, volume)| either(sum, volume.nodes.clone()));
        let made = if class.by_hand { nowhere.clone() } else { class.nodes.clone() };
        let nodes = either(free, made);
        if nodes == nowhere {
            let what = format!("claim {name} finds no free volume, and its class makes none").into();
            return (VolumeNeed::Missing { what }, None);
        }
        let chosen = facts.node.as_ref().map(|node| {
            let requirement = NodeRequirement {
                field: Field::Name,
                operator: NodeOperator::In,
                values: vec![node.clone()],
            };
            NodeSelector(vec![NodeSelectorTerm { requirements: vec![requirement] }])
        });
        let exclusive = facts.modes.contains(ALONE);
        (Self::unbound(name, class, both(nodes, chosen), exclusive), None)
    }
}

fn would_do(volume: &VolumeFacts, claim: &ClaimFacts, name: &Arc<str>) -> bool {
    (volume.free || volume.kept_for.as_ref() == Some(name))
        && volume.class == claim.class
        && volume.block == claim.block
        && volume.size >= claim.size
        && claim.modes.is_subset(&volume.modes)
        && claim.selector.as_ref().is_none_or(|selector| selector.matches(&volume.labels))
}
