//! What is known of the cluster, kept up by the watches (`watch`), read by everybody.

use crate::map::{Facts, NodeFacts, PodFacts, Release, Shared};
use ostler_model::{FailureClass, NodeId};
use ostler_workload::{Door, WorkloadError};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// A watch that has said nothing bad for this long is well again: it is tried more often than that.
const WELL_AFTER: Duration = Duration::from_secs(12);
/// What must be known beside all kinds before a look answers.
const RELEASE: &str = "the API server's version";

/// Shared by the watches and the workload.
#[derive(Debug)]
pub(crate) struct Cache {
    state: Mutex<State>,
    shared: Mutex<Shared>,
    /// By whose rules objects are read.
    release: tokio::sync::watch::Sender<Release>,
    /// The API server's silence for which a look still answers.
    outage: Duration,
    /// Something that matters has changed: for the door.
    pub(crate) changed: Notify,
    /// The same, for the evictor.
    pub(crate) for_evictor: Notify,
    /// CapacityBuffers have changed.
    pub(crate) for_scalables: Notify,
    synced: Notify,
    pub(crate) door: Door,
}

#[derive(Debug)]
struct State {
    /// A look has them for as long as it takes; what changes meanwhile, changes in a copy.
    facts: Arc<Facts>,
    /// Rises with every change that matters.
    version: i64,
    /// Kinds whose first list is not complete.
    waiting: BTreeSet<&'static str>,
    troubles: BTreeMap<&'static str, Trouble>,
    heard: Instant,
    session: String,
}

/// A watch fails.
#[derive(Debug)]
struct Trouble {
    since: Instant,
    last: Instant,
    error: WorkloadError,
}

impl Cache {
    pub(crate) fn new(kinds: impl IntoIterator<Item = &'static str>, outage: Duration) -> Self {
        let state = State {
            facts: Arc::default(),
            version: 0,
            waiting: kinds.into_iter().chain([RELEASE]).collect(),
            troubles: BTreeMap::new(),
            heard: Instant::now(),
            session: String::new(),
        };
        Self {
            state: Mutex::new(state),
            shared: Mutex::default(),
            release: tokio::sync::watch::Sender::new(Release::NEWEST),
            outage,
            changed: Notify::new(),
            for_evictor: Notify::new(),
            for_scalables: Notify::new(),
            synced: Notify::new(),
            door: Door::default(),
        }
    }

    // A map is whole whoever panicked.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pod, made of things that are known already as far as they are.
    pub(crate) fn shared(&self, pod: PodFacts) -> PodFacts {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).pod(pod)
    }

    /// Changes the facts; says whether anything that matters is other than before.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Facts) -> bool) {
        let mut state = self.lock();
        let changed = change(Arc::make_mut(&mut state.facts));
        state.version += i64::from(changed);
        drop(state);
        if changed {
            self.changed.notify_one();
            self.for_evictor.notify_one();
        }
    }

    /// By whose rules objects are read.
    pub(crate) fn release(&self) -> Release {
        *self.release.borrow()
    }

    /// Tells when that changes.
    pub(crate) fn releases(&self) -> tokio::sync::watch::Receiver<Release> {
        self.release.subscribe()
    }

    /// The API server has said what it is. If objects were read by the rules of another release, no look answers
    /// until those kinds that are read by them have been listed again.
    pub(crate) fn release_is(&self, release: Release, kinds: impl IntoIterator<Item = &'static str>) {
        let mut state = self.lock();
        if release != self.release() {
            tracing::info!(%release, "objects are read as kube-scheduler of this release does");
            state.waiting.extend(kinds);
            self.release.send_replace(release);
        }
        drop(state);
        self.complete(RELEASE, None);
    }

    /// The first list of a kind is complete (or there is none). One that was read by the rules of a release does not
    /// count once these are others.
    pub(crate) fn complete(&self, kind: &'static str, release: Option<Release>) {
        let mut state = self.lock();
        state.troubles.remove(kind);
        let current = release.is_none_or(|release| release == self.release());
        if current && state.waiting.remove(kind) && state.waiting.is_empty() {
            self.synced.notify_waiters();
        }
    }

    /// A watch has failed.
    pub(crate) fn failed(&self, kind: &'static str, error: WorkloadError) {
        let (mut state, now) = (self.lock(), Instant::now());
        let before = state.troubles.get(kind).filter(|trouble| now - trouble.last < WELL_AFTER);
        let since = before.map_or(now, |trouble| trouble.since);
        state.troubles.insert(kind, Trouble { since, last: now, error });
        drop(state);
        self.synced.notify_waiters();
    }

    /// The API server has answered.
    pub(crate) fn heard(&self) {
        self.lock().heard = Instant::now();
    }

    pub(crate) fn session_is(&self, session: &str) {
        let mut state = self.lock();
        if state.session != session {
            session.clone_into(&mut state.session);
        }
    }

    /// All facts, once every kind has been listed; an error if the API server has been away for too long.
    pub(crate) async fn known(&self) -> Result<Known, WorkloadError> {
        loop {
            let news = self.synced.notified();
            tokio::pin!(news);
            news.as_mut().enable();
            {
                let state = self.lock();
                self.trouble(&state)?;
                if state.waiting.is_empty() {
                    return Ok(Known {
                        facts: state.facts.clone(),
                        version: state.version,
                        session: state.session.clone(),
                    });
                }
            }
            // Silence is no news: it is looked for again.
            let _ = tokio::time::timeout(Duration::from_secs(1), news).await;
        }
    }

    fn trouble(&self, state: &State) -> Result<(), WorkloadError> {
        let (now, patience) = (Instant::now(), self.outage);
        let bad = state.troubles.values().find(|t| now - t.last < WELL_AFTER && now - t.since >= patience);
        let denied = |error: &WorkloadError| error.class == FailureClass::Denied;
        // What is forbidden will not be allowed by waiting, as long as there is nothing to answer from.
        let forbidden =
            state.troubles.iter().find(|(kind, t)| state.waiting.contains(*kind) && denied(&t.error));
        if let Some(trouble) = forbidden.map(|(_, trouble)| trouble).or(bad) {
            return Err(trouble.error.clone());
        }
        let silence = now - state.heard;
        if silence >= patience {
            return Err(WorkloadError::new(
                FailureClass::Transient,
                "kubernetes.away",
                format!("the API server has not answered for {} s", silence.as_secs()),
            ));
        }
        Ok(())
    }

    /// Rises with every change that matters.
    pub(crate) fn version(&self) -> i64 {
        self.lock().version
    }

    /// What CapacityBuffers are to be like.
    pub(crate) fn wanted_scalables(&self) -> BTreeSet<crate::map::ScalableRef> {
        let state = self.lock();
        state.facts.buffers.good.values().filter_map(|buffer| buffer.scalable.clone()).collect()
    }

    /// Nodes that are to be emptied, and what is on them, as far as it does not belong to them; pods that
    /// cannot be read by name.
    pub(crate) fn drains(&self) -> Vec<DrainFacts> {
        let state = self.lock();
        if !state.waiting.is_empty() {
            return Vec::new();
        }
        let marked = state.facts.nodes.good.values().filter(|node| node.evict_until.is_some());
        let mut drains: BTreeMap<NodeId, DrainFacts> = marked
            .map(|node| {
                (node.node.id.clone(), DrainFacts { node: node.clone(), pods: Vec::new(), odd: None })
            })
            .collect();
        if drains.is_empty() {
            return Vec::new();
        }
        for pod in state.facts.pods.good.values() {
            if let Some(drain) = pod.node.as_ref().and_then(|node| drains.get_mut(node)) {
                drain.pods.push(pod.clone());
            }
        }
        for (key, (_, node)) in &state.facts.pods.bad {
            if let Some(drain) = node.as_ref().and_then(|node| drains.get_mut(node)) {
                drain.odd.get_or_insert_with(|| format!("{}/{}", key.0, key.1));
            }
        }
        drains.into_values().collect()
    }
}

/// All that is known at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) facts: Arc<Facts>,
    pub(crate) version: i64,
    pub(crate) session: String,
}

/// A node that is to be emptied.
#[derive(Debug)]
pub(crate) struct DrainFacts {
    pub(crate) node: Arc<NodeFacts>,
    pub(crate) pods: Vec<Arc<PodFacts>>,
    pub(crate) odd: Option<String>,
}
