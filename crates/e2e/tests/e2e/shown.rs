//! What Ray's own programs show, and a configuration that changes while all of it runs.

use crate::versions::NEWEST;
use ostler_e2e::{Gate, World, alone, pools, step};
use ostler_testkit::ray::{Cluster, Options, wait_for};

/// One that waits for a node that never comes, one that no pool can take, and `n` that work.
const MIXED: &str = "
slow = ray.remote(num_cpus=0, resources={'slow': 1})(gate).remote()
never = ray.remote(num_cpus=0, resources={'unobtainium': 1})(gate).remote()
work = ray.remote(num_cpus=1)(gate)
print('sum', sum(ray.get([work.remote() for _ in range(2)])), flush=True)";

#[test]
fn ray_shows_it_and_a_new_configuration_is_taken() {
    let _alone = alone();
    step("a head");
    let cluster = Cluster::start(Options::of(NEWEST));
    let types = |max: u32| {
        let small = format!("small: {{resources: {{CPU: 1}}, max_workers: {max}}}");
        let slow = "slow: {resources: {slow: 1}, max_workers: 1, node_config: {command: exec sleep 3600}}";
        pools(&cluster, "max_workers: 4\nidle_timeout_minutes: 0.1", &[&small, slow])
    };
    let world = World::start(&cluster, &types(1));
    let gate = Gate::new(&cluster, "work");
    let mut driver = cluster.start_driver(&gate.script(MIXED));
    world.wait_for_machines("slow 1 allocated, small 1 running");

    step("`ray status` and the driver's screen");
    wait_for("`ray status` to show it", || {
        let shown = cluster.run_ray(&["status"]).output;
        let (before, pending) = shown.split_once("Pending:")?;
        let (pending, rest) = pending.split_once("Recent failures:")?;
        let all = before.contains("1 small") && pending.contains("slow") && rest.contains("unobtainium");
        all.then_some(())
    });
    driver.wait_until_said("Adding 1 node of type small");
    driver.wait_until_said("unobtainium");
    let why = world.ostler.call(&["explain", "unobtainium"]);
    assert!(why.out.contains("infeasible"), "{why:?}");

    step("a bad new configuration is refused, and the old one stays");
    world.ostler.configure(&types(3).replace("head_node_type: head", "head_node_type: haed"));
    wait_for("the refusal", || world.ostler.log().contains("is refused, the old one stays").then_some(()));
    assert!(world.ostler.log().contains("[OSTLER-C021]"), "{}", world.ostler.log());
    assert_eq!(world.ostler.picture().expect("it answers").pool("small")["max"], 1);

    step("a good one is taken");
    world.ostler.configure(&types(3));
    world.wait_for_machines("slow 1 allocated, small 2 running");
    gate.open();
    driver.wait_until_said("sum 2");
    driver.wait();
    step("with the driver its demand goes, and the idle machines");
    world.wait_for_machines("slow 1 allocated");
    step("a pool that may have no machines loses the one on its way");
    world.ostler.configure(&types(3).replace("{slow: 1}, max_workers: 1", "{slow: 1}, max_workers: 0"));
    world.settle("");
}
