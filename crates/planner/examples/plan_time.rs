//! How long a plan takes in which nothing changes: `cargo run --release -p ostler-planner --example plan_time`.
//!
//! Running instances at work in five pools, each with its machine and node, and no demand. Then with a tenth of the
//! nodes dead and a late report about each of their records, and with all pools but one removed.

#![allow(clippy::print_stdout, reason = "this is what it is for")]

use ostler_lifecycle::{Event, Instance};
use ostler_model::{
    CloudInstance, CloudPhase, EffectOutcome, EffectReport, Failure, FailureClass, LaunchCause, Millis, Node,
    NodeKind, NodeStatus, Observed, Policy, Pool, Quantity, Resources, Timestamp, WorkloadState,
};
use ostler_planner::{Memory, Snapshot, plan};
use std::sync::Arc;
use std::time::{Duration, Instant};

const NOW: Timestamp = Timestamp(1_000_000);
const POOLS: usize = 5;
const RUNS: u32 = 5;

fn main() {
    println!("{:>9}  {:<22}  {:>9}  {:>9}", "instances", "what", "plan ms", "audit ms");
    for count in [1_000, 10_000] {
        for (what, dead, gone, idle) in [
            ("nothing changes", 0, 0, 0),
            ("a tenth has died", 10, 0, 0),
            ("pools were removed", 0, POOLS, 0),
            ("all are idle for long", 0, 0, 1_000),
        ] {
            let mut snapshot = snapshot(count, dead, gone);
            let nodes = snapshot.state.iter_mut().filter_map(|look| look.result.as_mut().ok());
            for node in nodes.flat_map(|state| Arc::make_mut(&mut state.nodes)).filter(|_| idle > 0) {
                (node.status, node.idle) = (NodeStatus::Idle, Millis::secs(idle));
                node.available = node.total.clone();
            }
            let planned = plan(&snapshot);
            let plan_time = time(|| drop(plan(&snapshot)));
            let audit_time = time(|| drop(ostler_audit::check(&snapshot, &planned)));
            println!("{count:>9}  {what:<22}  {:>9.2}  {:>9.2}", millis(plan_time), millis(audit_time));
        }
    }
}

fn time(mut work: impl FnMut()) -> Duration {
    let start = Instant::now();
    (0..RUNS).for_each(|_| work());
    start.elapsed() / RUNS
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Of every `dead` nodes one is dead (0: none); the first `gone` pools are no longer configured.
fn snapshot(count: usize, dead: usize, gone: usize) -> Snapshot {
    let resources =
        Resources::from_iter([("CPU", Quantity::units(16)), ("memory", Quantity::units(1 << 36))]);
    let pools = (gone.min(POOLS - 1)..POOLS).map(|n| pool(n, &resources)).collect();
    let is_dead = |n: usize| dead > 0 && n.is_multiple_of(dead);
    let state = WorkloadState {
        session: "s".into(),
        nodes: (0..count).map(|n| node(n, is_dead(n), &resources)).chain([head()]).collect::<Vec<_>>().into(),
        ..WorkloadState::default()
    };
    let instances: Vec<Instance> = (0..count).map(record).collect();
    let failure = Failure { class: FailureClass::Quota, message: "late".into() };
    let late = |i: &Instance| EffectReport {
        instance: i.id().clone(),
        epoch: 1,
        at: NOW,
        outcome: EffectOutcome::Failed(failure.clone()),
    };
    let reports = instances.iter().enumerate().filter(|(n, _)| is_dead(*n)).map(|(_, i)| late(i)).collect();
    Snapshot {
        now: NOW,
        workload: "w".into(),
        policy: Policy { head_pool: Some("head".into()), ..Policy::default() },
        pools,
        state: Some(Observed { at: NOW, result: Ok(state) }),
        listings: [("p".into(), Observed { at: NOW, result: Ok((0..count).map(machine).collect()) })].into(),
        reports,
        memory: Memory { serial: count as u64, session: "s".into(), ..Memory::default() },
        instances,
    }
}

fn pool_of(n: usize) -> String {
    format!("pool-{}", n % POOLS)
}

fn pool(n: usize, resources: &Resources) -> Pool {
    Pool {
        id: pool_of(n).into(),
        workload: "w".into(),
        provider: "p".into(),
        resources: resources.clone(),
        labels: Default::default(),
        min: 10,
        max: 100_000,
        idle_timeout: None,
        priority: 0,
        launch_hash: "h".into(),
        instance_type: String::new(),
        node: None,
    }
}

fn record(n: usize) -> Instance {
    let (id, serial) = (format!("i-00000001-{}", n + 1), n as u64 + 1);
    let mut record =
        Instance::queued(id.into(), serial, pool_of(n).into(), LaunchCause::Demand, Timestamp(0));
    for event in [
        Event::LaunchRequested { launch_hash: "h".into() },
        Event::Allocated { cloud: format!("c-{n}").into() },
        Event::NodeUp { node: format!("n-{n}").into() },
    ] {
        record.transition(&event, Timestamp(1)).expect("a legal way");
    }
    record
}

fn machine(n: usize) -> CloudInstance {
    CloudInstance {
        id: format!("c-{n}").into(),
        workload: "w".into(),
        pool: pool_of(n).into(),
        launched_for: Some((format!("i-00000001-{}", n + 1).into(), 1)),
        kind: NodeKind::Worker,
        phase: CloudPhase::Running,
        created_at: None,
        address: String::new(),
    }
}

fn node(n: usize, dead: bool, resources: &Resources) -> Node {
    Node {
        id: format!("n-{n}").into(),
        cloud: Some(format!("c-{n}").into()),
        pool: Some(pool_of(n).into()),
        head: false,
        status: if dead { NodeStatus::Dead } else { NodeStatus::Running },
        idle: Default::default(),
        total: resources.clone(),
        available: Resources::from_iter([("CPU", Quantity::units((n % 16) as i64))]),
        labels: Default::default(),
        address: String::new(),
        instance_type: String::new(),
        activity: Vec::new(),
    }
}

fn head() -> Node {
    Node { id: "head".into(), cloud: None, head: true, ..node(0, false, &Resources::default()) }
}
