//! The cluster grows with what is asked for, and shrinks to its minimum.

use crate::versions::{NEWEST, OLDEST};
use ostler_e2e::{Gate, World, alone, pools, step};
use ostler_testkit::ray::{Cluster, Options};

#[test]
fn a_newest_ray_grows_and_shrinks() {
    let _alone = alone();
    story(NEWEST);
}

#[test]
fn an_oldest_ray_grows_and_shrinks() {
    let _alone = alone();
    story(OLDEST);
}

fn story(version: &str) {
    step(&format!("a head of Ray {version}"));
    let cluster = Cluster::start(Options::of(version));
    let yaml = pools(
        &cluster,
        "max_workers: 8\nidle_timeout_minutes: 0.1",
        &[
            "small: {resources: {CPU: 1}, min_workers: 1, max_workers: 3, node_config: {}}",
            "pair: {resources: {duo: 2}, max_workers: 2, node_config: {}}",
            "ssd: {resources: {ssd: 2}, max_workers: 2, node_config: {}}",
            "gpu: {resources: {GPU: 1}, max_workers: 2, node_config: {}}",
            "zone-b: {resources: {tag: 1}, labels: {zone: b}, max_workers: 1, node_config: {}}",
        ],
    );
    let world = World::start(&cluster, &yaml);
    step("the minimum comes");
    world.settle("small 1 running");
    tasks(&world);
    request_resources(&world);
    actors_resources_and_labels(&world, version == NEWEST);
    placement_groups(&world);
    step("all goes down to the minimum");
    world.settle("small 1 running");
}

fn tasks(world: &World<'_>) {
    step("tasks");
    let gate = Gate::new(world.cluster, "tasks");
    let driver = world.cluster.start_driver(&gate.script(
        "
work = ray.remote(num_cpus=1, max_retries=0)(gate)
print('sum', sum(ray.get([work.remote() for _ in range(3)])))",
    ));
    world.settle("small 3 running");
    gate.open();
    assert!(world.finish(driver).contains("sum 3"));
    step("idle machines go, the minimum stays");
    world.settle("small 1 running");
    assert!(world.ostler.count("removed_idle") >= 2, "{:#?}", world.ostler.journal());
}

fn request_resources(world: &World<'_>) {
    step("request_resources, and taken back");
    let ask = |what: &str| {
        let script =
            "import ray; from ray.autoscaler.sdk import request_resources; ray.init(logging_level='ERROR')";
        world.finish(world.cluster.start_driver(&format!("{script}; request_resources({what})")));
    };
    ask("num_cpus=2, bundles=[{'GPU': 1}]");
    world.settle("gpu 1 running, small 2 running");
    ask("bundles=[]");
    world.settle("small 1 running");
}

fn actors_resources_and_labels(world: &World<'_>, labels: bool) {
    step("an actor with a GPU, one with a custom resource, and a label that only the fallback names");
    let gate = Gate::new(world.cluster, "actors");
    let labelled = "
labelled = ray.remote(num_cpus=0, resources={'tag': 1}, max_retries=0, label_selector={'zone': 'nowhere'},
                      fallback_strategy=[{'label_selector': {'zone': 'b'}}])(gate)
waiting.append(labelled.remote())";
    let driver = world.cluster.start_driver(&gate.script(&format!(
        "
class Actor:
    def hold(self): return gate()
gpu = ray.remote(num_cpus=0, num_gpus=1)(Actor).remote()
disk = ray.remote(num_cpus=0, resources={{'ssd': 1}})(Actor).remote()
waiting = [gpu.hold.remote(), disk.hold.remote()]
{}
print('held', sum(ray.get(waiting)))",
        if labels { labelled } else { "" }
    )));
    let zone = if labels { ", zone-b 1 running" } else { "" };
    world.settle(&format!("gpu 1 running, small 1 running, ssd 1 running{zone}"));
    gate.open();
    let held = if labels { "held 3" } else { "held 2" };
    assert!(world.finish(driver).contains(held));
}

/// Each strategy on a resource of its own, so that one right set of machines exists.
fn placement_groups(world: &World<'_>) {
    step("a placement group of each strategy");
    let gate = Gate::new(world.cluster, "groups");
    let driver = world.cluster.start_driver(&gate.script(
        "
from ray.util.placement_group import placement_group_table
asked = [('STRICT_SPREAD', {'GPU': 1}), ('STRICT_PACK', {'duo': 1}), ('SPREAD', {'CPU': 1}), ('PACK', {'ssd': 1})]
groups = [(name, placement_group([bundle] * 2, strategy=name)) for name, bundle in asked]
for name, group in groups:
    ray.get(group.ready())
    print(name, 'on', len(set(placement_group_table(group)['bundles_to_node_id'].values())))
gate()",
    ));
    world.settle("gpu 2 running, pair 1 running, small 2 running, ssd 1 running");
    gate.open();
    let output = world.finish(driver);
    for placed in ["STRICT_SPREAD on 2", "STRICT_PACK on 1", "SPREAD on 2", "PACK on 1"] {
        assert!(output.lines().any(|line| line == placed), "no {placed:?}:\n{output}");
    }
}
