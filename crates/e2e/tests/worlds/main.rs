//! Never wrong about the scheduler: in random worlds the real kube-scheduler places every pod that Ostler said would
//! fit, on the nodes that Ostler asked for, and none that it said fits nowhere.
//!
//! A world is played so: its nodes and pods are made in a real control plane, the scheduler does what it can, and what
//! it leaves is looked at through Ostler's own eyes and decided. The nodes of the decision are made as copies of their
//! pool's template, the scheduler has its turn again, and so on until Ostler asks for no more. The scheduler's order
//! and its scores may spoil a tight packing: then more nodes are asked for, which are counted.
//!
//! A pod that waits although it has a place on a node that is there is made anew, as a ReplicaSet would make it, and so
//! is tried anew. The scheduler does not try every pod that a change helps before `podMaxInUnschedulablePodsDuration`
//! (five minutes) is over: its hint for inter-pod affinity, say, looks at no `namespaceSelector` (1.37.2, plug-in
//! `interpodaffinity`, `isSchedulableAfterAssignedPodChange`), so a pod is not told of one that it was to be with.
//!
//! `OSTLER_WORLDS=1..1000` plays these seeds instead of the first hundred.

mod cluster;
mod judge;
mod random;

use cluster::{Cluster, Look, Name, name_of, node_of, verdict};
use judge::{Answer, judge};
use kube::ResourceExt;
use ostler_packing::problem::Unfit;
use random::World;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::ops::RangeInclusive;
use std::time::Instant;

/// Times that Ostler may ask for nodes in a world: once, and three times more.
const PASSES: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::print_stdout, reason = "a long test tells how far it is")]
async fn the_scheduler_places_what_ostler_says_would_fit() {
    let seeds = seeds();
    let (cluster, begun, last) = (Cluster::new().await, Instant::now(), *seeds.end());
    let mut sum = Sum::default();
    for seed in seeds {
        sum.add(&play(&cluster, seed).await);
        if sum.worlds % 10 == 0 || seed == last {
            println!("{:5.0} s  {sum}", begun.elapsed().as_secs_f32());
        }
    }
    // Worlds in which nothing happens would show nothing.
    assert!(sum.worlds < 50 || sum.placed > 5 * sum.worlds && sum.nodes > sum.worlds as u64, "{sum}");
    assert!(sum.worlds < 50 || sum.hopeless > sum.worlds / 2, "{sum}");
}

fn seeds() -> RangeInclusive<u64> {
    let Ok(text) = std::env::var("OSTLER_WORLDS") else { return 1..=100 };
    let range = text.split_once("..").and_then(|(from, to)| Some(from.parse().ok()?..=to.parse().ok()?));
    range.unwrap_or_else(|| panic!("OSTLER_WORLDS is {text:?}; it must be FROM..TO, as 1..1000"))
}

/// What there was in a world, or in all.
#[derive(Debug, Default)]
struct Sum {
    worlds: usize,
    pods: usize,
    /// Pods that the scheduler bound to the nodes that were there.
    there: usize,
    /// Pods of which Ostler said at its first look that they have a place.
    placed: usize,
    /// And of which it said that they have none.
    hopeless: usize,
    /// Nodes asked for at the first look, and later.
    nodes: u64,
    extra: u64,
    /// Worlds by how often nodes were asked for.
    passes: [usize; PASSES + 1],
    /// Pods that lost their place to others by the order in which the scheduler took them, by what now keeps each from
    /// every pool.
    lost: BTreeMap<&'static str, usize>,
    /// Pods that found one by it.
    won: usize,
    /// Pods that the scheduler tried only when they were made anew.
    renewed: usize,
}

impl Sum {
    fn add(&mut self, one: &Self) {
        self.worlds += one.worlds;
        self.pods += one.pods;
        self.there += one.there;
        self.placed += one.placed;
        self.hopeless += one.hopeless;
        self.nodes += one.nodes;
        self.extra += one.extra;
        one.lost.iter().for_each(|(why, count)| *self.lost.entry(why).or_default() += count);
        self.won += one.won;
        self.renewed += one.renewed;
        self.passes.iter_mut().zip(one.passes).for_each(|(sum, one)| *sum += one);
    }
}

impl std::fmt::Display for Sum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} worlds, {} pods: {} on nodes that were there, {} said to fit, {} to fit nowhere; {} nodes at first, \
             {} later; worlds by passes {:?}; by the scheduler's order pods lost their place to {:?}, {} found one; {} were \
             made anew",
            self.worlds,
            self.pods,
            self.there,
            self.placed,
            self.hopeless,
            self.nodes,
            self.extra,
            self.passes,
            self.lost,
            self.won,
            self.renewed
        )
    }
}

async fn play(cluster: &Cluster, seed: u64) -> Sum {
    let world = World::of(seed);
    cluster.empty().await;
    let nodes: Vec<_> = world.nodes.iter().map(|(node, _)| node.clone()).collect();
    cluster.add_nodes(&nodes).await;
    cluster.add_pods(&world, &Look::default()).await;
    let mut look = cluster.settle(&world, &BTreeSet::new()).await;
    let mut story = Story { world: &world, answers: Vec::new() };
    let mut sum = Sum { worlds: 1, pods: world.pods.len(), there: look.bound(), ..Sum::default() };
    loop {
        let pass = story.answers.len();
        story.answers.push(judge(&world, &look));
        let answer = &story.answers[pass];
        if answer.placed.is_empty() && answer.launches.is_empty() {
            sum.passes[pass] += 1;
            break;
        }
        story.must(
            pass < PASSES,
            "it goes on asking for nodes, or for places that the scheduler sees not",
            &look,
        );
        let (mut nodes, mut count) = (Vec::new(), 0);
        for (&pool, &launched) in &answer.launches {
            let pool = &world.pools[pool];
            nodes.extend((0..launched).map(|n| pool.node(&format!("{}-{pass}-{n}", pool.name))));
            count += launched;
        }
        if pass == 0 {
            sum.nodes += count
        } else {
            sum.extra += count
        }
        let expected = answer.placed.keys().cloned().collect();
        if count == 0 {
            cluster.remove_pods(&expected).await;
            sum.renewed += expected.len();
        }
        cluster.add_nodes(&nodes).await;
        look = cluster.settle(&world, &expected).await;
    }
    story.end(&look, &mut sum);
    sum
}

/// What was said in a world.
struct Story<'a> {
    world: &'a World,
    answers: Vec<Answer>,
}

impl Story<'_> {
    /// Compares what was said with what came of it.
    fn end(&self, look: &Look, sum: &mut Sum) {
        let (first, last) = (&self.answers[0], &self.answers[self.answers.len() - 1]);
        let bound: BTreeSet<Name> =
            look.pods.iter().filter(|pod| node_of(pod).is_some()).map(name_of).collect();
        sum.placed += first.placed.len();
        sum.hopeless += first.unplaced.len();
        for (name, why) in &last.unplaced {
            // A machine that would do and may be had is launched.
            let missed = why.iter().any(|unfit| matches!(unfit, Unfit::Strategy));
            self.must(!missed, &format!("{name:?} waits, although a new node would do"), look);
        }
        // Equal pods may change places; what counts is how many of a kind.
        let mut kinds: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        let mut against: BTreeMap<&str, &'static str> = BTreeMap::new();
        for name in first.placed.keys() {
            kinds.entry(kind(name)).or_default().0 += 1;
            if let Some(why) = last.unplaced.get(name).filter(|_| !bound.contains(name)) {
                against.insert(kind(name), obstacle(why));
            }
            // Others took its place, or what it must be with went elsewhere: never for what the pool itself is.
            let why = last.unplaced.get(name).map_or(&[][..], |why| why);
            let right = bound.contains(name) || !is_static(why);
            self.must(right, &format!("{name:?} was said to fit, and waits"), look);
        }
        for (name, why) in &first.unplaced {
            let right = !bound.contains(name) || !is_static(why);
            self.must(right, &format!("{name:?} was said to fit nowhere, and is bound"), look);
        }
        for name in first.placed.keys().chain(first.unplaced.keys()).filter(|name| bound.contains(*name)) {
            kinds.entry(kind(name)).or_default().1 += 1;
        }
        for (kind, (placed, bound)) in kinds {
            if placed > bound {
                let why = against.get(kind).copied().unwrap_or("what their like wait for");
                *sum.lost.entry(why).or_default() += placed - bound;
            }
            sum.won += bound.saturating_sub(placed);
        }
    }

    fn must(&self, so: bool, what: &str, look: &Look) {
        assert!(so, "seed {}: {what}\n{}", self.world.seed, self.told(look));
    }

    /// All there is to say.
    fn told(&self, look: &Look) -> String {
        let mut text = String::new();
        for pool in &self.world.pools {
            let _ = writeln!(
                text,
                "pool {} max {}, together {:?}: {}",
                pool.name,
                pool.max,
                pool.group_max,
                pool.node("")
            );
        }
        for node in look.nodes.iter() {
            let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
            let cordoned = node.spec.as_ref().and_then(|spec| spec.unschedulable);
            let taints = serde_json::to_string(&taints).unwrap_or_default();
            let _ =
                writeln!(text, "node {} cordoned {cordoned:?} {taints} {:?}", node.name_any(), node.labels());
        }
        for (pass, answer) in self.answers.iter().enumerate() {
            let _ = writeln!(text, "pass {pass} launches {:?}", answer.launches);
            for (pod, at) in &answer.placed {
                let _ = writeln!(text, "  {pod:?} at {at}");
            }
            for (pod, why) in &answer.unplaced {
                let _ = writeln!(text, "  {pod:?} nowhere: {why:?}");
            }
        }
        for pod in &look.pods {
            let at = node_of(pod).map(|node| format!("bound to {node}"));
            let at = at.unwrap_or_else(|| verdict(pod).unwrap_or("not tried").to_owned());
            let _ = writeln!(text, "pod {:?} {at}", name_of(pod));
        }
        let mut kinds = BTreeSet::new();
        for (name, pod) in &self.world.pods {
            if kinds.insert(pod["spec"].to_string()) {
                let _ = writeln!(text, "from {name:?} on: {} {}", pod["metadata"]["labels"], pod["spec"]);
            }
        }
        text
    }
}

/// The pods of one group are equal; only the number at the end of their names differs.
fn kind((_, name): &Name) -> &str {
    name.rsplit_once('-').map_or(name, |(kind, _)| kind)
}

/// What keeps a pod from every pool, in a word: the first of these that some pool says.
fn obstacle(why: &[Unfit]) -> &'static str {
    let says = |of: fn(&Unfit) -> bool| why.iter().any(of);
    match () {
        () if says(|why| {
            matches!(why, Unfit::PoolAtMax { .. } | Unfit::GroupAtMax { .. } | Unfit::TotalAtMax { .. })
        }) =>
        {
            "bounds"
        }
        () if says(|why| matches!(why, Unfit::AntiAffinity { .. })) => "anti-affinity",
        () if says(|why| matches!(why, Unfit::Affinity { .. })) => "affinity",
        () if says(|why| matches!(why, Unfit::Spread { .. })) => "spread",
        () => "other things",
    }
}

/// Do all pools say no for what their machines are, whatever runs on them?
fn is_static(why: &[Unfit]) -> bool {
    let of_machine = |unfit: &Unfit| {
        matches!(
            unfit,
            Unfit::TooLarge { .. }
                | Unfit::TakenByDaemons { .. }
                | Unfit::NodeSelector { .. }
                | Unfit::Taint { .. }
                | Unfit::Unschedulable
        )
    };
    why.iter().all(of_machine)
}
