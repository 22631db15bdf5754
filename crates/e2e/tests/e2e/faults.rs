//! Machines that die, providers that refuse, heads that are replaced.

use crate::versions::NEWEST;
use ostler_e2e::{Gate, World, alone, pools, step};
use ostler_testkit::ray::{Cluster, Options};

/// Keeps one CPU in use until the gate opens; Ray may try the task again when its machine dies.
pub(crate) const HOLD: &str = "
work = ray.remote(num_cpus=1)(gate)
print('sum', sum(ray.get([work.remote()])))";

#[test]
fn a_machine_killed_from_outside_is_replaced() {
    let _alone = alone();
    step("a head");
    let cluster = Cluster::start(Options::of(NEWEST));
    let yaml = pools(
        &cluster,
        "max_workers: 4\nidle_timeout_minutes: 0.1",
        &[
            "base: {resources: {base: 1}, min_workers: 1, max_workers: 2}",
            "small: {resources: {CPU: 1}, max_workers: 2}",
        ],
    );
    let world = World::start(&cluster, &yaml);
    let gate = Gate::new(&cluster, "work");
    let driver = cluster.start_driver(&gate.script(HOLD));
    world.settle("base 1 running, small 1 running");

    step("the machine at work is killed, with everything on it");
    kill(&world, "small", |_| true);
    world.settle("base 1 running, small 1 running");
    gate.open();
    assert!(world.finish(driver).contains("sum 1"), "Ray tried the task again");

    step("the raylet of the minimum is killed, and nothing else of its machine");
    kill(&world, "base", |program| program == "raylet");
    world.settle("base 1 running");
}

/// Kills processes of the one machine of a pool, and waits until its record has noticed.
fn kill(world: &World<'_>, pool: &str, chosen: impl Fn(&str) -> bool) {
    let picture = world.ostler.picture().expect("it answers");
    let cloud = picture.record(pool, "running").expect("a machine")["cloud"].as_str().map(str::to_owned);
    let of_it = |process: &&ostler_testkit::ray::Process| {
        process.variable("RAY_CLOUD_INSTANCE_ID") == cloud.as_deref() && chosen(&process.program)
    };
    let processes = world.cluster.processes();
    assert!(processes.iter().any(|process| of_it(&process)), "nothing to kill");
    processes.iter().filter(of_it).for_each(ostler_testkit::ray::Process::kill);
    let cloud = cloud.expect("it has one");
    world.wait_for("the loss to be noticed", |picture| (!picture.clouds().contains(&cloud)).then_some(()));
}

#[test]
fn a_head_that_is_replaced_is_served_again() {
    let _alone = alone();
    step("a head");
    let cluster = Cluster::start(Options::of(NEWEST));
    let types = [
        "base: {resources: {base: 1}, min_workers: 1, max_workers: 2}",
        "small: {resources: {CPU: 1}, max_workers: 2}",
    ];
    let world = World::start(&cluster, &pools(&cluster, "max_workers: 4\nidle_timeout_minutes: 0.1", &types));
    let gate = Gate::new(&cluster, "before");
    let driver = cluster.start_driver(&gate.script(HOLD));
    world.settle("base 1 running, small 1 running");
    step("the head dies");
    cluster.kill_head();
    world.wait_for("the head to be missed", |picture| picture.0["failure"].is_object().then_some(()));
    driver.kill();
    step("a new head on the same port");
    cluster.start_head();
    world.ostler.wait_for_entry("session_changed");
    step("a minimum on the new head, and new work");
    let gate = Gate::new(&cluster, "after");
    let driver = cluster.start_driver(&gate.script(HOLD));
    world.settle("base 1 running, small 1 running");
    gate.open();
    assert!(world.finish(driver).contains("sum 1"));
    world.settle("base 1 running");
}
