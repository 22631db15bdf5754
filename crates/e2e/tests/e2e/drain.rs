//! A node that is in use again stays.

use crate::versions::NEWEST;
use ostler_e2e::{Gate, World, alone, pools, step};
use ostler_testkit::ray::{Cluster, Options, wait_for};

/// A raylet tells the head this seldom what is in use on it, so that for some seconds the head, and Ostler with
/// it, believes a node idle on which work has begun. The raylet itself knows better, and refuses to drain.
const REPORT_EVERY: &str = "RAY_raylet_report_resources_period_milliseconds: '4000'";

/// Idle for about as long as the timeout: now and then work begins just when the drain is under way, and lasts
/// until the drain is there. Each task may be tried once only.
const NOW_AND_THEN: &str = "
import random
@ray.remote(num_cpus=1, max_retries=0)
def work():
    time.sleep(2)
    return 1
done = 0
while not os.path.exists(END):
    done += ray.get(work.remote())
    time.sleep(random.uniform(2.2, 3.6))
print(done, 'tasks were done and none failed')";

#[test]
fn a_drain_is_rejected_since_work_came_back() {
    let _alone = alone();
    step("a head");
    let cluster = Cluster::start(Options::of(NEWEST));
    let yaml = pools(
        &cluster,
        "max_workers: 1\nidle_timeout_minutes: 0.05",
        &["small: {resources: {CPU: 1}, max_workers: 1}"],
    );
    let (mark, value) = cluster.mark();
    let yaml = yaml.replace(
        &format!("environment: {{{mark}: {value}}}"),
        &format!("environment: {{{mark}: {value}, {REPORT_EVERY}}}"),
    );
    assert!(yaml.contains(REPORT_EVERY));
    let world = World::start(&cluster, &yaml);
    let gate = Gate::new(&cluster, "end");
    let driver = cluster.start_driver(&gate.script(NOW_AND_THEN));
    step("work comes back just when its node should go");
    let entry = world.ostler.wait_for_entry("drain_rejected");
    step(&entry.message);
    let id = entry.subject.strip_prefix("instance:").expect("it is about an instance");
    gate.open();
    assert!(world.finish(driver).contains("none failed"));
    let journal = world.ostler.journal();
    let life: Vec<_> =
        journal.iter().filter(|e| e.subject == entry.subject).map(|e| e.code.as_str()).collect();
    step(&format!("{id}: {}", life.join(", ")));
    wait_for("the node to go in the end", || {
        world.ostler.picture().filter(|picture| picture.machines().is_empty()).map(drop)
    });
    world.settle("");
}
