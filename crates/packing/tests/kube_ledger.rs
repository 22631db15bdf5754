//! Laws of the ledger: whatever was done to it, it judges as one that was made so from the start.

mod kube_world;

use kube_world::{World, bare_node, seated, world};
use ostler_model::kube::{Cluster, KubeNode, KubePolicy, PodSpec, Taint, TaintEffect};
use ostler_model::{NodeId, Quantity};
use ostler_packing::kube::ledger::{Ledger, NodeIx};
use ostler_packing::problem::Unfit;
use proptest::prelude::*;

/// Specs that look at everything and at each other.
const SPECS: &str = "
    namespace red team=x
    node n0 zone=a rack=1 cpu:4 limit:csi=2
    node n1 zone=a rack=2 cpu:4 limit:csi=1 taint:dedicated=db:NoSchedule
    node n2 zone=b rack=1 cpu:2 cordoned
    node n3 zone=b cpu:8 pods:4 feature:F
    node n4 rack=1 cpu:8
    node n5 zone=c cpu:8 nameless
    ask s0 cpu:0.5
    ask s1 app=web cpu:1 spread:zone:1
    ask s2 app=web spread:kubernetes.io/hostname:1:min=3 bear:*
    ask s3 app=db apart:kubernetes.io/hostname:app=db
    ask s4 app=db near:zone:app=web
    ask s5 app=cache near:rack:app=cache
    ask s6 ns:red app=web apart:zone:app=web:{team=x}
    ask s7 port:80
    ask s8 port:10.0.0.1:80 bear:dedicated
    ask s9 volume:v1:csi:zone=a
    ask s10 volume:v2:csi claim:c1:csi
    ask s11 volume:v3:csi::alone
    ask s12 app=web rev=2 spread:zone:1:taints spread:rack:2 in:zone=a,b
    ask s13 apart:zone:app=cache:default,red
    ask s14 name:n3 feature:F
    ask s15 want:zone=b priority:5
    ask s16 app=web near:zone:app=web near:rack:app=web
    daemon d0 cpu:0.1 app=agent bear:dedicated";

#[derive(Debug, Clone, Copy)]
enum Op {
    Place { spec: usize, node: usize, count: u32 },
    Unplace { at: usize },
    Add { template: usize },
    Remove { node: usize },
    Restore { which: usize },
    Withdraw { which: usize },
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0..64usize, 0..64usize, 1..3u32).prop_map(|(spec, node, count)| Op::Place { spec, node, count }),
        3 => (0..64usize).prop_map(|at| Op::Unplace { at }),
        1 => (0..3usize).prop_map(|template| Op::Add { template }),
        1 => (0..64usize).prop_map(|node| Op::Remove { node }),
        1 => (0..4usize).prop_map(|which| Op::Restore { which }),
        1 => (0..4usize).prop_map(|which| Op::Withdraw { which }),
    ]
}

/// Pods that are there from the start: spec, node, and what is special about them.
fn seats() -> impl Strategy<Value = Vec<(usize, usize, u8)>> {
    prop::collection::vec((0..64usize, 0..6usize, 0..8u8), 0..14)
}

fn start(seats: &[(usize, usize, u8)]) -> World {
    let mut world = world(SPECS);
    for (ix, &(spec, node, how)) in seats.iter().enumerate() {
        let spec = (spec % world.cluster.specs.len()) as u32;
        let node = world.cluster.nodes[node].id.clone();
        let mut pod = seated(&format!("p{ix}"), spec, Some(node.clone()));
        match how {
            0 => pod.terminating = true,
            1 => (pod.node, pod.nominated) = (None, Some(node)),
            _ => {}
        }
        world.cluster.pods.push(pod);
    }
    world
}

fn templates() -> [KubeNode; 3] {
    let mut all = [bare_node("t0"), bare_node("t1"), bare_node("t2")];
    for (template, zone) in all.iter_mut().zip(["a", "c", "d"]) {
        template.labels = [("zone".into(), zone.into()), ("rack".into(), "1".into())].into();
        template.allocatable.0.insert("cpu".into(), Quantity::units(3));
    }
    all[1].taints =
        vec![Taint { key: "dedicated".into(), value: "".into(), effect: TaintEffect::NoSchedule }];
    all
}

/// What a ledger has been through, so that another can be made like it.
#[derive(Debug, Default, Clone)]
struct Story {
    added: Vec<usize>,
    removed: Vec<NodeIx>,
    withdrawn: Vec<u32>,
    pods: Vec<(u32, NodeIx)>,
}

impl Story {
    fn tell<'a>(&mut self, ledger: &mut Ledger<'a>, ops: &[Op], templates: &'a [KubeNode]) {
        for &op in ops {
            let nodes: Vec<NodeIx> = ledger.nodes().collect();
            match op {
                Op::Place { spec, node, count } if !nodes.is_empty() => {
                    let (spec, node) = (spec as u32 % specs(ledger), nodes[node % nodes.len()]);
                    assert!(ledger.place_many(spec, node, count));
                    self.pods.extend((0..count).map(|_| (spec, node)));
                }
                Op::Unplace { at } if !self.pods.is_empty() => {
                    let (spec, node) = self.pods.swap_remove(at % self.pods.len());
                    let there = ledger.is_there(node);
                    assert_eq!(ledger.unplace(spec, node), there);
                    // It is on its node still, should that come back.
                    self.pods.extend((!there).then_some((spec, node)));
                }
                Op::Add { template } => {
                    let node = ledger.add_node(&templates[template]);
                    self.added.push(template);
                    self.pods.extend(ledger.pods_on(node).map(|(spec, _)| (spec, node)));
                }
                Op::Remove { node } if !nodes.is_empty() => {
                    let node = nodes[node % nodes.len()];
                    assert!(ledger.remove_node(node) && !ledger.remove_node(node));
                    self.removed.push(node);
                }
                Op::Restore { which } if !self.removed.is_empty() => {
                    let node = self.removed.remove(which % self.removed.len());
                    assert!(ledger.restore_node(node) && !ledger.restore_node(node));
                }
                Op::Withdraw { which } => {
                    let active = ledger.nominations().iter().filter(|one| one.active).nth(which);
                    if let Some(pod) = active.map(|one| one.pod) {
                        assert!(ledger.withdraw(pod));
                        self.withdrawn.push(pod);
                    }
                }
                _ => {}
            }
        }
    }

    /// The same end without the way there: pods of the cluster's nodes are bound from the start.
    fn cluster(&self, before: &Cluster) -> Cluster {
        let mut cluster = before.clone();
        for &pod in &self.withdrawn {
            cluster.pods[pod as usize].nominated = None;
        }
        cluster.daemons.clear();
        for &(spec, node) in &self.pods {
            if let Some(there) = before.nodes.get(node.0 as usize) {
                cluster.pods.push(seated("later", spec, Some(there.id.clone())));
            }
        }
        cluster
    }

    fn replay<'a>(&self, ledger: &mut Ledger<'a>, templates: &'a [KubeNode], of_cluster: usize) {
        for &template in &self.added {
            ledger.add_node(&templates[template]);
        }
        for &(spec, node) in self.pods.iter().filter(|(_, node)| node.0 as usize >= of_cluster) {
            ledger.place(spec, node);
        }
        for &node in &self.removed {
            ledger.remove_node(node);
        }
    }
}

fn specs(ledger: &Ledger<'_>) -> u32 {
    (0..).find(|&spec| ledger.spec(spec).is_none()).unwrap_or(0)
}

/// Everything that a ledger says.
fn all(ledger: &Ledger<'_>) -> Vec<(u32, NodeIx, Result<(), Unfit>, bool)> {
    let nodes = (0..ledger.len() as u32).map(NodeIx);
    let each = |node| {
        (0..specs(ledger))
            .map(move |spec| (spec, node, ledger.fit(spec, node), ledger.static_fit(spec, node)))
    };
    nodes.flat_map(each).collect()
}

/// What is free on a node, and the pods on it.
type Row = (Vec<i64>, Vec<(u32, bool)>);

fn rows(ledger: &Ledger<'_>) -> Vec<Row> {
    let row = |node| {
        let mut pods: Vec<_> = ledger.pods_on(node).collect();
        pods.sort_unstable();
        (ledger.free(node).to_vec(), if ledger.is_there(node) { pods } else { Vec::new() })
    };
    (0..ledger.len() as u32).map(NodeIx).map(row).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn judges_like_a_fresh_one(seats in seats(), ops in prop::collection::vec(op(), 0..40)) {
        let world = start(&seats);
        let (policy, templates) = (KubePolicy::default(), templates());
        let mut ledger = Ledger::new(&world.cluster, &policy);
        let mut story = Story::default();
        story.tell(&mut ledger, &ops, &templates);
        let cluster = story.cluster(&world.cluster);
        let mut fresh = Ledger::new(&cluster, &policy);
        story.replay(&mut fresh, &templates, world.cluster.nodes.len());
        prop_assert_eq!(all(&ledger), all(&fresh));
        prop_assert_eq!(rows(&ledger), rows(&fresh));
    }

    #[test]
    fn going_back_restores_everything(
        seats in seats(),
        first in prop::collection::vec(op(), 0..12),
        then in prop::collection::vec(op(), 1..30),
        again in prop::collection::vec(op(), 0..12),
    ) {
        let world = start(&seats);
        let templates = templates();
        let mut ledger = Ledger::new(&world.cluster, &KubePolicy::default());
        let mut story = Story::default();
        story.tell(&mut ledger, &first, &templates);
        let (before, rows_before) = (all(&ledger), rows(&ledger));
        let mark = ledger.mark();
        story.clone().tell(&mut ledger, &then, &templates);
        ledger.back_to(mark);
        prop_assert_eq!(&all(&ledger), &before);
        prop_assert_eq!(&rows(&ledger), &rows_before);
        // It also goes on like one that was never elsewhere.
        story.clone().tell(&mut ledger, &again, &templates);
        let mut straight = Ledger::new(&world.cluster, &KubePolicy::default());
        let mut straight_story = Story::default();
        straight_story.tell(&mut straight, &first, &templates);
        straight_story.tell(&mut straight, &again, &templates);
        prop_assert_eq!(all(&ledger), all(&straight));
        prop_assert_eq!(rows(&ledger), rows(&straight));
    }

    #[test]
    fn the_order_of_lists_does_not_matter(seats in seats(), turn in 1..6usize) {
        let world = start(&seats);
        let mut turned = world.cluster.clone();
        turned.nodes.rotate_left(turn);
        turned.pods.reverse();
        turned.specs.reverse();
        let last = turned.specs.len() as u32 - 1;
        for pod in &mut turned.pods {
            pod.spec = last - pod.spec;
        }
        for daemon in &mut turned.daemons {
            daemon.spec = last - daemon.spec;
        }
        let policy = KubePolicy::default();
        let (one, other) = (Ledger::new(&world.cluster, &policy), Ledger::new(&turned, &policy));
        for node in &world.cluster.nodes {
            let there = one.node(node.id.as_str()).unwrap();
            let here = other.node(node.id.as_str()).unwrap();
            for spec in 0..=last {
                prop_assert_eq!(one.fit(spec, there), other.fit(last - spec, here));
                prop_assert_eq!(one.is_plain(spec), other.is_plain(last - spec));
            }
        }
    }

    /// A spec that is called plain fits exactly where its statics and columns say so.
    #[test]
    fn plain_means_plain(seats in seats(), ops in prop::collection::vec(op(), 0..20)) {
        let world = start(&seats);
        let templates = templates();
        let mut ledger = Ledger::new(&world.cluster, &KubePolicy::default());
        Story::default().tell(&mut ledger, &ops, &templates);
        for node in ledger.nodes().filter(|&node| !ledger.is_awaited(node)) {
            for spec in (0..specs(&ledger)).filter(|&spec| ledger.is_plain(spec)) {
                let columns = ledger.request(spec).iter().zip(ledger.free(node));
                let room = columns.clone().all(|(&asked, &free)| asked == 0 || asked <= free);
                prop_assert_eq!(ledger.fits(spec, node), ledger.static_fit(spec, node) && room);
            }
        }
    }
}

#[test]
fn some_specs_are_plain() {
    let world = world(SPECS);
    let ledger = Ledger::new(&world.cluster, &KubePolicy::default());
    let plain = world.asks.iter().filter(|(_, spec)| ledger.is_plain(*spec));
    let names: Vec<&str> = plain.map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["s0", "s14", "s15"]);
}

#[test]
fn new_nodes_get_a_name_and_their_daemons() {
    let world = world(
        "node old zone=a cpu:4
         daemon agent cpu:1
         daemon gpus gpu:1 want:gpu=yes
         daemon fat cpu:9
         ask one cpu:2
         ask spread app=web spread:kubernetes.io/hostname:1
         ask hosted exists:kubernetes.io/hostname",
    );
    let mut template = bare_node("pool");
    template.labels = [("zone".into(), "a".into())].into();
    template.allocatable.0.insert("cpu".into(), Quantity::units(4));
    let mut ledger = Ledger::new(&world.cluster, &KubePolicy::default());
    let ask = |name: &str| world.asks.iter().find(|(ask, _)| ask == name).unwrap().1;
    let (one, spread, hosted) = (ask("one"), ask("spread"), ask("hosted"));
    let first = ledger.add_node(&template);
    let second = ledger.add_node(&template);
    assert_eq!(ledger.free(first)[..3], [3000, 0, 109]);
    assert_eq!(ledger.pods_on(first).count(), 1);
    assert!(ledger.fits(one, first) && ledger.fits(hosted, second));
    assert!(ledger.place(spread, first));
    assert!(!ledger.fits(spread, first), "its own host has one, others have none");
    assert!(ledger.fits(spread, second));
    assert!(ledger.place(one, first) && !ledger.fits(one, first));
}

/// A pod of a node or spec that is not there, a node that says nothing, amounts below zero: nothing panics, and nothing
/// else is touched.
#[test]
fn what_makes_no_sense_is_contained() {
    let mut world = world("node n cpu:2\nnode n cpu:1\nnode bare bare\nask one cpu:1");
    world.cluster.nodes[0].allocatable.0.insert("memory".into(), Quantity::units(-5));
    let negative: PodSpec = {
        let mut spec = world.cluster.specs[0].clone();
        spec.requests.0.insert("cpu".into(), Quantity::units(-100));
        spec.requests.0.insert("memory".into(), Quantity::units(i64::MAX));
        spec
    };
    world.cluster.specs.push(negative);
    world.cluster.pods.push(seated("nowhere", 0, Some(NodeId::new("gone"))));
    world.cluster.pods.push(seated("nothing", 99, Some(NodeId::new("n"))));
    world.cluster.pods.push(seated("absurd", 1, Some(NodeId::new("bare"))));
    let mut ledger = Ledger::new(&world.cluster, &KubePolicy::default());
    let n = ledger.node("n").unwrap();
    assert_eq!(ledger.free(n), [2000, 0, 110]);
    assert!(ledger.fits(0, n));
    assert!(matches!(ledger.fit(1, n), Err(Unfit::TooLarge { .. })), "more memory than any node has");
    assert!(matches!(ledger.fit(99, n), Err(Unfit::CannotJudge { .. })));
    assert!(matches!(ledger.fit(0, NodeIx(77)), Err(Unfit::CannotJudge { .. })));
    assert!(!ledger.place(99, n) && !ledger.place(0, NodeIx(77)) && !ledger.unplace(0, n));
    assert!(!ledger.remove_node(NodeIx(77)) && !ledger.withdraw(0));
    let mark = ledger.mark();
    for _ in 0..100 {
        ledger.place(1, n);
    }
    ledger.back_to(mark);
    assert_eq!(ledger.free(n), [2000, 0, 110]);
}
