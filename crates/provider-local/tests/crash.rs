//! `kill -9` of Ostler at random moments of launching and ending: nothing leaks, nothing is doubled.
#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "the victim tells its killer, and we tell how many starts were cut"
)]

mod common;

use common::{Place, kill, list, spec, token, until, until_empty};
use ostler_model::CloudId;
use ostler_provider::Provider;
use ostler_provider_local::{LocalConfig, LocalProvider};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const VICTIM: &str = "LOCAL_PROVIDER_VICTIM";
const MACHINES: u32 = 12;
const ROUNDS: u32 = 30;
/// Each start of a machine leaves a line, so that a second start cannot hide.
const COMMAND: &str = "echo \"$OSTLER_LAUNCH_TOKEN\" >> \"$BORN\"; exec sleep 600";

fn instance(round: u32, n: u32) -> String {
    format!("r{round}-{n}")
}

/// Not a test by itself: what is killed. Ends the machines of the round before while it launches its own.
#[tokio::test]
async fn victim() {
    let Ok(order) = std::env::var(VICTIM) else { return };
    let (round, config): (u32, LocalConfig) = serde_json::from_str(&order).expect("a good order");
    let provider = LocalProvider::open(config).expect("the directory is free");
    let old = list(&provider).await.instances;
    eprintln!("ready");
    for n in 0..MACHINES {
        let spec = spec(&instance(round, n));
        provider.launch(&spec, &token(&spec)).await.expect("a good launch");
        if let Some(machine) = old.get(n as usize) {
            provider.terminate(&machine.id).await.expect("accepted");
        }
    }
    std::future::pending::<()>().await;
}

fn start_victim(round: u32, config: &LocalConfig) -> Child {
    let order = serde_json::to_string(&(round, config)).expect("JSON");
    let mut victim = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "victim", "--nocapture"])
        .env(VICTIM, order)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("this program runs again");
    let lines = BufReader::new(victim.stderr.take().expect("a pipe")).lines();
    let ready = lines.map_while(Result::ok).any(|line| line == "ready");
    assert!(ready, "the victim opens the directory");
    victim
}

/// Spread evenly, and the same in each run: the golden ratio's multiples.
fn delay(round: u32) -> Duration {
    Duration::from_micros((u64::from(round.wrapping_mul(0x9E37_79B9)) * 60_000) >> 32)
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_moment_nothing_leaks_and_nothing_is_doubled() {
    let mut place = Place::new(COMMAND);
    let born = place.path("born");
    place.config.environment.0.insert("BORN".into(), born.display().to_string());
    let mut half_done = 0;
    for round in 0..ROUNDS {
        let mut victim = start_victim(round, &place.config);
        std::thread::sleep(delay(round));
        kill("-KILL", victim.id() as i32);
        victim.wait().expect("it ran");
        half_done += records(&place).values().filter(|stage| **stage == "starting").count();

        let provider = place.open();
        for n in 0..MACHINES {
            let spec = spec(&instance(round, n));
            provider.launch(&spec, &token(&spec)).await.expect("a good launch");
        }
        end_all_but(&provider, &format!("local-r{round}-")).await;
        expect_whole(&place, &provider, round).await;
    }
    println!("{half_done} starts of {ROUNDS} rounds were cut in the middle");
    let provider = place.open();
    end_all_but(&provider, "none").await;
    until_empty(&provider).await;
    assert_eq!(place.processes(), [], "nothing is left");
    let text = std::fs::read_to_string(&born).expect("machines ran");
    let mut births = BTreeMap::<&str, u32>::new();
    text.lines().for_each(|token| *births.entry(token).or_default() += 1);
    assert_eq!(births.len() as u32, ROUNDS * MACHINES, "each machine was started");
    assert!(births.values().all(|count| *count == 1), "some were started twice: {births:?}");
}

async fn end_all_but(provider: &LocalProvider, prefix: &str) {
    for machine in list(provider).await.instances {
        if !machine.id.as_str().starts_with(prefix) {
            provider.terminate(&machine.id).await.expect("accepted");
        }
    }
}

/// This round's machines run, those that were asked to end are gone or going, and each has its one process.
async fn expect_whole(place: &Place, provider: &LocalProvider, round: u32) {
    let wanted: Vec<_> =
        (0..MACHINES).map(|n| CloudId::new(format!("local-{}.1", instance(round, n)))).collect();
    until("each machine has its one process", async || {
        let listed: Vec<_> = list(provider).await.instances.into_iter().map(|m| m.id.to_string()).collect();
        let mut running: Vec<_> =
            place.processes().iter().map(|(_, v)| v["RAY_CLOUD_INSTANCE_ID"].clone()).collect();
        running.sort();
        running == listed && wanted.iter().all(|id| listed.contains(&id.to_string()))
    })
    .await;
}

/// The stage in each record, as the victim left them.
fn records(place: &Place) -> BTreeMap<String, String> {
    let files = std::fs::read_dir(place.config.state_dir.join("machines")).expect("a directory");
    let json = files.filter_map(|entry| {
        Some(entry.ok()?.path()).filter(|path| path.extension().is_some_and(|e| e == "json"))
    });
    json.map(|path| {
        let record: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).expect("a record"))
            .expect("whole, whenever it is read");
        (path.display().to_string(), record["stage"].as_str().unwrap_or_default().to_owned())
    })
    .collect()
}
