//! A service on real sockets, and behind it a loop that says what the test wants.

use ostler_model::{Scale, Wish};
use ostler_testkit::polars::client::http;
use ostler_workload::{Outcome, Workload};
use ostler_workload_polars::{Config, PolarsWorkload, Probe, ProbeKind, Rest, Sockets, proto};
use proto::scaling_service_client::ScalingServiceClient;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tonic::transport::{Channel, Endpoint};

pub(crate) const JSON: &str = "application/json";
pub(crate) const SHOWN: Scale = Scale { desired: 4, available: 4, min: 0, max: 16 };

pub(crate) struct Served {
    pub(crate) workload: Arc<PolarsWorkload>,
    pub(crate) rest: SocketAddr,
    pub(crate) grpc: SocketAddr,
    pub(crate) wishes: Arc<Mutex<Vec<Wish>>>,
}

pub(crate) fn free() -> SocketAddr {
    std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a free port")
}

pub(crate) fn config(rest: SocketAddr, grpc: SocketAddr) -> Config {
    Config {
        rest: Some(Rest { listen: rest, path: String::new(), secret: false }),
        grpc: Some(grpc),
        tls: None,
        token: None,
        networks: Vec::new(),
        insecure: false,
        max_body_bytes: 4 << 20,
        probe: Probe {
            kind: ProbeKind::Running,
            interval: Duration::from_millis(50),
            timeout: Duration::from_secs(1),
        },
    }
}

/// A service whose loop answers every wish so.
pub(crate) fn serve(outcome: Outcome, change: impl FnOnce(&mut Config)) -> Served {
    let (rest, grpc) = (free(), free());
    let mut config = config(rest, grpc);
    change(&mut config);
    let workload =
        Arc::new(PolarsWorkload::start(config, BTreeSet::new(), &Sockets::default()).expect("free ports"));
    let door = workload.door().expect("it has a door");
    door.show(SHOWN);
    let (mut inbox, wishes) = (door.inbox().expect("nobody has it"), Arc::new(Mutex::new(Vec::new())));
    let seen = wishes.clone();
    tokio::spawn(async move {
        while let Some(asked) = inbox.recv().await {
            seen.lock().expect("nobody panics").push(asked.wish);
            let _ = asked.answer.send(outcome.clone());
        }
    });
    Served { workload, rest, grpc, wishes }
}

pub(crate) async fn client(address: SocketAddr) -> ScalingServiceClient<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("a URI");
    ScalingServiceClient::new(endpoint.connect().await.expect("it listens"))
}

pub(crate) async fn scale_to(served: &Served, body: &str) -> (u16, String) {
    http(served.rest, "POST", "/scale_to", JSON, body).await.expect("an answer")
}
