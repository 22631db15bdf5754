//! The rules one by one.

use super::decide;
use crate::problem::{Keep, Machine, Phase, PoolOption, Problem, RemovalCause, Unfit, Up};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use ostler_model::{Millis, NodeKind, Pool, Quantity, Resources, Shape, Task};

fn resources(text: &str) -> Resources {
    let parts = text.split(", ").filter(|part| !part.is_empty());
    parts
        .map(|part| part.split_once(' ').expect("name and amount"))
        .map(|(k, v)| (k, v.parse().expect("amount")))
        .collect()
}

fn pool(id: &str, has: &str, min: u32, max: u32) -> PoolOption {
    let pool = Pool {
        id: id.into(),
        workload: "ray".into(),
        provider: "none".into(),
        resources: resources(has),
        labels: Default::default(),
        min,
        max,
        idle_timeout: None,
        priority: 0,
        launch_hash: String::new(),
        instance_type: String::new(),
        node: None,
    };
    let (availability, recoverable) = (Quantity::ONE, Quantity::ONE);
    PoolOption { pool, availability, recoverable, backing_off: false, pending_unneeded: None }
}

fn wants(count: u64, needs: &str) -> Task {
    Task { shape: Shape { resources: resources(needs), selectors: Vec::new() }, count }
}

fn coming(id: &str, pool: &str, phase: Phase) -> Machine {
    let (kind, outdated, keep) = (NodeKind::Worker, false, false);
    Machine { instance: id.into(), pool: pool.into(), kind, phase, outdated, keep, up: None }
}

fn running(id: &str, pool: &str, has: &str, idle_s: u64) -> Machine {
    let up = Up {
        node: id.into(),
        total: resources(has),
        available: resources(has),
        labels: Default::default(),
        idle: Millis::secs(idle_s),
        busy: idle_s == 0,
    };
    Machine { up: Some(up), ..coming(id, pool, Phase::Running) }
}

fn problem(pools: Vec<PoolOption>, machines: Vec<Machine>, tasks: Vec<Task>) -> Problem {
    let idle_timeout = Some(Millis::secs(300));
    Problem { pools, machines, tasks, idle_timeout, conserve_gpu: true, ..Problem::default() }
}

/// `1 A` for each pool that is launched, `-i` for each machine that goes.
fn says(problem: &Problem) -> String {
    let decision = decide(problem);
    let launches =
        decision.launches.iter().map(|l| alloc::format!("{} {}", l.count, problem.pools[l.pool].pool.id));
    let removals =
        decision.removals.iter().map(|r| alloc::format!("-{}", problem.machines[r.machine].instance));
    launches.chain(removals).collect::<Vec<_>>().join(", ")
}

/// The specification: "suppose a task requires 2 GPUs and two node types are available: A: [GPU: 6],
/// B: [GPU: 2, TPU: 1]. The autoscaler should select node type A."
#[test]
fn the_example_of_the_specification() {
    for order in [["A", "B"], ["B", "A"]] {
        let has = |id: &str| if id == "A" { "GPU 6" } else { "GPU 2, TPU 1" };
        let pools = order.iter().map(|id| pool(id, has(id), 0, 5)).collect();
        assert_eq!(says(&problem(pools, Vec::new(), [wants(1, "GPU 2")].into())), "1 A");
    }
}

#[test]
fn what_fits_on_what_is_there_or_coming_launches_nothing() {
    let pools = || [pool("a", "CPU 4", 0, 5)].into();
    let there = [running("i-1", "a", "CPU 4", 0), coming("i-2", "a", Phase::Requested)];
    assert_eq!(says(&problem(pools(), there.to_vec(), [wants(8, "CPU 1")].into())), "");
    assert_eq!(says(&problem(pools(), there.to_vec(), [wants(9, "CPU 1")].into())), "1 a");
}

#[test]
fn idle_goes_strictly_after_the_timeout_and_not_below_the_minimum() {
    let with = |min, idle| {
        let machines = [running("i-1", "a", "CPU 4", idle), running("i-2", "a", "CPU 4", idle + 1)].into();
        says(&problem([pool("a", "CPU 4", min, 5)].into(), machines, Vec::new()))
    };
    assert_eq!(with(0, 299), "");
    assert_eq!(with(0, 300), "-i-2");
    assert_eq!(with(0, 301), "-i-2, -i-1");
    assert_eq!(with(1, 301), "-i-2");
    assert_eq!(with(2, 301), "");
}

#[test]
fn over_the_maximum_what_does_not_exist_goes_first_and_what_works_last() {
    let machines = || {
        let mut all = [
            running("busy", "a", "CPU 4", 0),
            running("idle", "a", "CPU 4", 10),
            coming("installing", "a", Phase::Installing),
            coming("allocated", "a", Phase::Allocated),
            coming("requested", "a", Phase::Requested),
            coming("queued", "a", Phase::Queued),
        ];
        all[5].keep = false;
        all.to_vec()
    };
    let with = |max| says(&problem([pool("a", "CPU 4", 0, max)].into(), machines(), Vec::new()));
    assert_eq!(with(5), "-queued");
    assert_eq!(with(3), "-queued, -requested, -allocated");
    assert_eq!(with(1), "-queued, -requested, -allocated, -installing, -idle");
    assert_eq!(with(0), "-queued, -requested, -allocated, -installing, -idle, -busy");
}

#[test]
fn neither_the_head_nor_what_is_kept_goes() {
    let mut machines = [running("i-1", "a", "CPU 4", 900), running("head", "h", "CPU 4", 900)];
    machines[0].keep = true;
    machines[1].kind = NodeKind::Head;
    let mut asked =
        problem([pool("a", "CPU 4", 0, 0), pool("h", "CPU 4", 0, 0)].into(), machines.to_vec(), Vec::new());
    (asked.head_pool, asked.max_machines) = (Some("h".into()), Some(1));
    let decision = decide(&asked);
    assert!(decision.removals.is_empty());
    assert_eq!(decision.kept, [(0, Keep::Protected), (1, Keep::Head)]);
}

#[test]
fn a_pool_that_backs_off_leaves_the_demand_to_another() {
    let mut asked = problem(
        [pool("a", "CPU 4", 1, 5), pool("b", "CPU 8", 0, 5)].into(),
        Vec::new(),
        [wants(2, "CPU 4")].into(),
    );
    asked.pools[0].backing_off = true;
    assert_eq!(says(&asked), "1 b");
    asked.pools[1].pool.max = 0;
    let decision = decide(&asked);
    assert!(decision.launches.is_empty());
    let why = decision.unplaced_tasks[0].why.iter().map(|(_, why)| why.clone()).collect::<Vec<_>>();
    assert_eq!(why, [Unfit::BackingOff, Unfit::PoolAtMax { max: 0 }]);
}

#[test]
fn what_nothing_needs_on_its_way_is_withdrawn_after_its_timeout() {
    let mut asked =
        problem([pool("a", "CPU 4", 0, 5)].into(), [coming("i-1", "a", Phase::Allocated)].into(), Vec::new());
    asked.pending_idle_timeout = Some(Millis::secs(60));
    assert_eq!(decide(&asked).pending_unneeded.iter().map(ToString::to_string).collect::<Vec<_>>(), ["a"]);
    asked.pools[0].pending_unneeded = Some(Millis::secs(60));
    assert_eq!(says(&asked), "");
    asked.pools[0].pending_unneeded = Some(Millis::secs(61));
    assert_eq!(decide(&asked).removals[0].cause, RemovalCause::PendingIdle);
    assert!(decide(&asked).pending_unneeded.is_empty());
}

#[test]
fn an_idle_machine_that_goes_leaves_its_room() {
    let machines = [running("i-1", "a", "CPU 4", 900)].into();
    let mut asked = problem(
        [pool("a", "CPU 4", 0, 5), pool("g", "GPU 1", 0, 5)].into(),
        machines,
        [wants(1, "GPU 1")].into(),
    );
    asked.max_machines = Some(1);
    assert_eq!(says(&asked), "1 g, -i-1");
}

#[test]
fn absurd_input_is_answered() {
    let huge = "CPU 170141183460469231731687303715";
    let mut asked =
        problem([pool("a", huge, 0, u32::MAX)].into(), Vec::new(), [wants(u64::MAX, huge)].into());
    asked.tasks.push(wants(0, ""));
    asked.tasks.push(wants(u64::MAX, ""));
    asked.max_machines = Some(0);
    assert!(decide(&asked).launches.is_empty());
    asked.max_machines = None;
    assert_eq!(decide(&asked).launches[0].count, u64::from(u32::MAX));
}
