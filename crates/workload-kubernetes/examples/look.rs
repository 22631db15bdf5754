//! What a look at a large cluster costs: `cargo run --release --package ostler-workload-kubernetes --example look --
//! [NODES:PODS]`, by default 10000:100000.
//!
//! Objects of the size of real ones go through the code that reads them from a watch; then one pod changes at a time,
//! and the cluster is looked at anew. No API server takes part. Times are of the processor, so that a loaded machine
//! says the same.
#![allow(clippy::print_stdout, reason = "its purpose")]

use ostler_model::WorkloadState;
use ostler_testkit::kube::Large;
use ostler_workload_kubernetes::map::{self, Facts, Joiner, Shared};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Looks that are timed.
const LOOKS: usize = 20;

fn main() {
    let size = std::env::args().nth(1).unwrap_or_else(|| "10000:100000".to_owned());
    let (nodes, pods) = size.split_once(':').expect("NODES:PODS");
    let large = Large { nodes: nodes.parse().expect("a number"), pods: pods.parse().expect("a number") };
    println!("{} nodes, {} pods; milliseconds of CPU", large.nodes, large.pods);
    let before = megabytes();
    let (mut facts, mut shared) = (Facts::default(), Shared::default());
    let mut reading = Meter::default();
    for n in 0..large.nodes {
        let object = Large::node(n);
        reading.run(|| {
            let node = map::node(object).expect("it can be read");
            let key = ("".into(), node.node.id.as_str().into());
            facts.nodes.good.insert(key, Arc::new(node));
        });
    }
    reading.say_sum("reading all nodes");
    let mut reading = Meter::default();
    for n in 0..large.pods {
        let object = large.pod(n, 0);
        reading.run(|| put(&mut facts, &mut shared, object));
    }
    reading.say_sum("reading all pods");
    println!("{:<24}{:9.1} MB", "memory of the facts", megabytes() - before);
    let (mut changes, mut joins, mut joiner) = (Meter::default(), Meter::default(), Joiner::default());
    // As an engine has it: the newest look, and the one that was planned last.
    let mut held: VecDeque<WorkloadState> = VecDeque::new();
    let now = ostler_model::Timestamp(1_800_000_000_000);
    let mut first = Meter::default();
    held.push_back(first.run(|| joiner.join(&facts, &BTreeMap::new(), now)));
    first.say("the first look");
    for n in 0..LOOKS {
        let object = large.pod(n * 37 % large.pods, n + 1);
        changes.run(|| put(&mut facts, &mut shared, object));
        held.push_back(joins.run(|| joiner.join(&facts, &BTreeMap::new(), now)));
        held.pop_front();
    }
    changes.say("a pod changes");
    joins.say("a look");
    println!("{:<24}{:9.1} MB", "memory in all", megabytes() - before);
    let look = held.pop_back().expect("a look");
    assert_eq!(look, map::workload_state(&facts, &BTreeMap::new(), now), "what is kept changes nothing");
    println!("{} kinds of pod", look.cluster.expect("a cluster").specs.len());
}

fn put(facts: &mut Facts, shared: &mut Shared, object: serde_json::Value) {
    let pod = map::pod(object, map::Release::NEWEST).expect("it can be read").expect("it runs");
    let pod = shared.pod(pod);
    facts.pods.good.insert((pod.spec.namespace.clone(), pod.name.clone()), Arc::new(pod));
}

/// Processor time of this thread for each of several runs, in milliseconds.
#[derive(Default)]
struct Meter(Vec<f64>);

impl Meter {
    fn run<T>(&mut self, act: impl FnOnce() -> T) -> T {
        let begun = cpu_millis();
        let made = act();
        self.0.push(cpu_millis() - begun);
        made
    }
    fn say_sum(&self, what: &str) {
        println!("{what:<24}{:9.1}", self.0.iter().sum::<f64>());
    }
    fn say(&mut self, what: &str) {
        self.0.sort_by(f64::total_cmp);
        let last = self.0.len() - 1;
        println!("{what:<24}{:9.1} median, {:.1} at most", self.0[last / 2], self.0[last]);
    }
}

fn cpu_millis() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    text.split_whitespace().next().expect("nanoseconds").parse::<f64>().expect("a number") / 1e6
}

/// Memory of this process, in millions of bytes.
fn megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    line.split_whitespace().next().expect("a size").parse::<f64>().expect("a number") * 1024.0 / 1e6
}
