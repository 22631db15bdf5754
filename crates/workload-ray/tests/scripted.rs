//! The client against a scripted GCS: the contract, and what a GCS does on its bad days.

use async_trait::async_trait;
use expect_test::expect;
use ostler_model::{FailureClass, InstanceId, NodeId, PoolId, Timestamp};
use ostler_testkit::gcs::{Gcs, Script, head, node_id, worker};
use ostler_workload::conformance::{self, Subject};
use ostler_workload::{
    DrainAnswer, DrainCause, DrainRequest, Event, FailedLaunch, PendingInstance, PendingLaunch, Published,
    Severity, Workload, WorkloadError,
};
use ostler_workload_ray::proto::autoscaler::NodeStatus;
use ostler_workload_ray::{Config, RayWorkload, Token, TokenSource};
use std::sync::Mutex;
use std::time::Duration;

/// A limit that no call comes near, even on a loaded machine; tests of limits set their own.
const PATIENCE: Duration = Duration::from_secs(60);

fn config(gcs: &Gcs) -> Config {
    Config { token: TokenSource::Nowhere, call_timeout: PATIENCE, ..Config::new(gcs.address()) }
}

fn script() -> Script {
    let mut script = Script::default();
    let (idle, busy) = (worker(1, "cpu", 2.0, NodeStatus::Idle), worker(2, "cpu", 2.0, NodeStatus::Running));
    script.state.node_states = vec![idle, busy, head()];
    script
}

fn hex(n: u8) -> NodeId {
    NodeId::new(format!("{n:02x}").repeat(28))
}

async fn error(workload: &RayWorkload) -> WorkloadError {
    workload.observe().await.expect_err("a look that fails")
}

/// Looks until it works again; the backoff of the client is a few seconds at most.
async fn until_back(workload: &RayWorkload) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while let Err(error) = workload.observe().await {
        assert!(tokio::time::Instant::now() < deadline, "still away: {error}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

struct Scripted {
    gcs: Mutex<Gcs>,
    workload: RayWorkload,
}

#[async_trait]
impl Subject for Scripted {
    fn workload(&self) -> &dyn Workload {
        &self.workload
    }
    async fn idle_node(&self) -> NodeId {
        hex(1)
    }
    async fn busy_node(&self) -> NodeId {
        hex(2)
    }
    async fn cut(&self) -> bool {
        self.gcs.lock().expect("not poisoned").stop();
        true
    }
    async fn restore(&self) {
        self.gcs.lock().expect("not poisoned").start_again();
    }
}

#[tokio::test]
async fn it_keeps_the_contract() {
    let gcs = Gcs::start(script());
    let workload = RayWorkload::new(config(&gcs));
    conformance::suite(&Scripted { gcs: Mutex::new(gcs), workload }).await;
}

#[tokio::test]
async fn a_look_is_one_call_and_the_greeting_is_said_once() {
    let gcs = Gcs::start(script());
    let workload =
        RayWorkload::new(Config { metrics_address: Some("10.0.0.1:44217".into()), ..config(&gcs) });
    for _ in 0..3 {
        workload.observe().await.expect("a look");
    }
    expect![[r#"
        {"CheckAlive": 1, "GetAllNodeInfo": 1, "GetClusterId": 1, "GetClusterResourceState": 3, "GetClusterStatus": 1, "InternalKVGet": 2, "InternalKVPut": 2}
        {("", "AutoscalerMetricsAddress"): "10.0.0.1:44217", ("__autoscaler", "__autoscaler_v2_enabled"): "1"}"#]]
    .assert_eq(&{
        let script = gcs.lock();
        format!("{:?}\n{:?}", script.calls, script.kv)
    });
}

#[tokio::test]
async fn v2_is_left_alone_where_it_is_on() {
    let mut script = script();
    script.kv.insert(("__autoscaler".into(), "__autoscaler_v2_enabled".into()), "1".into());
    let gcs = Gcs::start(script);
    RayWorkload::new(config(&gcs)).observe().await.expect("a look");
    assert_eq!(gcs.lock().calls.get("InternalKVPut"), None);
}

#[tokio::test]
async fn a_head_that_was_replaced_is_greeted_anew_within_one_call() {
    let gcs = Gcs::start(script());
    let workload = RayWorkload::new(config(&gcs));
    let before = workload.observe().await.expect("a look");
    gcs.lock().cluster_id = vec![9; 28];
    gcs.lock().state.cluster_session_name = "another session".into();
    let after = workload.observe().await.expect("a look at the new cluster");
    assert_ne!(before.session, after.session);
    assert_eq!(gcs.lock().calls["GetClusterId"], 2);
}

#[tokio::test]
async fn an_outage_is_told_from_a_slow_answer_and_both_pass() {
    let mut gcs = Gcs::start(script());
    let workload = RayWorkload::new(Config { call_timeout: Duration::from_millis(300), ..config(&gcs) });
    until_back(&workload).await;
    gcs.stop();
    assert_eq!(error(&workload).await.code, "ray.unreachable");
    gcs.start_again();
    until_back(&workload).await;
    gcs.lock().delay = PATIENCE;
    let slow = error(&workload).await;
    assert_eq!((slow.code, slow.class), ("ray.timeout", FailureClass::Transient));
    gcs.lock().delay = Duration::ZERO;
    until_back(&workload).await;
    gcs.lock().unavailable = true;
    assert_eq!(error(&workload).await.code, "ray.unreachable");
    gcs.lock().unavailable = false;
    until_back(&workload).await;
}

#[tokio::test]
async fn a_gcs_that_is_away_is_not_hammered() {
    let mut gcs = Gcs::start(script());
    gcs.lock().unavailable = true;
    let workload = RayWorkload::new(config(&gcs));
    let first = error(&workload).await;
    // Within the first pause every call is answered with the same error, without a call on the wire.
    gcs.stop();
    assert_eq!(error(&workload).await, first);
}

#[tokio::test]
async fn a_token_is_needed_taken_and_never_shown() {
    let mut script = script();
    script.token = Some("right".into());
    let gcs = Gcs::start(script);
    let with = |token: &str| {
        let token = TokenSource::Given(Token::new(token).expect("a token"));
        RayWorkload::new(Config { token, ..config(&gcs) })
    };
    with("right").observe().await.expect("the right token");
    for workload in [with("wr0ng"), RayWorkload::new(config(&gcs))] {
        let error = error(&workload).await;
        assert_eq!((error.code, error.class), ("ray.auth", FailureClass::Denied), "{error}");
        assert!(!format!("{error} {error:?} {workload:?}").contains("wr0ng"));
    }
}

#[tokio::test]
async fn addresses_that_are_none_are_refused_with_a_hint() {
    let mut errors = vec![];
    for address in ["", "host", "host:", "host:99999", ":6379", "ho st:1"] {
        let config = Config { token: TokenSource::Nowhere, ..Config::new(address) };
        let error = RayWorkload::new(config).observe().await.expect_err("not an address");
        errors.push(error.to_string());
    }
    expect![[r#"
        "" is not HOST:PORT of a GCS: it has no port [ray.address]
        "host" is not HOST:PORT of a GCS: it has no port [ray.address]
        "host:" is not HOST:PORT of a GCS: write e.g. 10.0.0.1:6379 [ray.address]
        "host:99999" is not HOST:PORT of a GCS: write e.g. 10.0.0.1:6379 [ray.address]
        ":6379" is not HOST:PORT of a GCS: write e.g. 10.0.0.1:6379 [ray.address]
        "ho st:1" is not HOST:PORT of a GCS: invalid URI [ray.address]"#]]
    .assert_eq(&errors.join("\n"));
}

#[tokio::test]
async fn a_drain_says_why_and_until_when() {
    let gcs = Gcs::start(script());
    let workload = RayWorkload::new(config(&gcs));
    let drain = async |n, cause, deadline| {
        let request = DrainRequest { cause, message: "because".into(), deadline };
        workload.drain(&hex(n), &request).await.expect("an answer")
    };
    let idle = DrainCause::Idle { unused: ostler_model::Millis::secs(9) };
    let refused = DrainAnswer::Rejected("The node to be idle terminated is no longer idle.".into());
    assert_eq!(drain(2, idle, None).await, refused);
    assert_eq!(drain(2, DrainCause::Preemption, Some(Timestamp(77))).await, DrainAnswer::Accepted);
    let told: Vec<_> = gcs.lock().drains.iter().map(|d| (d.reason, d.deadline_timestamp_ms)).collect();
    assert_eq!(told, [(1, 0), (2, 77)]);
    assert_eq!(gcs.lock().drains[0].node_id, node_id(2));
    let request = DrainRequest { cause: idle, message: String::new(), deadline: None };
    let error = workload.drain(&NodeId::from("not-hex"), &request).await.expect_err("not an id of Ray");
    assert_eq!(error.code, "ray.node_id");
}

fn published(generation: u64) -> Published {
    let (pool, instance_type) = (PoolId::from("cpu"), "m5.large".to_owned());
    let (pool2, instance_type2) = (pool.clone(), instance_type.clone());
    Published {
        workload_version: 5,
        generation,
        pending_launches: vec![PendingLaunch {
            pool: pool.clone(),
            instance_type: instance_type.clone(),
            count: 3,
            since: Timestamp(7_000),
        }],
        pending_instances: vec![PendingInstance {
            instance: InstanceId::from("i-1"),
            pool,
            instance_type,
            address: "10.0.0.9".into(),
            details: "waiting for its node".into(),
        }],
        failed_launches: vec![FailedLaunch {
            pool: pool2,
            instance_type: instance_type2,
            count: 1,
            reason: "no quota".into(),
            started: Timestamp(8_000),
            failed: Timestamp(9_999),
        }],
        infeasible: Default::default(),
        events: vec![Event {
            at: Timestamp(1_000),
            severity: Severity::Info,
            text: "Adding 3 node(s) of type cpu.".into(),
        }],
        ..Published::default()
    }
}

#[tokio::test]
async fn a_report_is_in_rays_words() {
    let gcs = Gcs::start(script());
    RayWorkload::new(config(&gcs)).publish(&published(1)).await.expect("told");
    expect![[r#"
        AutoscalingState {
            last_seen_cluster_resource_state_version: 5,
            autoscaler_state_version: 1,
            pending_instance_requests: [
                PendingInstanceRequest {
                    instance_type_name: "m5.large",
                    ray_node_type_name: "cpu",
                    count: 3,
                    request_ts: 7,
                },
            ],
            infeasible_resource_requests: [],
            infeasible_gang_resource_requests: [],
            infeasible_cluster_resource_constraints: [],
            pending_instances: [
                PendingInstance {
                    instance_type_name: "m5.large",
                    ray_node_type_name: "cpu",
                    instance_id: "i-1",
                    ip_address: "10.0.0.9",
                    details: "waiting for its node",
                },
            ],
            failed_instance_requests: [
                FailedInstanceRequest {
                    instance_type_name: "m5.large",
                    ray_node_type_name: "cpu",
                    count: 1,
                    reason: "no quota",
                    start_ts: 8,
                    failed_ts: 9,
                },
            ],
        }
    "#]]
    .assert_debug_eq(&gcs.lock().report);
}

#[tokio::test]
async fn reports_never_go_down_and_are_never_lost_to_an_older_autoscaler() {
    let mut script = script();
    script.report.autoscaler_state_version = 1_000; // somebody reported before us
    let gcs = Gcs::start(script);
    let workload = RayWorkload::new(config(&gcs));
    let version = async |generation| {
        workload.publish(&published(generation)).await.expect("told");
        let script = gcs.lock();
        (script.report.autoscaler_state_version, script.calls["ReportAutoscalingState"])
    };
    assert_eq!(version(5).await, (1_000, 1), "raised to what the GCS has seen");
    assert_eq!(gcs.lock().report.pending_instances.len(), 1, "and not dropped");
    assert_eq!(version(4).await, (1_000, 1), "an older generation is not told");
    assert_eq!(version(2_000).await, (2_000, 2));
}

#[tokio::test]
async fn events_reach_drivers_on_the_channel_of_their_version() {
    for (version, channel) in [("2.48.0", 8), ("2.50.0", 8), ("2.56.0", 8), ("2.60.0", 7)] {
        let gcs = Gcs::start(Script { ray_version: version.into(), ..script() });
        RayWorkload::new(config(&gcs)).publish(&published(1)).await.expect("told");
        let lines = gcs.lock().lines.clone();
        assert_eq!(lines.len(), 1, "{version}");
        assert_eq!(lines[0].0, channel, "{version}");
        assert!(lines[0].1.contains("Adding 3 node(s) of type cpu."), "{version}: {}", lines[0].1);
    }
}

#[tokio::test]
async fn events_go_to_the_log_of_a_session_on_this_host() {
    let session = tempfile::tempdir().expect("a directory");
    std::fs::create_dir_all(session.path().join("logs")).expect("its logs");
    for (version, name, spoken) in
        [("2.60.0", "event_AUTOSCALER_OSTLER.log", 1), ("2.99.0", "event_AUTOSCALER.log", 0)]
    {
        let mut script = Script { ray_version: version.into(), ..script() };
        script.kv.insert(("session".into(), "session_dir".into()), session.path().display().to_string());
        let gcs = Gcs::start(script);
        let workload = RayWorkload::new(config(&gcs));
        workload.publish(&published(1)).await.expect("told");
        workload.publish(&published(2)).await.expect("told");
        let log = std::fs::read_to_string(session.path().join("logs/events").join(name)).expect("a log");
        assert_eq!(log.lines().count(), 2, "{version}");
        assert_eq!(gcs.lock().lines.len(), 2 * spoken, "{version}: told on one way only");
    }
}
