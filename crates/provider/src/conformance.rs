//! The contract as tests. An implementation gives a [`Subject`], its own provider with a place behind it that
//! machines really come from, and runs [`suite`]; each broken promise is named by the panic.

use crate::{Capabilities, LaunchSpec, Listing, Provider, ProviderError, tags};
use async_trait::async_trait;
use ostler_model::{CloudId, CloudInstance, CloudPhase, FailureClass, LaunchToken, Millis};
use std::sync::Arc;
use std::time::Duration;

/// No call takes longer beyond what its capabilities say, even on a loaded machine.
const PATIENCE: Millis = Millis(30_000);
/// Between two looks while waiting for something to be seen.
const PAUSE: Millis = Millis(20);
/// Callers at once, where several matter.
const CROWD: usize = 6;

/// A provider with a place behind it.
#[async_trait]
pub trait Subject: Send + Sync {
    /// A new provider object over the same place, like after a restart; the one before is dropped.
    async fn connect(&self) -> Arc<dyn Provider>;
    /// A small machine. The suite puts numbers behind `instance`, so that must be new in each run.
    fn spec(&self) -> LaunchSpec;
    /// A machine that is refused; `None` if that cannot be arranged.
    fn refused(&self) -> Option<LaunchSpec>;
    /// Makes machines that are not of this site, as like ours as can be, and gives their ids.
    async fn foreign(&self) -> Vec<CloudId>;
    /// Are all those still there?
    async fn foreign_lives(&self) -> bool;
    /// Lets time pass.
    async fn pause(&self, span: Millis) {
        tokio::time::sleep(Duration::from_millis(span.0)).await;
    }
}

/// Every promise of the contract, one after the other. Expects an empty place, and leaves it so.
pub async fn suite(subject: &dyn Subject) {
    let foreign = subject.foreign().await;
    let mut suite = Suite { subject, provider: Some(subject.connect().await), made: 0 };
    suite.an_empty_place_lists_nothing().await;
    suite.a_launch_is_listed_with_its_tags().await;
    suite.a_token_makes_one_machine().await;
    suite.a_restart_finds_machines_and_tokens().await;
    suite.a_dropped_launch_is_repeated_harmlessly().await;
    suite.a_refused_launch_leaves_nothing().await;
    suite.a_tag_of_ours_is_refused().await;
    suite.an_end_is_seen_and_asking_again_is_fine().await;
    suite.an_ended_token_stays_ended().await;
    suite.an_accepted_end_survives_a_restart().await;
    suite.a_listing_never_shows_half_a_machine().await;
    suite.foreign_machines_are_left_alone(&foreign).await;
}

struct Suite<'a> {
    subject: &'a dyn Subject,
    // `None` only while it is made anew.
    provider: Option<Arc<dyn Provider>>,
    made: u32,
}

impl Suite<'_> {
    async fn an_empty_place_lists_nothing(&self) {
        assert_eq!(self.list().await, Listing::default(), "the suite expects an empty place");
    }

    async fn a_launch_is_listed_with_its_tags(&mut self) {
        let (spec, token) = self.next();
        let id = self.launch(&spec, &token).await.expect("a good launch is accepted");
        let seen = self.until_listed(&id).await;
        assert_eq!(seen.workload, spec.workload, "workload of a listed machine");
        assert_eq!(seen.pool, spec.pool, "pool of a listed machine");
        assert_eq!(seen.launched_for, Some((spec.instance, spec.attempt)), "record of a listed machine");
        assert_eq!(seen.kind, spec.kind, "kind of a listed machine");
        self.clear().await;
    }

    async fn a_token_makes_one_machine(&mut self) {
        let (spec, token) = self.next();
        let ids = self.crowd(vec![(spec.clone(), token.clone()); CROWD]).await;
        let first = ids[0].clone();
        assert!(ids.iter().all(|id| *id == first), "one token, launched at the same time, one id: {ids:?}");
        self.until_listed(&first).await;
        assert_eq!(
            self.launch(&spec, &token).await.as_ref(),
            Ok(&first),
            "a repeated launch gives the same id"
        );
        self.expect_alone(&first).await;

        let next = LaunchSpec { attempt: spec.attempt + 1, ..spec };
        let other = self.launch(&next, &LaunchToken::of(&next.instance, next.attempt)).await;
        let other = other.expect("another attempt is another launch");
        assert_ne!(other, first, "another attempt is another machine");
        self.until_listed(&other).await;
        self.clear().await;
    }

    async fn a_restart_finds_machines_and_tokens(&mut self) {
        let (spec, token) = self.next();
        let id = self.launch(&spec, &token).await.expect("a good launch is accepted");
        let before = self.until_running(&id).await;
        self.restart().await;
        assert_eq!(self.until_running(&id).await, before, "a machine looks the same after a restart");
        assert_eq!(self.launch(&spec, &token).await.as_ref(), Ok(&id), "a restart forgets no token");
        self.expect_alone(&id).await;
        self.clear().await;
    }

    async fn a_dropped_launch_is_repeated_harmlessly(&mut self) {
        let (spec, token) = self.next();
        drop(tokio::time::timeout(Duration::ZERO, self.provider().launch(&spec, &token)).await);
        let id = self.launch(&spec, &token).await.expect("a launch is repeated after it was dropped");
        self.until_listed(&id).await;
        self.expect_alone(&id).await;
        self.clear().await;
    }

    async fn a_refused_launch_leaves_nothing(&mut self) {
        let Some(refused) = self.subject.refused() else { return };
        let (named, token) = self.next();
        let spec = LaunchSpec { instance: named.instance.clone(), ..refused };
        for _ in 0..2 {
            let error = self.launch(&spec, &token).await.expect_err("what is to be refused is refused");
            assert_ne!(error.class, FailureClass::Transient, "a refusal is no transient trouble: {error}");
            assert!(error.to_string().ends_with(&format!("[{}]", error.code)), "ends with its code: {error}");
        }
        self.subject.pause(self.can().appears_within).await;
        assert_eq!(self.list().await, Listing::default(), "a refused launch leaves nothing");
        let id = self.launch(&named, &token).await.expect("a refused token can be launched when it is right");
        self.until_listed(&id).await;
        self.clear().await;
    }

    async fn a_tag_of_ours_is_refused(&mut self) {
        let (mut spec, token) = self.next();
        spec.tags.insert(tags::POOL.into(), "another".into());
        let error = self.launch(&spec, &token).await.expect_err("a user's tag cannot replace one of ours");
        assert_eq!(error.class, FailureClass::Permanent, "{error}");
        assert_eq!(self.list().await, Listing::default(), "a refused launch leaves nothing");
    }

    async fn an_end_is_seen_and_asking_again_is_fine(&mut self) {
        let (spec, token) = self.next();
        let id = self.launch(&spec, &token).await.expect("a good launch is accepted");
        self.until_listed(&id).await;
        for _ in 0..2 {
            self.terminate(&id).await.expect("an end can be asked for twice");
        }
        self.until_gone(&id).await;
        self.terminate(&id).await.expect("an end can be asked for after it came");
        self.terminate(&CloudId::from("no-such-machine")).await.expect("an unknown machine has ended");
        self.terminate(&CloudId::from("")).await.expect("an unknown machine has ended");
    }

    async fn an_ended_token_stays_ended(&mut self) {
        let (spec, token) = self.next();
        let id = self.launch(&spec, &token).await.expect("a good launch is accepted");
        self.until_listed(&id).await;
        self.clear().await;
        assert_eq!(self.launch(&spec, &token).await.as_ref(), Ok(&id), "the token of an ended machine");
        self.restart().await;
        assert_eq!(
            self.launch(&spec, &token).await.as_ref(),
            Ok(&id),
            "the token of an ended machine, after a restart"
        );
        self.subject.pause(self.can().appears_within).await;
        assert_eq!(self.list().await, Listing::default(), "the token of an ended machine makes no other");
    }

    async fn an_accepted_end_survives_a_restart(&mut self) {
        let (spec, token) = self.next();
        let id = self.launch(&spec, &token).await.expect("a good launch is accepted");
        self.until_listed(&id).await;
        self.terminate(&id).await.expect("an end is accepted");
        self.restart().await;
        self.until_gone(&id).await;
    }

    async fn a_listing_never_shows_half_a_machine(&mut self) {
        let specs: Vec<_> = (0..CROWD).map(|_| self.next()).collect();
        let launches = self.crowd(specs.clone());
        let mut launches = std::pin::pin!(launches);
        let ids = loop {
            tokio::select! {
                biased;
                ids = &mut launches => break ids,
                listing = self.list() => self.expect_whole(&listing, &specs),
            }
            self.subject.pause(Millis(1)).await;
        };
        for id in &ids {
            self.until_listed(id).await;
        }
        let listing = self.list().await;
        self.expect_whole(&listing, &specs);
        assert_eq!(listing.instances.len(), specs.len(), "one machine for each token");
        self.clear().await;
    }

    fn expect_whole(&self, listing: &Listing, specs: &[(LaunchSpec, LaunchToken)]) {
        assert_eq!(listing.skipped, [""; 0], "no half-tagged machine while launching");
        for seen in &listing.instances {
            let asked = |(spec, _): &(LaunchSpec, _)| {
                seen.launched_for == Some((spec.instance.clone(), spec.attempt)) && seen.pool == spec.pool
            };
            assert!(specs.iter().any(asked), "a machine that nobody asked for, while launching: {seen:?}");
        }
    }

    async fn foreign_machines_are_left_alone(&mut self, foreign: &[CloudId]) {
        for id in foreign {
            self.terminate(id).await.expect("a foreign machine is unknown");
        }
        // One of ours, ended later, shows when an end would have been seen.
        let (spec, token) = self.next();
        let id = self.launch(&spec, &token).await.expect("a good launch is accepted");
        self.until_listed(&id).await;
        self.clear().await;
        assert_eq!(self.list().await, Listing::default(), "foreign machines are not listed");
        assert!(self.subject.foreign_lives().await, "foreign machines are not ended");
    }
}

/// What the promises are made of.
impl Suite<'_> {
    fn next(&mut self) -> (LaunchSpec, LaunchToken) {
        self.made += 1;
        let mut spec = self.subject.spec();
        spec.instance = format!("{}-{}", spec.instance, self.made).into();
        spec.attempt = 1;
        let token = LaunchToken::of(&spec.instance, spec.attempt);
        (spec, token)
    }

    fn provider(&self) -> &Arc<dyn Provider> {
        self.provider.as_ref().expect("connected, except within `restart`")
    }

    fn can(&self) -> Capabilities {
        self.provider().capabilities()
    }

    async fn restart(&mut self) {
        // The old object goes first: it may hold what the new one needs.
        self.provider = None;
        self.provider = Some(self.subject.connect().await);
    }

    async fn bounded<T>(&self, what: &str, call: impl Future<Output = T>) -> T {
        let limit = Duration::from_millis(self.can().answers_within.0 + PATIENCE.0);
        tokio::time::timeout(limit, call).await.unwrap_or_else(|_| panic!("{what}: no answer in {limit:?}"))
    }

    async fn list(&self) -> Listing {
        self.bounded("list", self.provider().list()).await.expect("a listing is given")
    }

    async fn launch(&self, spec: &LaunchSpec, token: &LaunchToken) -> Result<CloudId, ProviderError> {
        self.bounded("launch", self.provider().launch(spec, token)).await
    }

    async fn terminate(&self, id: &CloudId) -> Result<(), ProviderError> {
        self.bounded("terminate", self.provider().terminate(id)).await
    }

    /// Several launches at once, from tasks of their own.
    fn crowd(&self, specs: Vec<(LaunchSpec, LaunchToken)>) -> impl Future<Output = Vec<CloudId>> + use<> {
        let mut tasks = tokio::task::JoinSet::new();
        for (spec, token) in specs {
            let provider = self.provider().clone();
            tasks.spawn(async move {
                provider.launch(&spec, &token).await.expect("launches at once are accepted")
            });
        }
        tasks.join_all()
    }

    async fn until<T>(&self, what: &str, within: Millis, seen: impl Fn(Listing) -> Option<T>) -> T {
        let mut waited = Millis(0);
        loop {
            if let Some(found) = seen(self.list().await) {
                return found;
            }
            assert!(waited.0 <= within.0 + PATIENCE.0, "{what}: not within {within}");
            self.subject.pause(PAUSE).await;
            waited.0 += PAUSE.0;
        }
    }

    async fn until_listed(&self, id: &CloudId) -> CloudInstance {
        let find = |listing: Listing| listing.instances.into_iter().find(|seen| seen.id == *id);
        self.until(&format!("{id} is listed"), self.can().appears_within, find).await
    }

    async fn until_running(&self, id: &CloudId) -> CloudInstance {
        let up = |seen: &CloudInstance| seen.id == *id && seen.phase == CloudPhase::Running;
        let find = |listing: Listing| listing.instances.into_iter().find(up);
        self.until(&format!("{id} runs"), self.can().appears_within, find).await
    }

    async fn until_gone(&self, id: &CloudId) {
        let gone = |listing: Listing| listing.instances.iter().all(|seen| seen.id != *id).then_some(());
        self.until(&format!("{id} is gone"), self.can().gone_within, gone).await;
    }

    async fn expect_alone(&self, id: &CloudId) {
        self.subject.pause(self.can().appears_within).await;
        let ids: Vec<_> = self.list().await.instances.into_iter().map(|seen| seen.id).collect();
        assert_eq!(ids, std::slice::from_ref(id), "one token, one machine");
    }

    async fn clear(&self) {
        for machine in self.list().await.instances {
            self.terminate(&machine.id).await.expect("an end is accepted");
            self.until_gone(&machine.id).await;
        }
    }
}
