//! Ostler in front of a real control plane with a thousand simulated nodes and ten thousand pods: who spends what.
//!
//!   cargo run --release --package ostler-e2e --example kubernetes_load -- OSTLER-BINARY [NODES:PODS [PERCENT]]
//!                                                                            (`make bench-kubernetes-load`)
//!
//! Deployments of several shapes are made where there is no node. Ostler buys nodes, kube-scheduler places the pods;
//! after a minute of rest two thirds of the replicas go, and the nodes that nothing needs are drained. Exit code 1: a
//! pod has no place at the end, a node was bought twice, or Ostler took more than PERCENT of the CPU time.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "its purpose")]

mod cluster;
mod meter;
mod work;

use cluster::Cluster;
use meter::{Cost, OSTLER, WHO};
use ostler_e2e::{Spans, load_average, megabytes};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use work::{Bill, Deployment, Size};

/// Ostler's part of all CPU time while nodes come and go, at most.
const SHARE_MAX: f64 = 20.0;
const REST: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(500);
/// All of a phase is over by then, on a loaded machine too.
const PATIENCE: Duration = Duration::from_secs(1800);
/// Nodes that have not changed for this long do not change any more: longer than the waits of the configuration.
const QUIET: Duration = Duration::from_secs(45);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((binary, size, bound)) = read(&arguments) else {
        eprintln!("usage: kubernetes_load OSTLER-BINARY [NODES:PODS [PERCENT]]");
        return ExitCode::from(2);
    };
    let mut load = Load::start(&binary, size).await;
    let seen = load.run().await;
    let faults = load.report(&seen, bound).await;
    for fault in &faults {
        println!("FAILED: {fault}");
    }
    if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn read(arguments: &[String]) -> Option<(PathBuf, Size, f64)> {
    let binary = arguments.first()?.into();
    let (nodes, pods) = arguments.get(1).map_or(Some(("1000", "10000")), |size| size.split_once(':'))?;
    let size = Size { nodes: nodes.parse().ok()?, pods: pods.parse().ok()? };
    let bound = arguments.get(2).map_or(Some(SHARE_MAX), |text| text.parse().ok())?;
    (size.nodes > 0 && size.pods >= size.nodes).then_some((binary, size, bound))
}

struct Load {
    cluster: Cluster,
    deployments: Vec<Deployment>,
    size: Size,
    begun: Instant,
}

/// One phase.
struct Phase {
    what: &'static str,
    cost: Cost,
    requests: f64,
    simulators: f64,
    passes: Spans,
    looks: Spans,
    load: f64,
}

/// What was seen.
struct Seen {
    phases: Vec<Phase>,
    bought: Bill,
    twice: usize,
    /// From the last pod's creation to the last launch.
    lag: f64,
    left: Bill,
    pending: usize,
}

impl Load {
    async fn start(binary: &std::path::Path, size: Size) -> Self {
        let begun = Instant::now();
        let say = |text: &str| println!("{:6.1} s  {text}", begun.elapsed().as_secs_f64());
        say("etcd, kube-apiserver, kube-scheduler, kube-controller-manager and Ostler; no nodes");
        let cluster = Cluster::start(binary, size).await;
        Self { cluster, deployments: work::deployments(size), size, begun }
    }

    fn say(&self, text: &str) {
        println!("{:6.1} s  {text}", self.begun.elapsed().as_secs_f64());
    }

    async fn run(&mut self) -> Seen {
        let (all, third) = (self.deployments.clone(), self.third());
        let mut phases = Vec::new();
        let mut lag = 0.0;
        phases.push(
            self.phase("nodes come, pods are placed", async |load: &mut Self| lag = load.grow(&all).await)
                .await,
        );
        let (nodes, twice) = self.cluster.bought().await;
        let bought = work::bill(self.size, &nodes);
        self.say(&format!("{} nodes", bought.nodes));
        phases.push(self.phase("a minute of rest", async |_| tokio::time::sleep(REST).await).await);
        phases.push(
            self.phase("a third is left, nodes go", async |load: &mut Self| load.shrink(&third).await).await,
        );
        let (left, _) = self.cluster.bought().await;
        let left = work::bill(self.size, &left);
        let pending = self.cluster.pending().await;
        Seen { phases, bought, twice, lag, left, pending }
    }

    fn third(&self) -> Vec<Deployment> {
        self.deployments.iter().map(|one| one.with(one.replicas.div_ceil(3))).collect()
    }

    async fn phase(&mut self, what: &'static str, act: impl AsyncFnOnce(&mut Self)) -> Phase {
        self.say(what);
        let counts = self.cluster.requests().await;
        let (from, lines) = (self.cluster.moment(), self.cluster.lines());
        act(self).await;
        let cost = self.cluster.moment().since(from);
        let now = self.cluster.requests().await;
        let log = self.cluster.log();
        Phase {
            what,
            cost,
            requests: now.0 - counts.0,
            simulators: now.1 - counts.1,
            passes: meter::spans(&log, "planned", lines),
            looks: meter::spans(&log, "looked", lines),
            load: load_average(),
        }
    }

    /// Makes all Deployments and waits until all pods run; the answer is the time from the last pod to the last launch,
    /// in seconds.
    async fn grow(&mut self, all: &[Deployment]) -> f64 {
        self.cluster.apply(all).await;
        let (limit, mut made_at) = (Instant::now() + PATIENCE, None);
        loop {
            let (made, running) = self.cluster.replicas().await;
            if made == self.size.pods && made_at.is_none() {
                made_at = Some(SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_millis());
                self.say("the last pod is made");
            }
            if running == self.size.pods {
                break;
            }
            self.still_runs(limit, &format!("{made} pods are made, {running} run"));
            tokio::time::sleep(PAUSE).await;
        }
        let launched = self.cluster.last_launch();
        made_at.map_or(0.0, |made| launched as f64 - made as f64) / 1e3
    }

    /// Takes replicas away and waits until nodes come to rest.
    async fn shrink(&mut self, third: &[Deployment]) {
        let wanted: usize = third.iter().map(|one| one.replicas).sum();
        self.cluster.apply(third).await;
        let limit = Instant::now() + PATIENCE;
        let (mut before, mut since) = (0, Instant::now());
        loop {
            let (there, leaving) = self.cluster.nodes().await;
            let (made, running) = self.cluster.replicas().await;
            if there != before || leaving > 0 || (made, running) != (wanted, wanted) {
                (before, since) = (there, Instant::now());
            }
            if since.elapsed() > QUIET {
                return;
            }
            self.still_runs(
                limit,
                &format!("{there} nodes, {leaving} of them leave; {running} of {made} pods run"),
            );
            tokio::time::sleep(PAUSE * 6).await;
        }
    }

    fn still_runs(&mut self, limit: Instant, seen: &str) {
        let ended = self.cluster.ended();
        assert!(ended.is_none(), "Ostler ended: {ended:?}\n{}", self.cluster.last_words());
        assert!(Instant::now() < limit, "that took too long: {seen}\n{}", self.cluster.last_words());
    }

    /// Prints all figures; the answer is what is not as it should be.
    async fn report(&self, seen: &Seen, bound: f64) -> Vec<String> {
        let plan = work::in_one_plan(self.size, &self.deployments);
        println!("\nCPU seconds ({} nodes and {} pods asked for)", self.size.nodes, self.size.pods);
        print!("{:<30}{:>8}{:>7}", "phase", "seconds", "load");
        WHO.iter().for_each(|who| print!("{:>w$}", who, w = who.len() + 2));
        println!("{:>16}", "Ostler's share");
        for Phase { what, cost, load, .. } in &seen.phases {
            print!("{what:<30}{:>8.1}{load:>7.1}", cost.wall.as_secs_f64());
            WHO.iter().zip(cost.cpu).for_each(|(who, cpu)| print!("{cpu:>w$.1}", w = who.len() + 2));
            println!("{:>14.1} %", cost.share());
        }
        println!("The share is of all but the simulated kubelets, which a real cluster has on its nodes.\n");
        println!(
            "{:<30}{:>8}{:>12}{:>13}{:>8}{:>12}{:>13}{:>11}{:>13}",
            "Ostler", "passes", "median", "longest", "looks", "median", "longest", "requests", "simulators'"
        );
        for phase in &seen.phases {
            let (passes, looks) = (&phase.passes, &phase.looks);
            println!(
                "{:<30}{:>8}{:>9.1} ms{:>10.1} ms{:>8}{:>9.1} ms{:>10.1} ms{:>11}{:>13}",
                phase.what,
                passes.count(),
                passes.median(),
                passes.longest(),
                looks.count(),
                looks.median(),
                looks.longest(),
                phase.requests,
                phase.simulators
            );
        }
        let most = megabytes(self.cluster.pid(), "VmHWM");
        let percent = |part: f64, whole: f64| 100.0 * (part / whole - 1.0);
        println!("\nmemory of Ostler, with its simulated kubelets, at most  {most:.0} MB");
        println!("from the last pod to the last launch  {:.1} s", seen.lag);
        println!(
            "nodes bought  {} for {:.2}; all pods in one plan: {} for {:.2} ({:+.1} % nodes, {:+.1} % price)",
            seen.bought.nodes,
            seen.bought.price,
            plan.nodes,
            plan.price,
            percent(seen.bought.nodes as f64, plan.nodes as f64),
            percent(seen.bought.price, plan.price)
        );
        let third = work::in_one_plan(self.size, &self.third());
        println!(
            "nodes left    {} for {:.2}; all pods in one plan: {} for {:.2}",
            seen.left.nodes, seen.left.price, third.nodes, third.price
        );
        println!("nodes bought twice  {}\npods without a place at the end  {}", seen.twice, seen.pending);
        self.faults(seen, bound)
    }

    fn faults(&self, seen: &Seen, bound: f64) -> Vec<String> {
        let mut faults = Vec::new();
        if seen.pending > 0 {
            faults.push(format!("{} pods have no place", seen.pending));
        }
        if seen.twice > 0 {
            faults.push(format!("{} nodes were bought twice", seen.twice));
        }
        let cpu = |of: fn(&Cost) -> f64| -> f64 { seen.phases.iter().map(|phase| of(&phase.cost)).sum() };
        let all = cpu(|cost| cost.cpu.iter().sum::<f64>() - cost.cpu[OSTLER - 1]);
        let share = 100.0 * cpu(|cost| cost.cpu[OSTLER]) / all;
        println!("Ostler's share of the CPU time of all phases  {share:.1} %, {bound} % at most");
        if share > bound {
            faults.push(format!("Ostler took {share:.1} % of the CPU time, more than {bound} %"));
        }
        faults
    }
}
