//! The fake keeps the contract, and its faults do what they say.

use async_trait::async_trait;
use expect_test::{Expect, expect};
use ostler_model::{CloudId, FailureClass, LaunchToken, Millis, NodeKind, Timestamp};
use ostler_provider::fake::{Answer, Call, FakeCloud, FakeProvider, Fault, Habits, Trouble};
use ostler_provider::{LaunchSpec, Provider, ProviderError, conformance, tags};
use std::collections::BTreeMap;
use std::sync::Arc;

const HABITS: Habits = Habits { appears_in: Millis(300), boots_in: Millis(1_000), stops_in: Millis(2_000) };

fn spec(pool: &str, instance: &str) -> LaunchSpec {
    LaunchSpec {
        workload: "w".into(),
        pool: pool.into(),
        instance: instance.into(),
        attempt: 1,
        kind: NodeKind::Worker,
        instance_type: String::new(),
        resources: Default::default(),
        labels: Default::default(),
        tags: BTreeMap::from([("team".into(), "blue".into())]),
        template: serde_json::Value::Null,
        environment: BTreeMap::new(),
    }
}

#[derive(Debug)]
struct Subject(FakeProvider);

#[async_trait]
impl conformance::Subject for Subject {
    async fn connect(&self) -> Arc<dyn Provider> {
        Arc::new(self.0.clone())
    }
    fn spec(&self) -> LaunchSpec {
        spec("small", "i")
    }
    fn refused(&self) -> Option<LaunchSpec> {
        Some(LaunchSpec { template: serde_json::json!({"refuse": "quota"}), ..self.spec() })
    }
    async fn foreign(&self) -> Vec<CloudId> {
        let theirs = tags::write("their-site", &self.spec(), &LaunchToken::from("t")).expect("good tags");
        self.0.with(|cloud| cloud.insert("theirs".into(), theirs));
        self.0.with(|cloud| cloud.insert("untagged".into(), BTreeMap::new()));
        vec!["theirs".into(), "untagged".into()]
    }
    async fn foreign_lives(&self) -> bool {
        self.0.with(|cloud| cloud.has(&"theirs".into()) && cloud.has(&"untagged".into()))
    }
    async fn pause(&self, span: Millis) {
        self.0.advance(span);
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn keeps_the_contract() {
    conformance::suite(&Subject(FakeProvider::new("site", HABITS))).await;
    conformance::suite(&Subject(FakeProvider::new("site", Habits::default()))).await;
}

/// Runs a script of one step a line against a cloud; gives what each step answered.
fn check(script: &str, expected: Expect) {
    let mut cloud = FakeCloud::new("site", HABITS);
    let lines = script.lines().map(str::trim).filter(|line| !line.is_empty());
    let told: String = lines.map(|line| format!("{line} -> {}\n", step(&mut cloud, line))).collect();
    expected.assert_eq(&told);
}

fn step(cloud: &mut FakeCloud, line: &str) -> String {
    let words: Vec<_> = line.split(' ').collect();
    match words[..] {
        ["at", ms] => {
            cloud.set_now(Timestamp(ms.parse().expect("milliseconds")));
            "ok".into()
        }
        ["launch", pool, instance] => {
            let spec = spec(pool, instance);
            told(cloud.launch(&spec, &LaunchToken::of(&spec.instance, 1)), |id| id.to_string())
        }
        ["terminate", id] => told(cloud.terminate(&id.into()), |()| "ok".into()),
        ["list"] => told(cloud.list(), |listing| {
            let one = |m: &ostler_model::CloudInstance| format!("{} {:?}", m.id, m.phase);
            let seen: Vec<_> = listing.instances.iter().map(one).chain(listing.skipped.clone()).collect();
            if seen.is_empty() { "nothing".into() } else { seen.join(", ") }
        }),
        ["kill", id] => {
            cloud.kill(&id.into());
            "ok".into()
        }
        ["half-tagged", id] => {
            cloud.insert(id.into(), BTreeMap::from([(tags::SITE.into(), "site".into())]));
            "ok".into()
        }
        ["fault", times, call, pool, ref trouble @ ..] => {
            cloud.order(fault(times, call, pool, trouble));
            "ok".into()
        }
        _ => panic!("no such step: {line}"),
    }
}

fn fault(times: &str, call: &str, pool: &str, trouble: &[&str]) -> Fault {
    let call = match call {
        "list" => Call::List,
        "launch" => Call::Launch,
        _ => Call::Terminate,
    };
    let trouble = match trouble {
        ["quota"] => Trouble::Refuse(FailureClass::Quota),
        ["lost"] => Trouble::LoseAnswer,
        ["slow", ms] => Trouble::Slow(Millis(ms.parse().expect("milliseconds"))),
        ["lag", ms] => Trouble::Lag(Millis(ms.parse().expect("milliseconds"))),
        other => panic!("no such trouble: {other:?}"),
    };
    let pool = (pool != "any").then(|| pool.into());
    Fault { call, pool, times: times.parse().expect("a number"), trouble }
}

fn told<T>(answer: Answer<T>, show: impl Fn(T) -> String) -> String {
    let text = answer.result.map_or_else(|e: ProviderError| format!("{:?}: {e}", e.class), show);
    format!("[{}] {text}", answer.at.0)
}

#[test]
fn a_machine_lives_by_the_habits() {
    check(
        "launch a i
         list
         at 300
         list
         at 1000
         list
         terminate fake-1
         list
         at 3000
         list
         launch a i",
        expect![[r#"
            launch a i -> [0] fake-1
            list -> [0] nothing
            at 300 -> ok
            list -> [300] fake-1 Pending
            at 1000 -> ok
            list -> [1000] fake-1 Running
            terminate fake-1 -> [1000] ok
            list -> [1000] fake-1 Stopping
            at 3000 -> ok
            list -> [3000] nothing
            launch a i -> [3000] fake-1
        "#]],
    );
}

#[test]
fn faults_are_used_up_in_order() {
    check(
        "fault 2 launch a quota
         fault 1 launch any lost
         launch a i
         launch b j
         launch a i
         launch a i
         launch b j
         at 300
         fault 1 list any quota
         list
         list",
        expect![[r#"
            fault 2 launch a quota -> ok
            fault 1 launch any lost -> ok
            launch a i -> [0] Quota: launch: refused, as ordered of this fake cloud [OSTLER-P002]
            launch b j -> [0] Transient: launch: the answer was lost, as ordered of this fake cloud; call again [OSTLER-P003]
            launch a i -> [0] Quota: launch: refused, as ordered of this fake cloud [OSTLER-P002]
            launch a i -> [0] fake-2
            launch b j -> [0] fake-1
            at 300 -> ok
            fault 1 list any quota -> ok
            list -> [300] Quota: list: refused, as ordered of this fake cloud [OSTLER-P002]
            list -> [300] fake-1 Pending, fake-2 Pending
        "#]],
    );
}

#[test]
fn answers_come_late_and_listings_lag() {
    check(
        "fault 1 launch any slow 5000
         fault 1 launch any lag 5000
         launch a i
         launch a j
         at 1000
         list
         at 5300
         list
         fault 1 terminate a lag 60000
         terminate fake-1
         terminate fake-2
         at 7300
         list",
        expect![[r#"
            fault 1 launch any slow 5000 -> ok
            fault 1 launch any lag 5000 -> ok
            launch a i -> [5000] fake-1
            launch a j -> [0] fake-2
            at 1000 -> ok
            list -> [1000] fake-1 Running
            at 5300 -> ok
            list -> [5300] fake-1 Running, fake-2 Running
            fault 1 terminate a lag 60000 -> ok
            terminate fake-1 -> [5300] ok
            terminate fake-2 -> [5300] ok
            at 7300 -> ok
            list -> [7300] fake-1 Stopping
        "#]],
    );
}

#[test]
fn machines_die_and_bad_records_are_named() {
    check(
        "launch a i
         half-tagged odd
         at 300
         list
         kill fake-1
         list
         terminate nothing",
        expect![[r#"
            launch a i -> [0] fake-1
            half-tagged odd -> ok
            at 300 -> ok
            list -> [300] fake-1 Pending, odd: tag "ostler-attempt" is missing
            kill fake-1 -> ok
            list -> [300] odd: tag "ostler-attempt" is missing
            terminate nothing -> [300] ok
        "#]],
    );
}

#[tokio::test]
async fn a_slow_answer_waits_for_the_clouds_time() {
    let provider = FakeProvider::new("site", HABITS);
    let slow = Fault { call: Call::List, pool: None, times: 1, trouble: Trouble::Slow(Millis(50)) };
    provider.with(|cloud| cloud.order(slow));
    let other = provider.clone();
    let answer = tokio::spawn(async move { other.list().await });
    while provider.with(|cloud| cloud.calls().list) == 0 {
        tokio::task::yield_now().await;
    }
    provider.advance(Millis(49));
    tokio::task::yield_now().await;
    assert!(!answer.is_finished(), "the answer is due in a millisecond");
    provider.advance(Millis(1));
    assert!(answer.await.expect("no panic").is_ok());
}
