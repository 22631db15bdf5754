//! The API by real requests on a free port of 127.0.0.1.

mod fixture;

use expect_test::{Expect, expect};
use fixture::{Fixture, STATUS};
use ostler_console::{Secret, serve};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(20);

async fn served(token: Option<&str>, model: Fixture) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let secret = token.and_then(Secret::new);
    tokio::spawn(serve(listener, Arc::new(model), secret, std::future::pending()));
    address
}

async fn well(token: Option<&str>) -> SocketAddr {
    served(token, Fixture { ready: Ok(()), alive: Ok(()) }).await
}

/// Sends a request line with header fields; gives status, header fields and body.
async fn ask(address: SocketAddr, line: &str, fields: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let host = if fields.contains("Host:") { String::new() } else { format!("Host: {address}\r\n") };
    let request = format!("{line} HTTP/1.1\r\n{host}{fields}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut text = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut text)).await.expect("in time").expect("an answer");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let (first, fields) = head.split_once("\r\n").expect("a status line");
    let status = first.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    (status, fields.replace("\r\n", "\n"), body.to_owned())
}

async fn check(address: SocketAddr, line: &str, fields: &str, expected: Expect) {
    let (status, _, body) = ask(address, line, fields).await;
    expected.assert_eq(&format!("{status} {body}"));
}

#[tokio::test]
async fn the_status_is_served_whole_and_safe() {
    let address = well(None).await;
    let (status, fields, body) = ask(address, "GET /api/v1/status", "").await;
    assert_eq!(status, 200);
    let (served, fixture): (serde_json::Value, serde_json::Value) =
        (serde_json::from_str(&body).expect("JSON"), serde_json::from_str(STATUS).expect("JSON"));
    assert!(served == fixture, "what is served has the shape of the fixture");
    let fields: Vec<_> =
        fields.lines().filter(|l| !l.starts_with("date") && !l.starts_with("content-length")).collect();
    expect![[r#"
        content-type: application/json
        cache-control: no-store
        content-security-policy: default-src 'none'; frame-ancestors 'none'
        cross-origin-opener-policy: same-origin
        cross-origin-resource-policy: same-origin
        referrer-policy: no-referrer
        x-content-type-options: nosniff
        x-frame-options: DENY
        connection: close"#]]
    .assert_eq(&fields.join("\n"));
}

#[tokio::test]
async fn the_view_says_it_in_words() {
    let (_, _, body) = ask(well(None).await, "GET /api/v1/view", "").await;
    let view: serde_json::Value = serde_json::from_str(&body).expect("JSON");
    let demo = &view["workloads"][1];
    let parts = [
        &demo["pools"][2],
        &demo["machines"][5],
        &demo["demand"][1],
        &view["workloads"][0]["hold"],
        &view["events"][0],
    ];
    let lines: Vec<String> = parts.iter().map(|part| part.to_string()).collect();
    expect![[r#"
        {"max":2,"min":0,"name":"gpu","states":[],"trouble":"not asked for another 25 s: no p3.2xlarge left in zone a (out_of_capacity)"}
        {"cloud":null,"instance":"i-0000002a-7","launched_for":"demand","node":null,"pool":"cpu","since":"1 s","state":"queued","why":{"code":"held_concurrent","text":"waits: 1 launches are under way, the most that may be"}}
        {"count":3,"index":1,"kind":"task","unplaced":3,"what":"CPU 1, GPU 1","why":["head is the head's and gives no workers","cpu is too small (GPU: asks 1, a machine has 0)","gpu was refused by its provider a moment ago"]}
        {"code":"held_unobserved","text":"the workload cannot be observed: 10.0.9.1:6379 does not answer (transient)"}
        {"at":1790000007000,"code":"launch_demand","message":"pool cpu, wanted: wanted for waiting requests","seq":9,"subject":"instance:i-0000002a-7","workload":"demo"}"#]].assert_eq(&lines.join("\n"));
}

#[tokio::test]
async fn health_and_readiness_say_what_is_missing() {
    let address = well(None).await;
    check(address, "GET /healthz", "", expect![[r#"200 {"alive":true}"#]]).await;
    check(address, "GET /readyz", "", expect![[r#"200 {"ready":true}"#]]).await;
    let (ready, alive) = (Err("workload batch has not been seen".to_owned()), Err("for 31 s".to_owned()));
    let address = served(None, Fixture { ready, alive }).await;
    check(address, "GET /healthz", "", expect![[r#"503 {"code":"OSTLER-A006","detail":"for 31 s","status":503,"title":"the loop does not turn","type":"about:blank"}"#]]).await;
    check(address, "GET /readyz", "", expect![[r#"503 {"code":"OSTLER-A005","detail":"workload batch has not been seen","status":503,"title":"not everything has been seen yet","type":"about:blank"}"#]]).await;
}

#[tokio::test]
async fn with_a_token_nothing_but_health_is_open() {
    let address = well(Some("s3cret")).await;
    check(address, "GET /healthz", "", expect![[r#"200 {"alive":true}"#]]).await;
    for path in
        ["/api/v1/status", "/api/v1/view", "/metrics", "/readyz", "/nothing", "/api/v1/status?token=s3cret"]
    {
        for fields in [
            "",
            "Authorization: Bearer s3cre\r\n",
            "Authorization: Basic s3cret\r\n",
            "Authorization: s3cret\r\n",
        ] {
            let (status, head, body) = ask(address, &format!("GET {path}"), fields).await;
            assert_eq!(status, 401, "{path} {fields}");
            assert!(head.contains("www-authenticate: Bearer"), "{head}");
            assert!(body.contains("OSTLER-A001"), "{body}");
        }
    }
    for fields in [
        "Authorization: Bearer s3cret\r\n",
        "authorization: bearer s3cret\r\n",
        "Authorization: Bearer s3cret\r\nHost: ostler.example\r\n",
    ] {
        let (status, ..) = ask(address, "GET /api/v1/status", fields).await;
        assert_eq!(status, 200, "{fields}");
    }
}

#[tokio::test]
async fn the_page_without_a_token_is_a_door_without_data() {
    let address = well(Some("s3cret")).await;
    let (status, head, body) = ask(address, "GET /", "").await;
    assert_eq!(status, 401);
    assert!(head.contains("www-authenticate: Bearer") && head.contains("text/html"), "{head}");
    assert!(body.contains("asks for its token") && !body.contains("demo"), "{body}");
    let (status, head, _) = ask(well(None).await, "GET /", "").await;
    assert_eq!(status, 200);
    assert!(head.contains("script-src 'sha256-") && !head.contains("unsafe"), "{head}");
}

#[tokio::test]
async fn a_foreign_name_for_this_host_is_not_answered() {
    let address = well(None).await;
    check(address, "GET /api/v1/status", "Host: evil.example\r\n", expect![[r#"421 {"code":"OSTLER-A002","detail":"Ask by an IP address or as `localhost`, or set `api.token_file`.","status":421,"title":"this host has another name","type":"about:blank"}"#]]).await;
    let (status, ..) = ask(address, "GET /api/v1/status", "Host: localhost:1\r\n").await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn what_is_not_there_or_cannot_be_done_has_a_code() {
    let address = well(None).await;
    check(address, "GET /api/v2/status", "", expect![[r#"404 {"code":"OSTLER-A003","detail":"The paths are /, /api/v1/status, /api/v1/view, /healthz, /readyz and /metrics.","status":404,"title":"there is no such path","type":"about:blank"}"#]]).await;
    check(address, "POST /api/v1/status", "Content-Length: 0\r\n", expect![[r#"405 {"code":"OSTLER-A004","detail":"Use GET or HEAD.","status":405,"title":"this can only be read","type":"about:blank"}"#]]).await;
    let (status, _, body) = ask(address, "HEAD /api/v1/status", "").await;
    assert_eq!((status, body.as_str()), (200, ""));
}

#[tokio::test]
async fn metrics_for_a_scraper() {
    let (status, fields, body) = ask(well(None).await, "GET /metrics", "").await;
    assert_eq!(status, 200);
    assert!(
        fields.contains("content-type: application/openmetrics-text; version=1.0.0; charset=utf-8"),
        "{fields}"
    );
    expect![[r##"
        # HELP ostler_build_info Always 1; the version is in the label.
        # TYPE ostler_build_info gauge
        ostler_build_info{version="0.1.0"} 1.0
        # HELP ostler_start_time_seconds When it was started, in seconds since 1970.
        # TYPE ostler_start_time_seconds gauge
        ostler_start_time_seconds 1790000000.0
        # HELP ostler_passes Passes that were planned.
        # TYPE ostler_passes counter
        ostler_passes_total 7400.0
        # HELP ostler_passes_failed Passes whose plan was dropped or failed. Each is a fault in Ostler.
        # TYPE ostler_passes_failed counter
        ostler_passes_failed_total 1.0
        # HELP ostler_plan_seconds Seconds spent in planning.
        # TYPE ostler_plan_seconds counter
        ostler_plan_seconds_total 0.25
        # HELP ostler_commits Plans that changed something and were committed.
        # TYPE ostler_commits counter
        ostler_commits_total 41.0
        # HELP ostler_commits_refused Commits that the store refused.
        # TYPE ostler_commits_refused counter
        ostler_commits_refused_total 2.0
        # HELP ostler_looks_failed Looks at workloads and providers that failed.
        # TYPE ostler_looks_failed counter
        ostler_looks_failed_total 3.0
        # HELP ostler_launches Launches: `requested` from the provider, `refused` by it, `allocated` (the machine came), `joined` (its node came up).
        # TYPE ostler_launches counter
        ostler_launches_total{workload="demo",pool="cpu",outcome="requested"} 6.0
        ostler_launches_total{workload="demo",pool="cpu",outcome="refused"} 0.0
        ostler_launches_total{workload="demo",pool="cpu",outcome="allocated"} 5.0
        ostler_launches_total{workload="demo",pool="cpu",outcome="joined"} 5.0
        ostler_launches_total{workload="demo",pool="gpu",outcome="requested"} 2.0
        ostler_launches_total{workload="demo",pool="gpu",outcome="refused"} 2.0
        ostler_launches_total{workload="demo",pool="gpu",outcome="allocated"} 0.0
        ostler_launches_total{workload="demo",pool="gpu",outcome="joined"} 0.0
        # HELP ostler_launch_join_seconds Seconds from the request to the node, over all that joined.
        # TYPE ostler_launch_join_seconds counter
        ostler_launch_join_seconds_total{workload="demo",pool="cpu"} 7.5
        ostler_launch_join_seconds_total{workload="demo",pool="gpu"} 0.0
        # HELP ostler_removals Removals by their cause.
        # TYPE ostler_removals counter
        ostler_removals_total{workload="demo",pool="cpu",cause="idle"} 2.0
        # HELP ostler_drains_rejected Drains that the workload refused, since the node was in use again.
        # TYPE ostler_drains_rejected counter
        ostler_drains_rejected_total{workload="demo"} 1.0
        # HELP ostler_workload_up 1 if the newest look at the workload saw it.
        # TYPE ostler_workload_up gauge
        ostler_workload_up{workload="batch"} 0.0
        ostler_workload_up{workload="demo"} 1.0
        # HELP ostler_workload_observed_timestamp_seconds When the newest look at the workload began.
        # TYPE ostler_workload_observed_timestamp_seconds gauge
        ostler_workload_observed_timestamp_seconds{workload="batch"} 1790007498.0
        ostler_workload_observed_timestamp_seconds{workload="demo"} 1790007499.6
        # HELP ostler_workload_held 1 while nothing is decided for the workload; the reason's code is in the label.
        # TYPE ostler_workload_held gauge
        ostler_workload_held{workload="batch",reason="held_unobserved"} 1.0
        # HELP ostler_provider_up 1 if the newest listing of the provider worked.
        # TYPE ostler_provider_up gauge
        ostler_provider_up{provider="local"} 1.0
        ostler_provider_up{provider="spot"} 0.0
        # HELP ostler_provider_listed_timestamp_seconds When the newest listing of the provider began.
        # TYPE ostler_provider_listed_timestamp_seconds gauge
        ostler_provider_listed_timestamp_seconds{provider="local"} 1790007499.75
        ostler_provider_listed_timestamp_seconds{provider="spot"} 1790007439.0
        # HELP ostler_provider_machines Machines of ours that the provider lists.
        # TYPE ostler_provider_machines gauge
        ostler_provider_machines{provider="local"} 4.0
        ostler_provider_machines{provider="spot"} 0.0
        # HELP ostler_pool_machines Records of the pool by state, without final ones.
        # TYPE ostler_pool_machines gauge
        ostler_pool_machines{workload="demo",pool="head",state="running"} 1.0
        ostler_pool_machines{workload="demo",pool="cpu",state="queued"} 1.0
        ostler_pool_machines{workload="demo",pool="cpu",state="requested"} 1.0
        ostler_pool_machines{workload="demo",pool="cpu",state="running"} 2.0
        ostler_pool_machines{workload="demo",pool="cpu",state="draining"} 1.0
        # HELP ostler_pool_min Workers that the pool has at least.
        # TYPE ostler_pool_min gauge
        ostler_pool_min{workload="batch",pool="cpu"} 0.0
        ostler_pool_min{workload="demo",pool="head"} 0.0
        ostler_pool_min{workload="demo",pool="cpu"} 1.0
        ostler_pool_min{workload="demo",pool="gpu"} 0.0
        # HELP ostler_pool_max Workers that the pool has at most.
        # TYPE ostler_pool_max gauge
        ostler_pool_max{workload="batch",pool="cpu"} 3.0
        ostler_pool_max{workload="demo",pool="head"} 0.0
        ostler_pool_max{workload="demo",pool="cpu"} 5.0
        ostler_pool_max{workload="demo",pool="gpu"} 2.0
        # HELP ostler_pool_backing_off 1 while the pool is not asked, since its provider refused a moment ago.
        # TYPE ostler_pool_backing_off gauge
        ostler_pool_backing_off{workload="batch",pool="cpu"} 0.0
        ostler_pool_backing_off{workload="demo",pool="head"} 0.0
        ostler_pool_backing_off{workload="demo",pool="cpu"} 0.0
        ostler_pool_backing_off{workload="demo",pool="gpu"} 1.0
        # HELP ostler_demand What the workload asks for: `task`, `gang`, `floor`.
        # TYPE ostler_demand gauge
        ostler_demand{workload="batch",kind="floor"} 0.0
        ostler_demand{workload="batch",kind="gang"} 0.0
        ostler_demand{workload="batch",kind="task"} 0.0
        ostler_demand{workload="demo",kind="floor"} 1.0
        ostler_demand{workload="demo",kind="gang"} 1.0
        ostler_demand{workload="demo",kind="task"} 15.0
        # HELP ostler_demand_unplaced How much of that no pool can take.
        # TYPE ostler_demand_unplaced gauge
        ostler_demand_unplaced{workload="batch",kind="floor"} 0.0
        ostler_demand_unplaced{workload="batch",kind="gang"} 0.0
        ostler_demand_unplaced{workload="batch",kind="task"} 0.0
        ostler_demand_unplaced{workload="demo",kind="floor"} 0.0
        ostler_demand_unplaced{workload="demo",kind="gang"} 0.0
        ostler_demand_unplaced{workload="demo",kind="task"} 3.0
        # HELP ostler_faults Records that are wrong and were left aside or corrected.
        # TYPE ostler_faults gauge
        ostler_faults{workload="batch"} 0.0
        ostler_faults{workload="demo"} 1.0
        # HELP autoscaler_pending_nodes Nodes on their way: queued, requested, allocated or installing.
        # TYPE autoscaler_pending_nodes gauge
        autoscaler_pending_nodes{NodeType="head",SessionName="session_2026-09-21_10-13-20_1"} 0.0
        autoscaler_pending_nodes{NodeType="cpu",SessionName="session_2026-09-21_10-13-20_1"} 2.0
        autoscaler_pending_nodes{NodeType="gpu",SessionName="session_2026-09-21_10-13-20_1"} 0.0
        # HELP autoscaler_active_nodes Nodes that are up, those being drained included.
        # TYPE autoscaler_active_nodes gauge
        autoscaler_active_nodes{NodeType="head",SessionName="session_2026-09-21_10-13-20_1"} 1.0
        autoscaler_active_nodes{NodeType="cpu",SessionName="session_2026-09-21_10-13-20_1"} 3.0
        autoscaler_active_nodes{NodeType="gpu",SessionName="session_2026-09-21_10-13-20_1"} 0.0
        # HELP autoscaler_recently_failed_nodes Nodes whose machines are being terminated, as Ray 2.60.0 counts it.
        # TYPE autoscaler_recently_failed_nodes gauge
        autoscaler_recently_failed_nodes{NodeType="head",SessionName="session_2026-09-21_10-13-20_1"} 0.0
        autoscaler_recently_failed_nodes{NodeType="cpu",SessionName="session_2026-09-21_10-13-20_1"} 0.0
        autoscaler_recently_failed_nodes{NodeType="gpu",SessionName="session_2026-09-21_10-13-20_1"} 0.0
        # HELP autoscaler_running_workers Worker nodes that are up, to the workload.
        # TYPE autoscaler_running_workers gauge
        autoscaler_running_workers{SessionName="session_2026-09-21_10-13-20_1"} 3.0
        # HELP autoscaler_cluster_resources Logical resources of the nodes that are up.
        # TYPE autoscaler_cluster_resources gauge
        autoscaler_cluster_resources{resource="CPU",SessionName="session_2026-09-21_10-13-20_1"} 11.0
        autoscaler_cluster_resources{resource="memory",SessionName="session_2026-09-21_10-13-20_1"} 38654705664.0
        # HELP autoscaler_pending_resources Logical resources of the nodes on their way.
        # TYPE autoscaler_pending_resources gauge
        autoscaler_pending_resources{resource="CPU",SessionName="session_2026-09-21_10-13-20_1"} 8.0
        autoscaler_pending_resources{resource="GPU",SessionName="session_2026-09-21_10-13-20_1"} 0.0
        # HELP autoscaler_started_nodes Nodes that came up since Ostler was started.
        # TYPE autoscaler_started_nodes counter
        autoscaler_started_nodes_total{SessionName="session_2026-09-21_10-13-20_1"} 5.0
        # HELP autoscaler_failed_create_nodes Launches that the provider refused since Ostler was started.
        # TYPE autoscaler_failed_create_nodes counter
        autoscaler_failed_create_nodes_total{SessionName="session_2026-09-21_10-13-20_1"} 2.0
        # HELP autoscaler_stopped_nodes Removals since Ostler was started.
        # TYPE autoscaler_stopped_nodes counter
        autoscaler_stopped_nodes_total{SessionName="session_2026-09-21_10-13-20_1"} 2.0
        # EOF
    "##]].assert_eq(&body);
}
