//! What Ostler costs while nothing happens: a scripted GCS with 100 busy nodes, each on a machine of the local
//! provider that only sleeps; then the CPU time and the memory of `ostler run` over a minute, as `/proc` has them.
//!
//! `cargo run --release --package ostler-e2e --example idle_cost -- [NODES [SECONDS]]`; `OSTLER_BIN` names the binary.

use ostler_e2e::{Ostler, cpu_seconds, load_average, megabytes, ostler_binary};
use ostler_testkit::gcs::{Gcs, Script, head, worker};
use ostler_testkit::ray::wait_for;
use ostler_workload_ray::proto::autoscaler::{NodeState, NodeStatus};
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Whatever follows the last launch (quick looks, commits, a report to Ray) is over by then.
const SETTLE: Duration = Duration::from_secs(15);
/// Of a core.
const GOAL_PERCENT: f64 = 1.0;
const GOAL_MB: f64 = 50.0;

fn main() {
    let argument = |n: usize, default: u64| {
        std::env::args().nth(n).map_or(default, |text| text.parse().expect("a number"))
    };
    let (nodes, seconds) = (argument(1, 100), argument(2, 60));
    assert!(nodes <= 250, "a scripted GCS names its nodes by one byte");

    let dir = tempfile::tempdir().expect("a directory");
    let _alive = lifeline(dir.path());
    let gcs = Gcs::start(Script::default());
    gcs.lock().state.node_states.push(head());
    let home = dir.path().to_owned();
    let mut ostler =
        Ostler::new(dir.path(), &cluster_file(dir.path(), nodes), &gcs.address(), move |program| {
            let mut command = Command::new(program);
            command.env("HOME", &home);
            command
        });
    ostler.start();
    ostler.wait_until_ready();
    join_all(&ostler, &gcs, nodes as usize);
    std::thread::sleep(SETTLE);

    let pid = ostler.pid().expect("it runs");
    let (commits, looks, cpu) = (metric(&ostler, "ostler_commits_total "), looks(&gcs), cpu_seconds(pid));
    std::thread::sleep(Duration::from_secs(seconds));
    let spent = cpu_seconds(pid) - cpu;
    let percent = 100.0 * spent / seconds as f64;
    let (now, most) = (megabytes(pid, "VmRSS"), megabytes(pid, "VmHWM"));
    let (commits, looks) = (metric(&ostler, "ostler_commits_total ") - commits, self::looks(&gcs) - looks);
    say(&format!(
        "{nodes} nodes, {seconds} s in which nothing happens, load average {:.1}, {}\n\
         looks at the GCS  {looks}\ncommits           {commits}\n\
         CPU               {spent:.2} s, {percent:.2} % of a core   (goal: under {GOAL_PERCENT} %)\n\
         memory            {now:.1} MB, highest {most:.1} MB   (goal: under {GOAL_MB} MB)",
        load_average(),
        ostler_binary().display()
    ));
}

/// A pipe that this program holds open: every machine reads it, and ends with this program however it ends.
fn lifeline(dir: &Path) -> File {
    let path = dir.join("lifeline");
    assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo can be started").success());
    OpenOptions::new().read(true).write(true).open(path).expect("a pipe of ours")
}

fn cluster_file(dir: &Path, nodes: u64) -> String {
    let (state, lifeline) = (dir.join("machines"), dir.join("lifeline"));
    format!(
        "cluster_name: idle\nmax_workers: {nodes}\n\
         provider:\n  type: ostler-local\n  state_dir: {}\n  max_machines: {nodes}\n  command: exec cat {}\n\
         head_node_type: head\navailable_node_types:\n  \
         head: {{resources: {{CPU: 0}}, max_workers: 0, node_config: {{}}}}\n  \
         cpu: {{resources: {{CPU: 4}}, min_workers: {nodes}, max_workers: {nodes}, node_config: {{}}}}\n",
        state.display(),
        lifeline.display()
    )
}

/// Lets a node join for each machine, until all run.
fn join_all(ostler: &Ostler<'_>, gcs: &Gcs, nodes: usize) {
    let mut joined: BTreeSet<String> = BTreeSet::new();
    wait_for("all nodes to run", || {
        let picture = ostler.picture()?;
        for cloud in picture.clouds() {
            if joined.insert(cloud.clone()) {
                gcs.lock().state.node_states.push(busy(joined.len() as u8, cloud));
            }
        }
        (picture.machines() == format!("cpu {nodes} running")).then_some(())
    });
}

/// A worker as a real one looks: its resources, its labels, what it does.
fn busy(n: u8, cloud: String) -> NodeState {
    let mut node = worker(n, "cpu", 4.0, NodeStatus::Running);
    let address = format!("node:{}", node.node_ip_address);
    for resources in [&mut node.total_resources, &mut node.available_resources] {
        resources.extend([(address.clone(), 1.0), ("object_store_memory".to_owned(), 2e9)]);
    }
    let id: String = node.node_id.iter().map(|byte| format!("{byte:02x}")).collect();
    node.labels =
        [("ray.io/node-id", id), ("ray.io/node-group", "cpu".into())].map(|(k, v)| (k.into(), v)).into();
    node.node_activity = vec!["Busy workers on node.".into(), "Resource: CPU currently in use.".into()];
    node.instance_id = cloud;
    node
}

fn metric(ostler: &Ostler<'_>, name: &str) -> u64 {
    let (_, text) = ostler.get("/metrics").expect("it answers");
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok());
    value.expect("a metric of this name") as u64
}

fn looks(gcs: &Gcs) -> u64 {
    gcs.lock().calls.get("GetClusterResourceState").copied().unwrap_or(0)
}

/// The result; an example has nothing else to say on stdout.
fn say(text: &str) {
    use std::io::Write;
    std::io::stdout().write_all(format!("{text}\n").as_bytes()).expect("stdout is open");
}
