//! A virtual Kubernetes cluster: growth, shrinking, drains, refusals, crashes. Names in brackets are those of users'
//! reports that the test answers.

use expect_test::expect;
use ostler_lifecycle::StateName;
use ostler_model::kube::{Taint, TaintEffect};
use ostler_model::{FailureClass, Millis, Quantity};
use ostler_sim::kube::{App, Habits, KubeWorld};

/// Every pod that is wanted is there and placed.
fn settled(world: &KubeWorld) -> bool {
    world.cluster.apps.iter().all(|(name, app)| world.cluster.placed(name) == app.replicas)
}

fn minutes(n: u64) -> Millis {
    Millis::secs(60 * n)
}

/// One pool of nodes with 4 cores.
fn small(max: u32) -> KubeWorld {
    let mut world = KubeWorld::new();
    world.pool("general", 4, 16, 100, max);
    world
}

#[test]
fn pods_bring_nodes_and_nodes_go_with_them() {
    let mut world = small(10);
    world.app("web", App::new("web", 4, 1000, 512));
    world.until("four pods run", minutes(5), |w| w.cluster.placed("web") == 4);
    assert_eq!(world.cloud.made, 1, "four pods of one core on one node");
    world.scale("web", 8);
    world.until("eight pods run", minutes(5), |w| w.cluster.placed("web") == 8);
    assert_eq!(world.cloud.made, 2);
    world.scale("web", 0);
    world.until("no node is left", minutes(5), |w| w.cloud.is_empty());
    world.run(minutes(5));
    assert_eq!(world.cloud.made, 2, "and none comes back");
}

#[test]
fn a_pod_too_large_for_every_pool_brings_nothing() {
    let mut world = small(10);
    world.app("huge", App::new("huge", 3, 100_000, 512));
    world.run(minutes(10));
    assert_eq!(world.cloud.made, 0);
    let report = &world.last.as_ref().expect("a plan").report;
    assert_eq!(report.unplaced.len(), 1, "{}", world.picture());
    assert_eq!(report.unplaced[0].count, 3);
}

/// [K23] Pods that come one after the other while their node boots are not counted again.
#[test]
fn nodes_on_their_way_count() {
    let mut world = small(10);
    world.cloud.habits.insert("general".into(), Habits { boot: minutes(2), ..Habits::default() });
    for replicas in 1..=8 {
        world.app("web", App::new("web", replicas, 1000, 512));
        world.run(Millis::secs(5));
    }
    world.until("eight pods run", minutes(5), |w| w.cluster.placed("web") == 8);
    world.run(minutes(10));
    assert_eq!(world.cloud.made, 2, "{}", world.picture());
}

/// [K22, K50] A refused pool's pods go elsewhere in the next pass, without new pods.
#[test]
fn a_refusal_is_answered_elsewhere_at_once() {
    let mut world = KubeWorld::new();
    world.pool("spot", 4, 16, 30, 10);
    world.pool("on-demand", 4, 16, 100, 10);
    let sold_out = Habits { refuse: Some(FailureClass::OutOfCapacity), ..Habits::default() };
    world.cloud.habits.insert("spot".into(), sold_out);
    world.app("web", App::new("web", 10, 1000, 512));
    world.run(Millis::secs(15));
    assert_eq!(world.cloud.count("on-demand"), 3, "{}", world.picture());
    world.until("ten pods run", minutes(5), |w| w.cluster.placed("web") == 10);
    world.run(minutes(60));
    assert!(world.cloud.asked[&ostler_model::PoolId::new("spot")] <= 60, "[K41] {:?}", world.cloud.asked);
    assert_eq!(world.cloud.count("on-demand"), 3);
}

/// [K29] What one pool can give is taken, the rest comes from the next.
#[test]
fn partial_success_falls_back() {
    let mut world = KubeWorld::new();
    world.kube().expander = ostler_model::kube::Expander::Priority;
    world.pool("spot", 4, 16, 30, 100).priority = 100;
    world.pool("on-demand", 4, 16, 100, 100).priority = 10;
    world.cloud.habits.insert("spot".into(), Habits { stock: Some(5), ..Habits::default() });
    world.app("web", App::new("web", 40, 1000, 512));
    world.until("all pods run", minutes(5), |w| w.cluster.placed("web") == 40);
    assert_eq!((world.cloud.count("spot"), world.cloud.count("on-demand")), (5, 5), "{}", world.picture());
}

/// [K10, K59] A node that never becomes ready is given up, tried elsewhere, and removed.
#[test]
fn a_node_that_never_becomes_ready_is_replaced_elsewhere() {
    let mut world = KubeWorld::new();
    world.pool("broken", 4, 16, 50, 10);
    world.pool("good", 4, 16, 100, 10);
    world.cloud.habits.insert("broken".into(), Habits { never_ready: true, ..Habits::default() });
    world.app("web", App::new("web", 4, 1000, 512));
    world.run(minutes(4));
    assert_eq!(world.cloud.made, 1, "until it is overdue it counts");
    world.until("the pods run", minutes(5), |w| w.cluster.placed("web") == 4);
    world.run(minutes(2));
    assert_eq!((world.cloud.count("broken"), world.cloud.count("good")), (0, 1), "{}", world.picture());
}

/// Nodes that are ready and keep a taint of their start are on their way: nothing is bought for the same pods again.
/// Something deletes each node the moment it is there: the provider has said yes, and lists nothing.
#[test]
fn machines_that_are_gone_before_they_are_listed_are_not_waited_for() {
    let mut world = KubeWorld::new();
    world.pool("spot", 4, 16, 30, 10);
    world.pool("on-demand", 4, 16, 100, 10);
    world.cloud.habits.insert("spot".into(), Habits { fleeting: true, ..Habits::default() });
    world.app("web", App::new("web", 10, 1000, 512));
    world.run(minutes(1));
    assert_eq!(world.cloud.count("on-demand"), 3, "{}", world.picture());
    world.until("ten pods run", minutes(2), |w| w.cluster.placed("web") == 10);
    world.run(minutes(60));
    // Rests of 30 s, 1, 2, 4, 8 and 10 minutes: 10 tries in an hour, with 3 machines, each asked for 4 times.
    assert!(world.cloud.asked[&ostler_model::PoolId::new("spot")] <= 120, "{:?}", world.cloud.asked);
}

/// It was an accident: the next attempt is one, and at once.
#[test]
fn a_machine_that_is_gone_before_it_is_listed_is_asked_for_again() {
    let mut world = small(10);
    world.cloud.habits.insert("general".into(), Habits { fleeting: true, ..Habits::default() });
    world.app("web", App::new("web", 4, 1000, 512));
    world.until("a machine is asked for", minutes(1), |w| w.cloud.made == 1);
    world.cloud.habits.clear();
    world.until("four pods run", minutes(2), |w| w.cluster.placed("web") == 4);
    assert_eq!(world.cloud.made, 2, "{}", world.picture());
}

#[test]
fn taints_of_the_start_are_waited_for() {
    let mut world = KubeWorld::new();
    let taint = Taint { key: "net/agent".into(), value: "".into(), effect: TaintEffect::NoSchedule };
    world.pool("general", 4, 16, 100, 10).node.as_mut().expect("a node").startup_taints.push(taint);
    world.cloud.habits.insert("general".into(), Habits { startup: minutes(3), ..Habits::default() });
    world.app("web", App::new("web", 8, 1000, 512));
    world.run(minutes(3));
    assert_eq!((world.cloud.made, world.cluster.placed("web")), (2, 0), "{}", world.picture());
    world.until("eight pods run", minutes(3), settled);
    assert_eq!(world.cloud.made, 2, "{}", world.picture());
    // One that never loses it is given up.
    world.cloud.habits.insert("general".into(), Habits { startup: minutes(60), ..Habits::default() });
    world.app("web", App::new("web", 12, 1000, 512));
    world.run(minutes(30));
    assert!(world.cloud.made > 3 && world.cloud.len() == 3, "{}", world.picture());
}

/// The scheduler knows nothing of what a pool promises: pods are at work on a node that we do not take for up yet.
#[test]
fn a_node_that_lacks_something_is_not_ended_under_its_pods() {
    let mut world = KubeWorld::new();
    let pool = world.pool("gpu", 4, 16, 100, 10);
    let has = pool.resources.clone();
    pool.resources.0.insert("example.com/gpu".into(), Quantity::units(1));
    world.cloud.habits.insert("gpu".into(), Habits { allocatable: Some(has), ..Habits::default() });
    world.app("web", App::new("web", 4, 1000, 512));
    world.until("they run", minutes(5), settled);
    world.run(minutes(60));
    assert_eq!((world.cloud.made, world.cluster.evictions), (1, 0), "{}", world.picture());
    world.scale("web", 0);
    world.until("it goes when nothing is on it", minutes(60), |w| w.cloud.is_empty());
}

#[test]
fn fragmentation_keeps_a_node() {
    let mut world = small(3);
    // Three nodes with one pod of 3 cores and one small pod each: a third of a node is free on each, no whole place.
    world.app("big", App::new("big", 3, 3000, 512));
    world.until("they run", minutes(5), |w| w.cluster.placed("big") == 3);
    world.run(minutes(20));
    assert_eq!(world.cloud.len(), 3);
    assert_eq!(world.cluster.evictions, 0, "{}", world.picture());
}

#[test]
fn underused_nodes_are_emptied_onto_others() {
    let mut world = small(10);
    world.app("web", App::new("web", 12, 1000, 512));
    world.until("they run", minutes(5), |w| w.cluster.placed("web") == 12);
    assert_eq!(world.cloud.len(), 3);
    world.scale("web", 4);
    world.until("one node is left", minutes(20), |w| w.cloud.len() == 1 && settled(w));
    let evictions = world.cluster.evictions;
    world.run(minutes(30));
    assert_eq!(world.cluster.evictions, evictions, "[K35] quiet when converged");
}

/// A budget that allows nothing keeps the node; once it allows again, the node goes.
#[test]
fn budgets_hold_and_let_go() {
    let mut world = small(10);
    world.app("filler", App::new("filler", 3, 1000, 512));
    world.app("web", App { min_available: Some(2), ..App::new("web", 2, 1000, 512) });
    world.until("they run", minutes(5), settled);
    assert_eq!(world.cloud.len(), 2);
    world.scale("filler", 0);
    world.run(minutes(20));
    assert!(world.cluster.fewest["web"] >= 2, "never below the budget");
    world.cluster.apps.get_mut("web").expect("an app").min_available = Some(1);
    world.until("one node is left", minutes(20), |w| w.cloud.len() == 1 && settled(w));
    assert!(world.cluster.fewest["web"] >= 1);
}

/// What goes says why, as long as it is there.
#[test]
fn a_node_on_its_way_out_says_why_it_goes() {
    let mut world = small(10);
    world.app("web", App::new("web", 8, 1000, 512));
    world.until("they run", minutes(5), settled);
    world.scale("web", 2);
    world.until("a node is drained", minutes(20), |w| w.in_state(StateName::Terminating) > 0);
    let report = &world.last.as_ref().expect("a plan").report;
    let going = report.instances.iter().filter(|record| record.state == StateName::Terminating);
    let said: Vec<_> = going.map(|record| record.reason.as_ref().map(ToString::to_string)).collect();
    expect![[r#"
        [
            Some(
                "little used, and all on it has a place elsewhere",
            ),
        ]
    "#]]
    .assert_debug_eq(&said);
}

#[test]
fn a_drain_is_taken_back_when_the_room_is_wanted_again() {
    let mut world = small(2);
    world.app("stuck", App { min_available: Some(1), ..App::new("stuck", 1, 500, 512) });
    world.app("web", App::new("web", 7, 1000, 512));
    world.until("they run", minutes(5), settled);
    world.scale("web", 3);
    world.until("a drain begins", minutes(20), |w| {
        w.in_state(StateName::Draining) + w.in_state(StateName::DrainRequested) > 0 || w.cloud.len() == 1
    });
    world.scale("web", 7);
    world.until("all run", minutes(5), settled);
    world.run(minutes(5));
    assert_eq!(world.in_state(StateName::Draining), 0, "{}", world.picture());
}

/// [K34] The minimum holds when there is no load, and comes by itself.
#[test]
fn minimum_and_maximum_hold() {
    let mut world = small(4);
    world.pools[0].min = 2;
    world.until("two nodes", minutes(5), |w| w.in_state(StateName::Running) == 2);
    world.app("web", App::new("web", 100, 1000, 512));
    world.run(minutes(10));
    assert_eq!(world.cloud.len(), 4);
    world.scale("web", 0);
    world.run(minutes(20));
    assert_eq!(world.cloud.len(), 2, "{}", world.picture());
}

/// [K71] A large node with one small pod is replaced by a small one, which is there first.
#[test]
fn a_large_node_is_replaced_by_a_small_one() {
    let mut world = KubeWorld::new();
    world.pool("large", 16, 64, 800, 5);
    world.pool("small", 2, 8, 100, 5);
    world.app("web", App::new("web", 10, 1500, 512));
    world.until("they run", minutes(5), settled);
    world.scale("web", 1);
    world.until("one small node", minutes(60), |w| {
        w.cloud.len() == 1 && w.cloud.count("small") == 1 && settled(w)
    });
    let made = world.cloud.made;
    world.run(minutes(60));
    assert_eq!(world.cloud.made, made, "[K35] no way back\n{}", world.picture());
}

/// Ostler is killed in every fifth pass: nothing is doubled, nothing is stuck.
#[test]
fn crashes_double_nothing() {
    let mut world = small(10);
    world.app("web", App::new("web", 16, 1000, 512));
    for _ in 0..20 {
        world.run(Millis::secs(25));
        world.crash();
    }
    assert_eq!(world.cluster.placed("web"), 16);
    assert_eq!(world.cloud.made, 4);
    world.scale("web", 2);
    for _ in 0..60 {
        world.run(Millis::secs(25));
        world.crash();
    }
    assert_eq!(world.cloud.len(), 1, "{}", world.picture());
}

/// A store that was lost: the machines are found again, and no busy node is touched.
#[test]
fn a_lost_store_touches_no_busy_node() {
    let mut world = small(10);
    world.app("web", App::new("web", 16, 1000, 512));
    world.until("they run", minutes(5), settled);
    world.records.clear();
    world.memory = ostler_planner::Memory { seed: 7, ..Default::default() };
    world.crash();
    world.run(minutes(20));
    assert_eq!((world.cloud.made, world.cluster.evictions), (4, 0), "{}", world.picture());
    assert_eq!(world.in_state(StateName::Running), 4);
}

/// A drain that a crash of the store left behind is taken away.
#[test]
fn marks_of_drains_that_nobody_wants_are_removed() {
    let mut world = small(10);
    world.app("web", App::new("web", 4, 1000, 512));
    world.until("they run", minutes(5), settled);
    let node = ostler_model::NodeId::new("node-m-1");
    world.cluster.draining.insert(node, world.now + minutes(1000));
    world.until("the mark is gone", minutes(2), |w| w.cluster.draining.is_empty());
    assert_eq!(world.cluster.evictions, 0);
}

/// A pod that could go to two machines on their way does not take the place of one that could not.
#[test]
fn machines_on_their_way_are_for_those_that_they_were_bought_for() {
    let mut world = KubeWorld::new();
    let taint = |value: &str| ostler_model::kube::Taint {
        key: "dedicated".into(),
        value: value.into(),
        effect: ostler_model::kube::TaintEffect::NoSchedule,
    };
    world.pool("general", 4, 16, 100, 3);
    world.pool("other", 4, 16, 20, 3).node.as_mut().expect("a node").taints = vec![taint("other")];
    world.app("plain", App::new("plain", 1, 3000, 512));
    let mut others = App::new("others", 1, 3000, 512);
    others.spec.tolerations = vec![ostler_model::kube::Toleration {
        key: Some("dedicated".into()),
        value: Some("other".into()),
        effect: None,
        compare: None,
    }];
    world.app("others", others);
    // Once both are up the scheduler may choose as it likes; until then nothing more is bought.
    world.run(Millis::secs(50));
    assert_eq!((world.cloud.count("general"), world.cloud.count("other")), (1, 1), "{}", world.picture());
}

/// [K53] What nodes really let pods use is learnt from the first one: no machine is bought that would be too small,
/// and none that is not needed.
#[test]
fn what_nodes_are_really_like_is_learnt() {
    let cores = |n: i64| -> ostler_model::Resources {
        let cpu = ostler_model::Quantity::units(n);
        let memory = ostler_model::Quantity::units(16 << 30);
        let pods = ostler_model::Quantity::units(110);
        [("cpu", cpu), ("memory", memory), ("pods", pods)].into_iter().collect()
    };
    // Less than promised: pods that would fit on what was promised bring nothing.
    let mut world = small(10);
    world.cloud.habits.insert("general".into(), Habits { allocatable: Some(cores(3)), ..Habits::default() });
    world.app("web", App::new("web", 6, 1000, 512));
    world.until("six pods run", minutes(10), settled);
    assert_eq!(world.cloud.len(), 2, "{}", world.picture());
    world.app("wide", App::new("wide", 2, 3500, 512));
    let made = world.cloud.made;
    world.run(minutes(20));
    assert_eq!(world.cloud.made, made, "{}", world.picture());
    // More than promised: the second plan counts with it.
    let mut world = small(10);
    world.cloud.habits.insert("general".into(), Habits { allocatable: Some(cores(6)), ..Habits::default() });
    world.app("web", App::new("web", 4, 1000, 512));
    world.until("four pods run", minutes(10), settled);
    world.scale("web", 12);
    world.until("twelve pods run", minutes(10), settled);
    assert_eq!(world.cloud.made, 2, "{}", world.picture());
}

/// [K28] What was asked for and is not wanted any more goes as soon as it has come.
#[test]
fn what_is_not_wanted_any_more_does_not_stay() {
    let mut world = small(10);
    world.cloud.habits.insert("general".into(), Habits { boot: minutes(4), ..Habits::default() });
    world.app("web", App::new("web", 20, 1000, 512));
    world.run(Millis::secs(30));
    assert_eq!(world.cloud.made, 5);
    world.scale("web", 0);
    world.until("all are gone", minutes(15), |w| w.cloud.is_empty());
    world.run(minutes(10));
    assert_eq!(world.cloud.made, 5, "{}", world.picture());
}

/// In shadow everything is decided and nothing is done.
#[test]
fn in_shadow_nothing_is_done() {
    let mut world = small(10);
    world.kube().shadow = true;
    world.app("web", App::new("web", 8, 1000, 512));
    world.run(minutes(5));
    assert_eq!((world.cloud.made, world.records.len()), (0, 0));
    let notes = &world.last.as_ref().expect("a plan").report;
    assert!(notes.hold.is_some(), "{notes:?}");
    assert!(world.said.iter().any(|text| text == "would launch 2 for demand"), "{:?}", world.said);
}
