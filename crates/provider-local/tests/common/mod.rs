//! A place for machines that leaves nothing behind.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

use ostler_model::{LaunchToken, NodeKind};
use ostler_provider::{LaunchSpec, Listing, Provider};
use ostler_provider_local::{Command, LocalConfig, LocalProvider};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// What is waited for comes within this time even on a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A state directory; when it goes, so does every process that was started from it.
#[derive(Debug)]
pub struct Place {
    pub dir: tempfile::TempDir,
    pub config: LocalConfig,
}

impl Place {
    /// Machines there run this text.
    pub fn new(command: &str) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let config = LocalConfig::new(dir.path().join("state"), Command::Shell(command.into()));
        Self { dir, config }
    }

    pub fn open(&self) -> LocalProvider {
        LocalProvider::open(self.config.clone()).expect("the state directory is free and good")
    }

    pub fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    /// The living processes that carry this place's mark, with their variables.
    pub fn processes(&self) -> Vec<(i32, BTreeMap<String, String>)> {
        let Ok(site) = std::fs::read_to_string(self.config.state_dir.join("site")) else { return Vec::new() };
        let ours = |(_, v): &(i32, BTreeMap<String, String>)| {
            v.get("OSTLER_STATE_ID").is_some_and(|id| id == site.trim())
        };
        let pids = std::fs::read_dir("/proc")
            .expect("/proc")
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        pids.filter(|pid| runs(*pid)).map(|pid| (pid, variables(pid))).filter(ours).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            left.iter().for_each(|(pid, _)| kill("-KILL", *pid));
        }
    }
}

pub fn spec(instance: &str) -> LaunchSpec {
    LaunchSpec {
        workload: "w".into(),
        pool: "p".into(),
        instance: instance.into(),
        attempt: 1,
        kind: NodeKind::Worker,
        instance_type: "small".into(),
        resources: Default::default(),
        labels: Default::default(),
        tags: BTreeMap::from([("team".into(), "blue".into())]),
        template: serde_json::Value::Null,
        environment: BTreeMap::from([("JOIN_SECRET".into(), "a-secret".into())]),
    }
}

pub fn token(spec: &LaunchSpec) -> LaunchToken {
    LaunchToken::of(&spec.instance, spec.attempt)
}

pub fn kill(signal: &str, pid: i32) {
    let done = std::process::Command::new("kill")
        .args([signal, &pid.to_string()])
        .stderr(std::process::Stdio::null())
        .status();
    assert!(done.is_ok(), "the program `kill` runs");
}

/// Alive, and not a zombie.
pub fn runs(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

pub fn start_time(pid: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let rest = stat.rsplit_once(") ").expect("a stat line").1;
    rest.split(' ').nth(19).expect("a start time").parse().expect("a number")
}

fn variables(pid: i32) -> BTreeMap<String, String> {
    let bytes = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    text.split('\0').filter_map(|line| line.split_once('=')).map(|(k, v)| (k.into(), v.into())).collect()
}

pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(Instant::now() < until, "{what}: not within {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

pub async fn until_file(path: &Path) {
    until(&format!("{} is there", path.display()), async || path.exists()).await;
}

pub async fn until_empty(provider: &LocalProvider) {
    until("all machines are gone", async || list(provider).await.instances.is_empty()).await;
}

pub async fn list(provider: &LocalProvider) -> Listing {
    provider.list().await.expect("a listing")
}
