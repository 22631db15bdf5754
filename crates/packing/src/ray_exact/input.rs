//! What a decision is made from: the cluster as Ray's scheduler is told of it. Amounts are `f64` as on Ray's wire.

use alloc::vec::Vec;

/// Resource names with amounts: CPUs, GPUs, bytes, or units of a custom resource. A name stands in it once.
///
/// Of a pool the order is that of the configuration: Ray adds up the mean of a node's score in this order.
pub type Amounts<'a> = Vec<(&'a str, f64)>;

/// Everything that one decision depends on, apart from [`Memory`](super::Memory).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Input<'a> {
    /// Pools (node types) in the order of the configuration, which decides ties. Names are distinct.
    pub pools: Vec<Pool<'a>>,
    /// The pool of the head: it may hold one node more than its `max_workers`, the head itself.
    pub head_pool: &'a str,
    /// Nodes at most over all pools, the head included (`max_workers + 1`); `None` is no limit, and so, when nodes
    /// are to be removed, is 0.
    pub max_nodes: Option<u64>,
    /// Seconds after which an idle node goes; `None` is never.
    pub idle_timeout_s: Option<f64>,
    /// The timeout of nodes on their way that nothing needs; `None` is never.
    pub pending_idle: Option<PendingIdle>,
    /// `true` (Ray's default) keeps nodes whose launch configuration is not the pool's any more.
    pub disable_launch_config_check: bool,
    /// `true` (Ray's default, `AUTOSCALER_CONSERVE_GPU_NODES`) takes GPU nodes last for demand that names no GPU.
    pub conserve_gpu_nodes: bool,
    /// What exists or is on its way, oldest first.
    pub instances: Vec<Instance<'a>>,
    /// Demand of tasks and actors.
    pub requests: Vec<Request<'a>>,
    /// Demand of placement groups: each is placed as a whole or not at all.
    pub gangs: Vec<Gang<'a>>,
    /// What `request_resources` asks the cluster to be able to hold; empty is none.
    pub constraint: Vec<Request<'a>>,
    /// By pool, 0 to 1: how likely the provider has it. Not named: 1.
    pub availabilities: Vec<(&'a str, f64)>,
    /// By pool, 0 to 1: the same, recovering with time after an allocation timed out. Not named: 1.
    pub recoverable_availabilities: Vec<(&'a str, f64)>,
}

impl Input<'_> {
    /// Nodes at most of a pool: its workers, and the head where it is the head's pool.
    pub fn max_nodes_of(&self, pool: &Pool<'_>) -> u64 {
        pool.max_workers.saturating_add(u64::from(pool.name == self.head_pool))
    }
}

/// The idle timeout of nodes that are not up yet, and the clock it is measured on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PendingIdle {
    /// Seconds without need after which such a node goes.
    pub timeout_s: f64,
    /// Now, seconds on a monotonic clock.
    pub now_s: f64,
}

/// A pool: nodes of one type, with bounds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pool<'a> {
    /// Its name.
    pub name: &'a str,
    /// What each node of it has.
    pub resources: Amounts<'a>,
    /// Labels of each node of it.
    pub labels: Vec<(&'a str, &'a str)>,
    /// Workers at least.
    pub min_workers: u64,
    /// Workers at most.
    pub max_workers: u64,
    /// Overrides [`Input::idle_timeout_s`].
    pub idle_timeout_s: Option<f64>,
    /// Among equal scores the higher priority wins.
    pub priority: i64,
    /// What its nodes are launched with; empty is not checked.
    pub launch_config_hash: &'a str,
}

/// The states of an instance that the scheduler tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// `QUEUED`
    Queued,
    /// `REQUESTED`
    Requested,
    /// `ALLOCATED`
    Allocated,
    /// `RAY_INSTALLING`
    Installing,
    /// `RAY_RUNNING`
    Running,
    /// `RAY_STOP_REQUESTED`: for Ray a whole empty node.
    StopRequested,
    /// Every other state: for the scheduler there is no such node.
    Other,
}

/// Head or worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The one that runs the GCS: never removed.
    Head,
    /// Any other.
    Worker,
}

/// A record of the instance manager.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance<'a> {
    /// Its pool, which the configuration may no longer have.
    pub pool: &'a str,
    /// How far it is.
    pub state: State,
    /// Head or worker.
    pub kind: Kind,
    /// What it was launched with. Counts for running nodes only: Ray forgets it before.
    pub launch_config_hash: &'a str,
    /// Whether the record has a Ray node id: without one a node goes first.
    pub has_ray_node_id: bool,
    /// What the GCS says of it; counts for running nodes only.
    pub node: Option<Node<'a>>,
}

/// A node as the GCS reports it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Node<'a> {
    /// Milliseconds without work; 0 is busy.
    pub idle_ms: i64,
    /// What it has.
    pub total: Amounts<'a>,
    /// What of it is free. What is used up may be missing.
    pub available: Amounts<'a>,
    /// Its labels.
    pub labels: Vec<(&'a str, &'a str)>,
    /// Labels of the placement groups on it; they overlay `labels`.
    pub dynamic_labels: Vec<(&'a str, &'a str)>,
}

/// Equal requests: each has to fit on one node.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Request<'a> {
    /// What one of them needs.
    pub resources: Amounts<'a>,
    /// How many.
    pub count: u64,
    /// Which nodes will do, in order of preference; none is any.
    pub selectors: Vec<Selector<'a>>,
    /// Together with, or apart from, its own kind.
    pub placement: Vec<Placement<'a>>,
}

/// Rules that must all hold for the labels of a node. No rules hold for every node.
pub type Selector<'a> = Vec<Rule<'a>>;

/// One rule of a selector.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule<'a> {
    /// The label.
    pub key: &'a str,
    /// How it is compared.
    pub operator: Operator,
    /// With what.
    pub values: Vec<&'a str>,
}

/// How a label is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// The node has the label, with one of the values.
    In,
    /// The node does not have the label with one of the values.
    NotIn,
    /// Not known to Ray: never holds.
    Unknown,
}

/// A placement constraint. Label and value name the placement group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Placement<'a> {
    /// All on one node (`STRICT_PACK`).
    Affinity(&'a str, &'a str),
    /// Each on a node of its own (`STRICT_SPREAD`).
    AntiAffinity(&'a str, &'a str),
}

/// A placement group.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Gang<'a> {
    /// Its bundles: those of the first bundle selector where there is one (Ray tries no fallback).
    pub bundles: Vec<Request<'a>>,
    /// Whether the message has the bundles in its old field `requests` too: Ray puts gangs in order by this field
    /// alone, so a gang without it comes last.
    pub in_requests_field: bool,
}
