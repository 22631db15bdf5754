//! The text of a snapshot. One thing a line, `#` begins a comment; ages and spans are in seconds.
//!
//! ```text
//! policy ray-exact speed=50 concurrent=4 max=10 idle=60 pending_idle=30 install replace_outdated no_head_pool
//! timeouts request=5 retries=1 allocate=5 install=5 drain=5 terminate=5 node_missing=0 warn=5
//! head idle=0 | no head | head pool=a CPU=4 free:CPU=1 | head2 dead (one more)
//! pool a CPU=4 GPU=1 min=1 max=5 idle=60 priority=2 hash=h2 provider=p label:zone=x
//! inst i1 a running age=100 ...      a record; see `Builder::inst`
//! node n9 a idle=10 cloud=c9 CPU=4   a node without a record
//! machine c9 a provider=p phase=pending for=i1.2 kind=head
//! listing p at=-5 | listing p failed=transient | listing p none
//! look at=-5 | unobserved denied | unobserved
//! task 3 CPU=1 in:zone=x,y or notin:zone=z
//! gang g1 STRICT_SPREAD 3 CPU=1 + 1 GPU=1 fallback 1 CPU=1
//! policy target blind=a | wish 3 keep=i1,i2 delete=i3    (a workload that is scaled to a number)
//! floor 2 CPU=4 + 1 GPU=1
//! report i1 failed=quota | report i1 rejected | report i1 done | report i1 failed=quota epoch=0
//! report i1 launched=-5             listed by then, or gone
//! memory refusal=a:-5:2 timed_out=a:-5 missing=i1:-5 unneeded=a:-5 session=s reported=...
//! session s2
//! skipped words
//! ```
//!
//! A record of a machine that exists has that machine in the listing (`c-ID`, running, with the record's tags)
//! and, from `running` on, a node (`n-ID`, at work, of the pool's size) unless the line says otherwise.

use ostler_lifecycle::{Event, Instance};
use ostler_model::{
    Bundle, CloudInstance, CloudPhase, EffectOutcome, EffectReport, EndCause, Failure, FailureClass, Floor,
    Gang, LaunchCause, Millis, Node, NodeKind, NodeStatus, Observed, Operator, Policy, Pool, PoolId,
    ProviderId, Resources, Scoring, Selector, Shape, Strategy, Target, Task, Term, Timestamp, Wish,
    WorkloadState,
};
use ostler_planner::{Memory, Refusal, Snapshot};
use std::sync::Arc;

/// The moment of every scenario.
pub(crate) const NOW: Timestamp = Timestamp(100_000_000);

/// Reads a whole snapshot.
pub(crate) fn snapshot(text: &str) -> Snapshot {
    let mut builder = Builder::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split('#').next().unwrap_or("").split_whitespace().collect();
        if let Some((&verb, rest)) = words.split_first() {
            builder.line(verb, &Words(rest, line));
        }
    }
    builder.finish()
}

/// The words of one line.
struct Words<'t>(&'t [&'t str], &'t str);

impl<'t> Words<'t> {
    /// The n-th word.
    fn at(&self, n: usize) -> &'t str {
        self.0.get(n).unwrap_or_else(|| panic!("word {n} is missing in: {}", self.1))
    }
    fn has(&self, flag: &str) -> bool {
        self.0.contains(&flag)
    }
    /// The value of `key=value`.
    fn get(&self, key: &str) -> Option<&'t str> {
        self.0.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }
    fn number<T: std::str::FromStr>(&self, key: &str) -> Option<T> {
        self.get(key).map(|text| text.parse().unwrap_or_else(|_| panic!("{key}={text} in: {}", self.1)))
    }
    fn secs(&self, key: &str) -> Option<Millis> {
        self.number(key).map(Millis::secs)
    }
    /// `CPU=4 GPU=1`: every `Name=amount` whose name begins with a capital or `node:`, with this prefix.
    fn resources(&self, prefix: &str) -> Resources {
        let amounts = self.0.iter().filter_map(|word| {
            let (name, amount) = word.strip_prefix(prefix)?.split_once('=')?;
            let is_resource = name.starts_with(|c: char| c.is_ascii_uppercase()) || name.starts_with("node:");
            is_resource.then(|| (name, amount.parse().expect("an amount")))
        });
        amounts.collect()
    }
    fn labels(&self) -> ostler_model::Labels {
        let labels = self.0.iter().filter_map(|word| word.strip_prefix("label:")?.split_once('='));
        labels.map(|(key, value)| (key.into(), value.into())).collect()
    }
}

/// A point in time: seconds from now, `-5` is five seconds ago.
fn time(text: &str) -> Timestamp {
    let seconds: i64 = text.parse().unwrap_or_else(|_| panic!("a time, not {text}"));
    Timestamp(NOW.0.saturating_add_signed(seconds * 1000))
}

fn failure(class: &str) -> Failure {
    let class = match class {
        "transient" => FailureClass::Transient,
        "throttled" => FailureClass::Throttled,
        "out_of_capacity" => FailureClass::OutOfCapacity,
        "quota" => FailureClass::Quota,
        "denied" => FailureClass::Denied,
        "permanent" => FailureClass::Permanent,
        other => panic!("no failure class {other}"),
    };
    Failure { class, message: "no".into() }
}

struct Builder {
    snapshot: Snapshot,
    state: WorkloadState,
    seen: Timestamp,
    unobserved: Option<Failure>,
    machines: Vec<(ProviderId, CloudInstance)>,
    looks: Vec<(ProviderId, Option<Result<Timestamp, Failure>>)>,
    serial: u64,
}

impl Builder {
    fn new() -> Self {
        let policy = Policy { head_pool: Some("head".into()), ..Policy::default() };
        let mut builder = Self {
            snapshot: Snapshot {
                now: NOW,
                workload: "w".into(),
                policy,
                pools: Vec::new(),
                state: None,
                listings: Default::default(),
                reports: Vec::new(),
                instances: Vec::new(),
                memory: Memory::default(),
            },
            state: WorkloadState { session: "s".into(), ..WorkloadState::default() },
            seen: NOW,
            unobserved: None,
            machines: Vec::new(),
            looks: Vec::new(),
            serial: 0,
        };
        builder.snapshot.memory.session = "s".into();
        builder.line("head", &Words(&["idle=0"], ""));
        builder
    }

    fn line(&mut self, verb: &str, words: &Words<'_>) {
        match verb {
            "policy" => self.policy(words),
            "timeouts" => self.timeouts(words),
            "pool" => self.pool(words),
            "no" => Arc::make_mut(&mut self.state.nodes).retain(|node| !node.head),
            "head" | "head2" => {
                if verb == "head" {
                    Arc::make_mut(&mut self.state.nodes).retain(|node| !node.head);
                }
                let pool = words.get("pool").unwrap_or("head");
                let mut node = node(verb, Some(pool), None, words);
                node.head = true;
                Arc::make_mut(&mut self.state.nodes).push(node);
            }
            "inst" => self.inst(words),
            "node" => {
                let pool = Some(words.at(1)).filter(|pool| *pool != "-");
                let mut node = node(words.at(0), pool, words.get("cloud"), words);
                self.size(&mut node, words);
                Arc::make_mut(&mut self.state.nodes).push(node);
            }
            "machine" => self.machine(words.at(0), words.at(1), words),
            "listing" => self.listing(words),
            "look" => self.seen = time(words.get("at").expect("at=")),
            "unobserved" => self.unobserved = Some(failure(words.0.first().unwrap_or(&"transient"))),
            "task" => {
                let task = tasks(words.0).pop().expect("one task");
                self.state.demand.tasks.push(task);
            }
            "floor" => self.state.demand.floors.push(Floor { tasks: tasks(words.0) }),
            "wish" => self.wish(words),
            "gang" => self.state.demand.gangs.push(gang(words)),
            "report" => self.report(words),
            "memory" => self.memory(words),
            "session" => self.state.session = words.at(0).into(),
            "skipped" => self.state.skipped.push(words.0.join(" ")),
            other => panic!("no line begins with {other}"),
        }
    }

    fn policy(&mut self, words: &Words<'_>) {
        let policy = &mut self.snapshot.policy;
        if words.has("target") {
            (policy.scoring, policy.head_pool) = (Scoring::Target, None);
            Arc::make_mut(&mut self.state.nodes).retain(|node| !node.head);
        }
        policy.blind_pools.extend(words.get("blind").map(PoolId::from));
        if words.has("ray-exact") {
            policy.scoring = Scoring::RayExact;
        }
        policy.upscaling_speed_percent = words.number("speed").unwrap_or(policy.upscaling_speed_percent);
        policy.max_concurrent_launches = words.number("concurrent").unwrap_or(policy.max_concurrent_launches);
        policy.max_workers = words.number("max").or(policy.max_workers);
        policy.idle_timeout = words.secs("idle").or(policy.idle_timeout);
        policy.pending_idle_timeout = words.secs("pending_idle").or(policy.pending_idle_timeout);
        policy.install |= words.has("install");
        policy.replace_outdated |= words.has("replace_outdated");
        policy.conserve_gpu &= !words.has("spend_gpu");
        if words.has("never_idle") {
            policy.idle_timeout = None;
        }
        if words.has("no_head_pool") {
            policy.head_pool = None;
        }
        if let Some(pool) = words.get("head_pool") {
            policy.head_pool = Some(pool.into());
        }
    }

    fn wish(&mut self, words: &Words<'_>) {
        let names =
            |key| words.get(key).into_iter().flat_map(|text| text.split(',')).map(Into::into).collect();
        let amount = words.at(0).parse().expect("a number of workers");
        let wish = Wish { amount, keep: names("keep"), delete: names("delete") };
        self.snapshot.memory.target = Some(Target { wish, seq: 1, accepted_at: NOW });
    }

    fn timeouts(&mut self, words: &Words<'_>) {
        let t = &mut self.snapshot.policy.timeouts;
        t.request = words.secs("request").unwrap_or(t.request);
        t.request_retries = words.number("retries").unwrap_or(t.request_retries);
        t.allocate = words.secs("allocate").unwrap_or(t.allocate);
        t.install = words.secs("install").unwrap_or(t.install);
        t.drain_request = words.secs("drain").unwrap_or(t.drain_request);
        t.terminate = words.secs("terminate").unwrap_or(t.terminate);
        t.node_missing = words.secs("node_missing").unwrap_or(t.node_missing);
        t.warn = words.secs("warn").unwrap_or(t.warn);
    }

    fn pool(&mut self, words: &Words<'_>) {
        self.snapshot.pools.push(Pool {
            id: words.at(0).into(),
            workload: "w".into(),
            provider: words.get("provider").unwrap_or("p").into(),
            resources: words.resources(""),
            labels: words.labels(),
            min: words.number("min").unwrap_or(0),
            max: words.number("max").unwrap_or(10),
            idle_timeout: words.secs("idle"),
            priority: words.number("priority").unwrap_or(0),
            launch_hash: words.get("hash").unwrap_or("h1").into(),
            instance_type: String::new(),
            node: None,
        });
    }

    fn provider_of(&self, pool: &str) -> ProviderId {
        let pool = self.snapshot.pools.iter().find(|p| p.id.as_str() == pool);
        pool.map_or_else(|| "p".into(), |pool| pool.provider.clone())
    }

    /// A node is as large as its pool says, and all of it is free unless it is at work.
    fn size(&self, node: &mut Node, words: &Words<'_>) {
        let pool = self.snapshot.pools.iter().find(|p| Some(&p.id) == node.pool.as_ref());
        if node.total.0.is_empty() {
            node.total = pool.map(|p| p.resources.clone()).unwrap_or_default();
        }
        if node.labels.is_empty() {
            node.labels = pool.map(|p| p.labels.clone()).unwrap_or_default();
        }
        if node.status != NodeStatus::Running && words.resources("free:").0.is_empty() {
            node.available = node.total.clone();
        }
    }

    /// `inst ID POOL STATE [age=100] [attempt=1] [hash=h1] [for=demand] [cause=idle]`, and of its machine and
    /// node: `[cloud=c-ID] [unlisted] [phase=running] [node=n-ID] [idle=SECS | draining | dead | unknown=7 | lost]
    /// [CPU=total] [free:CPU=1]`.
    fn inst(&mut self, words: &Words<'_>) {
        let (id, pool, state) = (words.at(0), words.at(1), words.at(2));
        self.serial += 1;
        let at = NOW - words.secs("age").unwrap_or(Millis::secs(100));
        let cloud = words.get("cloud").map_or_else(|| format!("c-{id}"), String::from);
        let node_id = words.get("node").map_or_else(|| format!("n-{id}"), String::from);
        let record = record(self.serial, words, at, &cloud, &node_id);
        assert_eq!(record.state().name().code(), state, "{}", words.1);
        let exists = record.state().cloud().is_some();
        let has_node = matches!(state, "running" | "drain_requested" | "draining");
        if exists && !words.has("unlisted") {
            self.machine(
                &cloud,
                pool,
                &Words(&[&[&*format!("for={id}.{}", record.attempt())], words.0].concat(), words.1),
            );
        }
        if has_node && !words.has("lost") {
            let mut node = node(&node_id, Some(pool), Some(&cloud), words);
            if state == "draining" && node.status == NodeStatus::Running {
                node.status = NodeStatus::Draining;
            }
            self.size(&mut node, words);
            Arc::make_mut(&mut self.state.nodes).push(node);
        }
        self.snapshot.instances.push(record);
    }

    fn machine(&mut self, id: &str, pool: &str, words: &Words<'_>) {
        let provider = words.get("provider").map_or_else(|| self.provider_of(pool), ProviderId::from);
        let launched_for = words.get("for").and_then(|text| text.rsplit_once('.'));
        let machine = CloudInstance {
            id: id.into(),
            workload: "w".into(),
            pool: pool.into(),
            launched_for: launched_for.map(|(id, n)| (id.into(), n.parse().expect("an attempt"))),
            kind: if words.get("kind") == Some("head") { NodeKind::Head } else { NodeKind::Worker },
            phase: match words.get("phase") {
                Some("pending") => CloudPhase::Pending,
                Some("stopping") => CloudPhase::Stopping,
                _ => CloudPhase::Running,
            },
            created_at: None,
            address: String::new(),
        };
        self.machines.push((provider, machine));
    }

    fn listing(&mut self, words: &Words<'_>) {
        let look = match (words.get("at"), words.get("failed")) {
            (Some(at), _) => Some(Ok(time(at))),
            (None, Some(class)) => Some(Err(failure(class))),
            (None, None) => None,
        };
        self.looks.push((words.at(0).into(), look));
    }

    fn report(&mut self, words: &Words<'_>) {
        let id = words.at(0);
        let epoch = self.snapshot.instances.iter().find(|i| i.id().as_str() == id).map_or(0, Instance::epoch);
        let outcome = match words.get("failed") {
            Some(class) => EffectOutcome::Failed(failure(class)),
            None if words.get("launched").is_some() => EffectOutcome::Launched {
                listed_by: time(words.get("launched").expect("by when it is listed")),
            },
            None if words.has("rejected") => EffectOutcome::DrainRejected("in use again".into()),
            None => EffectOutcome::Done,
        };
        let epoch = words.number("epoch").unwrap_or(epoch);
        self.snapshot.reports.push(EffectReport { instance: id.into(), epoch, at: NOW, outcome });
    }

    fn memory(&mut self, words: &Words<'_>) {
        let memory = &mut self.snapshot.memory;
        for word in words.0 {
            let (key, value) = word.split_once('=').expect("key=value");
            let parts: Vec<&str> = value.split(':').collect();
            let of_pool = || PoolId::from(parts[0]);
            match key {
                "refusal" => {
                    let in_a_row = parts[2].parse().expect("how many");
                    memory.pools.entry(of_pool()).or_default().refusal =
                        Some(Refusal { at: time(parts[1]), in_a_row, failure: failure("out_of_capacity") });
                }
                "timed_out" => memory.pools.entry(of_pool()).or_default().timed_out_at = Some(time(parts[1])),
                "unneeded" => {
                    memory.pools.entry(of_pool()).or_default().pending_unneeded_since = Some(time(parts[1]))
                }
                "missing" => drop(memory.missing_since.insert(parts[0].into(), time(parts[1]))),
                "session" => memory.session = value.into(),
                other => panic!("no memory of {other}"),
            }
        }
    }

    fn finish(mut self) -> Snapshot {
        if !self.snapshot.pools.iter().any(|pool| pool.id.as_str() == "head") {
            self.line("pool", &Words(&["head", "max=0"], "")); // as Ray's configuration always has
        }
        let mut providers: Vec<ProviderId> = self.snapshot.pools.iter().map(|p| p.provider.clone()).collect();
        providers.extend(self.machines.iter().map(|(provider, _)| provider.clone()));
        for provider in providers {
            let look = self.looks.iter().find(|(id, _)| *id == provider).map(|(_, look)| look.clone());
            let of_provider = self.machines.iter().filter(|(id, _)| *id == provider);
            let machines: Vec<CloudInstance> = of_provider.map(|(_, machine)| machine.clone()).collect();
            let observed = match look.unwrap_or(Some(Ok(NOW))) {
                Some(Ok(at)) => Observed { at, result: Ok(machines) },
                Some(Err(failure)) => Observed { at: NOW, result: Err(failure) },
                None => continue,
            };
            self.snapshot.listings.insert(provider, observed);
        }
        let result = self.unobserved.map_or(Ok(self.state), Err);
        self.snapshot.state = Some(Observed { at: self.seen, result });
        self.snapshot.memory.serial = self.serial;
        self.snapshot
    }
}

fn node(id: &str, pool: Option<&str>, cloud: Option<&str>, words: &Words<'_>) -> Node {
    let status = match words.number::<i32>("unknown") {
        Some(number) => NodeStatus::Unknown(number),
        None if words.has("dead") => NodeStatus::Dead,
        None if words.has("draining") => NodeStatus::Draining,
        None if words.get("idle").is_some() => NodeStatus::Idle,
        None => NodeStatus::Running,
    };
    Node {
        id: id.into(),
        cloud: cloud.map(Into::into),
        pool: pool.map(Into::into),
        head: false,
        status,
        idle: words.secs("idle").unwrap_or_default(),
        total: words.resources(""),
        available: words.resources("free:"),
        labels: words.labels(),
        address: String::new(),
        instance_type: String::new(),
        activity: Vec::new(),
    }
}

/// A record in a state, reached by events alone.
fn record(serial: u64, words: &Words<'_>, at: Timestamp, cloud: &str, node: &str) -> Instance {
    let cause = match words.get("for") {
        Some("min") => LaunchCause::Min,
        Some("floor") => LaunchCause::Floor,
        Some("gang") => LaunchCause::Gang,
        _ => LaunchCause::Demand,
    };
    let mut record = Instance::queued(words.at(0).into(), serial, words.at(1).into(), cause, at);
    let hash = words.get("hash").unwrap_or("h1");
    let asked = Event::LaunchRequested { launch_hash: hash.into() };
    let mut events = Vec::new();
    for _ in 1..words.number("attempt").unwrap_or(1) {
        events.extend([asked.clone(), Event::LaunchRequeued]);
    }
    let state = words.at(2);
    if state != "queued" {
        events.push(asked);
    }
    events.extend(way_to(state, end_cause(words), cloud, node));
    for event in events {
        record.transition(&event, at).expect("a legal way");
    }
    record
}

fn end_cause(words: &Words<'_>) -> EndCause {
    match words.get("cause") {
        Some("max_per_pool") => EndCause::MaxPerPool,
        Some("node_dead") => EndCause::NodeDead,
        _ => EndCause::Idle,
    }
}

/// From Requested on.
fn way_to(state: &str, cause: EndCause, cloud: &str, node: &str) -> Vec<Event> {
    let allocated = Event::Allocated { cloud: cloud.into() };
    let up = Event::NodeUp { node: node.into() };
    let drain = Event::DrainRequested { cause, deadline: None };
    let gone = Event::NodeGone { cause };
    let end = Event::TerminationRequested { cause };
    let failed = || failure("transient");
    match state {
        "queued" | "requested" => vec![],
        "allocation_failed" => vec![Event::LaunchFailed { failure: failed() }],
        "allocated" => vec![allocated],
        "allocation_timed_out" => vec![allocated, Event::AllocationTimedOut],
        "installing" => vec![allocated, Event::InstallStarted],
        "install_failed" => {
            vec![allocated, Event::InstallStarted, Event::InstallFailed { failure: failed() }]
        }
        "running" => vec![allocated, up],
        "drain_requested" => vec![allocated, up, drain],
        "draining" => vec![allocated, up, drain, Event::NodeDraining],
        "drained" => vec![allocated, up, drain, gone],
        "terminating" => vec![allocated, up, drain, gone, end],
        "termination_failed" => {
            vec![allocated, up, drain, gone, end, Event::TerminationFailed { failure: failed() }]
        }
        "terminated" => vec![allocated, up, drain, gone, end, Event::MachineGone { cause }],
        other => panic!("no state {other}"),
    }
}

/// `3 CPU=1 in:zone=a + 1 GPU=1`
fn tasks(words: &[&str]) -> Vec<Task> {
    words
        .split(|word| *word == "+")
        .map(|part| {
            let (count, shape) = counted(part);
            Task { shape, count }
        })
        .collect()
}

fn bundles(words: &[&str]) -> Vec<Bundle> {
    tasks(words).into_iter().map(|Task { shape, count }| Bundle { shape, count }).collect()
}

fn gang(words: &Words<'_>) -> Gang {
    let strategy = match words.at(1) {
        "STRICT_PACK" => Strategy::StrictPack,
        "STRICT_SPREAD" => Strategy::StrictSpread,
        "PACK" => Strategy::Pack,
        "SPREAD" => Strategy::Spread,
        other => panic!("no strategy {other}"),
    };
    let mut sets = words.0[2..].split(|word| *word == "fallback").map(bundles);
    Gang {
        id: words.at(0).into(),
        strategy,
        bundles: sets.next().unwrap_or_default(),
        fallbacks: sets.collect(),
        details: String::new(),
    }
}

fn counted(words: &[&str]) -> (u64, Shape) {
    let count = words[0].parse().expect("a count comes first");
    let resources = Words(&words[1..], "").resources("");
    let terms = |words: &[&str]| Selector(words.iter().filter_map(|word| term(word)).collect());
    let selectors: Vec<Selector> = words.split(|word| *word == "or").map(terms).collect();
    let anywhere = selectors.iter().all(|selector| selector.0.is_empty());
    (count, Shape { resources, selectors: if anywhere { Vec::new() } else { selectors } })
}

fn term(word: &str) -> Option<Term> {
    let (operator, rest) = match (word.strip_prefix("in:"), word.strip_prefix("notin:")) {
        (Some(rest), _) => (Operator::In, rest),
        (None, Some(rest)) => (Operator::NotIn, rest),
        (None, None) => return None,
    };
    let (key, values) = rest.split_once('=')?;
    Some(Term { key: key.into(), operator, values: values.split(',').map(Into::into).collect() })
}
