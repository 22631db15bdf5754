//! Ostler's own metrics.

use super::Kind::{Counter, Gauge};
use super::{Facts, Metric, Samples};
use crate::view::demand_views;
use ostler_planner::Reason;
use std::collections::BTreeMap;

macro_rules! metrics {
    ($($name:literal $kind:ident [$($label:literal),*] $help:literal => $samples:expr;)*) => {
        pub(super) const METRICS: &[Metric] = &[$(Metric {
            name: $name, kind: $kind, labels: &[$($label),*], help: $help, samples: $samples,
        }),*];
    };
}

metrics! {
    "ostler_build_info" Gauge ["version"] "Always 1; the version is in the label." => |f, s| s.add(&[&f.status.ostler], 1.0);
    "ostler_start_time_seconds" Gauge [] "When it was started, in seconds since 1970." => |f, s| s.add(&[], seconds(f.status.started_at.0));
    "ostler_passes" Counter [] "Passes that were planned." => |f, s| s.add(&[], f.counters.passes as f64);
    "ostler_passes_failed" Counter [] "Passes whose plan was dropped or failed. Each is a fault in Ostler." => |f, s| s.add(&[], f.counters.passes_failed as f64);
    "ostler_plan_seconds" Counter [] "Seconds spent in planning." => |f, s| s.add(&[], f.counters.plan_seconds);
    "ostler_commits" Counter [] "Plans that changed something and were committed." => |f, s| s.add(&[], f.counters.commits as f64);
    "ostler_commits_refused" Counter [] "Commits that the store refused." => |f, s| s.add(&[], f.counters.commits_refused as f64);
    "ostler_looks_failed" Counter [] "Looks at workloads and providers that failed." => |f, s| s.add(&[], f.counters.looks_failed as f64);
    "ostler_launches" Counter ["workload", "pool", "outcome"] "Launches: `requested` from the provider, `refused` by it, `allocated` (the machine came), `joined` (its node came up)." => launches;
    "ostler_launch_join_seconds" Counter ["workload", "pool"] "Seconds from the request to the node, over all that joined." => |f, s| {
        for ((workload, pool), count) in &f.counters.launches {
            s.add(&[workload, pool], count.join_seconds);
        }
    };
    "ostler_removals" Counter ["workload", "pool", "cause"] "Removals by their cause." => |f, s| {
        for ((workload, pool, cause), &count) in &f.counters.removals {
            s.add(&[workload, pool, cause], count as f64);
        }
    };
    "ostler_drains_rejected" Counter ["workload"] "Drains that the workload refused, since the node was in use again." => |f, s| {
        for (workload, &count) in &f.counters.drains_rejected {
            s.add(&[workload], count as f64);
        }
    };
    "ostler_workload_up" Gauge ["workload"] "1 if the newest look at the workload saw it." => |f, s| {
        for workload in &f.status.workloads {
            let up = workload.observed_at.is_some() && workload.failure.is_none();
            s.add(&[workload.workload.as_str()], f64::from(up));
        }
    };
    "ostler_workload_observed_timestamp_seconds" Gauge ["workload"] "When the newest look at the workload began." => |f, s| {
        for workload in &f.status.workloads {
            if let Some(at) = workload.observed_at {
                s.add(&[workload.workload.as_str()], seconds(at.0));
            }
        }
    };
    "ostler_workload_held" Gauge ["workload", "reason"] "1 while nothing is decided for the workload; the reason's code is in the label." => |f, s| {
        for workload in &f.status.workloads {
            if let Some(why) = workload.report.as_ref().and_then(|report| report.hold.clone()) {
                s.add(&[workload.workload.as_str(), Reason::WorkloadHeld { why }.code()], 1.0);
            }
        }
    };
    "ostler_provider_up" Gauge ["provider"] "1 if the newest listing of the provider worked." => |f, s| {
        for provider in &f.status.providers {
            let up = provider.listed_at.is_some() && provider.failure.is_none();
            s.add(&[provider.provider.as_str()], f64::from(up));
        }
    };
    "ostler_provider_listed_timestamp_seconds" Gauge ["provider"] "When the newest listing of the provider began." => |f, s| {
        for provider in &f.status.providers {
            if let Some(at) = provider.listed_at {
                s.add(&[provider.provider.as_str()], seconds(at.0));
            }
        }
    };
    "ostler_provider_machines" Gauge ["provider"] "Machines of ours that the provider lists." => |f, s| {
        for provider in &f.status.providers {
            s.add(&[provider.provider.as_str()], provider.machines as f64);
        }
    };
    "ostler_pool_machines" Gauge ["workload", "pool", "state"] "Records of the pool by state, without final ones." => |f, s| {
        pools(f, s, |s, names, pool| {
            for (state, &count) in &pool.states {
                s.add(&[names[0], names[1], state.code()], f64::from(count));
            }
        });
    };
    "ostler_pool_min" Gauge ["workload", "pool"] "Workers that the pool has at least." => |f, s| pools(f, s, |s, names, pool| s.add(&names, f64::from(pool.min)));
    "ostler_pool_max" Gauge ["workload", "pool"] "Workers that the pool has at most." => |f, s| pools(f, s, |s, names, pool| s.add(&names, f64::from(pool.max)));
    "ostler_pool_backing_off" Gauge ["workload", "pool"] "1 while the pool is not asked, since its provider refused a moment ago." => |f, s| {
        pools(f, s, |s, names, pool| s.add(&names, f64::from(pool.backing_off_until.is_some())));
    };
    "ostler_demand" Gauge ["workload", "kind"] "What the workload asks for: `task`, `gang`, `floor`." => |f, s| demand(f, s, |view| view.count);
    "ostler_demand_unplaced" Gauge ["workload", "kind"] "How much of that no pool can take." => |f, s| demand(f, s, |view| view.unplaced);
    "ostler_faults" Gauge ["workload"] "Records that are wrong and were left aside or corrected." => |f, s| {
        for workload in &f.status.workloads {
            let faults = workload.report.as_ref().map_or(0, |report| report.faults.len());
            s.add(&[workload.workload.as_str()], faults as f64);
        }
    };
}

fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}

fn launches(facts: &Facts, samples: &mut Samples) {
    for ((workload, pool), count) in &facts.counters.launches {
        for (outcome, count) in [
            ("requested", count.requested),
            ("refused", count.refused),
            ("allocated", count.allocated),
            ("joined", count.joined),
        ] {
            samples.add(&[workload, pool, outcome], count as f64);
        }
    }
}

fn pools(
    facts: &Facts,
    samples: &mut Samples,
    add: impl Fn(&mut Samples, [&str; 2], &ostler_planner::PoolReport),
) {
    for workload in &facts.status.workloads {
        for pool in workload.report.iter().flat_map(|report| &report.pools) {
            add(samples, [workload.workload.as_str(), pool.pool.as_str()], pool);
        }
    }
}

fn demand(facts: &Facts, samples: &mut Samples, amount: impl Fn(&crate::view::DemandView) -> u64) {
    for workload in &facts.status.workloads {
        let mut sums = BTreeMap::from([("task", 0_u64), ("gang", 0), ("floor", 0)]);
        for view in demand_views(workload) {
            let sum = sums.entry(view.kind).or_default();
            *sum = sum.saturating_add(amount(&view));
        }
        for (kind, sum) in sums {
            samples.add(&[workload.workload.as_str(), kind], sum as f64);
        }
    }
}
