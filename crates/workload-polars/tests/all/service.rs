//! The service as a scheduler meets it: real sockets, and behind them a loop that says what the test wants.

use super::common::{JSON, SHOWN, client, config, free, scale_to, serve};
use ostler_model::{CloudInstance, CloudPhase, NodeKind, ProviderId, Scale, Wish};
use ostler_testkit::polars::client::http;
use ostler_workload::{Outcome, Workload};
use ostler_workload_polars::{
    Config, Network, PolarsError, PolarsWorkload, ProbeKind, Rest, Sockets, Token, proto,
};
use std::collections::BTreeSet;
use std::net::SocketAddr;

#[tokio::test]
async fn the_examples_of_the_specification() {
    let served = serve(Outcome::Accepted, |_| {});
    let config = http(served.rest, "GET", "/scale_config", "", "").await.expect("an answer");
    assert_eq!(config, (200, r#"{"desired":4,"available":4,"min":0,"max":16}"#.to_owned()));
    let body = r#"{
"amount": 6,
"workers_to_keep": ["worker-a", "worker-b"],
"workers_to_delete": ["worker-c"]
}"#;
    assert_eq!(scale_to(&served, body).await, (204, String::new()));
    assert_eq!(scale_to(&served, r#"{"amount": 6}"#).await.0, 204);
    assert_eq!(
        scale_to(&served, r#"{"amount": 6, "workers_to_keep": null, "workers_to_delete": []}"#).await.0,
        204
    );
    let wishes = served.wishes.lock().expect("nobody panics");
    let names = |list: &[&str]| list.iter().map(|name| (*name).into()).collect();
    assert_eq!(
        wishes[0],
        Wish { amount: 6, keep: names(&["worker-a", "worker-b"]), delete: names(&["worker-c"]) }
    );
    assert_eq!(wishes[1], Wish { amount: 6, ..Wish::default() });
    assert_eq!(wishes[1], wishes[2]);
}

#[tokio::test]
async fn the_same_over_grpc_with_each_change_pushed() {
    let served = serve(Outcome::Accepted, |_| {});
    let mut client = client(served.grpc).await;
    let mut stream = client.scale_config(proto::ScaleConfigRequest {}).await.expect("a stream").into_inner();
    let read = |m: Option<proto::ScaleConfigResponse>| m.map(|m| (m.desired, m.available, m.min, m.max));
    assert_eq!(read(stream.message().await.expect("a message")), Some((4, 4, 0, 16)));
    let door = served.workload.door().expect("it has one");
    door.show(SHOWN); // nothing new
    door.show(Scale { desired: 5, ..SHOWN });
    assert_eq!(read(stream.message().await.expect("a message")), Some((5, 4, 0, 16)));
    // Who reads slowly gets the newest.
    for desired in 6..1000 {
        door.show(Scale { desired, ..SHOWN });
    }
    loop {
        let (desired, ..) = read(stream.message().await.expect("a message")).expect("the stream goes on");
        if desired == 999 {
            break;
        }
    }
    let list = |names: &[&str]| {
        let values = names.iter().map(|name| (*name).to_owned()).collect();
        Some(proto::scale_to_request::ValueList { values })
    };
    let request =
        proto::ScaleToRequest { amount: 2, workers_to_keep: list(&["a", "a"]), workers_to_delete: None };
    client.scale_to(request).await.expect("accepted");
    let wish = Wish { amount: 2, keep: ["a".into()].into(), ..Wish::default() };
    assert_eq!(served.wishes.lock().expect("nobody panics")[..], [wish]);
}

#[tokio::test]
async fn what_the_scheduler_hears_when_it_cannot_be_done() {
    let cases = [
        (Outcome::Refused("no".to_owned()), 409, tonic::Code::FailedPrecondition),
        (Outcome::TooManyNames, 422, tonic::Code::InvalidArgument),
        (Outcome::Unavailable, 503, tonic::Code::Unavailable),
        (Outcome::Overloaded, 429, tonic::Code::Unavailable),
    ];
    for (outcome, status, code) in cases {
        let served = serve(outcome.clone(), |_| {});
        let (got, body) = scale_to(&served, r#"{"amount": 1, "workers_to_keep": ["a"]}"#).await;
        assert_eq!(got, status, "{outcome:?}");
        assert!(body.contains("OSTLER-L0"), "{body}");
        let mut client = client(served.grpc).await;
        let request = proto::ScaleToRequest { amount: 1, ..Default::default() };
        assert_eq!(client.scale_to(request).await.expect_err("refused").code(), code, "{outcome:?}");
    }
}

#[tokio::test]
async fn bad_requests_reach_nobody() {
    let served = serve(Outcome::Accepted, |config| config.max_body_bytes = 1000);
    let long = format!(r#"{{"amount": 1, "x": "{}"}}"#, "a".repeat(2000));
    for (kind, body, status) in [
        (JSON, "", 400),
        (JSON, "{", 400),
        (JSON, "[1]", 400),
        (JSON, "{}", 422),
        (JSON, r#"{"amount": -1}"#, 422),
        (JSON, r#"{"amount": 4294967296}"#, 422),
        (JSON, r#"{"amount": 1, "workers_to_keep": [1]}"#, 422),
        ("text/plain", r#"{"amount": 1}"#, 415),
        ("", r#"{"amount": 1}"#, 415),
        (JSON, long.as_str(), 413),
    ] {
        let answer = http(served.rest, "POST", "/scale_to", kind, body).await.expect("an answer");
        assert_eq!(answer.0, status, "{kind} {body}: {}", answer.1);
    }
    for (method, path, status) in
        [("PUT", "/scale_to", 405), ("DELETE", "/scale_config", 405), ("GET", "/x", 404)]
    {
        assert_eq!(
            http(served.rest, method, path, JSON, "{}").await.expect("an answer").0,
            status,
            "{method} {path}"
        );
    }
    assert!(served.wishes.lock().expect("nobody panics").is_empty());
}

#[tokio::test]
async fn below_a_path_and_both_on_one_port() {
    let served = serve(Outcome::Accepted, |config| {
        let rest = config.rest.as_mut().expect("REST");
        rest.path = "/clusters/a".to_owned();
        config.grpc = Some(rest.listen);
    });
    let get = |path| http(served.rest, "GET", path, "", "");
    assert_eq!(get("/clusters/a/scale_config").await.expect("an answer").0, 200);
    assert_eq!(get("/scale_config").await.expect("an answer").0, 404);
    let (_, document) = get("/clusters/a/openapi.json").await.expect("an answer");
    assert!(document.contains(r#""url":"/clusters/a""#), "{document}");
    let mut client = client(served.rest).await;
    client.scale_to(proto::ScaleToRequest { amount: 1, ..Default::default() }).await.expect("accepted");
}

#[tokio::test]
async fn strangers_stay_out() {
    let served = serve(Outcome::Accepted, |config| config.token = Token::new("correct-horse\n"));
    assert_eq!(http(served.rest, "GET", "/scale_config", "", "").await.expect("an answer").0, 401);
    // The content type is the only header that the client lets one choose: add the token behind it.
    let with = |token: &str| format!("{JSON}\r\nauthorization: Bearer {token}");
    let ask = |kind: String| async move {
        http(served.rest, "POST", "/scale_to", &kind, r#"{"amount": 1}"#).await.expect("an answer").0
    };
    assert_eq!(ask(with("wrong-horse-1")).await, 401);
    assert_eq!(served.wishes.lock().expect("nobody panics").len(), 0);
    assert_eq!(ask(with("correct-horse")).await, 204);
    let error =
        client(served.grpc).await.scale_to(proto::ScaleToRequest::default()).await.expect_err("no token");
    assert_eq!(error.code(), tonic::Code::Unauthenticated);

    let elsewhere = Network { address: "10.0.0.0".parse().expect("an address"), bits: 8 };
    let served = serve(Outcome::Accepted, |config| config.networks = vec![elsewhere]);
    assert_eq!(http(served.rest, "GET", "/scale_config", "", "").await.expect("an answer").0, 403);
}

#[tokio::test]
async fn others_than_this_host_only_with_protection() {
    let everywhere = |port: SocketAddr| SocketAddr::from(([0, 0, 0, 0], port.port()));
    let start = |change: fn(&mut Config)| {
        let mut config = config(everywhere(free()), everywhere(free()));
        change(&mut config);
        PolarsWorkload::start(config, BTreeSet::new(), &Sockets::default()).map(drop)
    };
    assert!(matches!(start(|_| {}), Err(PolarsError::Open { .. })));
    // A secret path protects REST, and gRPC has none.
    assert!(start(|config| config.rest.as_mut().expect("REST").secret = true).is_err());
    assert!(start(|config| (config.rest.as_mut().expect("REST").secret, config.grpc) = (true, None)).is_ok());
    assert!(start(|config| config.token = Token::new("t")).is_ok());
    assert!(start(|config| config.insecure = true).is_ok());
}

/// After a change of the configuration the new service has the socket of the old one: nobody is refused meanwhile.
#[tokio::test]
async fn a_new_service_takes_over_the_socket() {
    let (rest, grpc, sockets) = (free(), free(), Sockets::default());
    let start =
        || PolarsWorkload::start(config(rest, grpc), BTreeSet::new(), &sockets).expect("the port is ours");
    let mut now = start();
    for desired in 0..20 {
        let next = start();
        next.door().expect("it has one").show(Scale { desired, ..SHOWN });
        drop(std::mem::replace(&mut now, next));
        assert_eq!(http(rest, "GET", "/scale_config", "", "").await.expect("an answer").0, 200);
    }
}

#[tokio::test]
async fn workers_are_ready_when_their_probe_says_so() {
    let port = free();
    let served = serve(Outcome::Accepted, |config| config.probe.kind = ProbeKind::Tcp(port.port()));
    let provider = ProviderId::from("p");
    let machine = CloudInstance {
        id: "m-1".into(),
        workload: "w".into(),
        pool: "a".into(),
        launched_for: Some(("i-1".into(), 1)),
        kind: NodeKind::Worker,
        phase: CloudPhase::Running,
        created_at: None,
        address: "127.0.0.1".to_owned(),
    };
    served.workload.machines(&provider, Some(&[machine]));
    let names = async || {
        let state = served.workload.observe().await.expect("it always can");
        state.nodes.iter().map(|node| node.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names().await, Vec::<String>::new());
    let listening = std::net::TcpListener::bind(port).expect("still free");
    served.workload.door().expect("it has one").knocked().await;
    assert_eq!(names().await, ["i-1"]);
    drop(listening);
    served.workload.door().expect("it has one").knocked().await;
    assert_eq!(names().await, Vec::<String>::new());
    served.workload.machines(&provider, None); // a failed look changes nothing
    served.workload.machines(&provider, Some(&[]));
    assert_eq!(names().await, Vec::<String>::new());
}

#[tokio::test]
async fn several_clusters_share_a_port_below_their_paths() {
    let (address, sockets) = (free(), Sockets::default());
    let start = |path: &str, desired| {
        let rest = Some(Rest { listen: address, path: path.to_owned(), secret: false });
        let config = Config { rest, grpc: None, ..config(address, address) };
        let service = PolarsWorkload::start(config, BTreeSet::new(), &sockets).expect("the port is ours");
        service.door().expect("it has one").show(Scale { desired, ..SHOWN });
        service
    };
    let (a, b) = (start("/a", 1), start("/a/b", 2));
    let desired = async |path: &str| http(address, "GET", path, "", "").await.expect("an answer");
    assert!(desired("/a/scale_config").await.1.contains(r#""desired":1,"#));
    assert!(desired("/a/b/scale_config").await.1.contains(r#""desired":2,"#));
    assert_eq!(desired("/scale_config").await.0, 404);
    drop(b);
    assert_eq!(desired("/a/b/scale_config").await.0, 404);
    drop(a);
}
