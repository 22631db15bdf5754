//! Drives an engine and writes down what it asks for.

use expect_test::Expect;
use ostler_engine::{Alarm, Engine, Input, Output, Request, Setup, Source};
use ostler_lifecycle::{Act, Instance};
use ostler_model::{
    CloudInstance, CloudPhase, Demand, EffectOutcome, EffectReport, Failure, FailureClass, Millis, Node,
    NodeKind, NodeStatus, Observed, Policy, Pool, Quantity, Resources, Scoring, Shape, Task, Timestamp, Wish,
    WorkloadState,
};
use ostler_planner::{Memory, Plan, Snapshot, Step};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// An engine, what it said, and what it waits for.
#[derive(Default)]
pub(crate) struct Loop {
    pub(crate) engine: Engine,
    pub(crate) now: u64,
    said: String,
    pub(crate) planning: BTreeMap<String, Arc<Snapshot>>,
    plans: BTreeMap<String, Arc<Plan>>,
}

impl Loop {
    /// Workloads by name, each with one pool; of `x/p`, `p` is the pool's provider.
    pub(crate) fn new(workloads: &[&str]) -> Self {
        let mut this = Self { now: 1_000, ..Self::default() };
        let setups = workloads.iter().map(|name| setup(name)).collect();
        this.happened("configured", Input::Configured(setups));
        this
    }

    pub(crate) fn happened(&mut self, words: &str, input: Input) {
        writeln!(self.said, "> {words}").expect("a string");
        for output in self.engine.handle(Timestamp(self.now), input) {
            let line = self.describe(output);
            writeln!(self.said, "  {line}").expect("a string");
        }
    }

    fn describe(&mut self, output: Output) -> String {
        match output {
            Output::Load { workload } => format!("load {workload}"),
            Output::Plan { snapshot } => {
                let (workload, reports) = (snapshot.workload.to_string(), snapshot.reports.len());
                self.planning.insert(workload.clone(), snapshot);
                format!(
                    "plan {workload}{}",
                    if reports > 0 { format!(" with {reports} reports") } else { "".into() }
                )
            }
            Output::Commit { workload, expected_version, plan } => {
                let steps: Vec<String> = plan.steps.iter().map(step).collect();
                self.plans.insert(workload.to_string(), plan);
                let steps = if steps.is_empty() { "no steps".to_owned() } else { steps.join(", ") };
                format!("commit {workload} at version {expected_version}: {steps}")
            }
            Output::Run { workload, effect } => format!("run {workload}: {}", act(&effect.act)),
            Output::Publish { workload, plan } => format!("publish {workload}: {} notes", plan.notes.len()),
            Output::Reply { id, answer } => format!("reply {id}: {answer:?}"),
            Output::Look(Source::Workload(id)) => format!("look at workload {id}"),
            Output::Look(Source::Provider(id)) => format!("look at provider {id}"),
            Output::WakeAt(at) => format!("wake in {}", at.since(Timestamp(self.now))),
            Output::Alarm(Alarm::PlanDropped { workload, findings }) => {
                format!("alarm {workload}: plan dropped, {}", findings[0])
            }
            Output::Alarm(Alarm::PlanFailed { workload, message }) => format!("alarm {workload}: {message}"),
        }
    }

    pub(crate) fn loaded(&mut self, workload: &str, version: u64, instances: Vec<Instance>) {
        let memory = Memory { session: "s".into(), serial: instances.len() as u64, ..Memory::default() };
        let input = Input::Loaded { workload: workload.into(), version, instances, memory };
        self.happened(&format!("loaded {workload} at version {version}"), input);
    }

    /// The head is up, and so many tasks wait.
    pub(crate) fn observed(&mut self, workload: &str, tasks: u64, nodes: Vec<Node>) {
        let waiting = (tasks > 0).then(|| Task { shape: shape(), count: tasks });
        let demand = Demand { tasks: waiting.into_iter().collect(), ..Demand::default() };
        let mut all = vec![node("head", None, NodeStatus::Running)];
        all.extend(nodes);
        let state =
            WorkloadState { session: "s".into(), nodes: all.into(), demand, ..WorkloadState::default() };
        self.seen(workload, Ok(state), &format!("{tasks} tasks wait in {workload}"));
    }

    pub(crate) fn seen(&mut self, workload: &str, result: Result<WorkloadState, Failure>, words: &str) {
        let look = Observed { at: Timestamp(self.now), result };
        self.happened(words, Input::Observed { workload: workload.into(), look });
    }

    pub(crate) fn listed(&mut self, provider: &str, machines: Vec<CloudInstance>) {
        let words = format!("{provider} lists {} machines", machines.len());
        let look = Observed { at: Timestamp(self.now), result: Ok(machines) };
        self.happened(&words, Input::Listed { provider: provider.into(), look });
    }

    pub(crate) fn not_listed(&mut self, provider: &str) {
        let look = Observed { at: Timestamp(self.now), result: Err(failure()) };
        self.happened(
            &format!("{provider} cannot be listed"),
            Input::Listed { provider: provider.into(), look },
        );
    }

    /// The plan that was asked for.
    pub(crate) fn planned(&mut self, workload: &str) {
        let snapshot =
            self.planning.remove(workload).unwrap_or_else(|| panic!("no plan was asked for:\n{}", self.said));
        self.plan_is(workload, ostler_planner::plan(&snapshot));
    }

    pub(crate) fn plan_is(&mut self, workload: &str, plan: Plan) {
        self.happened(&format!("planned {workload}"), Input::Planned { workload: workload.into(), plan });
    }

    pub(crate) fn committed(&mut self, workload: &str, version: u64) {
        let input = Input::Committed { workload: workload.into(), version };
        self.happened(&format!("committed {workload}"), input);
    }

    /// A wish, whose asker waits for so many milliseconds.
    pub(crate) fn asked(&mut self, id: u64, amount: u32, keep: &[&str], patience: u64) {
        let keep = keep.iter().map(|name| (*name).into()).collect();
        let wish = Wish { amount, keep, ..Wish::default() };
        let request = Request { id, wish, give_up_at: Timestamp(self.now + patience) };
        let words = format!("request {id}: {amount} workers");
        self.happened(&words, Input::Asked { workload: "target".into(), request });
        self.shown();
    }

    /// What is shown outside.
    pub(crate) fn shown(&mut self) {
        if let Some(scale) = self.engine.scale(Timestamp(self.now), &"target".into()) {
            let ostler_model::Scale { desired, available, min, max } = scale;
            writeln!(self.said, "  shows {desired} desired, {available} available, {min} to {max}")
                .expect("a string");
        }
    }

    pub(crate) fn ended(&mut self, workload: &str, instance: &str, epoch: u32, outcome: EffectOutcome) {
        let report = EffectReport { instance: instance.into(), epoch, at: Timestamp(self.now), outcome };
        let words = format!("effect {epoch} of {instance} ended");
        self.happened(&words, Input::EffectEnded { workload: workload.into(), report });
    }

    pub(crate) fn tick(&mut self, seconds: u64) {
        self.now += seconds * 1000;
        self.happened(&format!("{seconds} s later"), Input::Tick);
    }

    pub(crate) fn check(self, expect: Expect) {
        expect.assert_eq(&self.said);
    }
}

pub(crate) fn setup(name: &str) -> Setup {
    let (workload, provider) = name.split_once('/').expect("workload/provider");
    let by_target = workload.starts_with("target");
    let pool = Pool {
        id: "a".into(),
        workload: workload.into(),
        provider: provider.into(),
        resources: Resources::from_iter([("CPU", Quantity::ONE)]),
        labels: Default::default(),
        min: 0,
        max: 9,
        idle_timeout: None,
        priority: 0,
        launch_hash: "h".into(),
        instance_type: String::new(),
        node: None,
    };
    let policy = match by_target {
        true => Policy { scoring: Scoring::Target, ..Policy::default() },
        false => {
            Policy { head_pool: Some("head".into()), idle_timeout: Some(Millis(0)), ..Policy::default() }
        }
    };
    Setup { workload: workload.into(), policy, pools: vec![pool] }
}

fn shape() -> Shape {
    Shape { resources: Resources::from_iter([("CPU", Quantity::ONE)]), selectors: Vec::new() }
}

pub(crate) fn node(id: &str, cloud: Option<&str>, status: NodeStatus) -> Node {
    let resources = Resources::from_iter([("CPU", Quantity::ONE)]);
    let idle = if status == NodeStatus::Idle { Millis(1) } else { Millis(0) };
    Node {
        id: id.into(),
        cloud: cloud.map(Into::into),
        pool: Some("a".into()).filter(|_| id != "head"),
        head: id == "head",
        status,
        idle,
        available: if status == NodeStatus::Idle { resources.clone() } else { Resources::default() },
        total: if id == "head" { Resources::default() } else { resources },
        labels: Default::default(),
        address: String::new(),
        instance_type: String::new(),
        activity: Vec::new(),
    }
}

pub(crate) fn machine(workload: &str, id: &str, record: &str) -> CloudInstance {
    CloudInstance {
        id: id.into(),
        workload: workload.into(),
        pool: "a".into(),
        launched_for: Some((record.into(), 1)),
        kind: NodeKind::Worker,
        phase: CloudPhase::Running,
        created_at: None,
        address: String::new(),
    }
}

pub(crate) fn failure() -> Failure {
    Failure { class: FailureClass::Transient, message: "no".into() }
}

fn step(step: &Step) -> String {
    let event = step.event.as_ref().map_or("made", ostler_lifecycle::Event::code);
    format!("{} {event}", step.instance)
}

fn act(act: &Act) -> String {
    match act {
        Act::Launch { token, .. } => format!("launch {token}"),
        Act::Install { cloud } => format!("install {cloud}"),
        Act::Drain { node, .. } => format!("drain {node}"),
        Act::Undrain { node } => format!("undrain {node}"),
        Act::Terminate { cloud, .. } => format!("terminate {cloud}"),
    }
}
