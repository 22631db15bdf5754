//! The client against real Rays, the oldest and the newest that we support. Needs `make ray-env`.
//!
//! One cluster serves a whole story, since a head takes its seconds to start. Everything waits for conditions.

use async_trait::async_trait;
use ostler_model::{FailureClass, InstanceId, Node, NodeId, NodeStatus, PoolId, Timestamp, WorkloadState};
use ostler_testkit::ray::{Cluster, Driver, Options, PATIENCE, wait_for};
use ostler_workload::conformance::{self, Subject};
use ostler_workload::{
    DrainAnswer, DrainCause, DrainRequest, Event, FailedLaunch, PendingInstance, PendingLaunch, Published,
    Severity, Workload, WorkloadError,
};
use ostler_workload_ray::{Config, RayWorkload, Token, TokenSource};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const OLDEST: &str = "2.48.0";
const NEWEST: &str = "2.60.0";

/// One at a time: two heads starting on two cores help nobody.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

fn client(cluster: &Cluster) -> RayWorkload {
    with_token(cluster, TokenSource::Nowhere)
}

fn with_token(cluster: &Cluster, token: TokenSource) -> RayWorkload {
    RayWorkload::new(Config {
        token,
        call_timeout: Duration::from_secs(60),
        ..Config::new(cluster.address())
    })
}

/// Looks until there is something to see.
async fn seen<T>(ray: &RayWorkload, what: &str, find: impl Fn(&WorkloadState) -> Option<T>) -> T {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let look = ray.observe().await;
        if let Some(found) = look.as_ref().ok().and_then(&find) {
            return found;
        }
        assert!(tokio::time::Instant::now() < deadline, "waited {PATIENCE:?} for {what}, last saw {look:#?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn node(ray: &RayWorkload, instance: &str, status: NodeStatus) -> Node {
    let is_it = |n: &&Node| n.cloud.as_ref().is_some_and(|c| c.as_str() == instance) && n.status == status;
    seen(ray, &format!("{instance} to be {status:?}"), |state| state.nodes.iter().find(is_it).cloned()).await
}

async fn ended(ray: &RayWorkload, id: &NodeId) {
    let gone = |state: &WorkloadState| {
        let node = state.nodes.iter().find(|n| n.id == *id);
        node.is_none_or(|n| n.status == NodeStatus::Dead).then_some(())
    };
    seen(ray, &format!("node {id} to end"), gone).await;
}

/// A driver whose actor keeps one CPU of `instance` in use.
fn occupy(cluster: &Cluster, instance: &str) -> Driver {
    let mut driver = cluster.start_driver(&format!(
        r#"
import ray, time
ray.init()
@ray.remote(num_cpus=1, resources={{"{instance}": 0.1}})
class Busy:
    def ping(self): return 1
busy = Busy.remote()
ray.get(busy.ping.remote())
print("occupied")
time.sleep(3600)
"#
    ));
    driver.wait_until_said("occupied");
    driver
}

fn start_worker(cluster: &Cluster, instance: &str) {
    cluster.start_worker(instance, "cpu2", 2, &[&format!(r#"--resources={{"{instance}": 1, "ssd": 2}}"#)]);
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    Timestamp(since.as_millis().try_into().expect("a clock before the year 500 million"))
}

// ---- the story of a cluster ----

#[tokio::test(flavor = "multi_thread")]
async fn a_newest_ray_is_seen_told_and_drained() {
    let _alone = ALONE.lock().await;
    story(NEWEST).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_oldest_ray_is_seen_told_and_drained() {
    let _alone = ALONE.lock().await;
    story(OLDEST).await;
}

async fn story(version: &str) {
    let cluster = Cluster::start(Options::of(version));
    let ray = client(&cluster);
    assert_eq!(ray.ray_version().await.expect("a version"), version);
    start_worker(&cluster, "c-1");
    start_worker(&cluster, "c-2");
    nodes_are_seen(&ray).await;
    demand_is_seen(&cluster, &ray, version).await;
    let busy = occupy(&cluster, "c-2");
    plans_are_shown(&cluster, &ray, busy).await;
    let busy = occupy(&cluster, "c-2");
    conformance::suite(&Real { ray: &ray }).await;
    busy.kill();
    work_on_a_drained_node_ends_well(&cluster, &ray).await;
    a_group_that_lost_its_node_is_demand(&cluster, &ray).await;
}

async fn nodes_are_seen(ray: &RayWorkload) {
    let head = node(ray, "head", NodeStatus::Idle).await;
    assert_eq!((head.head, head.pool), (true, Some(PoolId::from("head"))));
    let worker = node(ray, "c-1", NodeStatus::Idle).await;
    assert_eq!(
        (worker.head, worker.pool, &*worker.instance_type),
        (false, Some(PoolId::from("cpu2")), "local")
    );
    assert_eq!(worker.total.get("ssd").to_string(), "2");
    assert_eq!(worker.available.get("CPU").to_string(), "2");
    assert_eq!(worker.id.as_str().len(), 56);
    let state = ray.observe().await.expect("a look");
    assert!(state.session.starts_with("session_") && state.skipped.is_empty(), "{state:#?}");
}

async fn demand_is_seen(cluster: &Cluster, ray: &RayWorkload, version: &str) {
    let labelled = r#"
@ray.remote(num_cpus=1, label_selector={"zone": "a"}, fallback_strategy=[{"label_selector": {"zone": "b"}}])
def labelled(): pass
labelled.remote()
"#;
    let has_labels = version == NEWEST;
    let driver = cluster.start_driver(&DEMAND.replace("LABELLED", if has_labels { labelled } else { "" }));
    let labels = if has_labels { "task 1 x CPU 1 where zone in (a) or zone in (b)\n" } else { "" };
    let expected = format!("{labels}{EXPECTED}");
    let last = std::sync::Mutex::new(String::new());
    let all = |state: &WorkloadState| {
        *last.lock().expect("not poisoned") = demand(state);
        (demand(state) == expected).then_some(())
    };
    let found = tokio::time::timeout(PATIENCE, seen(ray, "all of the demand", all)).await;
    assert!(
        found.is_ok(),
        "expected:\n{expected}\nsaw:\n{}\n{}",
        last.lock().expect("not poisoned"),
        driver.output()
    );
    driver.kill();
    assert!(
        cluster
            .run_driver(
                "import ray; from ray.autoscaler.sdk import request_resources as r; ray.init(); r(bundles=[])"
            )
            .status
            .success()
    );
    seen(ray, "the demand to go", |state| demand(state).is_empty().then_some(())).await;
}

const DEMAND: &str = r#"
import ray, time
from ray.util.placement_group import placement_group
from ray.autoscaler.sdk import request_resources
ray.init()
@ray.remote(num_cpus=4)
def task(): pass
tasks = [task.remote() for _ in range(3)]
@ray.remote(num_cpus=0, resources={"rare": 1})
class Actor: pass
actor = Actor.remote()
LABELLED
groups = [placement_group([{"CPU": 8}] * 2, strategy=s) for s in ("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD")]
request_resources(num_cpus=3, bundles=[{"GPU": 1}])
time.sleep(3600)
"#;

const EXPECTED: &str = "\
task 1 x rare 1
task 3 x CPU 4
gang PACK: 2 x CPU 8
gang SPREAD: 2 x CPU 8
gang STRICT_PACK: 2 x CPU 8
gang STRICT_SPREAD: 2 x CPU 8
floor 1 x GPU 1; 3 x CPU 1
";

/// The demand as text, in an order of its own.
fn demand(state: &WorkloadState) -> String {
    let demand = &state.demand;
    let mut tasks: Vec<_> =
        demand.tasks.iter().map(|t| format!("task {} x {}\n", t.count, t.shape)).collect();
    tasks.sort();
    let bundle = |b: &ostler_model::Bundle| format!("{} x {}", b.count, b.shape);
    let gang = |g: &ostler_model::Gang| {
        format!("gang {}: {}\n", g.strategy, g.bundles.iter().map(bundle).collect::<Vec<_>>().join("; "))
    };
    let mut gangs: Vec<_> = demand.gangs.iter().map(gang).collect();
    gangs.sort();
    let floor = |f: &ostler_model::Floor| {
        let mut tasks: Vec<_> = f.tasks.iter().map(|t| format!("{} x {}", t.count, t.shape)).collect();
        tasks.sort();
        format!("floor {}\n", tasks.join("; "))
    };
    tasks.concat() + &gangs.concat() + &demand.floors.iter().map(floor).collect::<String>()
}

/// `ray status`, the screen of a driver, and the event log of the session.
async fn plans_are_shown(cluster: &Cluster, ray: &RayWorkload, mut driver: Driver) {
    let state = ray.observe().await.expect("a look");
    ray.publish(&plan(&state, now().0)).await.expect("told");
    let status = cluster.run_ray(&["status", "-v"]);
    for shown in ["cpu2, 1 launching", "i-77: cpu2, waiting for its node", "a100", "no quota"] {
        assert!(status.output.contains(shown), "`ray status` does not show {shown:?}:\n{}", status.output);
    }
    driver.wait_until_said("s) Adding 1 node(s) of type cpu2."); // as "(autoscaler +5s)", with no address
    driver.wait_until_said("No node type can ever meet it.");
    driver.kill();
    let log = cluster.dir().join(&state.session).join("logs/events/event_AUTOSCALER_OSTLER.log");
    let written = std::fs::read_to_string(&log).unwrap_or_else(|error| panic!("{}: {error}", log.display()));
    assert_eq!(written.lines().count(), 2, "{written}");
}

fn plan(state: &WorkloadState, generation: u64) -> Published {
    let (pool, instance_type) = (PoolId::from("cpu2"), "local".to_owned());
    let event = |severity, text: &str| Event { at: now(), severity, text: text.into() };
    Published {
        workload_version: state.version,
        generation,
        pending_launches: vec![PendingLaunch {
            pool: pool.clone(),
            instance_type: instance_type.clone(),
            count: 1,
            since: now(),
        }],
        pending_instances: vec![PendingInstance {
            instance: InstanceId::from("i-77"),
            pool,
            instance_type,
            address: String::new(),
            details: "waiting for its node".into(),
        }],
        failed_launches: vec![FailedLaunch {
            pool: PoolId::from("a100"),
            instance_type: "p4d".into(),
            count: 1,
            reason: "no quota".into(),
            started: now(),
            failed: now(),
        }],
        infeasible: state.demand.clone(),
        events: vec![
            event(Severity::Info, "Adding 1 node(s) of type cpu2."),
            event(Severity::Warning, "No node type can ever meet it."),
        ],
        ..Published::default()
    }
}

struct Real<'a> {
    ray: &'a RayWorkload,
}

#[async_trait]
impl Subject for Real<'_> {
    fn workload(&self) -> &dyn Workload {
        self.ray
    }
    async fn idle_node(&self) -> NodeId {
        node(self.ray, "c-1", NodeStatus::Idle).await.id
    }
    async fn busy_node(&self) -> NodeId {
        node(self.ray, "c-2", NodeStatus::Running).await.id
    }
    async fn cut(&self) -> bool {
        false // `a_head_that_was_replaced` does it, and no cluster survives it
    }
    async fn restore(&self) {}
}

async fn work_on_a_drained_node_ends_well(cluster: &Cluster, ray: &RayWorkload) {
    let mut driver = cluster.start_driver(
        r#"
import ray, time
ray.init()
@ray.remote(num_cpus=1, max_retries=0)
def work():
    print("at work")
    time.sleep(8)
    return "well done"
print(ray.get(work.remote()))
"#,
    );
    driver.wait_until_said("at work");
    let id = node(ray, "c-2", NodeStatus::Running).await.id;
    let deadline = Some(Timestamp(now().0 + 600_000));
    let request = DrainRequest { cause: DrainCause::Preemption, message: "too many".into(), deadline };
    assert_eq!(ray.drain(&id, &request).await.expect("an answer"), DrainAnswer::Accepted);
    let outcome = driver.wait();
    assert!(outcome.output.contains("well done"), "{}", outcome.output);
    ended(ray, &id).await;
}

async fn a_group_that_lost_its_node_is_demand(cluster: &Cluster, ray: &RayWorkload) {
    start_worker(cluster, "c-3");
    node(ray, "c-3", NodeStatus::Idle).await;
    // Detached: a driver may live on the very node that is killed, and would take its group with it.
    let placed = cluster.run_driver(
        r#"
import ray
from ray.util.placement_group import placement_group
ray.init()
group = placement_group([{"CPU": 2}], strategy="STRICT_PACK", name="group", lifetime="detached")
ray.get(group.ready())
print("placed")
"#,
    );
    assert!(placed.output.contains("placed"), "{}", placed.output);
    cluster.kill_worker("c-3");
    let rescheduling = |state: &WorkloadState| {
        let mut gangs = state.demand.gangs.iter();
        gangs.any(|g| g.details.ends_with("RESCHEDULING") && g.size() == 1).then_some(())
    };
    seen(ray, "the group to be rescheduled", rescheduling).await;
}

// ---- bad days ----

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_was_replaced_is_found_and_v2_is_turned_on() {
    let _alone = ALONE.lock().await;
    for version in [NEWEST, OLDEST] {
        let cluster = Cluster::start(Options { v2: false, ..Options::of(version) });
        let ray = client(&cluster);
        let before = ray.observe().await.expect("a look");
        cluster.kill_head();
        let away = |error: WorkloadError| assert_eq!(error.class, FailureClass::Transient, "{error}");
        away(ray.observe().await.expect_err("nobody is there"));
        cluster.start_head();
        let after = seen(&ray, "the new head", |state| Some(state.clone())).await;
        assert_ne!(before.session, after.session);
        // The new head was started without v2 too; it is on since we spoke to it.
        ray.publish(&plan(&after, now().0)).await.expect("told");
        wait_for("`ray status` to show us", || {
            cluster.run_ray(&["status"]).output.contains("cpu2, 1 launching").then_some(())
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_taken_and_a_wrong_one_is_told() {
    let _alone = ALONE.lock().await;
    let token = "0123456789abcdef0123456789abcdef";
    let cluster = Cluster::start(Options { token: Some(token.into()), ..Options::of(NEWEST) });
    let given = |text| TokenSource::Given(Token::new(text).expect("a token"));
    for source in [TokenSource::Nowhere, given("00000000000000000000000000000000")] {
        let error = with_token(&cluster, source).observe().await.expect_err("not the token");
        assert_eq!((error.code, error.class), ("ray.auth", FailureClass::Denied), "{error}");
    }
    let ray = with_token(&cluster, given(token));
    let state = ray.observe().await.expect("the right token");
    ray.publish(&plan(&state, now().0)).await.expect("told, with the token");
    let file = cluster.dir().join("token");
    std::fs::write(&file, format!("{token}\n")).expect("a token file");
    with_token(&cluster, TokenSource::File(file)).observe().await.expect("the token of the file");
}
