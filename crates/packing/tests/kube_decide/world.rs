//! A small language for clusters, and decisions as text.
//!
//! ```text
//! pool small cpu=4 mem=16 price=0.2 max=10 zone=a
//! node n1 small
//! pods 3 web cpu=1 mem=2 on=n1
//! pods 2 web cpu=1 mem=2
//! ```
//!
//! Words with `=` are amounts and names, words alone are switches; each is explained where it is read. CPU is
//! in cores, memory in GiB, times are in seconds before now.

use super::words::{Words, ago, cause, label_key, node, of_app, price, spec};
use ostler_model::kube::{
    Budget, Cluster, Daemon, DrainBudget, DrainReason, Eviction, Expander, HOSTNAME, Headroom, KubePolicy,
    Owner, Pod, PoolHeadroom, Share, WhilePending,
};
use ostler_model::{Millis, Price, Timestamp};
use ostler_packing::kube::problem::{Keep, Machine, PoolOption, Problem, Stage, Turn, WORK};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The moment of every test, long after the epoch.
pub(crate) const NOW: Timestamp = Timestamp(1_000_000_000);

/// A problem that owns its cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    pub(crate) cluster: Cluster,
    pub(crate) policy: KubePolicy,
    pub(crate) pools: Vec<PoolOption>,
    pub(crate) machines: Vec<Machine>,
    pub(crate) max_machines: Option<u64>,
    pub(crate) quiet_until: Option<Timestamp>,
    /// Looks at nodes in one plan, and where the turn is.
    pub(crate) work: Option<u64>,
    pub(crate) turn: Turn,
    /// Machines that came since it was read.
    pub(crate) made: usize,
}

impl World {
    pub(crate) fn problem(&self) -> Problem<'_> {
        Problem {
            now: NOW,
            cluster: &self.cluster,
            policy: &self.policy,
            pools: self.pools.clone(),
            machines: self.machines.clone(),
            max_machines: self.max_machines,
            quiet_until: self.quiet_until,
            work: self.work.unwrap_or(WORK),
            turn: self.turn.clone(),
        }
    }

    /// Reads a world. Every mistake is a panic with the line.
    pub(crate) fn of(text: &str) -> Self {
        // Timers are off unless a test is about them.
        let policy = KubePolicy { unneeded: Millis(0), ..KubePolicy::default() };
        let mut world = Self { policy, ..Self::default() };
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let mut words = line.split_whitespace();
            let what = words.next().expect("a line has a word");
            let words: Vec<&str> = words.collect();
            match what {
                "pool" => world.pool(words[0], &Words::of(line, &words[1..])),
                "node" => world.node(words[0], words[1], &Words::of(line, &words[2..])),
                "foreign" => world.foreign(words[0], &Words::of(line, &words[1..])),
                "pods" => {
                    let count = words[0].parse().unwrap_or_else(|_| panic!("no count: {line}"));
                    world.pods(count, words[1], &Words::of(line, &words[2..]));
                }
                "daemon" => world.daemon(words[0], &Words::of(line, &words[1..])),
                "budget" => world.budget(words[0], &Words::of(line, &words[1..])),
                "headroom" => world.headroom(words[0], &Words::of(line, &words[1..])),
                "policy" => world.set_policy(&Words::of(line, &words)),
                other => panic!("no such line: {other}"),
            }
        }
        world
    }

    fn pool(&mut self, name: &str, words: &Words<'_>) {
        let mut template = node(name, words);
        template.labels.insert("pool".into(), name.into());
        let most = if words.has("gone") { 0 } else { 1000 };
        self.pools.push(PoolOption {
            id: name.into(),
            template,
            price: price(words.text("price").unwrap_or("1")),
            min: words.number("min").filter(|_| !words.has("gone")).unwrap_or(0),
            max: words.number("max").filter(|_| !words.has("gone")).unwrap_or(most),
            priority: words.number("priority").unwrap_or(0),
            group: words.text("group").map(Into::into),
            group_max: words.number("groupmax"),
            closed: words.has("closed") || words.has("gone"),
            doubtful: words.has("doubtful"),
            gone: words.has("gone"),
        });
    }

    fn node(&mut self, name: &str, pool: &str, words: &Words<'_>) {
        let place = self.pools.iter().position(|option| option.id.as_str() == pool);
        let place = place.unwrap_or_else(|| panic!("no pool {pool}"));
        let coming = words.has("coming") || words.has("booting");
        let option = &self.pools[place];
        let stage = match () {
            () if coming => Stage::Coming,
            () if words.text("leaving").is_some() || words.has("leaving") => Stage::Leaving,
            () if words.has("ending") => Stage::Ending,
            () => Stage::Up,
        };
        let mut machine = machine(name, Some(place), stage, option.price);
        machine.leaving_for = words.text("leaving").map(cause);
        machine.outdated = words.has("outdated") || option.gone;
        machine.replaces = words.has("replaces");
        machine.replaced = words.has("replaced");
        machine.keep = words.has("failed").then_some(Keep::DrainFailed);
        machine.unneeded_since = words.number("unneeded").map(ago);
        // One that is booting has a node already, which is not ready.
        if !words.has("coming") {
            let mut node = option.template.clone();
            node.id = name.into();
            node.labels.insert(HOSTNAME.into(), name.into());
            node.unschedulable = words.has("cordoned");
            node.draining = stage == Stage::Leaving;
            node.held = words.has("held").then(|| "told to".into());
            node.ready = !words.has("booting");
            if let Some(since) = words.number("notready") {
                node.ready = false;
                node.ready_since = ago(since);
            }
            machine.node = Some(self.cluster.nodes.len());
            self.cluster.nodes.push(node);
        }
        self.machines.push(machine);
    }

    /// A node of nobody's pool.
    fn foreign(&mut self, name: &str, words: &Words<'_>) {
        let mut machine = machine(name, None, Stage::Up, Price(0));
        machine.node = Some(self.cluster.nodes.len());
        let mut node = node(name, words);
        node.labels.insert(HOSTNAME.into(), name.into());
        self.cluster.nodes.push(node);
        self.machines.push(machine);
    }

    fn spec(&mut self, app: &str, words: &Words<'_>) -> u32 {
        let spec = spec(app, words);
        let known = self.cluster.specs.iter().position(|other| *other == spec);
        known.unwrap_or_else(|| {
            self.cluster.specs.push(spec);
            self.cluster.specs.len() - 1
        }) as u32
    }

    fn pods(&mut self, count: u32, app: &str, words: &Words<'_>) {
        let spec = self.spec(app, words);
        let kind = match () {
            () if words.has("job") => "Job",
            () if words.has("of-node") => "DaemonSet",
            () => "ReplicaSet",
        };
        let owner = Owner { kind: kind.into(), name: app.into(), uid: app.into() };
        for _ in 0..count {
            let n = self.cluster.pods.len();
            self.cluster.pods.push(Pod {
                name: format!("{app}-{n:05}").into(),
                uid: format!("{n:05}").into(),
                spec,
                node: words.text("on").map(Into::into),
                nominated: words.text("nominated").map(Into::into),
                created_at: ago(words.number("age").unwrap_or(100)),
                terminating: words.has("terminating"),
                ignored: words.text("ignored").map(Into::into),
                owner: (!words.has("bare")).then(|| Arc::new(owner.clone())),
                eviction: Eviction {
                    local_storage: words.has("local"),
                    safe: words.has("unsafe").then_some(false),
                    ..Eviction::default()
                },
            });
        }
    }

    fn daemon(&mut self, name: &str, words: &Words<'_>) {
        let spec = self.spec(name, words);
        self.cluster.daemons.push(Daemon { name: name.into(), spec });
    }

    /// `budget web allowed=0`: of the pods of that app.
    fn budget(&mut self, app: &str, words: &Words<'_>) {
        self.cluster.budgets.push(Budget {
            namespace: "default".into(),
            name: app.into(),
            selector: Some(of_app(app)),
            allowed: words.number("allowed").unwrap_or(0),
        });
    }

    /// `headroom 2 cpu=1 mem=1`, or of a pool alone with `pool=`.
    fn headroom(&mut self, count: &str, words: &Words<'_>) {
        let count = count.parse().expect("a count");
        if let Some(pool) = words.text("pool") {
            let shape = words.amounts();
            self.policy.headroom.push(PoolHeadroom { pool: pool.into(), shape, count });
            return;
        }
        let spec = self.spec("headroom", words);
        self.cluster.headroom.push(Headroom { name: "default/spare".into(), spec, count });
    }

    fn set_policy(&mut self, words: &Words<'_>) {
        let policy = &mut self.policy;
        for word in &words.list {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let number = || value.parse::<u32>().unwrap_or_else(|_| panic!("no number: {word}"));
            match key {
                "expander" => {
                    policy.expander = match value {
                        "cost" => Expander::Cost,
                        "least-waste" => Expander::LeastWaste,
                        "priority" => Expander::Priority,
                        "most-pods" => Expander::MostPods,
                        other => panic!("no expander {other}"),
                    }
                }
                "threshold" => policy.utilization_threshold_percent = number(),
                "unneeded" => policy.unneeded = Millis::secs(number().into()),
                "newpods" => policy.new_pod_delay = Millis::secs(number().into()),
                "saving" => policy.min_saving_percent = number(),
                "work" => self.work = Some(number().into()),
                "max" => self.max_machines = Some(number().into()),
                "quiet" => self.quiet_until = Some(NOW + Millis::secs(number().into())),
                "drains" => policy.budgets.push(DrainBudget {
                    nodes: Share::Count(number()),
                    per: words.text("per").map(label_key),
                    reasons: words.text("for").map(reasons).unwrap_or_default(),
                    windows: Vec::new(),
                }),
                "percent" => policy.budgets.push(DrainBudget {
                    nodes: Share::Percent(number()),
                    per: None,
                    reasons: BTreeSet::new(),
                    windows: Vec::new(),
                }),
                "per" | "for" => {}
                "strict" => policy.while_pending = WhilePending::Strict,
                "keep-all" => policy.scale_down = false,
                "no-consolidation" => policy.consolidate = false,
                other => panic!("no policy {other}"),
            }
        }
    }
}

fn machine(name: &str, pool: Option<usize>, stage: Stage, price: Price) -> Machine {
    Machine {
        name: name.into(),
        pool,
        stage,
        node: None,
        price,
        outdated: false,
        keep: None,
        unneeded_since: None,
        replaces: false,
        replaced: false,
        leaving_for: None,
    }
}

/// `outdated,unready`
fn reasons(text: &str) -> BTreeSet<DrainReason> {
    let all = DrainReason::ALL.into_iter();
    all.filter(|reason| text.split(',').any(|name| name == reason.name())).collect()
}
