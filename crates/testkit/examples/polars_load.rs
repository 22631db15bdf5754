//! Load on a running scaling service: so many `GET /scale_config` per second on kept connections, so many open gRPC
//! streams, and a target that changes twice a second.
//!
//! ```text
//! polars_load REST GRPC [--seconds 30] [--rate 1000] [--streams 500] [--connections 50] [--pid PID]
//! ```
#![allow(clippy::print_stdout, reason = "its output is its result")]

use ostler_testkit::polars::client::Client;
use ostler_testkit::polars::scheduler::Call;
use ostler_workload_polars::proto;
use proto::scaling_service_client::ScalingServiceClient;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::transport::Endpoint;

fn number(name: &str, default: u64) -> u64 {
    let words: Vec<String> = std::env::args().collect();
    let at = words.iter().position(|word| word == name);
    at.and_then(|at| words.get(at + 1)).and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn address(n: usize) -> SocketAddr {
    std::env::args().nth(n).and_then(|text| text.parse().ok()).expect("REST GRPC, as IP:PORT")
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let (rest, grpc) = (address(1), address(2));
    let seconds = Duration::from_secs(number("--seconds", 30));
    let (rate, streams, connections) =
        (number("--rate", 1000), number("--streams", 500), number("--connections", 50));
    let messages = Arc::new(AtomicU64::new(0));
    for _ in 0..streams {
        let channel = Endpoint::from_shared(format!("http://{grpc}"))
            .expect("a URI")
            .connect()
            .await
            .expect("it listens");
        let messages = messages.clone();
        tokio::spawn(async move {
            let mut client = ScalingServiceClient::new(channel);
            let stream = client.scale_config(proto::ScaleConfigRequest {}).await.expect("a stream");
            let mut stream = stream.into_inner();
            while let Ok(Some(_)) = stream.message().await {
                messages.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    println!("{streams} streams are open; server: {}", memory());
    let changing = tokio::spawn(change(rest));
    let each = Duration::from_secs_f64(connections as f64 / rate as f64);
    let readers = (0..connections).map(|n| {
        let offset = each.mul_f64(n as f64 / connections as f64);
        tokio::spawn(read(rest, each, offset, seconds))
    });
    let readers: Vec<_> = readers.collect();
    let mut times = Vec::new();
    for reader in readers {
        times.extend(reader.await.expect("no reader fails"));
    }
    changing.abort();
    report("GET", &mut times, seconds);
    println!("{} messages on the streams; server: {}", messages.load(Ordering::Relaxed), memory());
}

/// From the moment at which the request should have been sent, so that a stall is not left out.
async fn read(rest: SocketAddr, each: Duration, offset: Duration, seconds: Duration) -> Vec<Duration> {
    let mut stream = TcpStream::connect(rest).await.expect("it listens");
    let _ = stream.set_nodelay(true);
    let request = format!("GET /scale_config HTTP/1.1\r\nhost: {rest}\r\n\r\n");
    let (begun, mut times, mut buffer) = (Instant::now(), Vec::new(), [0; 4096]);
    let mut due = begun + offset;
    while due < begun + seconds {
        tokio::time::sleep_until(due.into()).await;
        stream.write_all(request.as_bytes()).await.expect("it takes requests");
        let got = stream.read(&mut buffer).await.expect("it answers");
        assert!(buffer[..got].starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&buffer[..got]));
        times.push(due.elapsed());
        due += each;
    }
    times
}

async fn change(rest: SocketAddr) {
    let client = Client::Rest(rest);
    let mut times = Vec::new();
    for n in 0.. {
        let call = Call::ScaleTo { amount: 1 + n % 3, keep: Default::default(), delete: Default::default() };
        let begun = Instant::now();
        client.call(&call).await;
        times.push(begun.elapsed());
        if n % 20 == 19 {
            report("POST", &mut times, Duration::from_secs(10));
            times.clear();
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

fn report(what: &str, times: &mut [Duration], seconds: Duration) {
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1000.0;
    println!(
        "{what}: {} in {} s, median {:.2} ms, p99 {:.2} ms, p99.9 {:.2} ms, most {:.2} ms",
        times.len(),
        seconds.as_secs(),
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0)
    );
}

/// What the server's process holds, if its number was given.
fn memory() -> String {
    let status = std::fs::read_to_string(format!("/proc/{}/status", number("--pid", 0))).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or("memory not looked at");
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
