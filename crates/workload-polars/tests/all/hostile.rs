//! Callers that are slow, greedy or silent, and what they cost the others.

use super::common::{JSON, Served, client, serve};
use axum::http::Request;
use ostler_testkit::polars::client::http;
use ostler_workload::Outcome;
use ostler_workload_polars::proto;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::transport::{Channel, Endpoint};
use tower::{Service, ServiceExt};

/// Everything here has ended by then.
const PATIENCE: Duration = Duration::from_secs(30);

async fn connected(served: &Served, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(served.rest).await.expect("it listens");
    stream.write_all(text.as_bytes()).await.expect("it is open");
    stream
}

/// What is said until the connection is closed, and after how long.
async fn until_closed(mut stream: TcpStream) -> (String, Duration) {
    let (begun, mut said) = (Instant::now(), Vec::new());
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut said)).await;
    let _ = read.expect("it is closed"); // closed in a rough way is closed
    (String::from_utf8_lossy(&said).into_owned(), begun.elapsed())
}

async fn is_well(served: &Served) {
    let begun = Instant::now();
    assert_eq!(http(served.rest, "GET", "/scale_config", "", "").await.expect("an answer").0, 200);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_head_has_a_limit() {
    let served = serve(Outcome::Accepted, |_| {});
    let long = "x".repeat(64 * 1024);
    let stream =
        connected(&served, &format!("GET /scale_config HTTP/1.1\r\nhost: x\r\nlong: {long}\r\n\r\n")).await;
    let (said, _) = until_closed(stream).await;
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 431"), "{said}");
    let many: String = (0..500).map(|n| format!("h{n}: x\r\n")).collect();
    let stream = connected(&served, &format!("GET /scale_config HTTP/1.1\r\nhost: x\r\n{many}\r\n")).await;
    let (said, _) = until_closed(stream).await;
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 431"), "{said}");
    let mut request = tonic::Request::new(proto::ScaleToRequest::default());
    request.metadata_mut().insert("long", long.parse().expect("ASCII"));
    client(served.grpc).await.scale_to(request).await.expect_err("too long");
    assert!(served.wishes.lock().expect("nobody panics").is_empty());
    is_well(&served).await;
}

#[tokio::test]
async fn who_says_nothing_or_never_ends_a_head_is_let_go() {
    let served = serve(Outcome::Accepted, |_| {});
    let (silent, half, greeting, idle) = tokio::join!(
        async { until_closed(connected(&served, "").await).await },
        async { until_closed(connected(&served, "GET /scale_config HTTP/1.1\r\nhost: x\r\n").await).await },
        async { until_closed(connected(&served, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await).await },
        async {
            let text = "GET /scale_config HTTP/1.1\r\nhost: x\r\n\r\n";
            until_closed(connected(&served, text).await).await
        }
    );
    for (what, (said, after)) in [("silent", &silent), ("half", &half), ("greeting", &greeting)] {
        assert!(!said.contains("200"), "{what}: {said}");
        assert!(*after > Duration::from_secs(5) && *after < Duration::from_secs(25), "{what}: {after:?}");
    }
    assert!(idle.0.contains("200") && idle.1 < Duration::from_secs(25), "{idle:?}");
    is_well(&served).await;
}

const SLOW: &str =
    "POST /scale_to HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{";

/// As many may be on their way as there are places; the next is told to come again, over REST with 429.
#[tokio::test]
async fn slow_bodies_take_all_places_and_give_them_back() {
    let served = serve(Outcome::Accepted, |_| {});
    let mut slow = Vec::new();
    for _ in 0..32 {
        slow.push(connected(&served, SLOW).await);
    }
    let ask =
        async || http(served.rest, "POST", "/scale_to", JSON, r#"{"amount": 1}"#).await.expect("an answer").0;
    let begun = Instant::now();
    while ask().await != 429 {
        assert!(begun.elapsed() < Duration::from_secs(4), "there is room for more");
    }
    is_well(&served).await;
    let (said, _) = until_closed(slow.pop().expect("32 of them")).await;
    assert!(said.starts_with("HTTP/1.1 408") && said.contains("OSTLER-L028"), "{said}");
    while ask().await != 204 {
        assert!(begun.elapsed() < PATIENCE, "the places do not come back");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A call whose message never comes: its status.
async fn endless(mut channel: Channel) -> String {
    let body = tonic::body::Body::new(http_body_util::StreamBody::new(tokio_stream::pending::<
        Result<http_body::Frame<bytes::Bytes>, tonic::Status>,
    >()));
    let request = Request::post("/compute_scaling.client.v1.ScalingService/ScaleTo")
        .header("content-type", "application/grpc")
        .body(body)
        .expect("a request");
    let answer = channel.ready().await.expect("it is open").call(request).await.expect("an answer");
    let status = answer.headers().get("grpc-status").and_then(|status| status.to_str().ok());
    status.unwrap_or_default().to_owned()
}

#[tokio::test]
async fn the_same_over_grpc() {
    const DEADLINE_EXCEEDED: &str = "4";
    const UNAVAILABLE: &str = "14";
    let served = serve(Outcome::Accepted, |_| {});
    let endpoint = Endpoint::from_shared(format!("http://{}", served.grpc)).expect("a URI");
    let channel = endpoint.connect().await.expect("it listens");
    let slow: Vec<_> = (0..32).map(|_| tokio::spawn(endless(channel.clone()))).collect();
    let mut client = client(served.grpc).await;
    let request = || proto::ScaleToRequest { amount: 1, ..Default::default() };
    let begun = Instant::now();
    let refused = loop {
        match client.scale_to(request()).await {
            Ok(_) => assert!(begun.elapsed() < Duration::from_secs(4), "there is room for more"),
            Err(status) => break status,
        }
    };
    assert_eq!(refused.code(), tonic::Code::Unavailable);
    // The others are not touched by it.
    client.scale_config(proto::ScaleConfigRequest {}).await.expect("a stream");
    let ends = tokio::time::timeout(PATIENCE, async {
        let mut ends = Vec::new();
        for slow in slow {
            ends.push(slow.await.expect("no panic"));
        }
        ends
    });
    let ends = ends.await.expect("they end");
    let wrong = ends.iter().filter(|end| *end != DEADLINE_EXCEEDED && *end != UNAVAILABLE).count();
    assert!(wrong == 0 && ends.iter().any(|end| end == DEADLINE_EXCEEDED), "{ends:?}");
    client.scale_to(request()).await.expect("there is room again");
}
