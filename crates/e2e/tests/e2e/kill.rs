//! Ostler is killed again and again at random moments, while the cluster grows and shrinks.

use crate::random::Random;
use crate::versions::{NEWEST, OLDEST};
use ostler_e2e::{Gate, World, alone, pools, step};
use ostler_testkit::ray::{Cluster, Options};
use std::collections::BTreeSet;
use std::time::Duration;

/// Longest life of an Ostler: long enough for a machine to come, or to go, within a few lives.
const LIFE_MAX_MS: u64 = 6_000;
const MACHINES_MAX: usize = 4;

#[test]
fn thirty_kills_leave_a_newest_ray_right() {
    let _alone = alone();
    killed(NEWEST, 30);
}

#[test]
fn eight_kills_leave_an_oldest_ray_right() {
    let _alone = alone();
    killed(OLDEST, 8);
}

fn killed(version: &str, kills: u32) {
    let mut random = Random::of_this_run();
    step(&format!("a head of Ray {version}; {kills} kills with {random}"));
    let cluster = Cluster::start(Options::of(version));
    let yaml = pools(
        &cluster,
        &format!("max_workers: {MACHINES_MAX}\nidle_timeout_minutes: 0.05\nupscaling_speed: 10"),
        &[
            "small: {resources: {CPU: 1}, min_workers: 1, max_workers: 4}",
            "large: {resources: {CPU: 2}, max_workers: 1}",
        ],
    );
    let mut world = World::start(&cluster, &yaml);
    let gate = Gate::new(&cluster, "end");
    let mut driver = cluster.start_driver(&gate.script(WAVES));
    driver.wait_until_said("wave");
    let (mut up, mut down) = (0, 0);
    for n in 1..=kills {
        // Nothing is waited for here: the moment of the kill is what the test is about.
        std::thread::sleep(Duration::from_millis(random.below(LIFE_MAX_MS)));
        let before = world.ostler.picture().map_or_else(String::new, |picture| picture.machines());
        world.ostler.kill();
        none_is_doubled(&world);
        up += u32::from(["queued", "requested", "allocated"].iter().any(|state| before.contains(state)));
        down += u32::from(["drain", "terminating"].iter().any(|state| before.contains(state)));
        step(&format!("kill {n}: {before}"));
        world.ostler.start();
    }
    step(&format!("{up} kills came while it grew, {down} while it shrank; now the work ends"));
    gate.open();
    let output = world.finish(driver);
    step(output.lines().last().unwrap_or_default());
    world.settle("small 1 running");
}

/// Waves of work with pauses long enough for idle machines to go. No task may be tried twice.
const WAVES: &str = "
import random
@ray.remote(num_cpus=1, max_retries=0)
def work(seconds):
    time.sleep(seconds)
    return 1
done = 0
while not os.path.exists(END):
    print('wave', flush=True)
    done += sum(ray.get([work.remote(random.uniform(0.5, 3)) for _ in range(random.randint(1, 5))]))
    time.sleep(random.uniform(0, 9))
print(done, 'tasks were done and none failed')";

/// While no Ostler lives: at most as many machines as there may be, and one for each record.
fn none_is_doubled(world: &World<'_>) {
    let machines = world.machines();
    assert!(machines.len() <= MACHINES_MAX, "too many machines: {machines:#?}");
    let instances: BTreeSet<_> = machines.values().map(|machine| &machine.instance).collect();
    assert_eq!(instances.len(), machines.len(), "a record has two machines: {machines:#?}");
    assert!(machines.values().all(|machine| machine.tokens.len() == 1), "launched twice: {machines:#?}");
}
