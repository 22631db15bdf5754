//! The `ostler` binary as the scaling service of a Polars cluster, with workers that are processes of this host.

use ostler_e2e::ostler_binary;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// One Ostler with its service; killed when dropped, and its workers with it.
struct Service {
    dir: tempfile::TempDir,
    rest: SocketAddr,
    child: Option<Child>,
}

impl Service {
    fn new(max: u32, worker: &str) -> Self {
        let free =
            || TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a free port");
        let service = Self { dir: tempfile::tempdir().expect("a directory"), rest: free(), child: None };
        service.configure(max, worker);
        service
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    /// A worker makes a file of its name, once, and goes on as it is told.
    fn configure(&self, max: u32, worker: &str) {
        let (dir, rest) = (self.dir.path().display(), self.rest);
        let text = format!(
            "workloads:
  analytics:
    kind: polars
    rest: {{listen: '{rest}'}}
    grpc: {{listen: '{rest}'}}
    ready: {{probe: command, command: 'test -e {dir}/$OSTLER_INSTANCE_ID', interval: 100ms}}
    launch_backoff: 2s
    pools:
      worker: {{provider: here, max: {max}}}
providers:
  here:
    type: local
    stop_grace: 2s
    command: |
      set -C
      : > {dir}/$PC_CUBLET__instance_id || echo $PC_CUBLET__instance_id >> {dir}/twice
      {worker}
store: {{path: s.db}}
api: {{listen: '127.0.0.1:0'}}
"
        );
        std::fs::write(self.path("ostler.yaml"), text).expect("a file");
    }

    fn start(&mut self) {
        let log =
            std::fs::OpenOptions::new().create(true).append(true).open(self.path("log")).expect("a log");
        let mut command = Command::new(ostler_binary());
        command.args(["run", "-f"]).arg(self.path("ostler.yaml")).stdin(Stdio::null()).stdout(Stdio::null());
        self.child = Some(command.stderr(log).spawn().expect("it starts"));
        self.until("it answers", |this| this.ask("GET", "/scale_config", "").is_ok());
    }

    /// `kill -9`.
    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it is ours");
            child.wait().expect("it ends");
        }
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> std::io::Result<(u16, String)> {
        let mut stream = TcpStream::connect(self.rest)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}"
        )?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
        let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
        status.map(|status| (status, body)).ok_or_else(|| std::io::Error::other(text))
    }

    fn scale_to(&self, body: &str) {
        let begun = Instant::now();
        let answer = self.ask("POST", "/scale_to", body).expect("an answer");
        assert_eq!(answer, (204, String::new()), "{body}");
        assert!(begun.elapsed() < Duration::from_secs(5), "within the scheduler's patience");
    }

    /// Desired, available, min, max.
    fn shown(&self) -> [u64; 4] {
        let (status, body) = self.ask("GET", "/scale_config", "").expect("an answer");
        assert_eq!(status, 200, "{body}");
        let value: serde_json::Value = serde_json::from_str(&body).expect("JSON");
        ["desired", "available", "min", "max"].map(|key| value[key].as_u64().expect("a number"))
    }

    fn until(&self, what: &str, wanted: impl Fn(&Self) -> bool) {
        let begun = Instant::now();
        while !wanted(self) {
            let log = || std::fs::read_to_string(self.path("log")).unwrap_or_default();
            assert!(begun.elapsed() < PATIENCE, "{what}: not after {PATIENCE:?}\n{}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn until_shown(&self, wanted: [u64; 4]) {
        self.until(&format!("{wanted:?}"), |this| this.shown() == wanted);
    }

    /// Workers whose process runs, by name.
    fn workers(&self) -> BTreeSet<String> {
        let mark = "OSTLER_INSTANCE_ID=";
        let ours = "PC_CUBLET__instance_id=";
        let mut found = BTreeSet::new();
        for entry in std::fs::read_dir("/proc").expect("/proc").flatten() {
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            let texts: Vec<String> = environment
                .split(|byte| *byte == 0)
                .map(|v| String::from_utf8_lossy(v).into_owned())
                .collect();
            let name = texts.iter().find_map(|text| text.strip_prefix(ours));
            let known = texts.iter().find_map(|text| text.strip_prefix(mark));
            if let Some(name) = name.filter(|name| Some(*name) == known && self.path(name).exists()) {
                found.insert(name.to_owned());
            }
        }
        found
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if self.child.is_some() && !std::thread::panicking() {
            self.scale_to(r#"{"amount": 0}"#);
            self.until("the workers end", |this| this.workers().is_empty());
        }
        self.kill();
    }
}

const SLEEP: &str = "exec sleep 600";

#[test]
fn a_target_survives_a_kill_between_accept_and_launch() {
    let mut service = Service::new(8, SLEEP);
    service.start();
    for amount in 1..=5_u64 {
        service.scale_to(&format!(r#"{{"amount": {amount}}}"#));
        service.kill();
        service.start();
        assert_eq!(service.shown()[0], amount, "the target is there at once");
    }
    service.until_shown([5, 5, 0, 8]);
    let workers = service.workers();
    assert_eq!(workers.len(), 5, "{workers:?}");
    // So do the protections.
    let kept = workers.iter().next().expect("five");
    service.scale_to(&format!(r#"{{"amount": 0, "workers_to_keep": ["{kept}"]}}"#));
    service.kill();
    service.start();
    service.until_shown([1, 1, 0, 8]);
    service.until("the others end", |this| this.workers() == BTreeSet::from([kept.clone()]));
    assert!(!service.path("twice").exists(), "a name was used twice");
}

#[test]
fn bounds_follow_the_configuration_and_a_listed_worker_is_replaced() {
    let mut service = Service::new(3, SLEEP);
    service.start();
    service.scale_to(r#"{"amount": 4000000000}"#);
    service.until_shown([3, 3, 0, 3]);
    let before = service.workers();
    let (gone, kept) = (before.first().expect("three"), before.last().expect("three"));
    service.scale_to(&format!(
        r#"{{"amount": 3, "workers_to_delete": ["{gone}", "{kept}"], "workers_to_keep": ["{kept}"]}}"#
    ));
    service.until("one is replaced", |this| this.shown() == [3, 3, 0, 3] && !this.workers().contains(gone));
    let after = service.workers();
    assert!(after.contains(kept) && after.len() == 3, "{before:?} {after:?}");
    service.configure(2, SLEEP);
    service.until_shown([2, 2, 0, 2]);
    assert!(service.workers().contains(kept));
    service.configure(5, SLEEP);
    service.until_shown([3, 3, 0, 5]);
    assert!(!service.path("twice").exists(), "a name was used twice");
}

#[test]
fn workers_that_crash_are_not_started_again_and_again_and_requests_are_answered() {
    let mut service = Service::new(8, "exit 1");
    service.start();
    let begun = Instant::now();
    service.scale_to(r#"{"amount": 2}"#);
    let names = |this: &Service| {
        let files = std::fs::read_dir(this.dir.path()).expect("it is there").flatten();
        files.filter(|file| file.file_name().to_string_lossy().starts_with("i-")).count()
    };
    // A worker that ends by itself before it has been ready for `launch_backoff` has its pool rest for at least as
    // long. So in the place of each of the two there is one start, and one more for each time that 2 s have passed,
    // however fast the workers end, and whether or not the probe saw them alive.
    let bound = |begun: Instant| 2 * (1 + begun.elapsed().as_secs() as usize / 2);
    service.until("they were tried twice again", |this| {
        let started = names(this);
        assert!(started <= bound(begun), "{started} starts within {:?}", begun.elapsed());
        started >= 6
    });
    assert_eq!(service.shown()[0], 2);
    service.scale_to(r#"{"amount": 0}"#);
    service.until_shown([0, 0, 0, 8]);
    let log = std::fs::read_to_string(Path::new(&service.path("log"))).expect("a log");
    assert!(log.contains("Lost"), "the cause is said:\n{log}");
}
