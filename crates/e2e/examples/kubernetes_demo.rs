//! A real Kubernetes control plane whose nodes Ostler makes and removes, shown on the terminal.
//!
//!   cargo run --package ostler-e2e --example kubernetes_demo -- OSTLER-BINARY      (`make demo-kubernetes`)
//!
//! etcd, kube-apiserver, kube-scheduler and kube-controller-manager run on loopback, without a node. A Deployment
//! is scaled from 0 to 4, 8 and 1 replicas; nodes come, pods run on them, and nodes are drained and go. The exit
//! code is 0 if all of that was seen. Everything is ended again, by process.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is there to be watched")]

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use ostler_testkit::kube::Lab;
use serde_json::json;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// A loaded machine of two cores takes a while.
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(150);

/// What is there, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Picture {
    waiting: usize,
    starting: usize,
    running: usize,
    leaving: usize,
    /// Nodes with their state.
    nodes: Vec<(String, &'static str)>,
}

struct Demo {
    begun: Instant,
    client: Client,
    ostler: Child,
    last: Picture,
    most: usize,
}

#[tokio::main]
async fn main() -> ExitCode {
    let Some(binary) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: kubernetes_demo OSTLER-BINARY");
        return ExitCode::from(2);
    };
    let begun = Instant::now();
    let dir = std::env::temp_dir().join(format!("ostler-demo-{}", std::process::id()));
    fs::create_dir(&dir).expect("a new directory");
    say(begun, "starting etcd, kube-apiserver, kube-scheduler and kube-controller-manager; no nodes");
    let lab = Lab::start().await;
    let seen = show(begun, &lab, &binary, &dir).await;
    let _ = fs::remove_dir_all(&dir); // it is in the directory for temporary files
    if seen { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn show(begun: Instant, lab: &Lab, binary: &Path, dir: &Path) -> bool {
    say(begun, &format!("ready; look for yourself:  export KUBECONFIG={}", lab.kubeconfig().display()));
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let api = listener.expect("a free port").to_string();
    fs::write(dir.join("ostler.yaml"), configuration(lab.kubeconfig(), &api)).expect("a file");
    say(begun, &format!("starting Ostler: ostler run -f ostler.yaml     (its page: http://{api}/)"));
    let log = File::create(dir.join("log")).expect("a file");
    let mut command = Command::new(binary);
    command.arg("run").arg("-f").arg(dir.join("ostler.yaml")).stdin(Stdio::null()).stdout(Stdio::null());
    let ostler = command.stderr(log).spawn().unwrap_or_else(|why| panic!("{}: {why}", binary.display()));
    let client = lab.client().await;
    let mut demo = Demo { begun, client, ostler, last: Picture::default(), most: 0 };
    let seen = demo.run().await;
    if seen {
        say(begun, "why, in Ostler's own words (ostler journal):");
        let mut journal = Command::new(binary);
        journal.args(["journal", "--limit", "12", "--store"]).arg(dir.join("ostler.db"));
        let said = journal.output().map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        said.unwrap_or_default().lines().for_each(|line| println!("      | {line}"));
        say(begun, &format!("done: 0 -> {} -> 1 nodes, every pod found its place", demo.most));
    } else {
        let log = fs::read_to_string(dir.join("log")).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        eprintln!("--- Ostler:\n{}", lines[lines.len().saturating_sub(30)..].join("\n"));
    }
    seen
}

/// Two kinds of node; short waits, so that there is something to see.
fn configuration(kubeconfig: &Path, api: &str) -> String {
    let pool = |cpu: u32, memory: &str, price: f64| {
        json!({
            "provider": "sim", "max": 6, "resources": {"cpu": cpu, "memory": memory, "pods": 110},
            "price": price, "template": {"boot": "3s"},
        })
    };
    let all = json!({
        "workloads": {"demo": {
            "kind": "kubernetes", "kubeconfig": kubeconfig, "namespace": "default",
            "scale_down": {"unneeded": "3s", "delay_after_add": "2s"},
            "drain": {"settle": "1s"},
            "batch": {"idle": "300ms"},
            "pools": {"small": pool(2, "8Gi", 0.1), "large": pool(8, "32Gi", 0.38)},
        }},
        "providers": {"sim": {"type": "kwok", "kubeconfig": kubeconfig}},
        "store": {"path": "ostler.db"},
        "api": {"listen": api},
    });
    format!("{all:#}\n") // JSON is YAML
}

impl Demo {
    async fn run(&mut self) -> bool {
        self.deploy().await;
        for (replicas, why) in [
            (4, "some work comes"),
            (8, "more work, as an autoscaler of pods would have it"),
            (1, "the work is done"),
        ] {
            say(self.begun, &format!("{why}: kubectl scale deployment web --replicas={replicas}"));
            self.scale(replicas).await;
            let limit = Instant::now() + PATIENCE;
            // The last nodes are to go, too.
            while !self.look().await.is_served(replicas) {
                let ended = self.ostler.try_wait().expect("it can be asked");
                if ended.is_some() || Instant::now() > limit {
                    say(self.begun, &format!("that took too long, or Ostler ended: {ended:?}"));
                    return false;
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
        self.most >= 2
    }

    async fn deploy(&self) {
        let labels = json!({"app": "web"});
        let requests = json!({"cpu": "1500m", "memory": "1Gi"});
        let web = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [
                    {"name": "web", "image": "example/web", "resources": {"requests": requests}},
                ]},
            }},
        });
        let api: Api<k8s_openapi::api::apps::v1::Deployment> = Api::default_namespaced(self.client.clone());
        let force = PatchParams::apply("demo").force();
        api.patch("web", &force, &Patch::Apply(&web)).await.expect("a Deployment is made");
    }

    async fn scale(&self, replicas: usize) {
        let api: Api<k8s_openapi::api::apps::v1::Deployment> = Api::default_namespaced(self.client.clone());
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        api.patch("web", &PatchParams::default(), &patch).await.expect("it is scaled");
    }

    /// Looks, and shows what has changed.
    async fn look(&mut self) -> Picture {
        let nodes = Api::<Node>::all(self.client.clone()).list(&ListParams::default()).await;
        let pods = Api::<Pod>::default_namespaced(self.client.clone()).list(&ListParams::default()).await;
        let (Ok(nodes), Ok(pods)) = (nodes, pods) else { return self.last.clone() };
        let mut picture = Picture::default();
        for pod in &pods.items {
            let bound = pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
            let running = pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Running");
            *match (pod.metadata.deletion_timestamp.is_some(), bound, running) {
                (true, ..) => &mut picture.leaving,
                (_, false, _) => &mut picture.waiting,
                (_, _, false) => &mut picture.starting,
                _ => &mut picture.running,
            } += 1;
        }
        picture.nodes = nodes.items.iter().map(|node| (node.name_any(), state(node))).collect();
        self.most = self.most.max(picture.nodes.len());
        if picture != self.last {
            say(self.begun, &picture.line());
            self.last = picture.clone();
        }
        picture
    }
}

impl Picture {
    /// All pods run, and no node is on its way or could go.
    fn is_served(&self, replicas: usize) -> bool {
        let calm = self.nodes.iter().all(|(_, state)| *state == "ready");
        let one = replicas > 1 || self.nodes.len() == 1;
        calm && one && self.running == replicas && self.waiting + self.starting + self.leaving == 0
    }

    fn line(&self) -> String {
        let pods = [
            ("wait", self.waiting),
            ("start", self.starting),
            ("run", self.running),
            ("leave", self.leaving),
        ];
        let pods: Vec<_> =
            pods.iter().filter(|(_, n)| *n > 0).map(|(what, n)| format!("{n} {what}")).collect();
        let mut nodes = std::collections::BTreeMap::<String, usize>::new();
        for (name, state) in &self.nodes {
            let pool = name.rsplit_once('-').map_or(name.as_str(), |(pool, _)| pool);
            *nodes.entry(format!("{pool} {state}")).or_default() += 1;
        }
        let nodes: Vec<_> = nodes.iter().map(|(what, n)| format!("{n} {what}")).collect();
        let or_none = |list: Vec<String>| if list.is_empty() { "none".into() } else { list.join(", ") };
        format!("pods: {:<34} nodes: {}", or_none(pods), or_none(nodes))
    }
}

fn state(node: &Node) -> &'static str {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    let ready = conditions.into_iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True");
    if node.annotations().contains_key(ostler_provider_kwok::ENDED) {
        "ending"
    } else if taints.into_iter().flatten().any(|taint| taint.key.contains("ostler")) {
        "draining"
    } else if ready {
        "ready"
    } else {
        "booting"
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.ostler.kill(); // it may have ended by itself
        let _ = self.ostler.wait();
    }
}

fn say(begun: Instant, text: &str) {
    println!("demo {:5.1} s  {text}", begun.elapsed().as_secs_f32());
}
