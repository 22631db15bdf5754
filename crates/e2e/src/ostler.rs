//! One `ostler run`, which may be killed and started again, and what it says.

use crate::binary::ostler_binary;
use crate::picture::Picture;
use ostler_testkit::ray::{PATIENCE, wait_for};
use serde_json::Value;
use std::fs::{self, File, OpenOptions};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How programs are given their surroundings.
type Surroundings<'a> = Box<dyn Fn(&Path) -> Command + 'a>;

/// An Ostler with its configuration, its store and its log in one directory.
pub struct Ostler<'a> {
    dir: PathBuf,
    surroundings: Surroundings<'a>,
    arguments: Vec<String>,
    api: String,
    child: Option<Child>,
}

impl std::fmt::Debug for Ostler<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ostler").field("dir", &self.dir).field("api", &self.api).finish_non_exhaustive()
    }
}

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Its stdout.
    pub out: String,
    /// Its stderr.
    pub talk: String,
}

/// An entry of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// When it was decided, in milliseconds since 1970.
    pub at: u64,
    /// What it is about: `instance:i-1`, `pool:cpu` …
    pub subject: String,
    /// Its stable code.
    pub code: String,
    /// In words.
    pub message: String,
}

impl<'a> Ostler<'a> {
    /// Writes `cluster.yaml`, a cluster file of Ray, and knows how to start; nothing runs yet.
    pub fn new(dir: &Path, yaml: &str, address: &str, surroundings: impl Fn(&Path) -> Command + 'a) -> Self {
        let api = format!("127.0.0.1:{}", free_port());
        let text = |path: PathBuf| path.display().to_string();
        let mut arguments = vec!["run".into(), "--ray".into(), text(dir.join("cluster.yaml"))];
        arguments.extend(["--address".into(), address.into(), "--listen".into(), api.clone()]);
        arguments.extend(["--store".into(), text(dir.join("ostler.db"))]);
        let surroundings = Box::new(surroundings);
        let ostler = Self { dir: dir.to_owned(), surroundings, arguments, api, child: None };
        ostler.configure(yaml);
        ostler
    }
    /// Replaces the configuration, as an editor does.
    pub fn configure(&self, yaml: &str) {
        let new = self.dir.join("cluster.yaml.new");
        fs::write(&new, yaml).expect("the configuration can be written");
        fs::rename(new, self.dir.join("cluster.yaml")).expect("the configuration can be replaced");
    }
    /// Starts it. Its log goes on where it ended.
    pub fn start(&mut self) {
        let path = self.dir.join("ostler.log");
        let log = OpenOptions::new().create(true).append(true).open(path).expect("a log file");
        let mut command = (self.surroundings)(ostler_binary());
        command.args(&self.arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.child = Some(command.spawn().expect("the binary starts"));
    }
    /// Kills it at once, as `kill -9` does.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill(); // it may have ended by itself
            let _ = child.wait();
        }
    }
    /// The exit code, once it has ended.
    pub fn ended(&mut self) -> Option<i32> {
        self.child.as_mut()?.try_wait().expect("it can be asked").map(|status| status.code().unwrap_or(-1))
    }
    /// Its process, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }
    /// Waits until it answers and has looked at everything.
    pub fn wait_until_ready(&mut self) {
        wait_for("Ostler to be ready", || {
            assert_eq!(self.ended(), None, "Ostler ended:\n{}", self.log());
            (self.get("/readyz")?.0 == 200).then_some(())
        });
    }

    /// What a path of its API answers; `None` if nobody does.
    pub fn get(&self, path: &str) -> Option<(u16, String)> {
        let agent = ureq::Agent::config_builder().http_status_as_error(false);
        let agent = agent.timeout_global(Some(Duration::from_secs(10))).build().new_agent();
        let mut answer = agent.get(format!("http://{}{path}", self.api)).call().ok()?;
        Some((answer.status().as_u16(), answer.body_mut().read_to_string().ok()?))
    }
    /// The picture of its workload; `None` if it does not answer.
    pub fn picture(&self) -> Option<Picture> {
        let (status, body) = self.get("/api/v1/status")?;
        let mut document: Value = serde_json::from_str(&body).ok()?;
        let workload = document["workloads"].get_mut(0)?; // there is none for an instant at the start
        (status == 200).then(|| Picture(workload.take()))
    }
    /// What it has logged, in all of its lives.
    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.join("ostler.log")).unwrap_or_default()
    }

    /// Runs `ostler` beside it to its end, with its API and its store.
    pub fn call(&self, arguments: &[&str]) -> Finished {
        let mut command = (self.surroundings)(ostler_binary());
        command.args(arguments).env("OSTLER_API", format!("http://{}", self.api));
        command.env("OSTLER_STORE", self.dir.join("ostler.db"));
        finish(command, &self.dir)
    }
    /// Runs a second one with the same arguments, to its end.
    pub fn run_to_the_end(&self) -> Finished {
        let mut command = (self.surroundings)(ostler_binary());
        command.args(&self.arguments);
        finish(command, &self.dir)
    }
    /// The newest 10,000 entries of the journal, oldest first.
    pub fn journal(&self) -> Vec<Entry> {
        let Finished { out, .. } = self.call(&["journal", "--limit", "10000", "--format", "json"]);
        let entry = |line: &str| {
            let line: Value = serde_json::from_str(line).expect("the journal is JSON");
            let text = |name: &str| line[name].as_str().expect("a text").to_owned();
            let at = line["at"].as_u64().expect("a time");
            Entry { at, subject: text("subject"), code: text("code"), message: text("message") }
        };
        out.lines().map(entry).collect()
    }
    /// How often the journal has a code.
    pub fn count(&self, code: &str) -> usize {
        self.journal().iter().filter(|entry| entry.code == code).count()
    }
    /// Waits until the journal has an entry of this code.
    pub fn wait_for_entry(&self, code: &str) -> Entry {
        let mut last = Vec::new();
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wait_for(&format!("{code} in the journal"), || {
                last = self.journal();
                last.iter().find(|entry| entry.code == code).cloned()
            })
        }));
        found.unwrap_or_else(|_| panic!("no {code} in the journal: {last:#?}"))
    }
}

impl Drop for Ostler<'_> {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Runs a program to its end; one that does not end in time is killed.
fn finish(mut command: Command, dir: &Path) -> Finished {
    let name = |end: &str| dir.join(format!("call-{:?}.{end}", std::thread::current().id()));
    let file = |end| File::create(name(end)).expect("a file for its output");
    let mut child =
        command.stdin(Stdio::null()).stdout(file("out")).stderr(file("talk")).spawn().expect("it starts");
    let deadline = std::time::Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait().expect("it can be asked") {
            break status;
        }
        if std::time::Instant::now() > deadline {
            let _ = child.kill(); // it may have ended by itself
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let read = |end| fs::read_to_string(name(end)).expect("its output is text");
    Finished { code: status.code(), out: read("out"), talk: read("talk") }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("a bound port").port()
}
