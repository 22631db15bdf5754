//! What Ostler costs beside a large cluster in which nothing, or hardly anything, happens.
//!
//!   cargo run --release --package ostler-e2e --example kubernetes_idle -- OSTLER-BINARY [NODES:PODS [SECONDS]]
//!                                                                            (`make bench-kubernetes-idle`)
//!
//! A scripted API server shows 10,000 nodes and 100,000 pods that run; their machines come from a server of the external
//! gRPC protocol. Kubelets say that they are well every five minutes, as real ones do. Measured from `/proc`: what the
//! start costs, then a time in which nothing else happens, then one in which a pod goes or comes every three seconds.
#![allow(clippy::print_stdout, reason = "its purpose")]

mod server;

use ostler_e2e::{Spans, cpu_seconds, load_average, megabytes};
use ostler_provider_externalgrpc::double::{Cloud, Fleet};
use ostler_testkit::kube::{LARGE_POOL, Large};
use serde_json::json;
use server::Server;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Whatever follows the first plans (events, commits) is over by then.
const SETTLE: Duration = Duration::from_secs(30);
const PATIENCE: Duration = Duration::from_secs(600);
/// Between two reports of a kubelet that nothing has changed for.
const REPORTS: Duration = Duration::from_secs(300);
const CHANGES: Duration = Duration::from_secs(3);
/// Of a core, while nothing happens.
const GOAL_PERCENT: f64 = 1.0;
const GOAL_MB: f64 = 1000.0;
/// Of a look after a pod has changed, in milliseconds.
const GOAL_LOOK: f64 = 50.0;

#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn main() {
    let argument = |n: usize, default: &str| std::env::args().nth(n).unwrap_or_else(|| default.to_owned());
    let binary = argument(1, "");
    let size = argument(2, "10000:100000");
    let seconds: u64 = argument(3, "60").parse().expect("seconds");
    let (nodes, pods) = size.split_once(':').expect("NODES:PODS");
    let large = Large { nodes: nodes.parse().expect("a number"), pods: pods.parse().expect("a number") };

    let server = Arc::new(Server::start(large).await);
    let cloud = Cloud::start([(LARGE_POOL, fleet(large.nodes))]).await;
    let dir = tempfile::tempdir().expect("a directory");
    let mut ostler =
        Ostler::start(Path::new(&binary), dir.path(), &server.url, &cloud.address(), large.nodes);
    println!("{nodes} nodes, {pods} pods; load average {:.1}", load_average());

    let begun = Instant::now();
    while !ostler.has_planned() {
        assert!(
            ostler.child.try_wait().expect("it can be asked").is_none(),
            "Ostler ended:\n{}",
            ostler.log()
        );
        assert!(begun.elapsed() < PATIENCE, "no plan yet:\n{}", ostler.log());
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let taken = begun.elapsed().as_secs_f64();
    println!("start to first plan   {taken:7.1} s   CPU {:6.2} s", cpu_seconds(ostler.pid()));
    tokio::spawn(heartbeats(server.clone(), large.nodes));
    tokio::time::sleep(SETTLE).await;

    let quiet = ostler.during(&server, async || tokio::time::sleep(Duration::from_secs(seconds)).await).await;
    quiet.say("nothing happens", &format!("   (goal: under {GOAL_PERCENT} % of a core)"));
    let changing = async || {
        for n in 0..seconds / CHANGES.as_secs() {
            server.pod(large.nodes + (n as usize / 2) * 97, if n % 2 == 0 { "DELETED" } else { "ADDED" });
            tokio::time::sleep(CHANGES).await;
        }
    };
    let changed = ostler.during(&server, changing).await;
    changed.say("a pod each 3 s", &format!("   (goal: a look under {GOAL_LOOK} ms)"));
    let pid = ostler.pid();
    let (now, most) = (megabytes(pid, "VmRSS"), megabytes(pid, "VmHWM"));
    println!("memory                {now:.0} MB, highest {most:.0} MB   (goal: under {GOAL_MB} MB)");
}

/// As many machines as nodes.
fn fleet(nodes: usize) -> Fleet {
    let ids: Vec<String> = (0..nodes).map(Large::machine).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    Fleet { max: 2 * nodes as i32, ..Fleet::default() }.with(&ids)
}

/// Each kubelet in its turn.
async fn heartbeats(server: Arc<Server>, nodes: usize) {
    let mut pace = tokio::time::interval(REPORTS / nodes as u32);
    for round in 0.. {
        for n in 0..nodes {
            pace.tick().await;
            server.heartbeat(n, round);
        }
    }
}

/// `ostler run` in front of the two servers.
struct Ostler {
    child: Child,
    dir: std::path::PathBuf,
}

/// What a time cost.
struct Cost {
    seconds: f64,
    cpu: f64,
    looks: Spans,
    passes: Spans,
    requests: u64,
    writes: u64,
    load: f64,
}

impl Ostler {
    fn start(binary: &Path, dir: &Path, api_server: &str, cloud: &str, nodes: usize) -> Self {
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": api_server}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
        });
        let pool = json!({"provider": "cloud", "max": 2 * nodes, "price": 0.2,
            "resources": {"cpu": 3.92, "memory": "16Gi", "pods": 110}});
        let config = json!({
            "workloads": {"large": {"kind": "kubernetes", "kubeconfig": dir.join("kubeconfig"),
                "pools": {LARGE_POOL: pool}}},
            "providers": {"cloud": {"type": "externalgrpc", "address": cloud}},
            "store": {"path": "ostler.db"},
            "api": {"listen": "127.0.0.1:0"},
        });
        fs::write(dir.join("kubeconfig"), kubeconfig.to_string()).expect("a file");
        fs::write(dir.join("ostler.yaml"), format!("{config:#}\n")).expect("a file"); // JSON is YAML
        let mut command = Command::new(binary);
        command.args(["run", "--log-format", "json", "-f"]).arg(dir.join("ostler.yaml"));
        command.env("OSTLER_LOG", "info,ostler_daemon::planning=debug,ostler_daemon::sources=debug");
        let log = File::create(dir.join("log")).expect("a log");
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
        let child = child.unwrap_or_else(|why| panic!("{}: {why}", binary.display()));
        Self { child, dir: dir.to_owned() }
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.dir.join("log")).unwrap_or_default()
    }

    /// Has it planned after a look at the whole cluster?
    fn has_planned(&self) -> bool {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        let looked = lines.iter().position(|line| Spans::of_log([*line].into_iter(), "looked").count() > 0);
        looked.is_some_and(|at| Spans::of_log(lines[at..].iter().copied(), "planned").count() > 0)
    }

    /// How long each of these took, of the lines of the log after so many.
    fn spans(&self, message: &str, after: usize) -> Spans {
        Spans::of_log(self.log().lines().skip(after), message)
    }

    async fn during(&self, server: &Server, act: impl AsyncFnOnce()) -> Cost {
        let (lines, before) = (self.log().lines().count(), server.requests());
        let (begun, cpu) = (Instant::now(), cpu_seconds(self.pid()));
        act().await;
        let (cpu, seconds) = (cpu_seconds(self.pid()) - cpu, begun.elapsed().as_secs_f64());
        let (requests, writes) = server.requests();
        Cost {
            seconds,
            cpu,
            looks: self.spans("looked", lines),
            passes: self.spans("planned", lines),
            requests: requests - before.0,
            writes: writes - before.1,
            load: load_average(),
        }
    }
}

impl Drop for Ostler {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended by itself
        let _ = self.child.wait();
    }
}

impl Cost {
    fn say(&self, what: &str, goal: &str) {
        let Self { seconds, cpu, requests, writes, load, .. } = self;
        let percent = 100.0 * cpu / seconds;
        println!(
            "{what:<20}  {seconds:7.1} s   CPU {cpu:6.2} s, {percent:.2} % of a core{goal}; load average {load:.1}"
        );
        println!("    looks             {}", in_words(&self.looks));
        println!("    passes            {}", in_words(&self.passes));
        println!("    requests          {requests}, {writes} of them write");
    }
}

fn in_words(spans: &Spans) -> String {
    format!("{}, median {:.1} ms, longest {:.1} ms", spans.count(), spans.median(), spans.longest())
}
