//! Real processes: the contract, how machines end, and how they are found again.

mod common;

use async_trait::async_trait;
use common::{Place, kill, list, runs, spec, start_time, token, until, until_empty, until_file};
use ostler_model::{CloudId, CloudPhase, FailureClass};
use ostler_provider::{LaunchSpec, Provider, conformance};
use ostler_provider_local::{LocalConfig, LocalProvider};
use serde_json::json;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const SLEEP: &str = "exec sleep 600";

struct Subject {
    place: Place,
    other: Place,
    stranger: Mutex<Child>,
}

#[async_trait]
impl conformance::Subject for Subject {
    async fn connect(&self) -> Arc<dyn Provider> {
        Arc::new(self.place.open())
    }
    fn spec(&self) -> LaunchSpec {
        spec("i")
    }
    fn refused(&self) -> Option<LaunchSpec> {
        Some(LaunchSpec { template: json!({"command": ["/no/such/program"]}), ..spec("i") })
    }
    async fn foreign(&self) -> Vec<CloudId> {
        let (theirs, spec) = (self.other.open(), spec("theirs"));
        vec![theirs.launch(&spec, &token(&spec)).await.expect("a good launch")]
    }
    async fn foreign_lives(&self) -> bool {
        let stranger = self.stranger.lock().expect("no panic").id() as i32;
        list(&self.other.open()).await.instances.len() == 1 && runs(stranger)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keeps_the_contract() {
    let stranger = Command::new("sleep").arg("600").spawn().expect("sleep runs");
    let subject =
        Subject { place: Place::new(SLEEP), other: Place::new(SLEEP), stranger: Mutex::new(stranger) };
    conformance::suite(&subject).await;
    let mut stranger = subject.stranger.lock().expect("no panic");
    stranger.kill().and_then(|()| stranger.wait()).expect("it ran");
    assert_eq!(subject.place.processes(), [], "nothing is left");
}

async fn launch(provider: &LocalProvider, instance: &str) -> CloudId {
    let spec = spec(instance);
    provider.launch(&spec, &token(&spec)).await.expect("a good launch")
}

#[tokio::test]
async fn a_machine_may_end_gracefully() {
    let mut place = Place::new("");
    let (up, bye) = (place.path("up"), place.path("bye"));
    let text = format!("trap 'echo > {bye:?}; exit' TERM; echo > {up:?}; while :; do sleep 0.05; done");
    place.config.command = Some(ostler_provider_local::Command::Shell(text));
    let provider = place.open();
    let id = launch(&provider, "i").await;
    until_file(&up).await;
    provider.terminate(&id).await.expect("accepted");
    until_empty(&provider).await;
    assert!(bye.exists(), "it could say goodbye");
}

#[tokio::test]
async fn a_machine_that_does_not_end_is_ended() {
    let mut place = Place::new("trap '' TERM; echo up; while :; do sleep 0.05; done");
    place.config.stop_grace_s = 0.3;
    let provider = place.open();
    let id = launch(&provider, "i").await;
    let log = place.config.state_dir.join(format!("logs/{id}.log"));
    until("it ignores SIGTERM", async || std::fs::read_to_string(&log).is_ok_and(|text| text == "up\n"))
        .await;
    let asked = Instant::now();
    provider.terminate(&id).await.expect("accepted");
    assert_eq!(list(&provider).await.instances[0].phase, CloudPhase::Stopping);
    until_empty(&provider).await;
    assert!(asked.elapsed() >= Duration::from_millis(300), "not before its grace: {:?}", asked.elapsed());
    assert_eq!(place.processes(), []);
}

#[tokio::test]
async fn an_end_is_carried_on_after_a_restart() {
    let mut place = Place::new("trap '' TERM; echo > \"$UP\"; while :; do sleep 0.05; done");
    let up = place.path("up");
    place.config.environment.0.insert("UP".into(), up.display().to_string());
    place.config.stop_grace_s = 0.5;
    let provider = place.open();
    let id = launch(&provider, "i").await;
    until_file(&up).await;
    provider.terminate(&id).await.expect("accepted");
    drop(provider);
    let provider = place.open();
    assert_eq!(list(&provider).await.instances[0].phase, CloudPhase::Stopping);
    drop(provider);
    let _janitor_alone = place.open();
    until("nothing is left, though nobody lists", async || place.processes().is_empty()).await;
}

#[tokio::test]
async fn what_left_the_group_and_the_session_is_of_the_machine() {
    let place =
        Place::new("setsid sleep 600 & (setsid sh -c 'sleep 600 & exec sleep 600' &) ; exec sleep 600");
    let provider = place.open();
    let id = launch(&provider, "i").await;
    until("all have started", async || place.processes().len() == 4).await;
    let details = provider.details(&id).expect("it is known");
    let leader: i32 = details.split([' ', ',']).nth(1).and_then(|pid| pid.parse().ok()).expect(&details);
    kill("-KILL", leader);
    until("the first process is gone", async || place.processes().len() == 3).await;
    assert_eq!(
        list(&provider).await.instances[0].phase,
        CloudPhase::Running,
        "three processes are left of it"
    );
    drop(provider);
    let provider = place.open();
    assert_eq!(list(&provider).await.instances[0].id, id, "found again by what is left");
    provider.terminate(&id).await.expect("accepted");
    until_empty(&provider).await;
    assert_eq!(place.processes(), []);
}

#[tokio::test]
async fn a_machine_that_dies_is_gone() {
    let place = Place::new("exit 3");
    let provider = place.open();
    let id = launch(&provider, "i").await;
    until_empty(&provider).await;
    assert_eq!(launch(&provider, "i").await, id, "its token starts no other");
    assert_eq!(list(&provider).await.instances, []);
}

#[tokio::test]
async fn a_machine_that_dies_before_anybody_looks_is_shown_once() {
    let place = Place::new("exit 3");
    let provider = place.open();
    let id = launch(&provider, "i").await;
    until("it is gone", async || place.processes().is_empty()).await;
    let shown: Vec<_> = list(&provider).await.instances.into_iter().map(|machine| machine.id).collect();
    assert_eq!(shown, [id], "or its launch would seem to be unanswered");
    assert_eq!(list(&provider).await.instances, []);
}

#[tokio::test]
async fn a_start_under_way_is_neither_repeated_nor_forgotten() {
    let place = Place::new(SLEEP);
    let id = launch(&place.open(), "i").await;
    kill("-KILL", place.processes()[0].0);
    // As a killed Ostler leaves it whose process is between fork and exec: no mark yet, and the lock is held.
    let file = |end: &str| place.config.state_dir.join(format!("machines/{id}.{end}"));
    let mut record: serde_json::Value =
        serde_json::from_slice(&std::fs::read(file("json")).expect("a record")).expect("JSON");
    record["stage"] = json!("starting");
    record["leader"] = json!(null);
    std::fs::write(file("json"), record.to_string()).expect("written");
    let process = std::fs::File::open(file("lock")).expect("a lock file");
    process.lock().expect("its process is gone");

    let provider = place.open();
    assert_eq!(list(&provider).await.instances[0].phase, CloudPhase::Pending);
    assert_eq!(launch(&provider, "i").await, id);
    assert_eq!(place.processes(), [], "no second one was started");
    drop(process);
    assert_eq!(list(&provider).await.instances, [], "the start came to nothing");
    assert_eq!(launch(&provider, "i").await, id);
    until("it runs now", async || place.processes().len() == 1).await;
    assert_eq!(list(&provider).await.instances[0].phase, CloudPhase::Running);
}

#[tokio::test]
async fn a_number_used_again_is_left_alone() {
    let place = Place::new(SLEEP);
    let id = launch(&place.open(), "i").await;
    let (pid, _) = place.processes()[0].clone();
    kill("-KILL", pid);
    let mut stranger = Command::new("sleep").arg("600").spawn().expect("sleep runs");
    let number = stranger.id() as i32;
    let path = place.config.state_dir.join(format!("machines/{id}.json"));
    let record: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&path).expect("a record")).expect("JSON");
    // Another start time; and, though no kernel does that, the same one.
    for start in [record["leader"]["start"].as_u64().expect("a start time"), start_time(number)] {
        let mut forged = record.clone();
        forged["leader"]["pid"] = json!(number);
        forged["leader"]["start"] = json!(start);
        std::fs::write(&path, forged.to_string()).expect("written");
        let provider = place.open();
        provider.terminate(&id).await.expect("accepted");
        until_empty(&provider).await;
        assert!(runs(number), "a stranger was ended");
    }
    stranger.kill().and_then(|()| stranger.wait()).expect("it ran");
}

#[tokio::test]
async fn a_lost_or_broken_record_is_made_again() {
    let place = Place::new(SLEEP);
    let provider = place.open();
    let (lost, broken) = (launch(&provider, "lost").await, launch(&provider, "broken").await);
    let before = list(&provider).await;
    drop(provider);
    let path = |id: &str| place.config.state_dir.join(format!("machines/{id}.json"));
    std::fs::remove_file(path(lost.as_str())).expect("there was a record");
    std::fs::write(path(broken.as_str()), "{").expect("written");
    std::fs::write(path("local-nothing.1"), "{").expect("written");
    let provider = place.open();
    let after = list(&provider).await;
    let ids = |listing: &ostler_provider::Listing| {
        listing
            .instances
            .iter()
            .map(|m| (m.id.clone(), m.launched_for.clone(), m.pool.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(&after), ids(&before));
    assert_eq!(after.skipped.len(), 1, "{:?}", after.skipped);
    assert!(after.skipped[0].contains("local-nothing.1.json"), "{:?}", after.skipped);
    assert_eq!(launch(&provider, "lost").await, lost);
    assert_eq!(place.processes().len(), 2, "none was doubled");
}

#[tokio::test]
async fn launches_have_a_bound_and_tokens_a_form() {
    let mut place = Place::new(SLEEP);
    place.config.max_machines = 1;
    let provider = place.open();
    let first = launch(&provider, "i").await;
    let error = provider.launch(&spec("j"), &token(&spec("j"))).await.expect_err("one is the most");
    assert_eq!((error.class, error.code), (FailureClass::Quota, "OSTLER-P107"));
    provider.terminate(&first).await.expect("accepted");
    until_empty(&provider).await;
    launch(&provider, "j").await;
    for bad in ["", "../../etc/passwd", "a b", "ä", &"x".repeat(129)] {
        let error = provider.launch(&spec("k"), &bad.into()).await.expect_err("not the name of a file");
        assert_eq!((error.class, error.code), (FailureClass::Permanent, "OSTLER-P104"));
    }
}

#[tokio::test]
async fn a_directory_has_one_owner() {
    let place = Place::new(SLEEP);
    let provider = place.open();
    let error = LocalProvider::open(place.config.clone()).expect_err("it is taken");
    assert_eq!(error.code, "OSTLER-P103");
    drop(provider);
    place.open();
    let config = LocalConfig::new("/proc/nothing", ostler_provider_local::Command::Shell(SLEEP.into()));
    assert_eq!(LocalProvider::open(config).expect_err("no directory").code, "OSTLER-P102");
}

#[tokio::test]
async fn a_log_is_found_and_bounded() {
    let mut place = Place::new("while :; do echo 0123456789; done");
    place.config.max_log_bytes = 10_000;
    let provider = place.open();
    let id = launch(&provider, "i").await;
    let details = provider.details(&id).expect("it is known");
    let log = std::path::PathBuf::from(details.rsplit_once("log ").expect(&details).1);
    let old = log.with_extension("log.old");
    until("the log was cut", async || {
        list(&provider).await;
        old.exists() && std::fs::metadata(&log).is_ok_and(|meta| meta.len() > 0)
    })
    .await;
    let text = std::fs::read_to_string(&log).expect("a log");
    assert!(
        text.lines().next().is_some_and(|line| !line.contains('\0')),
        "it goes on at the start of the file"
    );
    assert_eq!(provider.details(&"nothing".into()), None);
}

#[tokio::test]
async fn secrets_reach_the_process_and_no_file() {
    let place = Place::new(SLEEP);
    let provider = place.open();
    launch(&provider, "i").await;
    until("it started", async || place.processes().len() == 1).await;
    assert_eq!(place.processes()[0].1["JOIN_SECRET"], "a-secret");
    for entry in std::fs::read_dir(place.config.state_dir.join("machines")).expect("a directory") {
        let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("text");
        assert!(!text.contains("a-secret"), "{text}");
    }
    assert!(!format!("{provider:?}").contains("a-secret"));
}

#[test]
fn mistakes_of_the_configuration_are_named() {
    let good = json!({"state_dir": "/tmp/x", "command": "run"});
    assert!(LocalConfig::from_value(good.clone()).is_ok());
    for (key, value, word) in [
        ("comand", json!("x"), "comand"),
        ("stop_grace_s", json!(-1), "stop_grace_s"),
        ("stop_grace_s", json!("soon"), "soon"),
        ("environment", json!({"": "x"}), "environment"),
        ("state_dir", json!(null), "null"),
    ] {
        let mut bad = good.clone();
        bad[key] = value;
        let error = LocalConfig::from_value(bad).expect_err(key);
        assert!(error.code == "OSTLER-P101" && error.message.contains(word), "{error}");
    }
}
