//! The real cluster: objects in, objects out, and whether the scheduler has looked at all of them.

use crate::random::{CLASSES, SPACES, World};
use k8s_openapi::api::core::v1::{Namespace, Node, Pod, ServiceAccount};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, Resource, ResourceExt};
use ostler_testkit::kube::{Component, Lab, Options};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// What is waited for comes within this time, on a loaded machine too.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);
/// A scheduler that has had nothing to do for this long while nodes were new has heard of them.
const QUIET: Duration = Duration::from_secs(2);
/// Its count of pods that wait may be off by one for good after some hundred worlds; then it counts as idle once nothing
/// has moved for this long.
const STILL: Duration = Duration::from_secs(6);

/// Everything that is there.
#[derive(Debug, Clone, Default)]
pub(crate) struct Look {
    pub(crate) nodes: Vec<Node>,
    pub(crate) pods: Vec<Pod>,
    pub(crate) namespaces: Vec<Namespace>,
}

/// Namespace and name of a pod.
pub(crate) type Name = (String, String);

pub(crate) fn name_of(pod: &Pod) -> Name {
    (pod.namespace().unwrap_or_default(), pod.name_any())
}

pub(crate) fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref().filter(|node| !node.is_empty())
}

/// What the scheduler says of a pod that waits.
pub(crate) fn verdict(pod: &Pod) -> Option<&str> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let scheduled = conditions.iter().find(|one| one.type_ == "PodScheduled")?;
    let tried = scheduled.status == "False" && scheduled.reason.as_deref() == Some("Unschedulable");
    tried.then(|| scheduled.message.as_deref().unwrap_or_default())
}

impl Look {
    pub(crate) fn bound(&self) -> usize {
        self.pods.iter().filter(|pod| node_of(pod).is_some()).count()
    }
}

/// The way in.
pub(crate) struct Cluster {
    lab: Lab,
    client: Client,
}

fn typed<T: DeserializeOwned>(object: &Value) -> T {
    serde_json::from_value(object.clone()).unwrap_or_else(|why| panic!("{why}: {object}"))
}

impl Cluster {
    /// Starts it, with what all worlds have in common.
    pub(crate) async fn new() -> Self {
        // Nobody renews the leases of these nodes.
        let patient = "--node-monitor-grace-period=1h".to_owned();
        let flags = [(Component::ControllerManager, vec![patient])].into();
        let lab = Lab::with(Options { flags }).await;
        let cluster = Self { client: lab.client().await, lab };
        for (name, team) in SPACES {
            let object = json!({"metadata": {"name": name, "labels": {"team": team}}});
            cluster.create(Api::<Namespace>::all(cluster.client.clone()), &object).await;
        }
        for (name, value, preemption) in CLASSES {
            let object = json!({"metadata": {"name": name}, "value": value, "preemptionPolicy": preemption});
            cluster.create(Api::<PriorityClass>::all(cluster.client.clone()), &object).await;
        }
        for (name, _) in SPACES {
            let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client.clone(), name);
            let deadline = Instant::now() + PATIENCE;
            while accounts.get_opt("default").await.expect("it can be asked").is_none() {
                assert!(Instant::now() < deadline, "no account for pods in {name}");
                tokio::time::sleep(PAUSE).await;
            }
        }
        cluster
    }

    async fn create<T>(&self, api: Api<T>, object: &Value)
    where
        T: Resource + Clone + std::fmt::Debug + DeserializeOwned + serde::Serialize,
    {
        let made = api.create(&PostParams::default(), &typed(object)).await;
        made.unwrap_or_else(|why| panic!("{why}\n{object:#}"));
    }

    fn nodes(&self) -> Api<Node> {
        Api::all(self.client.clone())
    }

    fn pods(&self, namespace: &str) -> Api<Pod> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Removes all nodes and pods, and waits until they are gone.
    pub(crate) async fn empty(&self) {
        let at_once = DeleteParams::default().grace_period(0);
        let deadline = Instant::now() + PATIENCE;
        loop {
            for (namespace, _) in SPACES {
                let gone = self.pods(namespace).delete_collection(&at_once, &ListParams::default()).await;
                gone.expect("pods can be removed");
            }
            let gone = self.nodes().delete_collection(&at_once, &ListParams::default()).await;
            gone.expect("nodes can be removed");
            let left = self.look().await;
            if left.pods.is_empty() && left.nodes.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "they do not go: {left:?}");
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Makes nodes. The API server marks new ones as not ready until a controller has seen that they are; the mark is
    /// taken off at once.
    pub(crate) async fn add_nodes(&self, nodes: &[Value]) {
        let mut tasks = JoinSet::new();
        for node in nodes {
            let (api, node) = (self.nodes(), node.clone());
            tasks.spawn(async move {
                let made = api.create(&PostParams::default(), &typed(&node)).await;
                let made = made.unwrap_or_else(|why| panic!("{why}\n{node:#}"));
                let taints = Patch::Merge(json!({"spec": {"taints": node["spec"]["taints"]}}));
                api.patch(&made.name_any(), &PatchParams::default(), &taints)
                    .await
                    .expect("taints can be set");
            });
        }
        tasks.join_all().await;
    }

    /// Makes the pods of the world that are not there: at first all, later those that had to make room for others,
    /// as a ReplicaSet would.
    pub(crate) async fn add_pods(&self, world: &World, there: &Look) -> usize {
        let there: BTreeSet<Name> = there.pods.iter().map(name_of).collect();
        let missing = world.pods.iter().filter(|(name, _)| !there.contains(*name));
        let mut tasks = JoinSet::new();
        for ((namespace, _), pod) in missing {
            let (api, pod) = (self.pods(namespace), pod.clone());
            tasks.spawn(async move {
                let made = api.create(&PostParams::default(), &typed(&pod)).await;
                made.unwrap_or_else(|why| panic!("{why}\n{pod:#}"));
            });
        }
        tasks.join_all().await.len()
    }

    /// Removes these pods; they are made again when the scheduler is waited for.
    pub(crate) async fn remove_pods(&self, names: &BTreeSet<Name>) {
        let at_once = DeleteParams::default().grace_period(0);
        for (namespace, name) in names {
            self.pods(namespace).delete(name, &at_once).await.expect("a pod can be removed");
        }
    }

    pub(crate) async fn look(&self) -> Look {
        let all = ListParams::default();
        let mut pods = Vec::new();
        for (namespace, _) in SPACES {
            pods.extend(self.pods(namespace).list(&all).await.expect("a list").items);
        }
        let nodes = self.nodes().list(&all).await.expect("a list").items;
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        Look { nodes, pods, namespaces: namespaces.list(&all).await.expect("a list").items }
    }

    /// Waits until the scheduler has tried every pod and has nothing more to do. If all of these pods are bound then,
    /// that is it; otherwise it is given some time more, in which it might hear of something new.
    pub(crate) async fn settle(&self, world: &World, expected: &BTreeSet<Name>) -> Look {
        let mut deadline = Instant::now() + PATIENCE;
        let mut still: Option<(Instant, (usize, usize))> = None;
        let mut before = 0;
        loop {
            let look = self.look().await;
            let made = self.add_pods(world, &look).await;
            let bound = look.bound();
            let tried =
                look.pods.iter().filter(|pod| node_of(pod).is_some() || verdict(pod).is_some()).count();
            let queues = self.queues().await;
            let off = queues.unschedulable.abs_diff(look.pods.len() - bound);
            if tried + bound != before {
                (before, deadline) = (tried + bound, Instant::now() + PATIENCE);
            }
            let idle = made == 0 && tried == look.pods.len() && queues.active == 0 && queues.backoff == 0;
            let seen = (bound, off);
            still = match still {
                Some((since, before)) if idle && before == seen => Some((since, before)),
                _ => idle.then(|| (Instant::now(), seen)),
            };
            let waits = |pod: &Pod| node_of(pod).is_none() && expected.contains(&name_of(pod));
            let patience = match () {
                () if off > 0 => STILL,
                () if look.pods.iter().any(waits) => QUIET,
                () => PAUSE,
            };
            if still.is_some_and(|(since, _)| since.elapsed() >= patience) {
                return look;
            }
            assert!(
                Instant::now() < deadline,
                "seed {}: the scheduler does not come to rest: of {} pods {tried} are tried, {bound} bound, {made} made \
                 again, {queues:?}; {:?}",
                world.seed,
                look.pods.len(),
                look.pods.iter().map(|pod| (name_of(pod), verdict(pod))).collect::<Vec<_>>(),
            );
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn queues(&self) -> Queues {
        let text = self.lab.metrics(Component::Scheduler).await.expect("the scheduler counts");
        let queue = |name: &str| {
            let key = format!("scheduler_pending_pods{{queue=\"{name}\"}} ");
            let value = text.lines().find_map(|line| line.strip_prefix(&key));
            value.unwrap_or("0").parse::<f64>().expect("a number") as usize
        };
        Queues { active: queue("active"), backoff: queue("backoff"), unschedulable: queue("unschedulable") }
    }
}

/// Pods in the queues of the scheduler; one that it tries just now is in none.
#[derive(Debug)]
struct Queues {
    active: usize,
    backoff: usize,
    unschedulable: usize,
}
