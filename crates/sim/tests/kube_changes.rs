//! Pools that change while they have machines: other resources, a lower maximum, and pools that are taken out.

use ostler_model::kube::PODS;
use ostler_model::{Millis, Quantity};
use ostler_sim::kube::{App, Habits, KubeWorld};

fn minutes(n: u64) -> Millis {
    Millis::secs(60 * n)
}

fn settled(world: &KubeWorld) -> bool {
    world.cluster.apps.iter().all(|(name, app)| world.cluster.placed(name) == app.replicas)
}

/// Two pools of the same nodes; the second costs more.
fn two_pools() -> KubeWorld {
    let mut world = KubeWorld::new();
    world.pool("p", 4, 16, 100, 10);
    world.pool("q", 4, 16, 120, 10);
    world
}

/// What the last plan says of a record of the pool that is up.
fn why(world: &KubeWorld, pool: &str) -> String {
    let picture = world.picture();
    let line = picture.lines().find(|line| line.starts_with(&format!("{pool} running")));
    line.unwrap_or_else(|| panic!("{picture}")).to_owned()
}

/// What nodes of the old configuration are like says nothing of new ones, whether these live or have gone; also if
/// the provider does not say how its machines are made.
#[test]
fn changed_resources_of_a_pool_take_effect() {
    for (hash, live) in [(true, true), (true, false), (false, false)] {
        let mut world = KubeWorld::new();
        world.pool("p", 4, 16, 100, 10).launch_hash = if hash { "four" } else { "" }.into();
        world.app("web", App::new("web", 1, 3000, 512));
        world.until("it runs", minutes(5), settled);
        world.run(minutes(1));
        if !live {
            world.scale("web", 0);
            world.until("its node is gone", minutes(10), |w| w.cloud.is_empty());
        }
        world.pools[0].resources.0.insert("cpu".into(), Quantity::units(8));
        if hash {
            world.pools[0].launch_hash = "eight".into();
        }
        world.app("wide", App::new("wide", 1, 6000, 512));
        world.until("it runs on a larger node", minutes(5), |w| w.cluster.placed("wide") == 1);
    }
}

/// If the provider does not say how its machines are made, a node that lives is believed.
#[test]
fn live_nodes_of_the_present_configuration_are_believed() {
    let mut world = KubeWorld::new();
    world.pool("p", 4, 16, 100, 10);
    world.app("web", App::new("web", 1, 3000, 512));
    world.until("it runs", minutes(5), settled);
    world.run(minutes(1));
    world.pools[0].resources.0.insert("cpu".into(), Quantity::units(8));
    world.app("wide", App::new("wide", 1, 6000, 512));
    world.run(minutes(10));
    assert_eq!(world.cloud.made, 1, "{}", world.picture());
}

/// Empty ones go at once, those with pods once other nodes are up for these.
#[test]
fn machines_of_a_pool_that_is_taken_out_go_gently() {
    let mut world = two_pools();
    world.app("web", App { min_available: Some(1), ..App::new("web", 2, 3000, 512) });
    world.until("both run", minutes(5), settled);
    world.run(minutes(2));
    world.pools.remove(0);
    world.until("p is gone", minutes(60), |w| w.cloud.count("p") == 0 && settled(w));
    assert!(world.cluster.fewest["web"] >= 1, "{}", world.picture());
    world.run(minutes(30));
    assert_eq!((world.cloud.made, world.cluster.evictions), (4, 2), "{}", world.picture());
    world.scale("web", 0);
    world.until("no node is left", minutes(10), |w| w.cloud.is_empty());
}

#[test]
fn empty_machines_of_a_pool_that_is_taken_out_go() {
    let mut world = two_pools();
    world.pools.truncate(1);
    world.pools[0].min = 2;
    world.until("both are up", minutes(5), |w| w.in_state(ostler_lifecycle::StateName::Running) == 2);
    world.pools.clear();
    world.pool("q", 4, 16, 120, 10);
    world.until("they are gone", minutes(5), |w| w.cloud.is_empty());
}

/// If its provider left with the pool, nobody could end the machine: nothing on it is disturbed.
#[test]
fn machines_of_a_provider_that_is_taken_out_are_left_alone() {
    let mut world = two_pools();
    world.app("web", App::new("web", 1, 1000, 512));
    world.until("it runs", minutes(5), settled);
    world.pools.remove(0);
    world.cloud.unlisted.insert("p".into());
    world.run(minutes(20));
    assert_eq!((world.cloud.made, world.cluster.evictions), (1, 0), "{}", world.picture());
    assert!(why(&world, "p").contains("its pool cannot be seen"), "{}", world.picture());
}

/// A pod without another place keeps its node, which says that its pool is no longer there.
#[test]
fn without_another_place_they_stay_and_say_why() {
    let mut world = KubeWorld::new();
    world.pool("p", 8, 16, 100, 10);
    world.pool("q", 4, 16, 100, 10);
    world.app("web", App::new("web", 1, 6000, 512));
    world.until("it runs", minutes(5), settled);
    world.pools.remove(0);
    world.run(minutes(20));
    assert_eq!((world.cloud.count("p"), world.cloud.made), (1, 1), "{}", world.picture());
    let why = why(&world, "p");
    assert!(why.contains("its pool is not configured any more, but pod web-"), "{why}");
    let said = world.said.iter().filter(|text| text.starts_with("it is not configured any more"));
    assert_eq!(said.count(), 1, "{:?}", world.said);
    let pools = &world.last.as_ref().expect("a plan").report.pools;
    let line = pools.iter().find(|pool| pool.pool.as_str() == "p").expect("it is reported");
    assert_eq!((line.max, line.states.values().sum::<u32>()), (0, 1));
}

/// Machines on their way when their pool is taken out take the pods that wait for them; nothing else is bought for
/// these at once.
#[test]
fn pods_do_not_bring_new_nodes_while_those_of_a_pool_that_is_taken_out_come_up() {
    let mut world = two_pools();
    world.app("web", App::new("web", 2, 3000, 512));
    world.run(Millis::secs(30));
    assert_eq!((world.cloud.count("p"), world.cluster.placed("web")), (2, 0), "{}", world.picture());
    world.pools.remove(0);
    world.until("both run", minutes(5), settled);
    assert_eq!(world.cloud.count("q"), 0, "{}", world.picture());
    world.until("p is gone", minutes(60), |w| w.cloud.count("p") == 0 && settled(w));
}

/// Busy nodes over a maximum that was lowered give way where another pool takes their pods.
#[test]
fn a_lowered_maximum_is_reached_where_pods_have_another_place() {
    let mut world = two_pools();
    world.pools[0].max = 6;
    world.pools[0].min = 2;
    world.app("web", App::new("web", 5, 3000, 512));
    world.until("all run", minutes(5), settled);
    assert_eq!(world.cloud.count("p"), 5);
    world.pools[0].max = 3;
    world.until("three are left", minutes(60), |w| w.cloud.count("p") == 3 && settled(w));
    world.run(minutes(60));
    assert_eq!((world.cloud.count("p"), world.cloud.count("q")), (3, 2), "{}", world.picture());
    world.pools[1].max = 0;
    world.run(minutes(5));
    let why = why(&world, "q");
    assert!(why.contains("its pool is over its maximum, but pod web-"), "{why}");
}

/// What is learnt is learnt from the machines of the present configuration, and is as true as it was before.
#[test]
fn nodes_that_show_less_than_is_declared_of_them_are_learnt_anew() {
    let cores = |n: i64| {
        let amounts = [
            ("cpu", Quantity::units(n)),
            ("memory", Quantity::units(16 << 30)),
            (PODS, Quantity::units(110)),
        ];
        amounts.into_iter().collect()
    };
    let mut world = KubeWorld::new();
    world.policy.replace_outdated = true;
    world.pool("p", 4, 16, 100, 10).launch_hash = "1".into();
    world.cloud.habits.insert("p".into(), Habits { allocatable: Some(cores(3)), ..Habits::default() });
    world.app("web", App::new("web", 3, 1000, 512));
    world.until("they run", minutes(5), settled);
    world.pools[0].launch_hash = "2".into();
    world.until("it is made anew", minutes(60), |w| w.cloud.made > 1 && w.cloud.len() == 1 && settled(w));
    let learned = &world.memory.kube.learned[&world.pools[0].id];
    assert_eq!((&*learned.launch_hash, learned.allocatable.get("cpu")), ("2", Quantity::units(3)));
    let made = world.cloud.made;
    world.run(minutes(30));
    assert_eq!(world.cloud.made, made, "{}", world.picture());
}
