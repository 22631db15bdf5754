//! One `ostler run`, with a directory of its own: configuration, store, log, API.

use ostler_e2e::ostler_binary;
use serde_json::Value;
use std::fs::{self, OpenOptions};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// See the module. It is killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Ostler {
    dir: tempfile::TempDir,
    api: String,
    child: Option<Child>,
}

impl Ostler {
    /// One that does not run yet.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let socket = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        Self { dir, api: socket.expect("a free port").to_string(), child: None }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Its store, unless its configuration says otherwise.
    pub(crate) fn store(&self) -> PathBuf {
        self.path("ostler.db")
    }

    /// Writes the configuration; one that runs reads it again.
    pub(crate) fn configure(&self, mut all: Value) {
        all["api"]["listen"] = self.api.as_str().into();
        if all["store"]["path"].is_null() {
            all["store"]["path"] = self.store().display().to_string().into();
        }
        // JSON is YAML. Another file in its place, so that no half of it is ever read.
        let new = self.path("ostler.yaml.new");
        fs::write(&new, format!("{all:#}\n")).expect("a configuration can be written");
        fs::rename(new, self.path("ostler.yaml")).expect("it can be moved");
    }

    /// Starts it, with more arguments.
    pub(crate) fn start(&mut self, arguments: &[&str]) {
        let log = OpenOptions::new().create(true).append(true).open(self.path("log")).expect("a log");
        let mut command = Command::new(ostler_binary());
        command.args(["run", "-f"]).arg(self.path("ostler.yaml")).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        self.child = Some(command.stderr(log).spawn().expect("Ostler starts"));
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill(); // it may have ended by itself
            let _ = child.wait();
        }
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) fn stop(&mut self) {
        self.signal("TERM");
        let status = self.child.take().expect("it runs").wait().expect("it can be waited for");
        assert!(status.success(), "{status}:\n{}", self.last_words());
    }

    /// Sends it a signal, such as `STOP`.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.as_ref().expect("it runs").id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status().expect("kill can be started");
        assert!(sent.success(), "kill -s {name} {pid}: {sent}");
    }

    /// Has it ended by itself?
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| child.try_wait().expect("it can be asked").is_some())
    }

    /// What it has logged.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// Waits until its log says so.
    pub(crate) async fn until_said(&self, what: &str) {
        let patience = Instant::now() + Duration::from_secs(60);
        while !self.log().contains(what) {
            assert!(Instant::now() < patience, "it does not say {what:?}:\n{}", self.last_words());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The end of its log.
    pub(crate) fn last_words(&self) -> String {
        let log = self.log();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }

    /// What a command of `ostler` says of it, such as `status`; empty while it does not answer.
    pub(crate) fn says(&self, command: &str) -> String {
        let api = format!("http://{}", self.api);
        let output = Command::new(ostler_binary()).args([command, "--api", &api]).output();
        String::from_utf8_lossy(&output.expect("ostler can be started").stdout).into_owned()
    }

    /// Its last decisions, for people.
    pub(crate) fn decisions(&self) -> String {
        let mut command = Command::new(ostler_binary());
        command.args(["journal", "--limit", "60", "--store"]).arg(self.path("ostler.db"));
        let output = command.output().expect("ostler can be started");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What a store holds of decisions, oldest first.
    pub(crate) fn journal(store: &Path) -> Vec<Value> {
        let mut command = Command::new(ostler_binary());
        let output = command.args(["journal", "--format", "json", "--store"]).arg(store).output();
        let output = output.expect("ostler can be started");
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8_lossy(&output.stdout);
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }
}

impl Drop for Ostler {
    fn drop(&mut self) {
        self.kill();
    }
}
