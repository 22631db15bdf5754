//! The contract, against a cloud in memory.

mod common;

use async_trait::async_trait;
use common::{Place, spec};
use ostler_model::CloudId;
use ostler_provider::{LaunchSpec, Provider, conformance};
use ostler_provider_externalgrpc::double::Fleet;
use serde_json::json;
use std::sync::Arc;

struct Subject(Place);

#[async_trait]
impl conformance::Subject for Subject {
    async fn connect(&self) -> Arc<dyn Provider> {
        Arc::new(self.0.open().await)
    }
    fn spec(&self) -> LaunchSpec {
        spec("i")
    }
    fn refused(&self) -> Option<LaunchSpec> {
        Some(LaunchSpec { template: json!({"group": "no-such-group"}), ..spec("i") })
    }
    async fn foreign(&self) -> Vec<CloudId> {
        self.0.cloud.world(|w| w.fleets["theirs"].machines.iter().map(|m| m.id.as_str().into()).collect())
    }
    async fn foreign_lives(&self) -> bool {
        self.0.cloud.world(|world| world.fleets["theirs"].alive().count() == 1)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keeps_the_contract() {
    let mut place = Place::new(Fleet::default()).await;
    // The suite waits so long several times.
    place.config.timeout = common::ms(500);
    let subject = Subject(place);
    conformance::suite(&subject).await;
    let place = subject.0;
    assert_eq!((place.target(), place.alive()), (0, vec![]), "nothing is left, and nothing is wanted");
    let increases = place.changes().iter().filter(|line| line.starts_with("increase")).count();
    let deletes = place.changes().iter().filter(|line| line.starts_with("delete")).count();
    assert!(increases <= deletes, "no machine came that was not ended: {:?}", place.changes());
}
