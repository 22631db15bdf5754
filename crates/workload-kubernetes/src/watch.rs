//! Watches: one task for each kind keeps the cache up. A list replaces all that is known of the kind, so a
//! restart of the API server and a history that is gone (410) are survived by listing again.

use crate::cache::Cache;
use crate::config::Config;
use crate::error::{explain, reason, status};
use crate::map::{self, Facts, Key, Named, Odd, Release};
use crate::object::{self, Kind, Object};

use kube::Client;
use kube::api::Api;
use kube::runtime::utils::Backoff;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use ostler_model::{FailureClass, NodeId};
use ostler_workload::WorkloadError;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio_stream::StreamExt;

/// The API server ends a watch after this long, in seconds, and we make a new one: a connection that died
/// without a word costs no more.
const WATCH_SECS: u32 = 60;
/// Between two questions whether the API server is there, and for how long the answer is waited for.
const HEARTBEAT: Duration = Duration::from_secs(3);
/// Between two looks for CapacityBuffers in a cluster that has none.
const DISCOVER: Duration = Duration::from_secs(60);
/// What CapacityBuffers are like is read again after this, since it is not watched.
const SCALABLES: Duration = Duration::from_secs(30);
const BACKOFF_MIN: Duration = Duration::from_millis(200);
const BACKOFF_MAX: Duration = Duration::from_secs(5);

/// Ends the tasks when it is dropped.
pub(crate) type Tasks = JoinSet<()>;

/// Names of kinds that must have been listed before a look answers.
pub(crate) fn kinds() -> impl Iterator<Item = &'static str> {
    let all = [
        object::PODS,
        object::NODES,
        object::NAMESPACES,
        object::CLAIMS,
        object::VOLUMES,
        object::CLASSES,
        object::CSI_NODES,
        object::DAEMONS,
        object::BUDGETS,
        object::BUFFERS[0],
    ];
    all.into_iter().map(|kind| kind.name)
}

/// Kinds that are read differently from release to release.
const BY_RELEASE: [&str; 2] = [object::PODS.name, object::DAEMONS.name];

type Read<T> = Arc<dyn Fn(Value, Release) -> Result<Option<T>, String> + Send + Sync>;

/// Pods that have ended are of no interest, and there may be many.
const ALIVE: &str = "status.phase!=Succeeded,status.phase!=Failed";

/// How a kind is read, and where its facts are.
struct Follow<T> {
    kind: Kind,
    read: Read<T>,
    field: fn(&mut Facts) -> &mut Named<T>,
}

/// Starts all watches.
pub(crate) fn start(client: &Client, cache: &Arc<Cache>, config: &Config) -> Tasks {
    let mut tasks = Tasks::new();
    let shared = cache.clone();
    let pod = move |object, release| Ok(map::pod(object, release)?.map(|pod| shared.shared(pod)));
    let mut follow = Starter { client, cache, tasks: &mut tasks };
    follow.start(object::PODS, pod, |facts| &mut facts.pods);
    follow.start(object::NODES, |object, _| map::node(object).map(Some), |facts| &mut facts.nodes);
    let session = cache.clone();
    let namespace = move |object: Value, _| {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str);
        if text("/metadata/name") == Some("kube-system") {
            session.session_is(text("/metadata/uid").unwrap_or_default());
        }
        map::namespace(object).map(Some)
    };
    follow.start(object::NAMESPACES, namespace, |facts| &mut facts.namespaces);
    follow.start(object::CLAIMS, |object, _| map::volume_claim(object).map(Some), |facts| &mut facts.claims);
    follow.start(
        object::VOLUMES,
        |object, _| map::persistent_volume(object).map(Some),
        |facts| &mut facts.volumes,
    );
    follow.start(object::CLASSES, |object, _| map::class(object).map(Some), |facts| &mut facts.classes);
    follow.start(
        object::CSI_NODES,
        |object, _| map::csi_node(object).map(Some),
        |facts| &mut facts.csi_nodes,
    );
    follow.start(object::DAEMONS, map::daemon, |facts| &mut facts.daemons);
    follow.start(object::BUDGETS, |object, _| map::budget(object).map(Some), |facts| &mut facts.budgets);
    tasks.spawn(buffers(client.clone(), cache.clone()));
    tasks.spawn(scalables(client.clone(), cache.clone()));
    tasks.spawn(heartbeat(client.clone(), cache.clone()));
    tasks.spawn(knock(cache.clone(), config.batch_idle, config.batch_max));
    tasks
}

struct Starter<'a> {
    client: &'a Client,
    cache: &'a Arc<Cache>,
    tasks: &'a mut Tasks,
}

impl Starter<'_> {
    fn start<T: PartialEq + Send + Sync + 'static>(
        &mut self,
        kind: Kind,
        read: impl Fn(Value, Release) -> Result<Option<T>, String> + Send + Sync + 'static,
        field: fn(&mut Facts) -> &mut Named<T>,
    ) {
        let follow = Follow { kind, read: Arc::new(read), field };
        let (client, cache) = (self.client.clone(), self.cache.clone());
        let mut releases = cache.releases();
        self.tasks.spawn(async move {
            loop {
                let release = *releases.borrow_and_update();
                tokio::select! {
                    () = follow.until_gone(&client, &cache, release) => tokio::time::sleep(BACKOFF_MAX).await,
                    // All of it is read again, by the rules of another release.
                    _ = releases.changed(), if BY_RELEASE.contains(&follow.kind.name) => {}
                }
            }
        });
    }
}

impl<T: PartialEq + Send + Sync + 'static> Follow<T> {
    /// Follows until the kind itself is gone (its CRD removed). Otherwise it never ends.
    async fn until_gone(&self, client: &Client, cache: &Cache, release: Release) {
        let api: Api<Object> = Api::all_with(client.clone(), &self.kind.resource());
        let mut how = watcher::Config::default().timeout(WATCH_SECS);
        if self.kind == object::PODS {
            how = how.fields(ALIVE);
        }
        let stream = watch(api, how).backoff(Pace::default());
        let mut stream = std::pin::pin!(stream);
        let mut listed = Named::default();
        while let Some(event) = stream.next().await {
            match event {
                Ok(event) => {
                    cache.heard();
                    self.take(event, &mut listed, cache, release);
                }
                Err(error) => {
                    if self.blame(&error, cache) {
                        return;
                    }
                }
            }
        }
    }

    fn take(&self, event: Event<Object>, listed: &mut Named<T>, cache: &Cache, release: Release) {
        match event {
            Event::Init => *listed = Named::default(),
            Event::InitApply(object) => {
                let (key, read) = self.read(object, release);
                listed.set(key, read);
            }
            Event::InitDone => {
                let new = std::mem::take(listed);
                cache.change(|facts| {
                    let known = (self.field)(facts);
                    let changed = *known != new;
                    // What is the same stays the same in memory.
                    if changed {
                        *known = new;
                    }
                    changed
                });
                let by_release = BY_RELEASE.contains(&self.kind.name);
                cache.complete(self.kind.name, by_release.then_some(release));
                self.told(cache);
            }
            Event::Apply(object) => {
                let (key, read) = self.read(object, release);
                cache.change(|facts| (self.field)(facts).set(key, read));
                self.told(cache);
            }
            Event::Delete(object) => {
                let key = object.key();
                cache.change(|facts| (self.field)(facts).set(key, Ok(None)));
                self.told(cache);
            }
        }
    }

    fn told(&self, cache: &Cache) {
        if self.kind.plural == object::BUFFERS[0].plural {
            cache.for_scalables.notify_one();
        }
    }

    fn read(&self, object: Object, release: Release) -> (Key, Result<Option<T>, Odd>) {
        let key = object.key();
        let on = object.text("/spec/nodeName").filter(|name| !name.is_empty()).map(NodeId::from);
        (key, (self.read)(object.value, release).map_err(|why| (why.into(), on)))
    }

    /// Notes what went wrong; `true` if the kind is not there any more.
    fn blame(&self, error: &watcher::Error, cache: &Cache) -> bool {
        use watcher::Error::{
            InitialListFailed, NoResourceVersion, WatchError, WatchFailed, WatchStartFailed,
        };
        let what = format!("list and watch {}", self.kind.plural);
        let error = match error {
            WatchError(status) if status.code == 410 => return false, // it is listed again
            WatchError(status) => explain(&what, &kube::Error::Api(status.clone())),
            InitialListFailed(error) | WatchStartFailed(error) | WatchFailed(error) => {
                let gone = status(error) == Some(404);
                cache.failed(self.kind.name, explain(&what, error));
                return gone;
            }
            NoResourceVersion => WorkloadError::new(
                FailureClass::Transient,
                "kubernetes.odd",
                format!("the API server cannot {what}: its list has no version"),
            ),
        };
        tracing::debug!(kind = self.kind.name, %error, "a watch failed; trying again");
        cache.failed(self.kind.name, error);
        false
    }
}

/// How soon a watch that failed is tried again.
#[derive(Debug, Default)]
struct Pace(u32);

impl Iterator for Pace {
    type Item = Duration;
    fn next(&mut self) -> Option<Duration> {
        let wait = BACKOFF_MIN.saturating_mul(1 << self.0.min(8)).min(BACKOFF_MAX);
        self.0 = self.0.saturating_add(1);
        Some(wait)
    }
}

impl Backoff for Pace {
    fn reset(&mut self) {
        self.0 = 0;
    }
}

/// CapacityBuffers, and the templates that they name, as long as their CRD is there.
async fn buffers(client: Client, cache: Arc<Cache>) {
    const KIND: &str = object::BUFFERS[0].name;
    let mut releases = cache.releases();
    loop {
        let release = *releases.borrow_and_update();
        match known(&client).await {
            Ok(Some(kind)) => {
                let read: Read<_> = Arc::new(|object, _| map::buffer(object));
                let buffers = Follow { kind, read, field: |facts| &mut facts.buffers };
                let read: Read<_> = Arc::new(|object, release| map::template(object, release).map(Some));
                let templates = Follow { kind: object::TEMPLATES, read, field: |facts| &mut facts.templates };
                tokio::select! {
                    () = buffers.until_gone(&client, &cache, release) => {}
                    () = templates.until_gone(&client, &cache, release) => {}
                    _ = releases.changed() => continue,
                }
                cache.change(|facts| {
                    let gone = std::mem::take(&mut facts.buffers);
                    facts.templates = Named::default();
                    !gone.good.is_empty() || !gone.bad.is_empty()
                });
            }
            Ok(None) => {
                cache.complete(KIND, None);
                tokio::time::sleep(DISCOVER).await;
            }
            Err(error) => {
                cache.failed(KIND, explain("list its API groups", &error));
                tokio::time::sleep(BACKOFF_MAX).await;
            }
        }
    }
}

/// The newest version of CapacityBuffers that the API server has.
async fn known(client: &Client) -> Result<Option<Kind>, kube::Error> {
    for kind in object::BUFFERS {
        match client.list_api_group_resources(&kind.api_version()).await {
            Ok(list) if list.resources.iter().any(|resource| resource.name == kind.plural) => {
                return Ok(Some(kind));
            }
            Ok(_) => {}
            Err(error) if status(&error) == Some(404) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Reads what CapacityBuffers are to be like.
async fn scalables(client: Client, cache: Arc<Cache>) {
    loop {
        let mut read = std::collections::BTreeMap::new();
        for to in cache.wanted_scalables() {
            let kind =
                object::SCALABLES.into_iter().find(|kind| kind.group == &*to.group && kind.name == &*to.kind);
            let Some(kind) = kind else { continue };
            let api: Api<Object> = Api::namespaced_with(client.clone(), &to.namespace, &kind.resource());
            let facts = match api.get_opt(&to.name).await {
                Ok(Some(object)) => map::scalable(object.value, cache.release()),
                Ok(None) => continue,
                Err(error) => Err(reason(&error)),
            };
            match facts {
                Ok(facts) => drop(read.insert(to, Arc::new(facts))),
                Err(why) => tracing::warn!(kind = %to.kind, namespace = %to.namespace, name = %to.name, why,
                    "what a CapacityBuffer is to be like cannot be read"),
            }
        }
        cache.change(|facts| {
            let changed = facts.scalables != read;
            facts.scalables = read;
            changed
        });
        let _ = tokio::time::timeout(SCALABLES, cache.for_scalables.notified()).await;
    }
}

/// Asks whether the API server is there, and which release it is: watches can be silent for long, and be dead.
async fn heartbeat(client: Client, cache: Arc<Cache>) {
    loop {
        match tokio::time::timeout(HEARTBEAT, client.apiserver_version()).await {
            Ok(Ok(version)) => {
                cache.heard();
                cache.release_is(Release::of(&version.minor), BY_RELEASE);
            }
            // It is there, and will not tell.
            Ok(Err(kube::Error::Api(status))) if status.code < 500 => cache.release_is(cache.release(), []),
            Ok(Err(kube::Error::SerdeError(_))) => cache.release_is(cache.release(), []),
            Ok(Err(_)) | Err(_) => {}
        }
        tokio::time::sleep(HEARTBEAT).await;
    }
}

/// Wakes the loop once a burst of changes is over, and at the latest so long after it began.
async fn knock(cache: Arc<Cache>, idle: Duration, max: Duration) {
    loop {
        cache.changed.notified().await;
        let begun = tokio::time::Instant::now();
        loop {
            let wait = idle.min(max.saturating_sub(begun.elapsed()));
            if wait.is_zero() || tokio::time::timeout(wait, cache.changed.notified()).await.is_err() {
                break;
            }
        }
        cache.door.knock();
    }
}
