//! What users of other autoscalers reported, played out in a virtual Kubernetes cluster; the numbers are those of
//! `docs/kubernetes.md`.

use ostler_lifecycle::StateName;
use ostler_model::kube::{Expander, LabelSelector, Spread};
use ostler_model::{FailureClass, Millis, NodeId, Quantity, Resources};
use ostler_sim::kube::{App, Habits, KubeWorld};
use std::collections::BTreeSet;

fn settled(world: &KubeWorld) -> bool {
    world.cluster.apps.iter().all(|(name, app)| world.cluster.placed(name) == app.replicas)
}

fn minutes(n: u64) -> Millis {
    Millis::secs(60 * n)
}

fn small(max: u32) -> KubeWorld {
    let mut world = KubeWorld::new();
    world.pool("general", 4, 16, 100, max);
    world
}

/// Pods of this app lie evenly over the places of a label.
fn even(mut app: App, topology: &str) -> App {
    let selector = LabelSelector { labels: app.spec.labels.clone(), ..LabelSelector::default() };
    app.spec.spread = vec![Spread {
        topology: topology.into(),
        max_skew: 1,
        min_domains: 0,
        selector: Some(selector),
        honor_affinity: true,
        honor_taints: false,
    }];
    app
}

/// [K19] A node is made anew: its successor is up before the one pod there is evicted.
#[test]
fn k19_the_successor_is_there_before_the_pod_goes() {
    let mut world = small(10);
    world.policy.replace_outdated = true;
    world.pools[0].launch_hash = "old".into();
    world.app("web", App::new("web", 1, 1000, 512));
    world.until("it runs", minutes(5), settled);
    world.pools[0].launch_hash = "new".into();
    world.until("it is evicted", minutes(60), |w| w.cluster.evictions > 0);
    assert_eq!(world.cloud.made, 2, "{}", world.picture());
    assert_eq!(world.in_state(StateName::Running), 1, "the successor is up: {}", world.picture());
    world.until("the old one is gone", minutes(5), |w| w.cloud.len() == 1 && settled(w));
    world.run(minutes(30));
    assert_eq!((world.cloud.made, world.cluster.evictions), (2, 1), "{}", world.picture());
}

/// [K19] Two nodes are made anew, with a replica each: one of them is always there.
#[test]
fn k19_never_are_all_replicas_away() {
    let mut world = small(10);
    world.policy.replace_outdated = true;
    world.pools[0].launch_hash = "old".into();
    world.app("web", App { min_available: Some(1), ..App::new("web", 2, 3000, 512) });
    world.until("both run", minutes(5), settled);
    world.pools[0].launch_hash = "new".into();
    world
        .until("both are made anew", minutes(120), |w| w.cloud.made == 4 && w.cloud.len() == 2 && settled(w));
    assert!(world.cluster.fewest["web"] >= 1);
    world.run(minutes(30));
    assert_eq!(world.cloud.made, 4, "{}", world.picture());
}

/// [K41] A pool of thirty offers that are all sold out does not keep demand from the next pool, and is not asked
/// again and again.
#[test]
fn k41_sold_out_offers_are_not_tried_one_by_one() {
    let mut world = KubeWorld::new();
    for n in 0..30 {
        let id = format!("spot-{n:02}");
        let pool = world.pool(&id, 4, 16, 30 + n, 10);
        pool.node.as_mut().expect("a node").group = Some("spot".into());
        let sold_out = Habits { refuse: Some(FailureClass::OutOfCapacity), ..Habits::default() };
        world.cloud.habits.insert(id.as_str().into(), sold_out);
    }
    world.pool("on-demand", 4, 16, 100, 10);
    world.app("web", App::new("web", 4, 1000, 512));
    world.until("another pool is asked", Millis::secs(60), |w| w.cloud.count("on-demand") == 1);
    world.run(minutes(60));
    let asked: usize =
        world.cloud.asked.iter().filter(|(id, _)| id.as_str().starts_with("spot")).map(|(_, n)| n).sum();
    assert!(asked <= 60, "{:?}", world.cloud.asked);
    // One of them can be had again: it is found in the end, and takes the place of the dearer one.
    world.cloud.habits.remove("spot-20");
    world.until("it is found", minutes(180), |w| w.cloud.count("spot-20") == 1 && w.cloud.len() == 1);
}

/// [K46] More nodes than a plan tries to replace: each plan begins where the last one ended, planning again at the same
/// moment begins where that plan did (as all these tests demand), and that alone is no reason to plan without rest.
#[test]
fn k46_each_node_has_its_turn() {
    let mut world = small(230);
    world.pool("tiny", 1, 1, 10, 10);
    world.app("web", App::new("web", 230, 3500, 512));
    world.until("they run", minutes(5), settled);
    world.run(minutes(1));
    let mut turns = BTreeSet::new();
    for _ in 0..3 {
        let before = world.memory.clone();
        world.run(Millis::secs(5));
        assert!(world.last.as_ref().is_some_and(|plan| plan.is_quiet(&before)), "{}", world.picture());
        turns.extend(world.memory.kube.turn.as_ref().and_then(|turn| turn.next.replace.clone()));
    }
    assert_eq!(turns.len(), 3, "{turns:?}");
}

/// [K49] A job that comes to some node every quarter of an hour does not keep them all.
#[test]
fn k49_short_jobs_do_not_keep_every_node() {
    let mut world = small(20);
    world.kube().unneeded = minutes(60);
    world.app("web", App::new("web", 10, 3000, 512));
    world.until("ten nodes", minutes(5), |w| settled(w) && w.cloud.len() == 10);
    // Ten nodes at a fifth: as many pods as before, smaller ones.
    world
        .cluster
        .apps
        .get_mut("web")
        .expect("an app")
        .spec
        .requests
        .0
        .insert("cpu".into(), Quantity::ten_thousandths(8000));
    for n in 0..12 {
        let name = format!("job-{n}");
        let job = App { owner: Some("Job"), ..App::new(&name, 1, 500, 128) };
        world.app(&name, job);
        world.run(minutes(2));
        world.scale(&name, 0);
        world.run(minutes(13));
    }
    assert!(world.cloud.len() <= 4, "{}", world.picture());
}

/// [K53] Nodes turn out larger than they were thought: what is on two of them moves to one.
#[test]
fn k53_nodes_that_are_larger_than_thought_are_merged() {
    let mut world = small(10);
    let real: Resources = [
        ("cpu", Quantity::units(8)),
        ("memory", Quantity::units(16 << 30)),
        (ostler_model::kube::PODS, Quantity::units(110)),
    ]
    .into_iter()
    .collect();
    world.cloud.habits.insert("general".into(), Habits { allocatable: Some(real), ..Habits::default() });
    world.app("web", App::new("web", 4, 2000, 512));
    world.until("they run", minutes(5), settled);
    assert_eq!(world.cloud.made, 2, "as many as were thought to be needed");
    world.until("one is left", minutes(30), |w| w.cloud.len() == 1 && settled(w));
    world.scale("web", 8);
    world.until("they run again", minutes(10), settled);
    assert_eq!(world.cloud.made, 3, "{}", world.picture());
}

/// [K59] A machine that never becomes a node does not fill the minimum; nor does a node that is lost.
#[test]
fn k59_the_minimum_is_of_nodes_that_work() {
    let mut world = small(10);
    world.pools[0].min = 3;
    world.cloud.habits.insert("general".into(), Habits { never_ready: true, ..Habits::default() });
    world.run(Millis::secs(10));
    world.cloud.habits.clear();
    world.until("three nodes", minutes(15), |w| w.in_state(StateName::Running) == 3);
    assert_eq!(world.cloud.len(), 3, "{}", world.picture());
    let lost = world.records.values().find_map(|record| record.state().node().cloned()).expect("a node");
    world.cluster.lost.insert(lost.clone(), world.now);
    let there =
        |w: &KubeWorld, node: &NodeId| w.records.values().any(|record| record.state().node() == Some(node));
    world.until("it is replaced", minutes(20), |w| !there(w, &lost) && w.in_state(StateName::Running) == 3);
    world.run(minutes(20));
    assert_eq!(world.cloud.len(), 3, "{}", world.picture());
}

/// Pods that must lie evenly over hosts wait for a host's end where they fit only then; the drain goes on, and nothing
/// is bought for them.
#[test]
fn drains_of_pods_that_lie_evenly_come_to_an_end() {
    let mut world = small(10);
    world.app("big", App::new("big", 4, 3500, 512));
    world.app("web", even(App::new("web", 4, 400, 128), ostler_model::kube::HOSTNAME));
    world.until("four nodes", minutes(5), |w| settled(w) && w.cloud.len() == 4);
    world.scale("big", 0);
    world.until("one is left", minutes(60), |w| settled(w) && w.cloud.len() == 1);
    let (made, evictions) = (world.cloud.made, world.cluster.evictions);
    assert_eq!(made, 4, "{}", world.picture());
    world.run(minutes(60));
    assert_eq!((world.cloud.made, world.cluster.evictions), (made, evictions), "{}", world.picture());
}

/// The same with a budget that lets go of one at a time, and two of them on a host: it would wait for a pod that waits
/// for it. So the hosts stay.
#[test]
fn a_drain_that_would_wait_for_itself_is_not_begun() {
    let mut world = small(10);
    world.app("big", App::new("big", 2, 3000, 512));
    let web = even(App::new("web", 4, 400, 128), ostler_model::kube::HOSTNAME);
    world.app("web", App { min_available: Some(3), ..web });
    world.until("two nodes", minutes(5), |w| settled(w) && w.cloud.len() == 2);
    let evictions = world.cluster.evictions;
    world.scale("big", 0);
    world.run(minutes(120));
    assert_eq!((world.cloud.len(), world.cluster.evictions), (2, evictions), "{}", world.picture());
}

/// [K22, K50] Also where the expander goes by priority, and for all pods at once.
#[test]
fn k50_weights_fall_back_at_once() {
    let mut world = KubeWorld::new();
    world.kube().expander = Expander::Priority;
    world.pool("spot", 4, 16, 30, 10).priority = 100;
    world.pool("on-demand", 4, 16, 100, 10).priority = 10;
    let habits = Habits { refuse: Some(FailureClass::OutOfCapacity), ..Habits::default() };
    world.cloud.habits.insert("spot".into(), habits);
    world.app("web", App::new("web", 10, 1000, 512));
    world.run(Millis::secs(15));
    assert_eq!((world.cloud.count("spot"), world.cloud.count("on-demand")), (0, 3), "{}", world.picture());
}

/// What the expander chose is not given up for what is cheaper, only to be chosen again for the next pods. What it would
/// choose itself by now takes its place.
#[test]
fn what_the_expander_chose_is_not_undone() {
    // Three pods fill one large node; by waste a small one is worse, since it takes one pod of the second kind.
    for (expander, cpu) in [(Expander::MostPods, 2000), (Expander::LeastWaste, 1500)] {
        let mut world = KubeWorld::new();
        world.kube().expander = expander;
        world.pool("small", 2, 8, 100, 50);
        world.pool("large", 6, 24, 800, 50);
        world.app("web", App::new("web", 6000 / cpu as usize, cpu, 4 * cpu));
        world.until("they run", minutes(5), settled);
        assert_eq!(world.cloud.count("large"), 1, "{expander:?}: {}", world.picture());
        world.run(minutes(30));
        assert_eq!((world.cloud.made, world.cluster.evictions), (1, 0), "{expander:?}: {}", world.picture());
        world.scale("web", 1);
        world.until("a small one is left", minutes(20), |w| {
            settled(w) && w.cloud.len() == 1 && w.cloud.count("small") == 1
        });
        world.run(minutes(30));
        assert_eq!(world.cloud.made, 2, "{expander:?}: {}", world.picture());
    }
}

/// [K61] A node is not removed before the pod that it was bought for runs there, however long the scheduler takes.
#[test]
fn k61_a_node_waits_for_its_pod() {
    let mut world = small(10);
    world.kube().unneeded = Millis(0);
    world.kube().delay_after_add = Millis(0);
    world.cluster.scheduler_rests_until = Some(world.now + Millis::secs(300));
    world.app("web", App::new("web", 1, 1000, 512));
    world.run(Millis::secs(295));
    assert_eq!((world.cloud.made, world.cloud.len()), (1, 1), "{}", world.picture());
    world.until("it runs", minutes(2), settled);
    assert_eq!(world.cloud.made, 1);
}

/// Each pod is told of one pool, that of the node on which it has its place, for as long as that node is coming. A pod
/// without a place is told of none.
#[test]
fn each_pod_has_one_node_that_comes_for_it() {
    let mut world = KubeWorld::new();
    world.pool("small", 4, 16, 100, 2);
    world.pool("large", 16, 64, 400, 2);
    world.app("web", App::new("web", 2, 3000, 512));
    world.app("big", App::new("big", 2, 15_000, 512));
    world.app("huge", App::new("huge", 1, 100_000, 512));
    let comes_for = |world: &KubeWorld| {
        let pods =
            world.last.as_ref().and_then(|plan| plan.report.pods.clone()).expect("a report about pods");
        // The uid of a pod is its name, that of its app and a number.
        let app = |pod: &str| pod.rsplit_once('-').map(|(app, _)| app.to_owned()).expect("a number");
        let mut all: Vec<String> =
            pods.bring_nodes.iter().map(|(pod, pool)| format!("{} {pool}", app(pod))).collect();
        all.sort();
        all
    };
    let expected = ["big large", "big large", "web small", "web small"];
    for _ in 0..4 {
        world.run(Millis::secs(10));
        assert_eq!(comes_for(&world), expected, "{}", world.picture());
    }
    world
        .until("four pods run", minutes(5), |w| w.cluster.placed("web") == 2 && w.cluster.placed("big") == 2);
    world.run(Millis::secs(10));
    assert_eq!(comes_for(&world), [""; 0]);
}
