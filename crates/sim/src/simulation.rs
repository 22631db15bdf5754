//! The loop: one event after the other in virtual time, a check after each, and crashes where they are ordered.

use crate::call::{Call, Reply};
use crate::check::{self, Check};
use crate::end::End;
use crate::happening::{CrashMode, CrashPoint, Happening};
use crate::random::Random;
use crate::scenario::Scenario;
use crate::shell::{Shell, Wish};
use crate::trace::Trace;
use crate::world::World;
use ostler_engine::{Input, Output, Source};
use ostler_model::{Millis, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A world and whichever life of Ostler is in it.
#[derive(Debug)]
pub struct Simulation {
    /// Everything but Ostler.
    pub world: World,
    /// What was told on the way, if it was asked for.
    pub trace: Trace,
    /// When a plan last changed anything.
    pub changed_at: Timestamp,
    /// What the engine put out, over all lives.
    pub outputs: Vec<Put>,
    scenario: Scenario,
    shell: Option<Shell>,
    life: u32,
    /// Lives that have ended, and whose calls arrive all the same.
    ghosts: BTreeSet<u32>,
    queue: BTreeMap<(Timestamp, u64), Event>,
    sequence: u64,
    latency: Random,
    checks: Vec<Box<dyn Check>>,
    broken: Option<Broken>,
    /// What would be if Ostler were killed at the last outputs, if that is wanted.
    forks: Option<Vec<(CrashPoint, Simulation)>>,
}

/// A promise that did not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// When.
    pub at: Timestamp,
    /// Which check found it.
    pub check: &'static str,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}: {} [{}]", seconds(self.at), self.what, self.check)
    }
}

impl std::error::Error for Broken {}

/// A time as people read it in a trace.
pub(crate) fn seconds(at: Timestamp) -> String {
    format!("{}.{:03} s", at.0 / 1000, at.0 % 1000)
}

/// One output of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Put {
    /// Its kind.
    pub kind: &'static str,
    /// Does it, or a call that is under way at that moment, change anything outside?
    pub writes: bool,
}

#[derive(Debug)]
enum Event {
    /// Time passes for the world outside.
    Beat,
    /// The happening with this number.
    Happen(usize),
    /// A new life begins.
    Boot,
    /// A call arrives.
    Arrive(u32, Call),
    /// Its answer does.
    Return(u32, Box<Reply>),
    /// The shell has something for its engine.
    Give(u32, Box<Input>),
    /// A look is due.
    Poll(u32, Source),
}

/// How often the cluster gets to place its work when nothing else happens.
const BEAT: Millis = Millis(200);

impl Simulation {
    /// The beginning of a scenario.
    pub fn new(scenario: Scenario) -> Self {
        let mut simulation = Self {
            world: World::new(&scenario),
            trace: Trace::default(),
            changed_at: Timestamp(0),
            outputs: Vec::new(),
            shell: None,
            life: 0,
            ghosts: BTreeSet::new(),
            queue: BTreeMap::new(),
            sequence: 0,
            latency: Random::stream(scenario.seed, "latency"),
            checks: check::all(),
            broken: None,
            forks: None,
            scenario,
        };
        simulation.at(Timestamp(0), Event::Beat);
        simulation.at(Timestamp(0), Event::Boot);
        for n in 0..simulation.scenario.plot.len() {
            simulation.at(simulation.scenario.plot[n].0, Event::Happen(n));
        }
        simulation
    }

    /// Runs to the end of the scenario.
    ///
    /// # Errors
    /// The first promise that did not hold.
    pub fn run(&mut self) -> Result<(), Broken> {
        self.run_until(self.scenario.end)
    }

    /// Runs a scenario once for each output of the engine and each way to be killed at it, and shows how each run
    /// ended. Every run begins where the one without a crash is at that moment.
    ///
    /// # Errors
    /// What breaks without any crash.
    pub fn each_crash(
        scenario: Scenario,
        mut visit: impl FnMut(CrashPoint, Result<End, Broken>),
    ) -> Result<End, Broken> {
        let end = scenario.end;
        let mut simulation = Self { forks: Some(Vec::new()), ..Self::new(scenario) };
        while simulation.next(end)? {
            let forks = simulation.forks.replace(Vec::new()).unwrap_or_default();
            for (point, mut fork) in forks {
                visit(point, fork.run().map(|()| End::of(&fork.world)));
            }
        }
        Ok(End::of(&simulation.world))
    }

    /// Runs until a time.
    ///
    /// # Errors
    /// The first promise that did not hold.
    pub fn run_until(&mut self, end: Timestamp) -> Result<(), Broken> {
        while self.next(end)? {}
        Ok(())
    }

    /// The next event, if it is not after the end.
    fn next(&mut self, end: Timestamp) -> Result<bool, Broken> {
        let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= end) else {
            self.world.advance(end);
            return Ok(false);
        };
        let ((at, _), event) = entry.remove_entry();
        self.world.advance(at);
        self.step(event);
        self.check();
        self.broken.clone().map_or(Ok(true), Err)
    }

    /// All faults end and nobody asks for anything: runs until no plan has changed anything for `quiet`.
    ///
    /// # Errors
    /// A promise that did not hold, or no quiet in time.
    pub fn settle(&mut self, quiet: Millis, within: Millis) -> Result<(), Broken> {
        let begin = self.world.now;
        self.scenario.crashes.clear();
        self.scenario.plot.clear();
        self.world.heal();
        self.trace.say(begin, || "all faults end".to_owned());
        while self.world.now.since(self.changed_at.max(begin)) < quiet {
            if self.world.now.since(begin) > within {
                let what = format!("no quiet {within} after all faults have ended");
                return Err(Broken { at: self.world.now, check: "quiet", what });
            }
            self.run_until(self.world.now + Millis::secs(1))?;
        }
        check::settled(&self.world)
    }

    fn at(&mut self, at: Timestamp, event: Event) {
        self.sequence += 1;
        self.queue.insert((at, self.sequence), event);
    }

    fn later(&mut self, event: Event) {
        let (low, high) = self.scenario.latency;
        let takes = Millis(self.latency.between(low.0, high.0));
        self.at(self.world.now + takes, event);
    }

    fn step(&mut self, event: Event) {
        let now = self.world.now;
        match event {
            Event::Beat => self.at(now + BEAT, Event::Beat),
            Event::Happen(n) => self.happen(n),
            Event::Boot => self.boot(),
            Event::Arrive(life, call) if self.is_alive(life) || self.ghosts.contains(&life) => {
                self.trace.call(now, &call);
                let (at, reply) = self.world.serve(call);
                self.answer(life, at, reply);
            }
            Event::Return(life, reply) if self.is_alive(life) => {
                let Some(shell) = &mut self.shell else { return };
                let (input, wishes) = shell.hear(now, *reply);
                self.grant(wishes);
                input.into_iter().for_each(|input| self.tell(input));
            }
            Event::Give(life, input) if self.is_alive(life) => self.tell(*input),
            Event::Poll(life, source) if self.is_alive(life) => {
                let wish = self.shell.as_mut().and_then(|shell| shell.poll(now, source));
                self.grant(wish);
            }
            // Of a life that has ended.
            Event::Arrive(..) | Event::Return(..) | Event::Give(..) | Event::Poll(..) => {}
        }
    }

    fn is_alive(&self, life: u32) -> bool {
        self.shell.is_some() && life == self.life
    }

    fn answer(&mut self, life: u32, leaves_at: Timestamp, reply: Reply) {
        let (low, high) = self.scenario.latency;
        let takes = Millis(self.latency.between(low.0, high.0));
        self.at(leaves_at + takes, Event::Return(life, Box::new(reply)));
    }

    fn happen(&mut self, n: usize) {
        let Some((_, happening)) = self.scenario.plot.get(n).cloned() else { return };
        self.trace.say(self.world.now, || format!("{happening:?}"));
        if happening == Happening::Crash {
            if self.shell.is_some() {
                self.crash(&[]);
            }
        } else if self.world.happen(&happening) {
            let setup = self.world.setup();
            if self.shell.is_some() {
                self.tell(Input::Configured(vec![setup]));
            }
        }
    }

    fn boot(&mut self) {
        self.life += 1;
        match Shell::new(&self.world, self.scenario.poll, self.scenario.seed) {
            Ok(shell) => self.shell = Some(shell),
            Err(what) => return self.fail("lives", what),
        }
        self.trace.say(self.world.now, || "a new life begins".to_owned());
        self.tell(Input::Configured(vec![self.world.setup()]));
        if let Some(shell) = &mut self.shell {
            let wishes = shell.look_at_all(&self.world);
            self.grant(wishes);
        }
    }

    /// Tells the engine something, and carries out what it puts out, in order, unless a crash comes between.
    fn tell(&mut self, input: Input) {
        let now = self.world.now;
        let Some(shell) = &mut self.shell else { return };
        for output in shell.handle(now, input) {
            let put = self.put(&output);
            self.outputs.push(put);
            let number = self.outputs.len() as u64;
            self.trace.output(now, number, &output);
            let wishes = self.shell.as_mut().map(|shell| shell.carry_out(now, output)).unwrap_or_default();
            if self.forks.is_some() {
                self.fork_here(number, put, &wishes);
            }
            let crash = self.scenario.crashes.iter().find(|crash| crash.output == number).copied();
            if let Some(CrashPoint { mode, .. }) = crash {
                self.crash_with(mode, calls(&wishes));
                return;
            }
            self.grant(wishes);
        }
    }

    fn put(&self, output: &Output) -> Put {
        let writes = |call: &Call| matches!(call, Call::Commit(_) | Call::Act(..));
        let under_way = |event: &Event| matches!(event, Event::Arrive(_, call) if writes(call));
        let itself = matches!(output, Output::Commit { .. } | Output::Run { .. });
        Put { kind: kind(output), writes: itself || self.queue.values().any(under_way) }
    }

    fn grant(&mut self, wishes: impl IntoIterator<Item = Wish>) {
        for wish in wishes {
            match wish {
                Wish::Send(call) => {
                    if let Call::Commit(_) = &call {
                        self.changed_at = self.world.now;
                    }
                    self.later(Event::Arrive(self.life, call));
                }
                Wish::SendAt(at, call) => self.at(at, Event::Arrive(self.life, call)),
                Wish::Give(at, input) => self.at(at.max(self.world.now), Event::Give(self.life, input)),
                Wish::Planned(plan) => {
                    let workload = crate::world::workload();
                    let input = Box::new(Input::Planned { workload, plan: *plan });
                    self.later(Event::Give(self.life, input));
                }
                Wish::PollAt(at, source) => self.at(at, Event::Poll(self.life, source)),
                Wish::Published(plan) => {
                    for n in 0..self.checks.len() {
                        let result = self.checks[n].published(&plan);
                        self.judge(n, result);
                    }
                }
                Wish::Broken(what) => self.fail("engine", what),
            }
        }
    }

    fn crash_with(&mut self, mode: CrashMode, calls: Vec<Call>) {
        match mode {
            CrashMode::Before => self.crash(&[]),
            CrashMode::Done => self.crash(&calls),
            CrashMode::Ghosts => {
                self.ghosts.insert(self.life);
                for call in calls {
                    self.later(Event::Arrive(self.life, call));
                }
                self.crash(&[]);
            }
        }
    }

    /// Kills Ostler, after the world has carried out these calls. A supervisor starts it again.
    fn crash(&mut self, done: &[Call]) {
        for call in done {
            self.trace.call(self.world.now, call);
            let _answer_that_nobody_hears = self.world.serve(call.clone());
        }
        if let Some(shell) = self.shell.take() {
            shell.kill();
        }
        self.trace.say(self.world.now, || "CRASH".to_owned());
        let up_at = self.world.now + self.scenario.restart_in;
        self.world.troubled_until = self.world.troubled_until.max(up_at);
        self.at(up_at, Event::Boot);
    }

    /// Notes what would be if Ostler were killed at this output. Where it asks nothing of the world, or nothing
    /// that changes the world is under way, the ways to be killed are the same.
    fn fork_here(&mut self, number: u64, put: Put, wishes: &[Wish]) {
        for mode in CrashMode::ALL {
            let differs = match mode {
                CrashMode::Before => true,
                CrashMode::Done => matches!(put.kind, "commit" | "run"),
                CrashMode::Ghosts => put.writes,
            };
            if differs {
                let mut fork = self.fork();
                fork.crash_with(mode, calls(wishes));
                if let Some(forks) = &mut self.forks {
                    forks.push((CrashPoint { output: number, mode }, fork));
                }
            }
        }
    }

    /// The same world a second time, without Ostler. What is on its way to the world still is.
    fn fork(&self) -> Self {
        let outside = |event: &Event| match event {
            Event::Beat => Some(Event::Beat),
            Event::Happen(n) => Some(Event::Happen(*n)),
            Event::Boot => Some(Event::Boot),
            Event::Arrive(life, call) => Some(Event::Arrive(*life, call.clone())),
            Event::Return(..) | Event::Give(..) | Event::Poll(..) => None,
        };
        Self {
            world: self.world.fork(),
            trace: Trace::default(),
            changed_at: self.changed_at,
            outputs: self.outputs.clone(),
            scenario: self.scenario.clone(),
            shell: None,
            life: self.life,
            ghosts: self.ghosts.clone(),
            queue: self.queue.iter().filter_map(|(at, event)| Some((*at, outside(event)?))).collect(),
            sequence: self.sequence,
            latency: self.latency.clone(),
            checks: check::all(),
            broken: None,
            forks: None,
        }
    }

    fn check(&mut self) {
        for n in 0..self.checks.len() {
            let result = self.checks[n].after(&self.world);
            self.judge(n, result);
        }
    }

    fn judge(&mut self, n: usize, result: Result<(), String>) {
        if let Err(what) = result {
            let name = self.checks[n].name();
            self.fail(name, what);
        }
    }

    fn fail(&mut self, check: &'static str, what: String) {
        self.trace.say(self.world.now, || format!("BROKEN {check}: {what}"));
        let at = self.world.now;
        self.broken.get_or_insert(Broken { at, check, what });
    }
}

/// What of the wishes goes out at once.
fn calls(wishes: &[Wish]) -> Vec<Call> {
    let call = |wish: &Wish| match wish {
        Wish::Send(call) => Some(call.clone()),
        _ => None,
    };
    wishes.iter().filter_map(call).collect()
}

const fn kind(output: &Output) -> &'static str {
    match output {
        Output::Load { .. } => "load",
        Output::Plan { .. } => "plan",
        Output::Commit { .. } => "commit",
        Output::Run { .. } => "run",
        Output::Publish { .. } => "publish",
        Output::Look(_) => "look",
        Output::Reply { .. } => "reply",
        Output::WakeAt(_) => "wake",
        Output::Alarm(_) => "alarm",
    }
}
