//! A cloud, a ledger, and a provider between them.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

use ostler_model::{CloudId, CloudPhase, FailureClass, LaunchToken, NodeKind};
use ostler_provider::{LaunchSpec, Provider, ProviderError, ServedPool};
use ostler_provider_externalgrpc::double::{Cloud, Fleet};
use ostler_provider_externalgrpc::{Config, ExternalGrpcProvider, Timing};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What is waited for comes within this time even on a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

#[derive(Debug)]
pub struct Place {
    pub dir: tempfile::TempDir,
    pub config: Config,
    pub cloud: Cloud,
}

impl Place {
    /// A cloud with one group, `g`, of pool `p`.
    pub async fn new(fleet: Fleet) -> Self {
        let cloud =
            Cloud::start([("g", fleet), ("theirs", Fleet::default().with(&["cloud:///theirs/m-1"]))]).await;
        let dir = tempfile::tempdir().expect("a temporary directory");
        let config = config(&cloud.address(), &dir);
        Self { dir, config, cloud }
    }

    pub async fn open(&self) -> ExternalGrpcProvider {
        serving(ExternalGrpcProvider::open(self.config.clone()).await.expect("the ledger is free and good"))
    }

    pub fn target(&self) -> i32 {
        self.cloud.world(|world| world.fleets["g"].target)
    }

    /// Machines of the group whose end nobody asked for.
    pub fn alive(&self) -> Vec<String> {
        self.cloud.world(|world| world.fleets["g"].alive().map(|machine| machine.id.clone()).collect())
    }

    pub fn fleet(&self, change: impl FnOnce(&mut Fleet)) {
        self.cloud.world(|world| change(world.fleets.get_mut("g").expect("it is there")));
    }

    pub fn changes(&self) -> Vec<String> {
        self.cloud.world(|world| world.changes.clone())
    }

    pub fn count(&self, call: &str) -> u32 {
        self.cloud.world(|world| world.count(call))
    }
}

/// The pool of group `g`.
pub fn pool() -> ServedPool {
    ServedPool { workload: "w".into(), pool: "p".into(), template: serde_json::json!({"group": "g"}) }
}

/// Told of its one pool.
pub fn serving(provider: ExternalGrpcProvider) -> ExternalGrpcProvider {
    provider.configure(&[pool()]).expect("a good pool");
    provider
}

pub fn config(address: &str, dir: &tempfile::TempDir) -> Config {
    let mut config = Config::new(address, dir.path().join("state/ledger.json"));
    config.timeout = ms(2_000);
    config.timing = Timing { poll: ms(20), patience: ms(8_000), settle: ms(400), ..Timing::default() };
    config
}

pub fn spec(instance: &str) -> LaunchSpec {
    LaunchSpec {
        workload: "w".into(),
        pool: "p".into(),
        instance: instance.into(),
        attempt: 1,
        kind: NodeKind::Worker,
        instance_type: "small".into(),
        resources: Default::default(),
        labels: Default::default(),
        tags: BTreeMap::from([("team".into(), "blue".into())]),
        template: serde_json::json!({"group": "g"}),
        environment: BTreeMap::from([("JOIN_SECRET".into(), "a-secret".into())]),
    }
}

pub async fn try_launch(
    provider: &ExternalGrpcProvider,
    instance: &str,
    attempt: u32,
) -> Result<CloudId, ProviderError> {
    let spec = LaunchSpec { attempt, ..spec(instance) };
    provider.launch(&spec, &LaunchToken::of(&spec.instance, spec.attempt)).await
}

/// As callers do it: what is transient is repeated.
pub async fn launch(provider: &ExternalGrpcProvider, instance: &str) -> CloudId {
    let until = Instant::now() + PATIENCE;
    loop {
        match try_launch(provider, instance, 1).await {
            Err(error) if error.class == FailureClass::Transient && Instant::now() < until => {}
            answer => return answer.expect("a good launch"),
        }
    }
}

/// Several launches at once.
pub async fn launch_all(provider: &ExternalGrpcProvider, instances: &[&str]) -> Vec<CloudId> {
    let mut tasks = tokio::task::JoinSet::new();
    for instance in instances {
        let (provider, instance) = (provider.clone(), (*instance).to_owned());
        tasks.spawn(async move { launch(&provider, &instance).await });
    }
    tasks.join_all().await
}

/// Each listed machine: its id, for whom, how far.
pub async fn listed(provider: &ExternalGrpcProvider) -> Vec<(String, Option<String>, CloudPhase)> {
    let listing = provider.list().await.expect("a listing");
    assert_eq!(listing.skipped, [""; 0]);
    let one = |m: ostler_model::CloudInstance| {
        (m.id.to_string(), m.launched_for.map(|(instance, _)| instance.to_string()), m.phase)
    };
    listing.instances.into_iter().map(one).collect()
}

pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(Instant::now() < until, "{what}: not within {PATIENCE:?}");
        tokio::time::sleep(ms(10)).await;
    }
}
