//! A Ray cluster, an Ostler in front of it, and what must be true of the two together.

use crate::ostler::Ostler;
use crate::picture::Picture;
use ostler_testkit::ray::{Cluster, Driver, wait_for};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// One cluster at a time: two heads that start on two cores help nobody.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says what a test is at, also while it runs; the test harness keeps what is printed by `println!`.
pub fn step(text: &str) {
    use std::io::Write;
    static BEGUN: Mutex<Option<Instant>> = Mutex::new(None);
    let mut begun = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
    let seconds = begun.get_or_insert_with(Instant::now).elapsed().as_secs_f32();
    let test = std::thread::current().name().unwrap_or("?").to_owned();
    let _ = writeln!(std::io::stderr(), "{seconds:6.1} s  {test}: {text}"); // nobody to tell if stderr is closed
}

/// A cluster file of Ray with these node types, each one line: `small: {resources: {CPU: 1}, max_workers: 4}`.
/// `more` are lines of the first level.
pub fn pools(cluster: &Cluster, more: &str, types: &[&str]) -> String {
    let types: String = types.iter().map(|line| format!("  {line}\n")).collect();
    let (mark, mark_value) = cluster.mark();
    let command = cluster.worker_command(
        r#"--num-cpus="$OSTLER_NUM_CPUS" --num-gpus="$OSTLER_NUM_GPUS" --resources="$OSTLER_RESOURCES" ${OSTLER_LABELS:+--labels="$OSTLER_LABELS"}"#,
    );
    format!(
        "cluster_name: e2e\n{more}\nprovider:\n  type: ostler-local\n  state_dir: {}\n  stop_grace_s: 5\n  \
         environment: {{{mark}: {mark_value}}}\n  command: |-\n    {command}\nhead_node_type: head\n\
         available_node_types:\n  head: {{resources: {{CPU: 0}}, max_workers: 0, node_config: {{}}}}\n{types}",
        cluster.dir().join("machines").display(),
    )
}

/// A file that tasks wait for: work lasts until the test says so, however slow the machine is.
#[derive(Debug)]
pub struct Gate(PathBuf);

impl Gate {
    /// Closed.
    pub fn new(cluster: &Cluster, name: &str) -> Self {
        Self(cluster.dir().join(format!("gate-{name}")))
    }
    /// Lets everything through.
    pub fn open(&self) {
        std::fs::write(&self.0, "").expect("the gate can be written");
    }
    /// A driver's script: `body` after what every driver needs, where `gate()` waits.
    pub fn script(&self, body: &str) -> String {
        format!(
            "import os, ray, time\nfrom ray.util.placement_group import placement_group\n\
             ray.init(logging_level='ERROR')\nEND = '{}'\n\
             def gate():\n    while not os.path.exists(END): time.sleep(0.05)\n    return 1\n{body}\n",
            self.0.display()
        )
    }
}

/// The two together. The Ostler ends before the cluster does.
#[derive(Debug)]
pub struct World<'a> {
    /// The Ostler.
    pub ostler: Ostler<'a>,
    /// The cluster.
    pub cluster: &'a Cluster,
}

impl<'a> World<'a> {
    /// Starts an Ostler on this cluster file and waits until it is ready.
    pub fn start(cluster: &'a Cluster, yaml: &str) -> Self {
        let mut world = Self::prepare(cluster, yaml);
        world.ostler.start();
        world.ostler.wait_until_ready();
        world
    }
    /// An Ostler that is not started yet.
    pub fn prepare(cluster: &'a Cluster, yaml: &str) -> Self {
        let surroundings = move |program: &Path| cluster.program(program);
        Self { ostler: Ostler::new(cluster.dir(), yaml, &cluster.address(), surroundings), cluster }
    }

    /// Waits for a picture with something in it.
    pub fn wait_for<T>(&self, what: &str, find: impl Fn(&Picture) -> Option<T>) -> T {
        let mut last = None;
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wait_for(what, || {
                last = self.ostler.picture().or(last.take());
                find(last.as_ref()?)
            })
        }));
        found.unwrap_or_else(|_| panic!("waited for {what}; the last picture: {last:#?}"))
    }
    /// Waits until there are exactly these machines: `gpu 1 running, small 2 running`.
    pub fn wait_for_machines(&self, expected: &str) {
        self.wait_for(&format!("the machines to be: {expected}"), |picture| {
            (picture.machines() == expected && picture.0["report"].is_object()).then_some(())
        });
    }
    /// Waits until a driver ends, well.
    pub fn finish(&self, driver: Driver) -> String {
        let outcome = driver.wait();
        assert!(outcome.status.success(), "a driver failed:\n{}", outcome.output);
        outcome.output
    }

    /// Waits until there are exactly these machines, and until records, processes and nodes agree: none doubled,
    /// none leaked. Ostler must not have noticed a fault of its own.
    pub fn settle(&self, expected: &str) {
        self.wait_for_machines(expected);
        let mut found = self.disagreement(expected);
        let agreed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wait_for("records, processes and nodes to agree", || {
                found = self.disagreement(expected);
                found.is_none().then_some(())
            });
        }));
        assert!(agreed.is_ok(), "{}", found.unwrap_or_default());
        let log = self.ostler.log();
        for fault in ["OSTLER-D007", "OSTLER-D008", "panicked", " illegal "] {
            assert!(!log.contains(fault), "Ostler found a fault in itself ({fault}):\n{log}");
        }
        assert_eq!(self.ostler.count("illegal"), 0, "an event did not fit its record");
    }

    /// What is wrong, if something is.
    fn disagreement(&self, expected: &str) -> Option<String> {
        let picture = self.ostler.picture()?;
        let (records, nodes, machines) = (picture.clouds(), picture.nodes(), self.machines());
        let running: BTreeSet<String> = machines.keys().cloned().collect();
        let raylets: BTreeMap<&String, usize> = machines.iter().map(|(id, m)| (id, m.raylets)).collect();
        let well = picture.machines() == expected
            && running == records
            && nodes == records
            && raylets.values().all(|n| *n == 1);
        (!well).then(|| {
            format!(
                "expected: {expected}\nmachines: {}\nrecords: {records:?}\nnodes of Ray: {nodes:?}\n\
                 machines with their raylets: {raylets:?}",
                picture.machines()
            )
        })
    }

    /// The machines of this host by the provider's id.
    pub fn machines(&self) -> BTreeMap<String, Machine> {
        let mut machines: BTreeMap<String, Machine> = BTreeMap::new();
        for process in self.cluster.processes() {
            if let (Some(id), Some(token)) =
                (process.variable("RAY_CLOUD_INSTANCE_ID"), process.variable("OSTLER_LAUNCH_TOKEN"))
            {
                let machine = machines.entry(id.to_owned()).or_default();
                machine.instance = process.variable("OSTLER_INSTANCE_ID").unwrap_or_default().to_owned();
                machine.tokens.insert(token.to_owned());
                machine.pids.push(process.pid);
                machine.raylets += usize::from(process.program == "raylet");
            }
        }
        machines
    }
}

/// A machine of this host.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// The record that it was launched for.
    pub instance: String,
    /// Raylets that run on it.
    pub raylets: usize,
    /// Its processes.
    pub pids: Vec<i32>,
    /// The launches that its processes come from.
    pub tokens: BTreeSet<String>,
}
