//! Who is where: the working copy of a cluster on which placements are tried, and taken back.
//!
//! Everything that a filter of the scheduler asks is kept as a count that one placement changes in a few steps
//! (free room, ports, volumes, pods for each topology value and selector), so that judging costs what the pod's own
//! terms cost, however many pods there are. All lists of the cluster may come in any order.

mod build;
mod counts;
mod kinds;
mod moves;
mod node;
mod scope;
mod statics;
mod table;

pub use moves::Mark;

pub(super) use counts::{Affinity as AffinityCount, Anti as AntiCount, Spread as SpreadCount};
pub(super) use kinds::Kind;
pub(super) use node::{Nameless, Node};
pub(super) use scope::Scope;
pub(super) use table::{NONE as NO_VALUE, PODS_COLUMN};

use super::fit::node_affinity::Place;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use counts::{Affinities, Antis, Spreads};
use ostler_model::kube::{Cluster, Filter, HostPort, KubePolicy, PodSpec};
use statics::Statics;
use table::{Resources, Topology};

/// A node of a [`Ledger`]. Those of the cluster have their place in [`Cluster::nodes`]; added ones follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIx(pub u32);

impl NodeIx {
    const fn at(self) -> usize {
        self.0 as usize
    }
}

/// Who is where. Pods are known by what they ask for: the place in [`Cluster::specs`].
#[derive(Debug)]
pub struct Ledger<'a> {
    cluster: &'a Cluster,
    specs: Vec<&'a PodSpec>,
    kinds: Vec<Kind>,
    off: Off,
    resources: Resources,
    pub(super) topology: Topology,
    pub(super) statics: Statics<'a>,
    spreads: Spreads,
    affinities: Affinities,
    antis: Antis,
    pub(super) ports: Vec<HostPort>,
    /// The driver of each volume.
    drivers: Vec<&'a str>,
    /// Pods that use each volume, on any node.
    pub(super) volume_uses: Vec<u32>,
    nodes: Vec<Node<'a>>,
    by_name: BTreeMap<&'a str, u32>,
    /// What is free, node by node, [`Resources::len`] amounts each.
    free: Vec<i64>,
    /// What there is, likewise.
    capacity: Vec<i64>,
    nominations: Vec<Nomination>,
    log: Vec<moves::Op>,
}

/// The scheduler means to place a waiting pod on a node once others have left it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nomination {
    /// The pod, by place in [`Cluster::pods`].
    pub pod: u32,
    /// What it asks for.
    pub spec: u32,
    /// The node.
    pub node: NodeIx,
    /// It counts; no longer once it is withdrawn.
    pub active: bool,
}

/// Filters that are switched off.
#[derive(Debug, Clone, Copy, Default)]
struct Off(u16);

impl Off {
    fn of(policy: &KubePolicy) -> Self {
        Self(policy.filters_off.iter().fold(0, |bits, &filter| bits | 1 << filter as u16))
    }
}

impl<'a> Ledger<'a> {
    /// All nodes of the cluster with the pods that are bound to them. A pod whose node or spec is not there is left
    /// out.
    pub fn new(cluster: &'a Cluster, policy: &KubePolicy) -> Self {
        Self::with(cluster, policy, &[])
    }

    /// The same, with specs beside those of the cluster: they are numbered on from [`Cluster::specs`].
    pub fn with(cluster: &'a Cluster, policy: &KubePolicy, extra: &'a [PodSpec]) -> Self {
        build::ledger(cluster, Off::of(policy), extra)
    }

    /// Nodes, removed ones too.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// No nodes at all.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Every node that has not been removed.
    pub fn nodes(&self) -> impl Iterator<Item = NodeIx> + '_ {
        (0..).map(NodeIx).zip(&self.nodes).filter(|(_, node)| node.alive).map(|(ix, _)| ix)
    }

    /// Has it not been removed?
    pub fn is_there(&self, node: NodeIx) -> bool {
        self.nodes.get(node.at()).is_some_and(|node| node.alive)
    }

    /// The node of the cluster with this name.
    pub fn node(&self, name: &str) -> Option<NodeIx> {
        self.by_name.get(name).map(|&ix| NodeIx(ix))
    }

    /// What a spec number stands for.
    pub fn spec(&self, spec: u32) -> Option<&'a PodSpec> {
        self.specs.get(spec as usize).copied()
    }

    /// What is on a node, in no order that means anything: what each asks for, and whether it is terminating.
    pub fn pods_on(&self, node: NodeIx) -> impl Iterator<Item = (u32, bool)> + '_ {
        let pods = self.nodes.get(node.at()).map_or(&[][..], |node| &node.pods[..]);
        pods.iter().map(|pod| (pod.spec, pod.terminating))
    }

    /// The resources of the columns, in their order: `cpu` (in thousandths), `memory` and `pods` first, the others by
    /// name, in whole units.
    pub fn resource_names(&self) -> &[Arc<str>] {
        &self.resources.names
    }

    /// What is free on a node, column by column; below zero if more is taken than there is. Nothing for a node that
    /// is not there.
    pub fn free(&self, node: NodeIx) -> &[i64] {
        self.row(&self.free, node)
    }

    /// What a node has, column by column.
    pub fn capacity(&self, node: NodeIx) -> &[i64] {
        self.row(&self.capacity, node)
    }

    /// What a pod asks for, column by column. A column that it asks nothing of does not matter to it, even below
    /// zero.
    pub fn request(&self, spec: u32) -> &[i64] {
        let columns = self.resources.len();
        let start = spec as usize * columns;
        self.resources.requests.get(start..start + columns).unwrap_or(&[])
    }

    fn row<'s>(&self, table: &'s [i64], node: NodeIx) -> &'s [i64] {
        if !self.is_there(node) {
            return &[];
        }
        let columns = self.resources.len();
        table.get(node.at() * columns..(node.at() + 1) * columns).unwrap_or(&[])
    }

    /// Do only resources and what never changes about a node (labels, taints, cordon, features) decide about this
    /// spec? Then it fits where [`Self::static_fit`] says yes and the columns have room, and it may be placed in bulk
    /// ([`Self::place_many`]), nodes with nominations ([`Self::is_awaited`]) apart.
    pub fn is_plain(&self, spec: u32) -> bool {
        self.kinds.get(spec as usize).is_some_and(|kind| kind.plain)
    }

    /// Does the spec ask for a host or node by its name? Then no node stands for another.
    pub(super) fn goes_by_name(&self, spec: u32) -> bool {
        self.kind(spec).is_some_and(|kind| self.statics.goes_by_name(kind.group))
    }

    /// Specs of one number ask the same of a node's nature.
    pub(super) fn nature(&self, spec: u32) -> u32 {
        self.kind(spec).map_or(u32::MAX, |kind| kind.group)
    }

    /// The value of a label of a node, made-up names of hosts among them.
    pub(super) fn label(&self, node: NodeIx, key: &str) -> Option<&str> {
        self.at(node).and_then(|node| node.label(key))
    }

    /// Nodes of one number are alike to every selector, taint and feature.
    pub(super) fn class(&self, node: NodeIx) -> u32 {
        self.nodes.get(node.at()).map_or(u32::MAX, |node| node.class)
    }

    /// Does a waiting pod count on this node after others have left it? Then its columns do not tell all.
    pub fn is_awaited(&self, node: NodeIx) -> bool {
        self.nodes.get(node.at()).is_some_and(|node| node.awaited > 0)
    }

    /// Pods that the scheduler has nominated to nodes. Their room counts for pods of no higher priority until they
    /// are withdrawn, which is to be done before such a pod is itself judged or placed.
    pub fn nominations(&self) -> &[Nomination] {
        &self.nominations
    }

    pub(super) fn kind(&self, spec: u32) -> Option<&Kind> {
        self.kinds.get(spec as usize)
    }

    pub(super) fn at(&self, node: NodeIx) -> Option<&Node<'a>> {
        self.nodes.get(node.at()).filter(|node| node.alive)
    }

    pub(super) const fn on(&self, filter: Filter) -> bool {
        self.off.0 & (1 << filter as u16) == 0
    }

    /// The driver of a volume, by the volume's number.
    pub(super) fn driver(&self, volume: u32) -> &'a str {
        self.drivers[volume as usize]
    }

    pub(super) fn spread(&self, group: u32) -> (&SpreadCount, &Scope) {
        let count = &self.spreads.groups[group as usize];
        (count, &self.spreads.scopes[count.scope as usize])
    }

    pub(super) fn affinity(&self, group: u32) -> &AffinityCount {
        &self.affinities.0[group as usize]
    }

    pub(super) fn anti(&self, term: u32) -> &AntiCount {
        &self.antis.0[term as usize]
    }

    /// A topology label by its number.
    pub(super) fn topology_key(&self, key: u32) -> &str {
        self.topology.keys.get(key as usize).map_or("", |key| key)
    }
}
