//! What keeps every machine for now.

use crate::kube::problem::{Keep, Problem};
use ostler_model::kube::WhilePending;

/// `reachable`: a pod waits that a node could take that exists, is coming or can be had; `any`: some pod waits.
pub(in crate::kube) fn gate(problem: &Problem<'_>, reachable: bool, any: bool) -> Option<Keep> {
    let waits = match problem.policy.while_pending {
        WhilePending::Reachable => reachable,
        WhilePending::Strict => reachable || any,
    };
    if waits {
        return Some(Keep::PendingPods);
    }
    problem.quiet_until.is_some_and(|until| problem.now < until).then_some(Keep::Quiet)
}
