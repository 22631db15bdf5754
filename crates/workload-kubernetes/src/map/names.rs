//! Names that others rely on: ours, and those of the autoscalers whose annotations we understand.

/// The taint of a node that Ostler drains. Its value is the cause.
pub const DRAIN_TAINT: &str = "ostler.dev/drain";
/// The go-mark: pods are evicted from the node until this time (RFC 3339). Without it, a drain is still
/// being checked.
pub const EVICT_UNTIL: &str = "ostler.dev/evict-until";
/// Why the node is drained, for people.
pub const DRAIN_REASON: &str = "ostler.dev/drain-reason";
/// The pool that a node belongs to.
pub const POOL_LABEL: &str = "ostler.dev/pool";

/// Whether a pod may be evicted: `true`, `false`, `on-completion`.
pub(crate) const SAFE_TO_EVICT: &[&str] =
    &["ostler.dev/safe-to-evict", "cluster-autoscaler.kubernetes.io/safe-to-evict"];
/// Names of volumes, divided by commas, that may be lost.
pub(crate) const SAFE_VOLUMES: &[&str] = &[
    "ostler.dev/safe-to-evict-local-volumes",
    "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes",
];
/// `true`, or for a pod a length of time from its start.
pub(crate) const DO_NOT_DISRUPT: &[&str] = &["ostler.dev/do-not-disrupt", "karpenter.sh/do-not-disrupt"];
/// For how long a pod that waits brings no node.
pub(crate) const SCALE_UP_DELAY: &[&str] =
    &["ostler.dev/pod-scale-up-delay", "cluster-autoscaler.kubernetes.io/pod-scale-up-delay"];
/// Why a pod that waits never brings a node, in the words of whoever says so.
pub(crate) const NO_SCALE_UP: &[&str] = &["ostler.dev/no-scale-up"];
/// `true`: the node stays.
pub(crate) const SCALE_DOWN_DISABLED: &[&str] =
    &["ostler.dev/scale-down-disabled", "cluster-autoscaler.kubernetes.io/scale-down-disabled"];

/// Taints by which another autoscaler says that it is removing the node.
pub(crate) const REMOVED_BY_OTHERS: &[&str] = &["ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted"];
/// Taints that every node may start with.
pub(crate) const STARTUP_TAINTS: &[&str] = &[
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/network-unavailable",
    "node.cloudprovider.kubernetes.io/uninitialized",
    "karpenter.sh/unregistered",
];
/// Taints whose key begins so are such too.
pub(crate) const STARTUP_PREFIXES: &[&str] = &[
    "startup-taint.cluster-autoscaler.kubernetes.io/",
    "ignore-taint.cluster-autoscaler.kubernetes.io/",
    "startup-taint.ostler.dev/",
];
