//! Metrics under the names and labels of Ray's own autoscaler (facts from Ray 2.60.0), for workloads of kind `ray`.
//! Left out is what has no counterpart here: updater threads, resets, and histograms of a Python loop.

use super::Kind::{Counter, Gauge};
use super::{Facts, Metric, Samples};
use ostler_lifecycle::StateName;
use ostler_model::Resources;
use ostler_planner::PoolReport;
use ostler_wire::WorkloadStatus;

/// On their way, in Ray's sense.
const PENDING: &[StateName] =
    &[StateName::Queued, StateName::Requested, StateName::Allocated, StateName::Installing];
/// With a node that is up, in Ray's sense.
const ACTIVE: &[StateName] = &[StateName::Running, StateName::DrainRequested, StateName::Draining];
/// What Ray 2.60.0 counts as recently failed.
const FAILED: &[StateName] = &[StateName::Terminating];

pub(super) const METRICS: &[Metric] = &[
    Metric {
        name: "autoscaler_pending_nodes",
        kind: Gauge,
        labels: &["NodeType", "SessionName"],
        help: "Nodes on their way: queued, requested, allocated or installing.",
        samples: |f, s| by_type(f, s, PENDING),
    },
    Metric {
        name: "autoscaler_active_nodes",
        kind: Gauge,
        labels: &["NodeType", "SessionName"],
        help: "Nodes that are up, those being drained included.",
        samples: |f, s| by_type(f, s, ACTIVE),
    },
    Metric {
        name: "autoscaler_recently_failed_nodes",
        kind: Gauge,
        labels: &["NodeType", "SessionName"],
        help: "Nodes whose machines are being terminated, as Ray 2.60.0 counts it.",
        samples: |f, s| by_type(f, s, FAILED),
    },
    Metric {
        name: "autoscaler_running_workers",
        kind: Gauge,
        labels: &["SessionName"],
        help: "Worker nodes that are up, to the workload.",
        samples: |f, s| {
            for workload in clusters(f) {
                let workers = workload.nodes.iter().filter(|l| !l.node.head && l.node.status.is_up()).count();
                s.add(&[&workload.session], workers as f64);
            }
        },
    },
    Metric {
        name: "autoscaler_cluster_resources",
        kind: Gauge,
        labels: &["resource", "SessionName"],
        help: "Logical resources of the nodes that are up.",
        samples: |f, s| {
            for workload in clusters(f) {
                let mut sum = Resources::default();
                let up = workload.nodes.iter().filter(|line| line.node.status.is_up());
                up.for_each(|line| sum.add(&line.node.total));
                add_resources(s, workload, &sum);
            }
        },
    },
    Metric {
        name: "autoscaler_pending_resources",
        kind: Gauge,
        labels: &["resource", "SessionName"],
        help: "Logical resources of the nodes on their way.",
        samples: |f, s| {
            for workload in clusters(f) {
                let mut sum = Resources::default();
                for pool in pools(workload) {
                    let count = u64::from(machines(pool, PENDING));
                    sum.add(
                        &pool.resources.iter().map(|(name, one)| (name.clone(), one.times(count))).collect(),
                    );
                }
                add_resources(s, workload, &sum);
            }
        },
    },
    Metric {
        name: "autoscaler_started_nodes",
        kind: Counter,
        labels: &["SessionName"],
        help: "Nodes that came up since Ostler was started.",
        samples: |f, s| launched(f, s, |count| count.joined),
    },
    Metric {
        name: "autoscaler_failed_create_nodes",
        kind: Counter,
        labels: &["SessionName"],
        help: "Launches that the provider refused since Ostler was started.",
        samples: |f, s| launched(f, s, |count| count.refused),
    },
    Metric {
        name: "autoscaler_stopped_nodes",
        kind: Counter,
        labels: &["SessionName"],
        help: "Removals since Ostler was started.",
        samples: |f, s| {
            for workload in clusters(f) {
                let ours =
                    f.counters.removals.iter().filter(|((of, ..), _)| of == workload.workload.as_str());
                s.add(&[&workload.session], ours.map(|(_, &count)| count).sum::<u64>() as f64);
            }
        },
    },
];

/// Ray clusters that have been seen. The session tells them apart in the labels, so each is counted once.
fn clusters(facts: &Facts) -> impl Iterator<Item = &WorkloadStatus> {
    let all = &facts.status.workloads;
    all.iter().enumerate().filter_map(|(n, workload)| {
        let again = all[..n].iter().any(|earlier| earlier.session == workload.session);
        (workload.kind == "ray" && !workload.session.is_empty() && !again).then_some(workload)
    })
}

fn pools(workload: &WorkloadStatus) -> impl Iterator<Item = &PoolReport> {
    workload.report.iter().flat_map(|report| &report.pools)
}

fn machines(pool: &PoolReport, states: &[StateName]) -> u32 {
    states.iter().filter_map(|state| pool.states.get(state)).sum()
}

fn by_type(facts: &Facts, samples: &mut Samples, states: &[StateName]) {
    for workload in clusters(facts) {
        for pool in pools(workload) {
            let count = f64::from(machines(pool, states));
            samples.add(&[pool.pool.as_str(), &workload.session], count);
        }
    }
}

fn launched(facts: &Facts, samples: &mut Samples, of: fn(&crate::read_model::LaunchCount) -> u64) {
    for workload in clusters(facts) {
        let name = workload.workload.as_str();
        let ours = facts.counters.launches.iter().filter(|((workload, _), _)| workload == name);
        samples.add(&[&workload.session], ours.map(|(_, count)| of(count)).sum::<u64>() as f64);
    }
}

fn add_resources(samples: &mut Samples, workload: &WorkloadStatus, sum: &Resources) {
    for (name, amount) in sum.iter().filter(|(name, _)| !name.starts_with("node:")) {
        samples.add(&[name, &workload.session], amount.to_f64());
    }
}
