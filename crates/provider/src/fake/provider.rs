//! The trait in front of the cloud.

use super::cloud::{Answer, FakeCloud, Habits};
use crate::{Capabilities, LaunchSpec, Listing, Provider, ProviderError};
use async_trait::async_trait;
use ostler_model::{CloudId, LaunchToken, Millis};
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// One caller's connection to a [`FakeCloud`]; a clone is another connection to the same cloud.
///
/// A slow answer waits until the cloud's time has come, so some other task must move it on.
#[derive(Debug, Clone)]
pub struct FakeProvider(Arc<Mutex<Shared>>);

#[derive(Debug)]
struct Shared {
    cloud: FakeCloud,
    waiting: Vec<Waker>,
}

impl FakeProvider {
    /// A connection to an empty cloud, see [`FakeCloud::new`].
    pub fn new(site: impl Into<String>, habits: Habits) -> Self {
        Self(Arc::new(Mutex::new(Shared { cloud: FakeCloud::new(site, habits), waiting: Vec::new() })))
    }

    /// Looks at the cloud or changes it: its time, its faults, its machines.
    pub fn with<R>(&self, act: impl FnOnce(&mut FakeCloud) -> R) -> R {
        let mut shared = self.lock();
        let result = act(&mut shared.cloud);
        let waiting = std::mem::take(&mut shared.waiting);
        drop(shared);
        waiting.into_iter().for_each(Waker::wake);
        result
    }

    /// Moves the cloud's time forward.
    pub fn advance(&self, span: Millis) {
        self.with(|cloud| cloud.set_now(cloud.now() + span));
    }

    // A test that panicked while it held the lock has failed already; the others go on.
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn deliver<T>(&self, answer: Answer<T>) -> Result<T, ProviderError> {
        poll_fn(|context| {
            let mut shared = self.lock();
            if shared.cloud.now() >= answer.at {
                return Poll::Ready(());
            }
            shared.waiting.push(context.waker().clone());
            Poll::Pending
        })
        .await;
        answer.result
    }
}

#[async_trait]
impl Provider for FakeProvider {
    fn capabilities(&self) -> Capabilities {
        let habits = self.lock().cloud.habits();
        Capabilities {
            joins_by_itself: true,
            chooses_victims: false,
            answers_within: Millis::secs(1),
            appears_within: habits.appears_in,
            gone_within: habits.stops_in,
        }
    }

    async fn list(&self) -> Result<Listing, ProviderError> {
        let answer = self.with(FakeCloud::list);
        self.deliver(answer).await
    }

    async fn launch(&self, spec: &LaunchSpec, token: &LaunchToken) -> Result<CloudId, ProviderError> {
        let answer = self.with(|cloud| cloud.launch(spec, token));
        self.deliver(answer).await
    }

    async fn terminate(&self, id: &CloudId) -> Result<(), ProviderError> {
        let answer = self.with(|cloud| cloud.terminate(id));
        self.deliver(answer).await
    }
}
