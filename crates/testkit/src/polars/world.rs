//! The world behind the real service: the engine with a store in memory, a provider with faults, and workers that
//! register with the scheduler. Its clock is turned by hand; only the calls to the service take real time.

use super::client::Client;
use super::random::Random;
use super::scheduler::{Answer, Scheduler};
use ostler_engine::{Declined, Engine, Input, Output, Request, Setup};
use ostler_lifecycle::{Act, Effect, Instance};
use ostler_model::{
    CloudId, CloudInstance, CloudPhase, EffectOutcome, EffectReport, EndCause, Failure, FailureClass, Millis,
    Node, NodeKind, NodeStatus, Observed, Policy, Pool, ProviderId, Resources, Scoring, Timeouts, Timestamp,
    WorkloadId, WorkloadState,
};
use ostler_planner::Memory;
use ostler_workload::{Asked, Inbox, Outcome, Workload};
use ostler_workload_polars::{Config, PolarsWorkload, Probe, ProbeKind, Rest, Sockets};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::sync::oneshot;

/// How often the provider is listed and the workers are looked at, in milliseconds.
const LOOK_EVERY: u64 = 10_000;
/// From the order to end a machine to its end.
const ENDS_WITHIN: u64 = 3_000;

/// What goes wrong.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    /// The provider answers nothing, for these milliseconds of each hour.
    pub outage: u64,
    /// The first pool has no machines, for these milliseconds of each hour.
    pub no_capacity: u64,
    /// One machine in so many never becomes ready.
    pub never_ready: u64,
    /// One step in so many kills Ostler, and one commit in a tenth of so many, right after it was written.
    pub kill: u64,
    /// One commit in so many is refused.
    pub refused_commit: u64,
}

#[derive(Debug, Clone)]
struct Machine {
    name: String,
    pool: String,
    ready_at: u64,
    ends_at: Option<u64>,
    registered: bool,
}

#[derive(Debug, Default)]
struct Stored {
    version: u64,
    records: BTreeMap<String, Instance>,
    memory: Memory,
}

/// The world.
#[derive(Debug)]
pub struct World {
    /// Milliseconds.
    pub now: u64,
    /// The one who asks.
    pub scheduler: Scheduler,
    /// Workers that held a query, or were protected, when Ostler ended them.
    pub wronged: Vec<String>,
    /// Lives of Ostler so far.
    pub lives: u64,
    engine: Engine,
    service: PolarsWorkload,
    inbox: Inbox,
    waiting: BTreeMap<u64, oneshot::Sender<Outcome>>,
    requests: u64,
    stored: Stored,
    setup: Setup,
    faults: Faults,
    random: Random,
    machines: BTreeMap<String, Machine>,
    names: BTreeSet<String>,
    looked_at: u64,
    killed: bool,
}

impl World {
    /// A world with two pools of this size, and the addresses of its service: REST, gRPC.
    ///
    /// # Panics
    /// If no port is free.
    pub fn new(max: u32, scheduler: Scheduler, faults: Faults, seed: u64) -> (Self, SocketAddr, SocketAddr) {
        let [rest, grpc] = [free_port(), free_port()];
        let config = Config {
            rest: Some(Rest { listen: rest, path: String::new(), secret: false }),
            grpc: Some(grpc),
            tls: None,
            token: None,
            networks: Vec::new(),
            insecure: false,
            max_body_bytes: 4 << 20,
            probe: Probe {
                kind: ProbeKind::Running,
                interval: Duration::from_secs(1),
                timeout: Duration::from_secs(1),
            },
        };
        let service =
            PolarsWorkload::start(config, BTreeSet::new(), &Sockets::default()).expect("free ports");
        let inbox = service.door().and_then(ostler_workload::Door::inbox).expect("nobody has taken it");
        let mut world = Self {
            now: 1_000_000,
            scheduler,
            wronged: Vec::new(),
            lives: 1,
            engine: Engine::new(),
            service,
            inbox,
            waiting: BTreeMap::new(),
            requests: 0,
            stored: Stored::default(),
            setup: setup(max),
            faults,
            random: Random(seed),
            machines: BTreeMap::new(),
            names: BTreeSet::new(),
            looked_at: 0,
            killed: false,
        };
        world.tell(Input::Configured(vec![world.setup.clone()]));
        (world, rest, grpc)
    }

    /// Workers that are up.
    pub fn workers(&self) -> Vec<String> {
        self.machines
            .values()
            .filter(|m| m.registered && m.ends_at.is_none())
            .map(|m| m.name.clone())
            .collect()
    }

    /// What Ostler has on record, for a test that failed.
    pub fn records(&self) -> String {
        let shown = self.engine.scale(Timestamp(self.now), &workload());
        let mut text = format!("at {}: {shown:?}\n", self.now);
        for record in self.stored.records.values().filter(|record| !record.state().name().is_final()) {
            let since = self.now.saturating_sub(record.since().0) / 1000;
            text +=
                &format!("  {} in {}: {} for {since} s\n", record.id(), record.pool(), record.state().name());
        }
        text
    }

    /// Other bounds, as after a change of the configuration.
    pub fn bounds(&mut self, min: u32, max: u32) {
        for pool in &mut self.setup.pools {
            (pool.min, pool.max) = (min, max);
        }
        self.tell(Input::Configured(vec![self.setup.clone()]));
    }

    /// Ostler is killed and started again. What was committed is there, and nothing else.
    pub fn kill(&mut self) {
        self.lives += 1;
        self.engine = Engine::new();
        self.waiting.clear();
        self.looked_at = 0;
        self.tell(Input::Configured(vec![self.setup.clone()]));
    }

    /// A machine dies by itself.
    pub fn dies(&mut self, name: &str) {
        self.machines.retain(|_, machine| machine.name != name);
        self.scheduler.gone(self.now, name);
    }

    /// Lets time pass, and makes the scheduler's call if one is due.
    pub async fn step(&mut self, client: &Client, milliseconds: u64) {
        self.now += milliseconds;
        self.machines_go_on();
        if self.faults.kill > 0 && self.random.once_in(self.faults.kill) {
            self.kill();
        }
        if self.now >= self.looked_at + LOOK_EVERY {
            self.look();
            self.tell(Input::Tick);
        }
        while let Some(call) = self.scheduler.step(self.now) {
            let answer = self.served(client.call(&call)).await;
            self.scheduler.answered(self.now, answer);
            if !matches!(answer, Answer::Accepted | Answer::Config(..)) {
                break; // the next attempt is a later one
            }
        }
    }

    /// Waits for something that asks the service, which is answered meanwhile.
    pub async fn served<T>(&mut self, call: impl Future<Output = T>) -> T {
        tokio::pin!(call);
        loop {
            tokio::select! {
                done = &mut call => return done,
                Some(asked) = self.inbox.recv() => self.asked(asked),
            }
        }
    }

    fn asked(&mut self, asked: Asked) {
        self.requests += 1;
        self.waiting.insert(self.requests, asked.answer);
        let request = Request {
            id: self.requests,
            wish: asked.wish,
            give_up_at: Timestamp(self.now + u64::try_from(asked.patience.as_millis()).unwrap_or(u64::MAX)),
        };
        self.tell(Input::Asked { workload: workload(), request });
    }

    /// Tells the engine, and does what it asks for.
    fn tell(&mut self, input: Input) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            for output in self.engine.handle(Timestamp(self.now), input) {
                inputs.extend(self.act(output));
                if self.killed {
                    break;
                }
            }
            if self.killed {
                self.killed = false;
                self.kill();
                return;
            }
        }
        let shown = self.engine.scale(Timestamp(self.now), &workload());
        if let Some((door, scale)) = self.service.door().zip(shown) {
            door.show(scale);
        }
    }

    fn act(&mut self, output: Output) -> Option<Input> {
        match output {
            Output::Load { workload } => Some(Input::Loaded {
                workload,
                version: self.stored.version,
                instances: self.stored.records.values().cloned().collect(),
                memory: self.stored.memory.clone(),
            }),
            Output::Plan { snapshot } => {
                let plan = ostler_planner::plan(&snapshot);
                Some(Input::Planned { workload: workload(), plan })
            }
            Output::Commit { workload, expected_version, plan } => {
                let refused =
                    self.faults.refused_commit > 0 && self.random.once_in(self.faults.refused_commit);
                if refused || expected_version != self.stored.version {
                    return Some(Input::CommitRefused { workload });
                }
                self.stored.version += 1;
                self.stored.records.extend(plan.changed.iter().map(|i| (i.id().to_string(), i.clone())));
                plan.forgotten.iter().for_each(|id| drop(self.stored.records.remove(id.as_str())));
                if let Some(memory) = &plan.memory {
                    self.stored.memory = memory.clone();
                }
                // Written, and gone before anybody heard of it or anything was done.
                self.killed = self.faults.kill > 0 && self.random.once_in(self.faults.kill / 10);
                Some(Input::Committed { workload, version: self.stored.version })
            }
            Output::Run { effect, .. } => Some(self.run(effect)),
            Output::Reply { id, answer } => {
                if let Some(waiting) = self.waiting.remove(&id) {
                    let _ = waiting.send(outcome(answer));
                }
                None
            }
            Output::Alarm(alarm) => panic!("{alarm:?}"),
            Output::Publish { .. } | Output::Look(_) | Output::WakeAt(_) => None,
        }
    }

    fn run(&mut self, effect: Effect) -> Input {
        let outcome = match &effect.act {
            _ if self.is_out() => failed(FailureClass::Transient),
            Act::Launch { .. } if effect.pool.as_str() == "spot" && self.has_no_capacity() => {
                failed(FailureClass::OutOfCapacity)
            }
            Act::Launch { token, .. } => {
                self.launch(token.as_str(), effect.instance.as_str(), effect.pool.as_str());
                EffectOutcome::Done
            }
            Act::Terminate { cloud, cause } => {
                self.terminate(cloud.as_str(), *cause);
                EffectOutcome::Done
            }
            Act::Drain { .. } | Act::Undrain { .. } | Act::Install { .. } => {
                panic!("nobody drains or prepares here: {effect:?}")
            }
        };
        let (instance, epoch) = (effect.instance, effect.epoch);
        let report = EffectReport { instance, epoch, at: Timestamp(self.now), outcome };
        Input::EffectEnded { workload: workload(), report }
    }

    fn launch(&mut self, token: &str, name: &str, pool: &str) {
        if self.machines.contains_key(token) {
            return;
        }
        assert!(self.names.insert(name.to_owned()), "the name {name} was used before");
        let never = self.faults.never_ready > 0 && self.random.once_in(self.faults.never_ready);
        let ready_at = if never { u64::MAX } else { self.now + self.random.between(15_000, 60_000) };
        let machine =
            Machine { name: name.into(), pool: pool.into(), ready_at, ends_at: None, registered: false };
        self.machines.insert(token.to_owned(), machine);
        let most: u32 = self.setup.pools.iter().map(|pool| pool.max).sum();
        assert!(self.machines.len() <= most as usize, "more than {most} machines exist");
    }

    fn terminate(&mut self, id: &str, cause: EndCause) {
        let Some(machine) = self.machines.get_mut(id).filter(|machine| machine.ends_at.is_none()) else {
            return;
        };
        machine.ends_at = Some(self.now + ENDS_WITHIN);
        self.scheduler.leaving(&machine.name);
        let target = self.stored.memory.target.as_ref();
        let is_kept = target.is_some_and(|target| target.wish.keep.contains(machine.name.as_str()));
        if self.scheduler.holds(&machine.name) || is_kept {
            let kept = if is_kept { "kept" } else { "at work" };
            let ready = if machine.registered { "ready" } else { "not ready" };
            self.wronged.push(format!("{}: {} ({kept}, {ready}) for {cause}", self.now, machine.name));
        }
    }

    fn machines_go_on(&mut self) {
        let now = self.now;
        let up = |machines: &BTreeMap<String, Machine>| machines.values().filter(|m| m.registered).count();
        let before = up(&self.machines);
        for machine in self.machines.values_mut() {
            if machine.ready_at <= now && !machine.registered && machine.ends_at.is_none() {
                machine.registered = true;
                self.scheduler.register(&machine.name);
            }
        }
        if up(&self.machines) != before {
            self.looked_at = 0; // the probe of a worker that has just become ready knocks
        }
        let ended: Vec<String> = self
            .machines
            .iter()
            .filter(|(_, machine)| machine.ends_at.is_some_and(|at| at <= now))
            .map(|(id, _)| id.clone())
            .collect();
        for id in ended {
            if let Some(machine) = self.machines.remove(&id) {
                self.scheduler.gone(now, &machine.name);
            }
        }
    }

    fn look(&mut self) {
        self.looked_at = self.now;
        let at = Timestamp(self.now);
        let listed = self.machines.iter().map(|(id, machine)| listed(id, machine)).collect();
        let result = if self.is_out() { Err(failure(FailureClass::Transient)) } else { Ok(listed) };
        self.tell(Input::Listed { provider: provider(), look: Observed { at, result } });
        let ready = self.machines.iter().filter(|(_, m)| m.registered && m.ends_at.is_none());
        let nodes: Vec<_> = ready.map(|(id, machine)| node(id, machine)).collect();
        let state = WorkloadState { nodes: nodes.into(), ..WorkloadState::default() };
        self.tell(Input::Observed { workload: workload(), look: Observed { at, result: Ok(state) } });
    }

    fn is_out(&self) -> bool {
        self.now % 3_600_000 < self.faults.outage
    }

    fn has_no_capacity(&self) -> bool {
        (self.now + 1_800_000) % 3_600_000 < self.faults.no_capacity
    }
}

fn workload() -> WorkloadId {
    "polars".into()
}

fn provider() -> ProviderId {
    "p".into()
}

/// As the configuration makes it, with a shorter deadline for a start.
fn setup(max: u32) -> Setup {
    let pool = |name: &str| Pool {
        id: name.into(),
        workload: workload(),
        provider: provider(),
        resources: Resources::default(),
        labels: Default::default(),
        min: 0,
        max,
        idle_timeout: None,
        priority: 0,
        launch_hash: "h".into(),
        instance_type: String::new(),
        node: None,
    };
    let timeouts = Timeouts {
        request: Millis::secs(60),
        request_retries: 0,
        allocate: Millis::secs(75),
        node_missing: Millis::secs(30),
        ..Timeouts::default()
    };
    let policy = Policy {
        scoring: Scoring::Target,
        max_concurrent_launches: 100,
        launch_backoff: Millis::secs(5),
        launch_backoff_max: Millis::secs(60),
        timeouts,
        ..Policy::default()
    };
    Setup { workload: workload(), policy, pools: vec![pool("spot"), pool("steady")] }
}

fn listed(id: &str, machine: &Machine) -> CloudInstance {
    CloudInstance {
        id: CloudId::from(id),
        workload: workload(),
        pool: machine.pool.as_str().into(),
        launched_for: Some((machine.name.as_str().into(), 1)),
        kind: NodeKind::Worker,
        phase: if machine.ends_at.is_some() { CloudPhase::Stopping } else { CloudPhase::Running },
        created_at: None,
        address: String::new(),
    }
}

fn node(id: &str, machine: &Machine) -> Node {
    Node {
        id: machine.name.as_str().into(),
        cloud: Some(CloudId::from(id)),
        pool: Some(machine.pool.as_str().into()),
        head: false,
        status: NodeStatus::Running,
        idle: Millis(0),
        total: Resources::default(),
        available: Resources::default(),
        labels: Default::default(),
        address: String::new(),
        instance_type: String::new(),
        activity: Vec::new(),
    }
}

fn outcome(answer: Result<(), Declined>) -> Outcome {
    match answer {
        Ok(()) => Outcome::Accepted,
        Err(Declined::Refused(refusal)) => Outcome::Refused(format!("{refusal:?}")),
        Err(Declined::Unavailable) => Outcome::Unavailable,
        Err(Declined::Overloaded) => Outcome::Overloaded,
    }
}

fn failure(class: FailureClass) -> Failure {
    Failure { class, message: "no".to_owned() }
}

fn failed(class: FailureClass) -> EffectOutcome {
    EffectOutcome::Failed(failure(class))
}

fn free_port() -> SocketAddr {
    let socket = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    socket.local_addr().expect("it has an address")
}
