//! The scaling service of a Polars cluster on a provider that hangs, or that chooses itself which machine ends: the
//! real daemon with its real store and sockets. Only the provider is made for the test.

use async_trait::async_trait;
use ostler_config::{Configuration, Overrides, load};
use ostler_daemon::{Claims, Connect, Connected, DaemonError, Loader, Options, RealOutside, Rim};
use ostler_model::{CloudId, CloudInstance, CloudPhase, LaunchToken, Millis, ProviderId, WorkloadId};
use ostler_provider::{Capabilities, LaunchSpec, Listing, Provider, ProviderError};
use ostler_store::SqliteStore;
use ostler_testkit::polars::client::http;
use ostler_workload_polars::proto::{self, scaling_service_client::ScalingServiceClient};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};
use tonic::transport::{Channel, Endpoint};

/// What the scheduler allows a request.
const WITHIN: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(30);

/// Machines in memory. While it hangs no call of it is ever answered.
#[derive(Debug)]
struct Scripted {
    hangs: watch::Sender<bool>,
    chooses: bool,
    machines: Mutex<BTreeMap<CloudId, CloudInstance>>,
}

impl Scripted {
    fn new(hangs: bool, chooses: bool) -> Arc<Self> {
        Arc::new(Self { hangs: watch::Sender::new(hangs), chooses, machines: Mutex::default() })
    }

    /// Whoever is caught waits until he gives up.
    async fn answers(&self) {
        if *self.hangs.borrow() {
            std::future::pending::<()>().await;
        }
    }

    fn machines(&self) -> std::sync::MutexGuard<'_, BTreeMap<CloudId, CloudInstance>> {
        self.machines.lock().expect("nobody panics")
    }

    /// Names of the workers.
    fn names(&self) -> Vec<String> {
        self.machines().values().filter_map(|m| Some(m.launched_for.as_ref()?.0.to_string())).collect()
    }
}

#[async_trait]
impl Provider for Scripted {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            joins_by_itself: true,
            chooses_victims: self.chooses,
            answers_within: Millis::secs(5),
            appears_within: Millis(0),
            gone_within: Millis(0),
        }
    }

    async fn list(&self) -> Result<Listing, ProviderError> {
        self.answers().await;
        Ok(Listing { instances: self.machines().values().cloned().collect(), skipped: Vec::new() })
    }

    async fn launch(&self, spec: &LaunchSpec, token: &LaunchToken) -> Result<CloudId, ProviderError> {
        self.answers().await;
        let id = CloudId::from(token.as_str());
        let machine = CloudInstance {
            id: id.clone(),
            workload: spec.workload.clone(),
            pool: spec.pool.clone(),
            launched_for: Some((spec.instance.clone(), spec.attempt)),
            kind: spec.kind,
            phase: CloudPhase::Running,
            created_at: None,
            address: String::new(),
        };
        self.machines().insert(id.clone(), machine);
        Ok(id)
    }

    async fn terminate(&self, id: &CloudId) -> Result<(), ProviderError> {
        self.answers().await;
        self.machines().remove(id);
        Ok(())
    }
}

/// The real service, and the provider of the test.
#[derive(Debug)]
struct Outside(RealOutside, Arc<Scripted>);

impl Connect for Outside {
    fn provider(&self, _: &Configuration, _: &ProviderId) -> Result<Arc<dyn Provider>, DaemonError> {
        Ok(self.1.clone())
    }

    fn workload(&self, config: &Configuration, id: &WorkloadId) -> Result<Connected, DaemonError> {
        self.0.workload(config, id)
    }
}

/// The configuration as it was.
#[derive(Debug)]
struct Unchanged;

impl Loader for Unchanged {
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    fn load(&self) -> Result<Configuration, String> {
        Err("it does not change".to_owned())
    }
}

/// A daemon on threads of its own, as the binary runs it.
struct Daemon {
    rest: SocketAddr,
    grpc: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Daemon {
    fn start(provider: &Arc<Scripted>, dir: &Path) -> Self {
        let free = || std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let (rest, grpc) = (free().expect("a free port"), free().expect("a free port"));
        let text = format!(
            "
workloads:
  analytics:
    kind: polars
    rest: {{listen: '{rest}'}}
    grpc: {{listen: '{grpc}'}}
    pools: {{worker: {{provider: here, max: 1000}}}}
providers: {{here: {{type: local, command: 'true'}}}}
"
        );
        let read = |_: &Path| Err("no files here".to_owned());
        let loaded = load(&text, &dir.join("ostler.yaml"), &|_| None, &read, &Overrides::default());
        let config = loaded.expect("no mistakes").configuration;
        let outside = Outside(RealOutside::default(), provider.clone());
        let (path, rescue) = (dir.join("s.db"), dir.join("rescue"));
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let lease = config.store.lease;
                let store = SqliteStore::open(&path, 1000).expect("a store");
                let rim = Arc::new(Rim::new(Arc::new(outside), config).expect("a rim"));
                let loader = Arc::new(Unchanged);
                let (store, claims) = (Box::new(store), Claims::default());
                let options = Options { rim, store, lease, claims, loader, record: None, rescue };
                let shutdown = async { drop(stopped.await) };
                ostler_daemon::run(options, drop, shutdown).await.expect("it runs to its end");
            });
        });
        Self { rest, grpc, stop: Some(stop), thread: Some(thread) }
    }

    async fn rest(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let kind = if body.is_empty() { "" } else { "application/json" };
        let asked = http(self.rest, method, path, kind, body);
        tokio::time::timeout(WITHIN, asked)
            .await
            .expect("within the scheduler's patience")
            .expect("an answer")
    }

    async fn client(&self) -> ScalingServiceClient<Channel> {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.grpc)).expect("a URI").timeout(WITHIN);
        let begun = Instant::now();
        loop {
            let listens = tokio::net::TcpStream::connect(self.rest).await.is_ok();
            match endpoint.connect().await {
                Ok(channel) if listens => return ScalingServiceClient::new(channel),
                other => assert!(begun.elapsed() < PATIENCE, "REST: {listens}, gRPC: {other:?}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Desired and available, over REST and over gRPC alike.
    async fn shown(&self, client: &mut ScalingServiceClient<Channel>) -> (u64, u64) {
        let (status, body) = self.rest("GET", "/scale_config", "").await;
        assert_eq!(status, 200, "{body}");
        let number = |key: &str| {
            let (_, rest) = body.split_once(&format!("\"{key}\":")).expect("it is there");
            rest.split([',', '}']).next().and_then(|text| text.parse::<u64>().ok()).expect("a number")
        };
        let stream = client.scale_config(proto::ScaleConfigRequest {}).await.expect("a stream");
        let first = tokio::time::timeout(WITHIN, stream.into_inner().message()).await.expect("at once");
        assert!(first.expect("no error").is_some());
        (number("desired"), number("available"))
    }

    async fn until_shown(&self, client: &mut ScalingServiceClient<Channel>, wanted: (u64, u64)) {
        let begun = Instant::now();
        loop {
            let shown = self.shown(client).await;
            if shown == wanted {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{shown:?} instead of {wanted:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.thread.take().map(std::thread::JoinHandle::join);
        assert!(std::thread::panicking() || matches!(ended, Some(Ok(()))), "the daemon panicked");
    }
}

fn amount(amount: u32) -> proto::ScaleToRequest {
    proto::ScaleToRequest { amount, ..Default::default() }
}

/// Half of the answers came within the first, all within the second.
fn median_and_worst(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort_unstable();
    (times[times.len() / 2], *times.last().expect("some"))
}

async fn answers_at_once(daemon: &Daemon, client: &mut ScalingServiceClient<Channel>) {
    let (mut over_rest, mut over_grpc) = (Vec::new(), Vec::new());
    for n in 0..100 {
        let begun = Instant::now();
        let body = format!("{{\"amount\": {}}}", 4 + n % 5);
        assert_eq!(daemon.rest("POST", "/scale_to", &body).await, (204, String::new()));
        over_rest.push(begun.elapsed());
        let begun = Instant::now();
        client.scale_to(amount(9 + n % 7)).await.expect("accepted");
        over_grpc.push(begun.elapsed());
        assert_eq!(daemon.shown(client).await.0, u64::from(9 + n % 7), "the newest target at once");
    }
    for (way, times) in [("REST", over_rest), ("gRPC", over_grpc)] {
        let (median, worst) = median_and_worst(times);
        assert!(worst < WITHIN, "{way}: {worst:?}");
        // Far below any deadline of a provider. That it is below 5 ms on a quiet machine is in docs/benchmarks.md.
        assert!(median < Duration::from_millis(100), "{way}: {median:?}");
    }
}

#[tokio::test]
async fn a_provider_that_hangs_delays_no_answer() {
    let dir = tempfile::tempdir().expect("a directory");
    // From the first moment: nothing has ever been listed.
    let provider = Scripted::new(true, false);
    let daemon = Daemon::start(&provider, dir.path());
    let mut client = daemon.client().await;
    assert_eq!(daemon.shown(&mut client).await, (0, 0));
    answers_at_once(&daemon, &mut client).await;
    client.scale_to(amount(3)).await.expect("accepted");
    provider.hangs.send_replace(false);
    daemon.until_shown(&mut client, (3, 3)).await;
    // With workers, and with launches and ends that are never answered.
    provider.hangs.send_replace(true);
    client.scale_to(amount(1)).await.expect("accepted");
    answers_at_once(&daemon, &mut client).await;
    // Another life of Ostler meanwhile: target and workers are there from the records.
    client.scale_to(amount(5)).await.expect("accepted");
    drop(daemon);
    let daemon = Daemon::start(&provider, dir.path());
    let mut client = daemon.client().await;
    assert_eq!(daemon.shown(&mut client).await.0, 5);
    answers_at_once(&daemon, &mut client).await;
    client.scale_to(amount(2)).await.expect("accepted");
    provider.hangs.send_replace(false);
    daemon.until_shown(&mut client, (2, 2)).await;
    assert_eq!(provider.names().len(), 2);
}

#[tokio::test]
async fn a_provider_that_chooses_itself_is_not_asked_to_spare_anybody() {
    let dir = tempfile::tempdir().expect("a directory");
    let provider = Scripted::new(false, true);
    let daemon = Daemon::start(&provider, dir.path());
    let mut client = daemon.client().await;
    client.scale_to(amount(3)).await.expect("accepted");
    daemon.until_shown(&mut client, (3, 3)).await;
    let names = provider.names();
    let keep = format!("{{\"amount\": 1, \"workers_to_keep\": [\"{}\"]}}", names[0]);
    for _ in 0..3 {
        let (status, problem) = daemon.rest("POST", "/scale_to", &keep).await;
        assert_eq!(status, 409, "{problem}");
        for word in ["\"code\":\"OSTLER-L025\"", "\"status\":409", "worker", "nothing has changed"] {
            assert!(problem.contains(word), "no {word}: {problem}");
        }
        let values = vec![names[0].clone()];
        let workers_to_keep = Some(proto::scale_to_request::ValueList { values });
        let request = proto::ScaleToRequest { amount: 1, workers_to_keep, workers_to_delete: None };
        let status = client.scale_to(request).await.expect_err("refused");
        assert_eq!(status.code(), tonic::Code::FailedPrecondition, "{status}");
    }
    // Time for a plan and a look.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(daemon.shown(&mut client).await, (3, 3));
    assert_eq!(provider.names(), names);
    // More may be asked for with somebody kept, and less with nobody.
    let more = keep.replace("\"amount\": 1", "\"amount\": 4");
    assert_eq!(daemon.rest("POST", "/scale_to", &more).await.0, 204);
    daemon.until_shown(&mut client, (4, 4)).await;
    assert_eq!(daemon.rest("POST", "/scale_to", "{\"amount\": 1}").await.0, 204);
    daemon.until_shown(&mut client, (1, 1)).await;
}
