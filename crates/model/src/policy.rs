//! How a workload wants to be scaled: every knob with its unit and default.

use crate::id::PoolId;
use crate::kube::KubePolicy;
use crate::time::Millis;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use serde::{Deserialize, Serialize};

/// The knobs of one workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// How options are compared.
    pub scoring: Scoring,
    /// The pool of the head, if the workload has one: nothing is launched or removed before a head runs.
    pub head_pool: Option<PoolId>,
    /// Workers that exist at most over all pools; `None` is no limit.
    pub max_workers: Option<u32>,
    /// A node that has been idle for longer is removed; `None` is never.
    pub idle_timeout: Option<Millis>,
    /// An instance on its way that nothing has needed for longer is withdrawn; `None` is never.
    pub pending_idle_timeout: Option<Millis>,
    /// Launches of one pool in one pass: `ceil(speed × running)`, at least one; in hundredths (100 is Ray's 1.0).
    pub upscaling_speed_percent: u32,
    /// Instances in `Requested` at most, over all pools.
    pub max_concurrent_launches: u32,
    /// Remove machines whose launch configuration is no longer the pool's.
    pub replace_outdated: bool,
    /// Take machines with GPUs last for demand that asks for none.
    pub conserve_gpu: bool,
    /// After a pool timed out on us, its availability recovers from none to full over this time.
    pub availability_recovery: Millis,
    /// A pool that refused a launch is not asked again for this long, doubled with each refusal in a row.
    pub launch_backoff: Millis,
    /// The longest that `launch_backoff` grows to.
    pub launch_backoff_max: Millis,
    /// How long the work on a busy node has to leave when the node must go for a bound or a new configuration.
    pub drain_grace: Millis,
    /// Machines are prepared by us after they exist (Ray: node updaters); otherwise they join by themselves.
    pub install: bool,
    /// Pools whose provider decides itself which machine ends: they do not shrink while any worker is protected.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub blind_pools: BTreeSet<PoolId>,
    /// How nodes are scaled, if this is a Kubernetes cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kube: Option<Box<KubePolicy>>,
    /// When a record that does not move on is helped along.
    pub timeouts: Timeouts,
}

/// How options are compared when demand is placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scoring {
    /// Ray's documented scoring, with its oddities repaired (`docs/ray-differences.md`).
    #[default]
    Ray,
    /// Every decision as Ray 2.60.0 makes it.
    RayExact,
    /// So many workers as somebody asked for, whatever they do (`docs/adr/0006-targets.md`).
    Target,
    /// So many nodes that every pod has a place, by the filters of kube-scheduler (`docs/kubernetes.md`).
    Kubernetes,
}

/// How long a record may stay in a state; strictly longer is overdue. Defaults are Ray 2.60.0's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeouts {
    /// Requested: asked again, or given up after `request_retries`.
    pub request: Millis,
    /// Times that a launch is asked again.
    pub request_retries: u32,
    /// Allocated: the workload's node never came.
    pub allocate: Millis,
    /// Installing.
    pub install: Millis,
    /// DrainRequested: the node goes back to work.
    pub drain_request: Millis,
    /// Terminating: asked again.
    pub terminate: Millis,
    /// A node that the workload no longer lists is given up after this long, so that a restarted control plane
    /// has time to hear of its nodes again. Ray waits for nothing.
    pub node_missing: Millis,
    /// States without a timeout of their own: a warning only.
    pub warn: Millis,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            request: Millis::secs(600),
            request_retries: 3,
            allocate: Millis::secs(3600),
            install: Millis::secs(1800),
            drain_request: Millis::secs(300),
            terminate: Millis::secs(300),
            node_missing: Millis::secs(10),
            warn: Millis::secs(90),
        }
    }
}

impl Policy {
    /// Is nothing to be done, only said what would be?
    pub fn is_shadow(&self) -> bool {
        self.kube.as_ref().is_some_and(|kube| kube.shadow)
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            scoring: Scoring::default(),
            head_pool: None,
            max_workers: None,
            idle_timeout: Some(Millis::secs(300)),
            pending_idle_timeout: None,
            upscaling_speed_percent: 100,
            max_concurrent_launches: 10,
            replace_outdated: false,
            conserve_gpu: true,
            availability_recovery: Millis::secs(600),
            launch_backoff: Millis::secs(30),
            launch_backoff_max: Millis::secs(600),
            drain_grace: Millis::secs(600),
            install: false,
            blind_pools: BTreeSet::new(),
            kube: None,
            timeouts: Timeouts::default(),
        }
    }
}
