//! Pools that refuse, or whose machines never join.

use crate::faults::HOLD;
use crate::versions::NEWEST;
use ostler_e2e::{Gate, World, alone, pools, step};
use ostler_testkit::ray::{Cluster, Options, wait_for};

/// Between a refusal and the launch from the other pool: both are decided in one pass. A second of patience for a
/// clock in milliseconds and a loaded machine.
const AT_ONCE_MS: u64 = 1_000;

#[test]
fn a_refusal_is_answered_by_another_pool_at_once() {
    let _alone = alone();
    step("a head");
    let cluster = Cluster::start(Options::of(NEWEST));
    let yaml = pools(
        &cluster,
        "max_workers: 4\nidle_timeout_minutes: 0.1",
        &[
            "first: {resources: {CPU: 1}, max_workers: 2, priority: 10, node_config: {command: [/no/such/program]}}",
            "second: {resources: {CPU: 1}, max_workers: 2}",
            "crash: {resources: {crash: 1}, max_workers: 2, node_config: {command: 'echo it crashes; exit 7'}}",
        ],
    );
    let world = World::start(&cluster, &yaml);
    let gate = Gate::new(&cluster, "work");
    let driver = cluster.start_driver(&gate.script(HOLD));
    world.settle("second 1 running");
    let refused = world.ostler.wait_for_entry("launch_refused");
    let journal = world.ostler.journal();
    let other =
        journal.iter().find(|e| e.at >= refused.at && e.code == "launch_demand").expect("another launch");
    assert!(other.at - refused.at <= AT_ONCE_MS, "{refused:?}, then {other:?}");
    let why = world.ostler.call(&["explain", "pool:first"]);
    for word in ["not asked for another", "/no/such/program", "OSTLER-P110"] {
        assert!(why.out.contains(word), "no {word:?}: {why:?}");
    }
    gate.open();
    world.finish(driver);

    step("machines that end before their node joins");
    let gate = Gate::new(&cluster, "crash");
    let driver = cluster
        .start_driver(&gate.script("ray.remote(num_cpus=0, resources={'crash': 1})(gate).remote()\ngate()"));
    wait_for("the pool to rest", || {
        let picture = world.ostler.picture()?;
        picture.pool("crash")["backing_off_until"].is_number().then_some(())
    });
    let launches = || {
        let journal = world.ostler.journal();
        journal.iter().filter(|e| e.code == "launch_turn" && e.message.contains("pool crash")).count()
    };
    let so_far = launches();
    assert!((1..=3).contains(&so_far), "{so_far} launches before it rests: {:#?}", world.ostler.journal());
    let why = world.ostler.call(&["explain", "pool:crash"]);
    assert!(why.out.contains("its machines end before or just after their node is up"), "{why:?}");
    step("the demand still waits while the other pool's idle machine goes");
    world.settle("");
    // One more if that took longer than the rest.
    assert!(launches() <= so_far + 1, "it does not rest: {:#?}", world.ostler.journal());
    gate.open();
    world.finish(driver);
    world.settle("");
}

#[test]
fn a_quota_is_told() {
    let _alone = alone();
    step("a head");
    let cluster = Cluster::start(Options::of(NEWEST));
    let yaml = pools(
        &cluster,
        "max_workers: 4\nidle_timeout_minutes: 0.1",
        &["small: {resources: {CPU: 1}, max_workers: 3}"],
    );
    let yaml = yaml.replace("  stop_grace_s: 5\n", "  stop_grace_s: 5\n  max_machines: 1\n");
    let world = World::start(&cluster, &yaml);
    let gate = Gate::new(&cluster, "work");
    let driver = cluster.start_driver(&gate.script(
        "work = ray.remote(num_cpus=1)(gate)\nprint('sum', sum(ray.get([work.remote(), work.remote()])))",
    ));
    step("two tasks, and room for one machine on the host");
    world.wait_for("the quota", |picture| {
        let said = picture.pool("small")["last_refusal"]["message"].as_str()?;
        said.contains("OSTLER-P107").then_some(())
    });
    let why = world.ostler.call(&["explain", "pool:small"]);
    assert!(why.out.contains("raise max_machines"), "{why:?}");
    world.settle("small 1 running");
    step("the one machine does both, one after the other");
    gate.open();
    assert!(world.finish(driver).contains("sum 2"));
    world.settle("");
}
