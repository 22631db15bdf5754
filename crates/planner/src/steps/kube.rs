//! Which nodes a Kubernetes cluster should have: asks `packing::kube` and turns its answer into events.

use crate::draft::Draft;
use ostler_model::{Timestamp, WorkloadState};

/// New records for nodes that pods need, drains for nodes that nothing needs.
pub(crate) fn kube(_draft: &mut Draft<'_>, _state: &WorkloadState, _seen_at: Timestamp) {}
