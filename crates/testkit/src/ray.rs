//! Real Ray clusters for tests: a head, workers and drivers as processes of this host, and their certain end.
//!
//! Every process of a cluster carries a mark in its environment, its children too. Whoever carries the mark is
//! killed when the cluster is dropped, by process id: never anything else, and nothing is left over.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Anything that should happen happens within this time, on a loaded machine too.
pub const PATIENCE: Duration = Duration::from_secs(180);
const PAUSE: Duration = Duration::from_millis(100);
const CLUSTER_MARK: &str = "OSTLER_TEST_CLUSTER";
const NODE_MARK: &str = "OSTLER_TEST_NODE";

/// Ray's own minimum; nothing here stores objects.
const OBJECT_STORE_BYTES: &str = "80000000";

/// What a cluster is like.
#[derive(Debug, Clone)]
pub struct Options {
    /// Ray's version, of which the environment must have been made (`make ray-env`).
    pub version: String,
    /// The head says from the start that autoscaler v2 is at work.
    pub v2: bool,
    /// The cluster asks for this token.
    pub token: Option<String>,
    /// With Ray's dashboard (slow to start).
    pub dashboard: bool,
    /// More environment for the head.
    pub head_environment: Vec<(String, String)>,
}

impl Options {
    /// A cluster of a version, with autoscaler v2 on, without a token and without a dashboard.
    pub fn of(version: &str) -> Self {
        Self { version: version.into(), v2: true, token: None, dashboard: false, head_environment: vec![] }
    }
}

/// The environment of a Ray version, made by `make ray-env`.
pub fn environment(version: &str) -> PathBuf {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    let dir = cache.expect("HOME is set").join(format!("ostler/ray-{version}"));
    let there = dir.join("bin/ray").exists() && dir.join("bin/python").exists();
    assert!(there, "there is no Ray {version} in {}: run `make ray-env`", dir.display());
    dir
}

/// Polls until there is something.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited {PATIENCE:?} for {what}");
        std::thread::sleep(PAUSE);
    }
}

/// A cluster: a head without CPUs, and whatever joins it.
#[derive(Debug)]
pub struct Cluster {
    options: Options,
    environment: PathBuf,
    dir: TempDir,
    port: u16,
    starts: AtomicU32,
    /// Nodes that were started, to be collected at the end.
    nodes: Mutex<Vec<Child>>,
}

/// What came of a command.
#[derive(Debug)]
pub struct Outcome {
    /// How it ended.
    pub status: ExitStatus,
    /// What it wrote, both streams together.
    pub output: String,
}

/// A living process of a cluster.
#[derive(Debug, Clone)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// The name of its program.
    pub program: String,
    variables: Vec<String>,
}

impl Process {
    /// A variable of the environment it was started with.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.iter().find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    }
    /// Kills it.
    pub fn kill(&self) {
        let _ = kill(Pid::from_raw(self.pid), Signal::SIGKILL); // it may have ended by itself
    }
}

impl Cluster {
    /// Starts a head and waits until it is up.
    pub fn start(options: Options) -> Self {
        let environment = environment(&options.version);
        // Paths of sockets are short by law (107 bytes), and Ray puts 60 bytes of its own behind this one.
        let dir = tempfile::Builder::new().prefix("o").tempdir_in("/tmp").expect("a directory in /tmp");
        let cluster = Self {
            options,
            environment,
            dir,
            port: free_port(),
            starts: AtomicU32::new(0),
            nodes: Mutex::default(),
        };
        cluster.start_head();
        cluster
    }

    /// `HOST:PORT` of its GCS.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
    /// Where `ray`, `python` and their libraries are.
    pub fn environment(&self) -> &Path {
        &self.environment
    }
    /// A directory of the cluster's own; removed with it.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }
    /// Its living processes: all that carry its mark.
    pub fn processes(&self) -> Vec<Process> {
        let mark = self.cluster_mark();
        let with_mark = |pid| {
            let variables: Vec<String> = environ(pid).ok()?.split('\0').map(str::to_owned).collect();
            let program = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim_end().to_owned();
            variables.contains(&mark).then_some(Process { pid, program, variables })
        };
        processes().filter_map(with_mark).collect()
    }
    /// What marks its processes; give it to whatever starts processes on behalf of the cluster.
    pub fn mark(&self) -> (&'static str, String) {
        (CLUSTER_MARK, self.dir.path().display().to_string())
    }

    /// Starts the head (again), on the same port, and waits until it is up. The cluster behind it is a new one.
    pub fn start_head(&self) {
        // Ray takes workers of the old head for that head, as long as this file says where it was.
        let _ = fs::remove_file(self.dir.path().join("ray_current_cluster")); // there is none the first time
        let log = format!("head-{}", self.starts.fetch_add(1, Ordering::Relaxed) + 1);
        let mut command = self.ray();
        command.args(["start", "--head", "--no-monitor", "--block", "--disable-usage-stats", "--num-cpus=0"]);
        command
            .args([&format!("--port={}", self.port), &format!("--temp-dir={}", self.dir.path().display())]);
        command.arg(format!("--include-dashboard={}", self.options.dashboard));
        command.args([
            format!("--ray-client-server-port={}", free_port()),
            format!("--dashboard-port={}", free_port()),
        ]);
        self.node(&mut command, "head", "head");
        command.envs(self.options.head_environment.iter().map(|(name, value)| (name, value)));
        let mut child = self.spawn(command, &log);
        self.wait_until_up(&mut child, &log);
        self.keep(child);
    }
    fn keep(&self, node: Child) {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner).push(node);
    }
    fn wait_until_up(&self, child: &mut Child, log: &str) {
        wait_for(&format!("{log} to come up"), || {
            let ended = child.try_wait().expect("a node can be asked");
            assert!(ended.is_none(), "{log} ended: {}", self.log(log));
            self.log(log).contains("Ray runtime started").then_some(())
        });
    }
    /// Kills every process of the head, without a word to anyone.
    pub fn kill_head(&self) {
        self.kill_node("head");
    }

    /// Starts a worker; `options` are more options of `ray start`. It is up when the GCS says so.
    pub fn start_worker(&self, instance: &str, pool: &str, cpus: u32, options: &[&str]) {
        let mut command = self.ray();
        command.args(["start", "--block", "--disable-usage-stats"]);
        command.args([format!("--address={}", self.address()), format!("--num-cpus={cpus}")]);
        command.args(options);
        self.node(&mut command, instance, pool);
        command.env("RAY_CLOUD_INSTANCE_TYPE_NAME", "local");
        if self.has_own_directories() {
            command.arg(format!("--temp-dir={}", self.dir.path().join(format!("{instance}.tmp")).display()));
        }
        let mut child = self.spawn(command, instance);
        if !self.has_own_directories() {
            self.wait_until_up(&mut child, instance);
        }
        self.keep(child);
    }
    /// Kills every process of a worker.
    pub fn kill_worker(&self, instance: &str) {
        self.kill_node(instance);
    }
    /// The shell command that starts a worker, for a provider that sets `RAY_CLOUD_INSTANCE_ID` and
    /// `RAY_NODE_TYPE_NAME` itself; `options` are more options of `ray start`.
    pub fn worker_command(&self, options: &str) -> String {
        let (ray, address) = (self.environment.join("bin/ray"), self.address());
        let common = "--block --disable-usage-stats --node-ip-address=127.0.0.1 --min-worker-port=0 --max-worker-port=0";
        let store = format!("--object-store-memory={OBJECT_STORE_BYTES}");
        let start = format!("{} start --address={address} {common} {store} {options}", ray.display());
        let dir = self.dir.path().display();
        if self.has_own_directories() {
            return format!("exec {start} --temp-dir={dir}/$RAY_CLOUD_INSTANCE_ID");
        }
        // Its turn ends when it is up, or has failed.
        let log = format!("{dir}/$RAY_CLOUD_INSTANCE_ID.log");
        format!(
            "exec 9>{dir}/turn; flock 9; {start} >{log} 2>&1 9>&- & ray=$!; \
             until grep -q 'Ray runtime started' {log} || ! kill -0 $ray; do sleep 0.1; done; exec 9>&-; wait $ray"
        )
    }

    /// Starts a driver: a Python script that finds the cluster with `ray.init()`.
    pub fn start_driver(&self, script: &str) -> Driver {
        let name = format!("driver-{}.log", fs::read_dir(self.dir.path()).map_or(0, Iterator::count));
        let mut command = self.command("python");
        command.args(["-u", "-c", script]);
        let log = self.dir.path().join(&name);
        Driver { child: self.spawn(command, &name), log }
    }
    /// Runs a driver to its end.
    pub fn run_driver(&self, script: &str) -> Outcome {
        self.start_driver(script).wait()
    }
    /// Runs `ray …` to its end.
    pub fn run_ray(&self, arguments: &[&str]) -> Outcome {
        let mut command = self.ray();
        command.args(arguments);
        let log = self.dir.path().join("command.log");
        Driver { child: self.spawn(command, "command.log"), log }.wait()
    }
    /// What a node or driver has written so far.
    pub fn log(&self, name: &str) -> String {
        fs::read(self.dir.path().join(name))
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    fn ray(&self) -> Command {
        self.command("ray")
    }

    /// A program of the environment, with nothing of the tester's own Ray in its surroundings.
    fn command(&self, program: &str) -> Command {
        self.program(&self.environment.join("bin").join(program))
    }

    /// Any program, with the cluster's mark, address and token, and a home of its own.
    pub fn program(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let foreign = std::env::vars_os().map(|(name, _)| name).filter(|name| {
            ["RAY_", "OSTLER_", "AUTOSCALER_"].iter().any(|own| name.to_string_lossy().starts_with(own))
        });
        foreign.for_each(|name| {
            command.env_remove(name);
        });
        command.envs([self.mark()]).env("HOME", self.dir.path()).env("RAY_ADDRESS", self.address());
        command.envs([
            ("RAY_USAGE_STATS_ENABLED", "0"),
            ("RAY_COLOR_PREFIX", "0"),
            ("PYTHONUNBUFFERED", "1"),
        ]);
        if self.options.v2 {
            command.env("RAY_enable_autoscaler_v2", "1");
        }
        if let Some(token) = &self.options.token {
            command.env("RAY_AUTH_MODE", "token").env("RAY_AUTH_TOKEN", token);
        }
        command
    }

    /// Ray counts up to a free name for its sockets, and nodes that start at the same moment on one host count to
    /// the same one. Newer Rays can be given a directory for each node; with older ones nodes start in turn.
    fn has_own_directories(&self) -> bool {
        let minor = self.options.version.split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok());
        minor.is_some_and(|minor| minor >= 60)
    }

    fn node(&self, command: &mut Command, instance: &str, pool: &str) {
        command.args(["--node-ip-address=127.0.0.1", "--min-worker-port=0", "--max-worker-port=0"]);
        command.arg(format!("--object-store-memory={OBJECT_STORE_BYTES}"));
        command
            .env("RAY_CLOUD_INSTANCE_ID", instance)
            .env("RAY_NODE_TYPE_NAME", pool)
            .env(NODE_MARK, instance);
    }

    fn spawn(&self, mut command: Command, log: &str) -> Child {
        use std::os::unix::process::CommandExt;
        let file = File::create(self.dir.path().join(log)).expect("a log file");
        let both = file.try_clone().expect("a second handle of the log file");
        command.stdin(Stdio::null()).stdout(file).stderr(both).process_group(0);
        command.spawn().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"))
    }

    fn kill_node(&self, instance: &str) {
        let (cluster, node) = (self.cluster_mark(), format!("{NODE_MARK}={instance}"));
        kill_all(|marks| marks.contains(&cluster.as_str()) && marks.contains(&node.as_str()));
    }
    fn cluster_mark(&self) -> String {
        let (name, value) = self.mark();
        format!("{name}={value}")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            #[allow(clippy::print_stderr, reason = "a failed test says where to look")]
            for entry in fs::read_dir(self.dir.path())
                .into_iter()
                .flatten()
                .flatten()
                .filter(|e| e.path().is_file() && !e.file_name().to_string_lossy().contains(".db"))
            {
                let name = entry.file_name().to_string_lossy().into_owned();
                let text = self.log(&name);
                let from = text.char_indices().rev().nth(2000).map_or(0, |(at, _)| at);
                eprintln!("---- {name} of Ray {} ----\n{}", self.options.version, &text[from..]);
            }
        }
        let cluster = self.cluster_mark();
        kill_all(|marks| marks.contains(&cluster.as_str()));
        for mut node in self.nodes.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _ = node.kill(); // killed already, unless it lost its mark
            let _ = node.wait();
        }
    }
}

/// A running command.
#[derive(Debug)]
pub struct Driver {
    child: Child,
    log: PathBuf,
}

impl Driver {
    /// What it has written so far.
    pub fn output(&self) -> String {
        fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }
    /// Waits until it has written something.
    pub fn wait_until_said(&mut self, what: &str) {
        wait_for(&format!("a driver to say {what:?}"), || {
            let ended = self.child.try_wait().expect("the driver can be asked");
            let said = self.output().contains(what);
            assert!(said || ended.is_none(), "the driver ended without saying {what:?}:\n{}", self.output());
            said.then_some(())
        });
    }
    /// Waits for its end.
    pub fn wait(mut self) -> Outcome {
        let status =
            wait_for("a command to end", || self.child.try_wait().expect("the command can be asked"));
        Outcome { status, output: self.output() }
    }
    /// Ends it now. Its children are ended with the cluster.
    pub fn kill(mut self) {
        let _ = self.child.kill(); // it may have ended by itself
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("a bound port").port()
}

/// Kills the processes whose environment is chosen, until none is left: a process may be starting another.
fn kill_all(chosen: impl Fn(&[&str]) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let pids: Vec<i32> =
            processes().filter(|&pid| environ(pid).is_ok_and(|e| chosen(&marks(&e)))).collect();
        if pids.is_empty() || Instant::now() > deadline {
            return;
        }
        for pid in pids {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL); // it may have ended by itself
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn processes() -> impl Iterator<Item = i32> {
    let own = i32::try_from(std::process::id()).ok();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|e| e.file_name().to_str()?.parse().ok()).filter(move |&pid| Some(pid) != own)
}

/// The environment a process was started with; empty for one that has ended and not been collected.
fn environ(pid: i32) -> io::Result<String> {
    fs::read(format!("/proc/{pid}/environ")).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn marks(environ: &str) -> Vec<&str> {
    environ.split('\0').filter(|pair| pair.starts_with("OSTLER_TEST_")).collect()
}
