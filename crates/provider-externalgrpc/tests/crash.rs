//! Ostler dies at every write of its ledger and around every call that changes something; whatever was under
//! way is asked again in the next life, and in the end there is what was asked for, once.

mod common;

use common::{Place, listed, ms, serving, try_launch, until};
use ostler_model::FailureClass;
use ostler_provider::{Provider, ProviderError};
use ostler_provider_externalgrpc::double::{Fault, Fleet};
use ostler_provider_externalgrpc::{ExternalGrpcProvider, FileStorage, Storage};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Where a life ends.
#[derive(Debug, Clone, Copy)]
enum Death {
    BeforeWrite(i64),
    AfterWrite(i64),
    InsteadOfCall(&'static str, usize),
    AfterCall(&'static str, usize),
}

/// A disk that is there until the death.
#[derive(Debug)]
struct Dying {
    disk: FileStorage,
    left: AtomicI64,
    keeps_last: bool,
}

impl Storage for Dying {
    fn load(&self) -> io::Result<Option<Vec<u8>>> {
        self.disk.load()
    }
    fn save(&self, bytes: &[u8]) -> io::Result<()> {
        match self.left.fetch_sub(1, Ordering::SeqCst) {
            1.. => self.disk.save(bytes),
            0 if self.keeps_last => self.disk.save(bytes).and(Err(io::Error::other("dead after it"))),
            _ => Err(io::Error::other("dead")),
        }
    }
}

/// A provider of one life after the other.
struct Lives {
    place: Place,
    provider: Option<ExternalGrpcProvider>,
    deaths: u32,
}

impl Lives {
    async fn begin(death: Death) -> Self {
        let mut place = Place::new(Fleet::default()).await;
        place.config.timeout = ms(500);
        place.config.timing.patience = ms(2_000);
        place.config.timing.settle = ms(1_000);
        place.config.timing.give_up_after = ms(5_000);
        let (left, keeps_last) = match death {
            Death::BeforeWrite(n) => (n, false),
            Death::AfterWrite(n) => (n, true),
            Death::InsteadOfCall(..) | Death::AfterCall(..) => (i64::MAX, false),
        };
        match death {
            Death::InsteadOfCall(call, n) => place.cloud.world(|world| {
                world.fault(call, &vec![Fault::Nothing; n]);
                world.fault(call, &[Fault::Hang]);
            }),
            Death::AfterCall(call, n) => place.cloud.world(|world| {
                world.fault(call, &vec![Fault::Nothing; n]);
                world.fault(call, &[Fault::LostAnswer]);
            }),
            Death::BeforeWrite(_) | Death::AfterWrite(_) => {}
        }
        let disk = FileStorage::open(&place.config.state_file).await.expect("the ledger is free");
        let dying = Dying { disk, left: AtomicI64::new(left), keeps_last };
        let provider = ExternalGrpcProvider::open_with(place.config.clone(), Arc::new(dying));
        Self { place, provider: Some(serving(provider.expect("a good ledger"))), deaths: 0 }
    }

    fn provider(&self) -> &ExternalGrpcProvider {
        self.provider.as_ref().expect("alive, except within `settle`")
    }

    /// Asks until there is an answer; whatever is not one ends a life.
    async fn settle<T>(
        &mut self,
        mut ask: impl AsyncFnMut(&ExternalGrpcProvider) -> Result<T, ProviderError>,
    ) -> Result<T, ProviderError> {
        for _ in 0..100 {
            match ask(self.provider()).await {
                Err(error) if error.class == FailureClass::Transient => {
                    if error.code != "OSTLER-P307" {
                        self.deaths += 1;
                    }
                    self.provider = None;
                    tokio::time::sleep(ms(50)).await;
                    self.provider = Some(self.place.open().await);
                }
                answer => return answer,
            }
        }
        panic!("no answer in a hundred lives: {:?}", self.place.changes());
    }
}

/// Everything that a life has. Gives the number of deaths.
async fn live(death: Death) -> u32 {
    let mut lives = Lives::begin(death).await;
    let first = lives.settle(async |p| try_launch(p, "i", 1).await).await.expect("a machine");
    let second = lives.settle(async |p| try_launch(p, "j", 1).await).await.expect("a machine");
    assert_ne!(first, second, "{death:?}");
    lives.settle(async |p| p.terminate(&first).await).await.expect("accepted");
    let so_far = lives.place.changes();
    assert_eq!(
        so_far,
        [
            "increase g +1",
            "increase g +1",
            &format!("delete g {}", first.as_str().rsplit('/').next().unwrap_or(""))
        ],
        "{death:?}: nothing is doubled"
    );

    lives.place.fleet(|fleet| fleet.failing = Some(("STOCKOUT", "none", 1)));
    let refused = lives.settle(async |p| try_launch(p, "k", 1).await).await.expect_err("it cannot be made");
    assert_eq!((refused.class, refused.code), (FailureClass::OutOfCapacity, "OSTLER-P308"), "{death:?}");
    lives.place.fleet(|fleet| (fleet.failing, fleet.dry) = (None, true));
    let refused = lives.settle(async |p| try_launch(p, "l", 1).await).await.expect_err("it does not come");
    assert_eq!((refused.class, refused.code), (FailureClass::OutOfCapacity, "OSTLER-P310"), "{death:?}");

    let place = &lives.place;
    until(&format!("{death:?}: the size is what there is"), async || {
        place.target() == 1 && place.alive() == [second.as_str()]
    })
    .await;
    until(&format!("{death:?}: one machine is listed"), async || listed(lives.provider()).await.len() == 1)
        .await;
    let all = listed(lives.provider()).await;
    assert_eq!((all[0].0.as_str(), all[0].1.as_deref()), (second.as_str(), Some("j")), "{death:?}");
    lives.deaths
}

async fn live_all(deaths: impl Iterator<Item = Death>) -> u32 {
    let all = async {
        let mut lives = tokio::task::JoinSet::new();
        deaths.for_each(|death| drop(lives.spawn_local(live(death))));
        lives.join_all().await.into_iter().sum()
    };
    tokio::task::LocalSet::new().run_until(all).await
}

#[tokio::test]
async fn at_every_write_of_the_ledger() {
    // A life without a death has about twenty writes; a death beyond the last one happens not.
    let writes = 24;
    let before = live_all((0..writes).map(Death::BeforeWrite)).await;
    let after = live_all((0..writes).map(Death::AfterWrite)).await;
    assert!(before >= 14 && after >= 14, "{before} and {after} deaths");
}

#[tokio::test]
async fn around_every_call_that_changes_something() {
    let calls =
        [("NodeGroupIncreaseSize", 4), ("NodeGroupDeleteNodes", 2), ("NodeGroupDecreaseTargetSize", 1)];
    let each = || calls.into_iter().flat_map(|(call, n)| (0..n).map(move |n| (call, n)));
    let instead = live_all(each().map(|(call, n)| Death::InsteadOfCall(call, n))).await;
    let after = live_all(each().map(|(call, n)| Death::AfterCall(call, n))).await;
    assert!(instead >= 5 && after >= 5, "{instead} and {after} deaths");
}
