//! How to reach a cluster, and how to treat it.

use ostler_model::kube::DrainRules;
use std::path::PathBuf;
use std::time::Duration;

/// A Kubernetes cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The kubeconfig; `None`: the service account of the pod that we run in, or else where kubectl looks.
    pub kubeconfig: Option<PathBuf>,
    /// The context in it; `None`: its current one.
    pub context: Option<String>,
    /// Where Ostler's own objects are: the status ConfigMap and the Lease.
    pub namespace: String,
    /// After a node was tainted for a drain, the scheduler is given this long to see it before the last
    /// check.
    pub settle: Duration,
    /// For how long pods are evicted before a drain is given up, if nobody says another time.
    pub drain_timeout: Duration,
    /// The loop is woken once nothing has changed for this long …
    pub batch_idle: Duration,
    /// … and at the latest so long after the first change.
    pub batch_max: Duration,
    /// An API server that has been away for longer than this makes a look fail.
    pub outage: Duration,
    /// Which pods may be moved.
    pub rules: DrainRules,
    /// Nothing is done by itself: nodes that are to be emptied are left to whoever marked them.
    pub shadow: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            kubeconfig: None,
            context: None,
            namespace: "ostler".to_owned(),
            // The scheduler sees a taint within milliseconds of its watch; a binding that was decided
            // before takes some more. Karpenter waits 15 s between two simulations, Cluster Autoscaler 5 s
            // after its taint.
            settle: Duration::from_secs(2),
            drain_timeout: Duration::from_secs(15 * 60),
            batch_idle: Duration::from_secs(1),
            batch_max: Duration::from_secs(10),
            outage: Duration::from_secs(15),
            rules: DrainRules { let_jobs_finish: true, ..DrainRules::default() },
            shadow: false,
        }
    }
}
