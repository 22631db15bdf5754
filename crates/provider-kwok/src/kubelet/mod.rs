//! The kubelets of all nodes of a site, as one task: it watches, and does what is due.

mod act;
mod pod;
mod world;

use crate::node::SITE;
use crate::node::now;
use act::Hands;
use k8s_openapi::api::core::v1::Node;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use kube::{Api, Client, Config, ResourceExt};
use ostler_model::{Millis, Timestamp};
use pod::Pod;
use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_stream::StreamExt;
use world::{Action, Key, World};

/// Requests at a time. Each takes some milliseconds, so this is some thousand a second at most.
const AT_A_TIME: usize = 32;
/// What was done is in the watch within this time, or is done again.
const ECHO: Millis = Millis::secs(3);
/// After a failure.
const AGAIN: Millis = Millis(1_000);
/// Between two sweeps of old leases.
const SWEEP: Duration = Duration::from_secs(600);
/// Nothing is due: look again then.
const IDLE: Millis = Millis::secs(60);

/// The kubelets of a site; they stop when this is dropped, and go on with the next one.
#[derive(Debug)]
pub struct Kubelet {
    /// Its other end hears that this was dropped.
    _leash: oneshot::Sender<()>,
}

impl Kubelet {
    /// Starts on the current Tokio runtime.
    pub fn start(site: &str, client: Client) -> Self {
        let (leash, end) = oneshot::channel();
        tokio::spawn(run_until(end, Hands { client, site: site.to_owned() }));
        Self { _leash: leash }
    }

    /// Starts on a thread of its own, with a connection of its own: what a thousand kubelets do is not to be in the
    /// way of anything else in the process, and is told apart from it in `/proc/PID/task` (`kwok-kubelet`).
    ///
    /// # Errors
    /// No thread, or no runtime on it.
    pub(crate) fn start_apart(site: &str, way: Config) -> std::io::Result<Self> {
        let (leash, end) = oneshot::channel();
        let site = site.to_owned();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::Builder::new().name("kwok-kubelet".to_owned()).spawn(move || {
            runtime.block_on(async move {
                match Client::try_from(way) {
                    Ok(client) => run_until(end, Hands { client, site }).await,
                    Err(error) => tracing::error!(%error, "simulated nodes have no kubelet"),
                }
            });
        })?;
        Ok(Self { _leash: leash })
    }
}

async fn run_until(end: oneshot::Receiver<()>, hands: Hands) {
    tokio::select! {
        () = run(hands) => {}
        _ = end => {}
    }
}

/// What is due when, and what is under way.
#[derive(Default)]
struct Agenda {
    nodes: BTreeSet<(Timestamp, Key)>,
    pods: BTreeSet<(Timestamp, Key)>,
    when: BTreeMap<Key, Timestamp>,
    under_way: BTreeSet<Key>,
    /// Not before then: an echo is waited for, or a failure's pause.
    pause: BTreeMap<Key, Timestamp>,
}

impl Agenda {
    /// Puts a key where the world says; not while something is done with it.
    fn plan(&mut self, world: &World, key: Key) {
        self.forget(&key);
        if self.under_way.contains(&key) {
            return;
        }
        match world.next(&key) {
            Some((at, _)) => {
                let at = self.pause.get(&key).map_or(at, |until| at.max(*until));
                self.when.insert(key.clone(), at);
                self.due(&key).insert((at, key));
            }
            None => drop(self.pause.remove(&key)),
        }
    }

    /// The first key that is due by then: nodes before pods, or ten thousand new pods would have a thousand nodes miss
    /// their leases.
    fn take(&mut self, by: Timestamp) -> Option<Key> {
        let due = self.nodes.first().filter(|(at, _)| *at <= by).or(self.pods.first())?;
        let (at, key) = due.clone();
        if at > by {
            return None;
        }
        self.forget(&key);
        Some(key)
    }

    /// When something is due.
    fn next(&self) -> Option<Timestamp> {
        self.nodes.first().into_iter().chain(self.pods.first()).map(|(at, _)| *at).min()
    }

    fn forget(&mut self, key: &Key) {
        if let Some(at) = self.when.remove(key) {
            self.due(key).remove(&(at, key.clone()));
        }
    }

    fn due(&mut self, key: &Key) -> &mut BTreeSet<(Timestamp, Key)> {
        match key {
            Key::Node(_) => &mut self.nodes,
            Key::Pod(..) => &mut self.pods,
        }
    }
}

async fn run(hands: Hands) {
    let (mut world, mut agenda) = (World::default(), Agenda::default());
    let site = watcher::Config::default().labels(&format!("{SITE}={}", hands.site));
    let bound = watcher::Config::default().fields("spec.nodeName!=");
    let mut nodes = pin!(watch(Api::<Node>::all(hands.client.clone()), site).default_backoff());
    let mut pods = pin!(watch(Api::<Pod>::all(hands.client.clone()), bound).default_backoff());
    let (mut listed_nodes, mut listed_pods) = (BTreeSet::new(), BTreeSet::new());
    let mut sweep = tokio::time::interval(SWEEP);
    let mut requests: JoinSet<(Key, Action, Result<(), kube::Error>)> = JoinSet::new();
    let mut sweeping: JoinSet<Result<Vec<String>, kube::Error>> = JoinSet::new();
    loop {
        let wait = start_what_is_due(&hands, &world, &mut agenda, &mut requests);
        let touched = tokio::select! {
            Some(done) = requests.join_next(), if !requests.is_empty() => match done {
                Ok((key, action, result)) => settle(&mut world, &mut agenda, key, &action, result),
                Err(error) => { tracing::error!(%error, "a request of the kubelet broke"); Vec::new() }
            },
            Some(event) = nodes.next() => see_nodes(&mut world, &mut agenda, &mut listed_nodes, event),
            Some(event) = pods.next() => see_pods(&mut world, &mut agenda, &mut listed_pods, event),
            _ = sweep.tick() => {
                let hands = hands.clone();
                sweeping.spawn(async move { hands.sweep().await });
                Vec::new()
            }
            Some(swept) = sweeping.join_next(), if !sweeping.is_empty() => match swept {
                Ok(Ok(gone)) => world.remember(gone, now()),
                Ok(Err(error)) => {
                    tracing::debug!(%error, "old leases stay until the next sweep");
                    Vec::new()
                }
                Err(error) => { tracing::error!(%error, "a sweep broke"); Vec::new() }
            },
            () = tokio::time::sleep(wait) => Vec::new(),
        };
        for key in touched {
            agenda.plan(&world, key);
        }
    }
}

/// Starts requests; the answer is how long nothing more is due.
fn start_what_is_due(
    hands: &Hands,
    world: &World,
    agenda: &mut Agenda,
    requests: &mut JoinSet<(Key, Action, Result<(), kube::Error>)>,
) -> Duration {
    let now = now();
    while requests.len() < AT_A_TIME
        && let Some(key) = agenda.take(now)
    {
        // The world may have changed its mind since this was planned.
        let Some((_, action)) = world.next(&key) else { continue };
        agenda.under_way.insert(key.clone());
        let (hands, pod) = (hands.clone(), world.pod(&key).cloned());
        requests.spawn(async move {
            let result = match (&key, pod) {
                (Key::Node(name), _) => hands.node(name, &action).await,
                (Key::Pod(..), Some(pod)) => hands.pod(&pod, &action).await,
                (Key::Pod(..), None) => Ok(()),
            };
            (key, action, result)
        });
    }
    // With all hands full the next request that ends wakes us.
    let next = agenda.next().filter(|_| requests.len() < AT_A_TIME).map_or(IDLE, |at| at.since(now));
    Duration::from_millis(next.0.min(IDLE.0))
}

/// What came of a request.
fn settle(
    world: &mut World,
    agenda: &mut Agenda,
    key: Key,
    action: &Action,
    result: Result<(), kube::Error>,
) -> Vec<Key> {
    agenda.under_way.remove(&key);
    let pause = match result {
        Ok(()) => {
            if let Key::Node(name) = &key {
                if matches!(action, Action::Renew | Action::Boot) {
                    world.renewed(name, now());
                }
                if *action == Action::Bury {
                    world.buried(name);
                }
            }
            if *action == Action::Renew { Millis(0) } else { ECHO }
        }
        Err(error) => {
            tracing::debug!(?key, ?action, %error, "the kubelet of pretence tries again");
            AGAIN
        }
    };
    agenda.pause.insert(key.clone(), now() + pause);
    vec![key]
}

fn see_nodes(
    world: &mut World,
    agenda: &mut Agenda,
    listed: &mut BTreeSet<String>,
    event: Result<Event<Node>, watcher::Error>,
) -> Vec<Key> {
    let touched = match event {
        Ok(Event::Apply(node)) => world.see_node(&node),
        Ok(Event::Delete(node)) => world.lose_node(&node.name_any(), now()),
        Ok(Event::Init) => {
            listed.clear();
            Vec::new()
        }
        Ok(Event::InitApply(node)) => {
            listed.insert(node.name_any());
            world.see_node(&node)
        }
        Ok(Event::InitDone) => {
            let gone: Vec<_> = world.node_names().difference(listed).cloned().collect();
            gone.iter().flat_map(|name| world.lose_node(name, now())).collect()
        }
        Err(error) => {
            tracing::warn!(%error, "simulated nodes cannot be watched just now");
            Vec::new()
        }
    };
    news(agenda, &touched);
    touched
}

fn see_pods(
    world: &mut World,
    agenda: &mut Agenda,
    listed: &mut BTreeSet<Key>,
    event: Result<Event<Pod>, watcher::Error>,
) -> Vec<Key> {
    let touched = match event {
        Ok(Event::Apply(pod)) => world.see_pod(pod),
        Ok(Event::Delete(pod)) => world.lose_pod(&world::key_of(&pod)),
        Ok(Event::Init) => {
            listed.clear();
            Vec::new()
        }
        Ok(Event::InitApply(pod)) => {
            listed.insert(world::key_of(&pod));
            world.see_pod(pod)
        }
        Ok(Event::InitDone) => {
            let gone: Vec<_> = world.pod_keys().difference(listed).cloned().collect();
            gone.iter().flat_map(|key| world.lose_pod(key)).collect()
        }
        Err(error) => {
            tracing::warn!(%error, "pods of simulated nodes cannot be watched just now");
            Vec::new()
        }
    };
    news(agenda, &touched);
    touched
}

/// Something new was seen: what was waited for is there, or is another thing now.
fn news(agenda: &mut Agenda, touched: &[Key]) {
    for key in touched {
        agenda.pause.remove(key);
    }
}
