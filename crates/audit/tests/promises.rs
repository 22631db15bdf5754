//! Every promise finds the plan that breaks it, and says nothing of the good one.

use expect_test::{Expect, expect};
use ostler_lifecycle::{Event, Instance};
use ostler_model::kube::{Cluster, Eviction, Pod, PodSpec};
use ostler_model::{
    CloudInstance, CloudPhase, Demand, EndCause, Failure, FailureClass, Floor, LaunchCause, Node, NodeKind,
    NodeStatus, Observed, Policy, Pool, Quantity, Resources, Shape, Target, Task, Timestamp, Wish,
    WorkloadState,
};
use ostler_planner::{Memory, Plan, Reason, Snapshot, Step, plan};
use std::sync::Arc;

const NOW: Timestamp = Timestamp(100_000);

/// Two pools; of `a` (1 to 3) one node at work, one idle for long and one on its way, and demand for one more of
/// `b`; two of three concurrent launches are free.
fn world() -> Snapshot {
    let mut snapshot = Snapshot {
        now: NOW,
        workload: "w".into(),
        policy: Policy { max_workers: Some(5), max_concurrent_launches: 2, ..Policy::default() },
        pools: vec![pool("a", "CPU", 1, 3), pool("b", "GPU", 0, 2)],
        state: None,
        listings: Default::default(),
        reports: Vec::new(),
        instances: vec![record(1, "a"), record(2, "a"), record(3, "a")],
        memory: Memory { serial: 3, session: "s".into(), ..Memory::default() },
    };
    move_on(&mut snapshot, 1, "busy");
    move_on(&mut snapshot, 2, "idle");
    let machines = vec![machine("i1"), machine("i2")];
    snapshot.listings.insert("p".into(), Observed { at: NOW, result: Ok(machines) });
    let state = WorkloadState {
        session: "s".into(),
        nodes: Arc::new(vec![
            node("head", NodeStatus::Idle),
            node("busy", NodeStatus::Running),
            node("idle", NodeStatus::Idle),
        ]),
        demand: Demand { tasks: vec![Task { shape: shape("GPU"), count: 1 }], ..Demand::default() },
        ..WorkloadState::default()
    };
    snapshot.state = Some(Observed { at: NOW, result: Ok(state) });
    snapshot.policy.head_pool = Some("head".into());
    snapshot
}

fn pool(id: &str, resource: &str, min: u32, max: u32) -> Pool {
    Pool {
        id: id.into(),
        workload: "w".into(),
        provider: "p".into(),
        resources: Resources::from_iter([(resource, Quantity::ONE)]),
        labels: Default::default(),
        min,
        max,
        idle_timeout: None,
        priority: 0,
        launch_hash: "h".into(),
        instance_type: String::new(),
        node: None,
    }
}

fn shape(resource: &str) -> Shape {
    Shape { resources: Resources::from_iter([(resource, Quantity::ONE)]), selectors: Vec::new() }
}

/// A record that has been asked for.
fn record(serial: u64, pool: &str) -> Instance {
    let id = format!("i{serial}");
    let mut record = Instance::queued(id.into(), serial, pool.into(), LaunchCause::Demand, Timestamp(1));
    record.transition(&Event::LaunchRequested { launch_hash: "h".into() }, Timestamp(1)).expect("legal");
    record
}

fn move_on(snapshot: &mut Snapshot, serial: u64, node: &str) {
    let record = &mut snapshot.instances[serial as usize - 1];
    let cloud = format!("c-{}", record.id());
    record.transition(&Event::Allocated { cloud: cloud.into() }, Timestamp(1)).expect("legal");
    record.transition(&Event::NodeUp { node: node.into() }, Timestamp(1)).expect("legal");
}

fn machine(record: &str) -> CloudInstance {
    CloudInstance {
        id: format!("c-{record}").into(),
        workload: "w".into(),
        pool: "a".into(),
        launched_for: Some((record.into(), 1)),
        kind: NodeKind::Worker,
        phase: CloudPhase::Running,
        created_at: None,
        address: String::new(),
    }
}

fn node(id: &str, status: NodeStatus) -> Node {
    let resources = Resources::from_iter([("CPU", Quantity::ONE)]);
    Node {
        id: id.into(),
        cloud: None,
        pool: Some(if id == "head" { "head" } else { "a" }.into()),
        head: id == "head",
        status,
        idle: ostler_model::Millis::secs(if status == NodeStatus::Idle { 900 } else { 0 }),
        available: if status == NodeStatus::Idle { resources.clone() } else { Resources::default() },
        total: resources,
        labels: Default::default(),
        address: String::new(),
        instance_type: String::new(),
        activity: Vec::new(),
    }
}

/// Adds a step to the plan, and its consequence to the records that it writes.
fn add(snapshot: &Snapshot, plan: &mut Plan, id: &str, event: Event, reason: Reason) {
    let known = plan.changed.iter().chain(&snapshot.instances).find(|i| i.id().as_str() == id);
    let mut record = known.expect("a record").clone();
    record.transition(&event, snapshot.now).expect("legal, so that only the promise is broken");
    let pool = record.pool().clone();
    plan.changed.retain(|i| i.id() != record.id());
    plan.changed.push(record);
    plan.steps.push(Step { instance: id.into(), pool, event: Some(event), reason });
}

fn drain(snapshot: &Snapshot, plan: &mut Plan, id: &str, cause: EndCause) {
    add(snapshot, plan, id, Event::DrainRequested { cause, deadline: None }, Reason::Removed { cause });
}

/// A launch for a demand that is there.
fn launch(snapshot: &Snapshot, plan: &mut Plan, serial: u64, pool: &str, cause: LaunchCause) {
    let id = format!("n{serial}");
    let record = Instance::queued(id.clone().into(), serial, pool.into(), cause, snapshot.now);
    let (instance, pool) = (record.id().clone(), record.pool().clone());
    plan.steps.push(Step { instance, pool, event: None, reason: Reason::Wanted { cause } });
    plan.changed.push(record);
    plan.memory.get_or_insert(snapshot.memory.clone()).serial = serial;
    add(snapshot, plan, &id, Event::LaunchRequested { launch_hash: "h".into() }, Reason::LaunchTurn);
}

/// Bends the world and its good plan, and compares what is found.
fn check(world_of: impl Fn(&mut Snapshot), forge: impl Fn(&Snapshot, &mut Plan), expect: Expect) {
    let mut snapshot = world();
    world_of(&mut snapshot);
    let mut plan = plan(&snapshot);
    assert_eq!(ostler_audit::check(&snapshot, &plan), [], "the plan is good before it is forged");
    forge(&snapshot, &mut plan);
    let found = ostler_audit::check(&snapshot, &plan);
    assert!(!found.is_empty(), "nothing is found");
    expect.assert_eq(&found.iter().map(|finding| format!("{finding}\n")).collect::<String>());
}

fn as_it_is(_: &mut Snapshot) {}

#[test]
fn a_good_plan_is_clean_and_does_something() {
    let snapshot = world();
    let plan = plan(&snapshot);
    let steps =
        plan.steps.iter().map(|s| format!("{} {}\n", s.instance, s.reason.code())).collect::<String>();
    expect![[r#"
        i2 removed_idle
        i-00000000-4 launch_demand
        i-00000000-4 launch_turn
    "#]]
    .assert_eq(&steps);
    assert_eq!(ostler_audit::check(&snapshot, &plan), []);
}

#[test]
fn every_promise_has_a_test_here() {
    let source = include_str!("promises.rs");
    for promise in ostler_audit::PROMISES {
        assert!(source.contains(&format!("[{}]", promise.code)), "{} is never broken", promise.code);
    }
}

#[test]
fn an_illegal_event_is_found() {
    let forged = |_: &Snapshot, plan: &mut Plan| {
        let event = Some(Event::DrainCancelled);
        plan.steps.push(Step { instance: "i1".into(), pool: "a".into(), event, reason: Reason::LaunchTurn });
    };
    check(
        as_it_is,
        forged,
        expect![[r#"
        instance i1 cannot go on from running by drain_cancelled [legal_events]
    "#]],
    );
}

#[test]
fn a_record_that_is_not_what_its_steps_lead_to_is_found() {
    check(
        as_it_is,
        |world, plan| {
            drain(world, plan, "i1", EndCause::MaxPerPool);
            plan.changed.retain(|i| i.id().as_str() != "i1");
            plan.changed.push(world.instances[0].clone());
        },
        expect![[r#"
            the record of i1 is not what its steps lead to [legal_events]
        "#]],
    );
}

#[test]
fn a_step_whose_record_is_not_written_is_found() {
    check(
        as_it_is,
        |world, plan| {
            drain(world, plan, "i1", EndCause::MaxPerPool);
            plan.changed.retain(|i| i.id().as_str() != "i1");
        },
        expect![[r#"
            i1 has steps, and its record is not written [legal_events]
        "#]],
    );
}

#[test]
fn a_record_that_is_forgotten_before_its_end_is_found() {
    check(
        as_it_is,
        |_, plan| plan.forgotten.push("i1".into()),
        expect![[r#"
        i1 would be forgotten and has not ended [legal_events]
    "#]],
    );
    check(
        as_it_is,
        |_, plan| plan.forgotten.push("i9".into()),
        expect![[r#"
        i9 would be forgotten and has not ended [legal_events]
    "#]],
    );
}

#[test]
fn a_launch_over_a_bound_is_found() {
    // Two of `b` are there already.
    let full = |world: &mut Snapshot| {
        world.instances.extend([record(4, "b"), record(5, "b")]);
        world.memory.serial = 5;
        world.policy.max_workers = None;
        world.policy.max_concurrent_launches = 9;
    };
    check(
        full,
        |world, plan| launch(world, plan, 6, "b", LaunchCause::Demand),
        expect![[r#"
        pool b has 3 machines, at most 2 [bounds_kept]
    "#]],
    );
    let all = |world: &mut Snapshot| {
        world.policy.max_workers = Some(4);
        world.policy.max_concurrent_launches = 9;
    };
    check(
        all,
        |world, plan| launch(world, plan, 5, "b", LaunchCause::Demand),
        expect![[r#"
        5 workers in all, at most 4 may exist [bounds_kept]
    "#]],
    );
    check(
        as_it_is,
        |world, plan| launch(world, plan, 5, "b", LaunchCause::Demand),
        expect![[r#"
        3 launches under way, at most 2 may be [bounds_kept]
    "#]],
    );
    let gone = |world: &mut Snapshot| world.policy.max_concurrent_launches = 9;
    check(
        gone,
        |world, plan| launch(world, plan, 5, "gone", LaunchCause::Demand),
        expect![[r#"
        pool gone launches and is not configured [bounds_kept]
    "#]],
    );
}

#[test]
fn a_busy_node_that_is_drained_as_idle_is_found() {
    check(
        as_it_is,
        |world, plan| drain(world, plan, "i1", EndCause::Idle),
        expect![[r#"
        i1 is at work and would be drained as idle [busy_nodes_stay]
    "#]],
    );
}

#[test]
fn a_node_that_came_up_in_the_same_plan_and_is_at_work_counts_too() {
    let coming = |world: &mut Snapshot| {
        let record = &mut world.instances[2];
        record.transition(&Event::Allocated { cloud: "c-i3".into() }, Timestamp(1)).expect("legal");
        world.listings.values_mut().for_each(|look| look.result.as_mut().expect("seen").push(machine("i3")));
        let state = world.state.as_mut().expect("seen").result.as_mut().expect("seen");
        Arc::make_mut(&mut state.nodes)
            .push(Node { cloud: Some("c-i3".into()), ..node("new", NodeStatus::Running) });
    };
    check(
        coming,
        |world, plan| drain(world, plan, "i3", EndCause::Idle),
        expect![[r#"
        i3 is at work and would be drained as idle [busy_nodes_stay]
    "#]],
    );
}

#[test]
fn an_end_without_a_drain_is_found() {
    let cause = EndCause::MaxPerPool;
    let end = |world: &Snapshot, plan: &mut Plan| {
        add(world, plan, "i1", Event::TerminationRequested { cause }, Reason::Removed { cause });
    };
    check(
        as_it_is,
        end,
        expect![[r#"
        i1 runs and would be ended as max_per_pool without a drain [busy_nodes_stay]
    "#]],
    );
    let drained = |world: &Snapshot, plan: &mut Plan| {
        add(world, plan, "i1", Event::NodeDraining, Reason::NodeDraining);
        end(world, plan);
    };
    check(
        as_it_is,
        drained,
        expect![[r#"
        i1 runs and would be ended as max_per_pool without a drain [busy_nodes_stay]
    "#]],
    );
}

#[test]
fn a_pool_below_its_minimum_is_found() {
    let two = |world: &mut Snapshot| (world.pools[0].min, world.pools[0].max) = (3, 9);
    check(
        two,
        |world, plan| drain(world, plan, "i2", EndCause::Idle),
        expect![[r#"
        pool a would be left with 2, its minimum is 3 [minimum_kept]
    "#]],
    );
    // Nodes of somebody else are the pool's, too.
    let with_other = |world: &mut Snapshot| {
        two(world);
        let state = world.state.as_mut().expect("seen").result.as_mut().expect("seen");
        Arc::make_mut(&mut state.nodes).extend(["other", "another"].map(|id| node(id, NodeStatus::Idle)));
    };
    let mut snapshot = world();
    with_other(&mut snapshot);
    let plan = plan(&snapshot);
    assert!(plan.steps.iter().any(|step| step.reason.code() == "removed_idle"));
    assert_eq!(ostler_audit::check(&snapshot, &plan), []);
}

#[test]
fn a_launch_that_nobody_asked_for_is_found() {
    let wide = |world: &mut Snapshot| world.policy.max_concurrent_launches = 9;
    for cause in [LaunchCause::Gang, LaunchCause::Floor] {
        let expect = match cause {
            LaunchCause::Gang => expect![[r#"
                n5 is for demand that nobody asked [launches_owed]
            "#]],
            _ => expect![[r#"
                n5 is for demand that nobody asked [launches_owed]
            "#]],
        };
        check(wide, |world, plan| launch(world, plan, 5, "b", cause), expect);
    }
    check(
        wide,
        |world, plan| launch(world, plan, 5, "b", LaunchCause::Min),
        expect![[r#"
        1 machines of pool b for a minimum of 0 [launches_owed]
    "#]],
    );
    let nothing_waits = |world: &mut Snapshot| {
        wide(world);
        let state = world.state.as_mut().expect("seen").result.as_mut().expect("seen");
        state.demand.tasks.clear();
        state.demand.floors.push(Floor { tasks: vec![Task { shape: shape("CPU"), count: 1 }] });
    };
    check(
        nothing_waits,
        |world, plan| launch(world, plan, 4, "b", LaunchCause::Demand),
        expect![[r#"
        n4 is for demand that nobody asked [launches_owed]
    "#]],
    );
}

#[test]
fn a_decision_for_what_was_not_seen_is_found() {
    let failure = || Failure { class: FailureClass::Transient, message: "no".into() };
    let blind = move |world: &mut Snapshot| world.state = Some(Observed { at: NOW, result: Err(failure()) });
    check(
        blind,
        |world, plan| drain(world, plan, "i2", EndCause::MaxPerPool),
        expect![[r#"
        i2: the workload was not seen [held_is_held]
    "#]],
    );
    let gone = |world: &Snapshot, plan: &mut Plan| {
        let cause = EndCause::Vanished;
        add(world, plan, "i2", Event::MachineGone { cause }, Reason::MachineVanished);
    };
    check(
        blind,
        gone,
        expect![[r#"
        i2: the workload was not seen [held_is_held]
    "#]],
    );
    let unlisted = move |world: &mut Snapshot| {
        world.listings.insert("p".into(), Observed { at: NOW, result: Err(failure()) });
    };
    check(
        unlisted,
        |world, plan| drain(world, plan, "i2", EndCause::MaxPerPool),
        expect![[r#"
        i2: the provider of pool a was not seen [held_is_held]
    "#]],
    );
    let headless = |world: &mut Snapshot| {
        let seen = world.state.as_mut().expect("seen").result.as_mut().expect("seen");
        Arc::make_mut(&mut seen.nodes).retain(|node| !node.head);
    };
    check(
        headless,
        |world, plan| launch(world, plan, 4, "b", LaunchCause::Demand),
        expect![[r#"
        n4: the workload has no head [held_is_held]
        n4: the workload has no head [held_is_held]
    "#]],
    );
}

#[test]
fn a_number_that_was_given_before_is_found() {
    let wide = |world: &mut Snapshot| world.policy.max_concurrent_launches = 9;
    check(
        wide,
        |world, plan| launch(world, plan, 2, "b", LaunchCause::Demand),
        expect![[r#"
        n2 has the serial number 2, the last was 3 [ids_are_new]
        the memory counts up to 2, the newest record is 4 [ids_are_new]
    "#]],
    );
    let uncounted = |_: &Snapshot, plan: &mut Plan| plan.memory = None;
    check(
        wide,
        uncounted,
        expect![[r#"
        the memory counts up to 3, the newest record is 4 [ids_are_new]
    "#]],
    );
}

#[test]
fn the_end_of_a_worker_that_must_stay_is_found() {
    let kept = |world: &mut Snapshot| {
        let wish = Wish { amount: 0, keep: ["i1".into()].into(), ..Wish::default() };
        world.memory.target = Some(Target { wish, seq: 1, accepted_at: NOW });
    };
    check(
        kept,
        |world, plan| drain(world, plan, "i1", EndCause::MaxPerPool),
        expect![[r#"
        i1 must stay, and would go by drain_requested [kept_workers_stay]
    "#]],
    );
}

#[test]
fn a_pod_that_may_not_be_moved_is_found() {
    let with_pod = |snapshot: &mut Snapshot| {
        snapshot.policy.kube = Some(Box::default());
        let Some(Ok(state)) = snapshot.state.as_mut().map(|look| &mut look.result) else { return };
        let pod = Pod {
            name: "db-0".into(),
            uid: "u".into(),
            spec: 0,
            node: Some("busy".into()),
            nominated: None,
            created_at: Timestamp(1),
            terminating: false,
            ignored: None,
            owner: None,
            eviction: Eviction { safe: Some(false), ..Eviction::default() },
        };
        let specs = vec![PodSpec::default()];
        state.cluster = Some(Arc::new(Cluster { specs, pods: vec![pod], ..Cluster::default() }));
    };
    let forged = |snapshot: &Snapshot, plan: &mut Plan| drain(snapshot, plan, "i1", EndCause::Underused);
    check(
        with_pod,
        forged,
        expect![[r#"
        pod db-0 on busy may not be moved (an annotation forbids it) [pods_may_move]
    "#]],
    );
}
