//! The loop: one input at a time into the engine, each output to whoever does it.

use crate::board::Board;
use crate::clock::{now, until};
use crate::desk::Desk;
use crate::error::DaemonError;
use crate::executor::Executor;
use crate::keeper::Keeper;
use crate::kubernetes::Claims;
use crate::planning::Planning;
use crate::publisher::{Publisher, published};
use crate::reload::{self, Loader};
use crate::rim::Rim;
use crate::sources::Sources;
use crate::words;
use ostler_config::Configuration;
use ostler_engine::{Alarm, Engine, Input, Output};
use ostler_lifecycle::Effect;
use ostler_model::{Millis, Timestamp, WorkloadId};
use ostler_planner::{Plan, Snapshot};
use ostler_store::Store;
use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Inputs that wait. A source that is faster than the loop waits for it.
const INPUTS_MAX: usize = 1024;

/// How the daemon is run.
#[derive(Debug)]
pub struct Options {
    /// The outside.
    pub rim: Arc<Rim>,
    /// The store, opened and not yet led.
    pub store: Box<dyn Store>,
    /// How long a leader on another host is believed to live without a word.
    pub lease: Millis,
    /// By which Leases it leads.
    pub claims: Claims,
    /// Reads the configuration again.
    pub loader: Arc<dyn Loader>,
    /// Where every pass that changes something is recorded.
    pub record: Option<PathBuf>,
    /// Where the snapshot of a pass that failed is saved.
    pub rescue: PathBuf,
}

/// Runs until `shutdown`, or until it cannot go on. `on_board` hears of the board once this Ostler leads.
///
/// Machines stay when it ends: the next start finds them.
///
/// # Errors
/// [`DaemonError`] when it cannot begin or go on; nothing was launched by the attempt.
pub async fn run(
    options: Options,
    on_board: impl FnOnce(Arc<Board>),
    shutdown: impl Future<Output = ()>,
) -> Result<(), DaemonError> {
    let (sender, mut inputs) = mpsc::channel(INPUTS_MAX);
    let (keeper, lost) = Keeper::start(options.store, options.lease, options.claims.clone(), sender.clone())?;
    let board = Arc::new(Board::new(options.rim.clone()));
    on_board(board.clone());
    let (desk, mut wishes) = Desk::new();
    let (reloads, mut configurations) = mpsc::channel(1);
    let watcher = tokio::spawn(reload::watch(options.loader, reloads));
    let mut shell = Shell {
        engine: Engine::new(),
        executor: Executor::new(options.rim.clone(), options.claims, sender.clone()),
        planning: Planning::new(sender.clone(), options.record, options.rescue),
        publisher: Publisher::new(options.rim.clone()),
        sources: Sources::new(options.rim.clone(), sender),
        rim: options.rim,
        snapshots: BTreeMap::new(),
        desk,
        board,
        keeper,
        wake_at: None,
    };
    shell.configured();
    tokio::pin!(shutdown);
    tokio::pin!(lost);
    let ended = loop {
        let wake = async {
            match shell.wake_at {
                Some(at) => tokio::time::sleep(until(at)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            input = inputs.recv() => match input {
                Some(input) => shell.handle(input),
                None => break Err(DaemonError::Part("the loop's inputs")),
            },
            Some((workload, asked)) = wishes.recv() => {
                let input = shell.desk.take(now(), workload, asked);
                shell.handle(input);
            }
            Some(configuration) = configurations.recv() => shell.reconfigure(configuration),
            () = wake => {
                shell.wake_at = None;
                shell.handle(Input::Tick);
            }
            error = &mut lost => break Err(error.unwrap_or(DaemonError::Part("the keeper"))),
            () = &mut shutdown => break Ok(()),
        }
    };
    watcher.abort();
    inputs.close();
    let keeper = shell.stop();
    let _ = tokio::task::spawn_blocking(move || keeper.stop()).await;
    ended
}

struct Shell {
    engine: Engine,
    rim: Arc<Rim>,
    board: Arc<Board>,
    keeper: Keeper,
    executor: Executor,
    planning: Planning,
    publisher: Publisher,
    sources: Sources,
    /// The snapshot of each workload's newest plan, to be saved if the plan turns out to be bad.
    snapshots: BTreeMap<WorkloadId, Arc<Snapshot>>,
    /// Requests from outside.
    desk: Desk,
    wake_at: Option<Timestamp>,
}

impl Shell {
    /// Everything that began ends by itself or with its task.
    fn stop(self) -> Keeper {
        self.keeper
    }

    fn configured(&mut self) {
        self.sources.follow_rim();
        self.board.follow_rim();
        self.desk.follow_rim(&self.rim);
        self.handle(Input::Configured(self.rim.setups()));
    }

    fn reconfigure(&mut self, configuration: Configuration) {
        match self.rim.replace(configuration) {
            Ok(()) => {
                tracing::info!("the configuration was read again");
                self.configured();
            }
            Err(error) => tracing::error!(%error, "the changed configuration is refused, the old one stays"),
        }
    }

    fn handle(&mut self, input: Input) {
        self.board.seen(&input);
        self.desk.tell(&self.rim, &input);
        let outputs = self.engine.handle(now(), input);
        // Before the answers: whoever has been told that a target is accepted must not be shown the one before.
        self.desk.show(now(), &self.engine);
        for output in outputs {
            self.act(output);
        }
    }

    fn act(&mut self, output: Output) {
        match output {
            Output::Load { workload } => self.keeper.load(workload),
            Output::Plan { snapshot } => {
                self.snapshots.insert(snapshot.workload.clone(), snapshot.clone());
                let board = self.board.clone();
                self.planning.plan(snapshot, move |took| board.planned(took));
            }
            Output::Commit { workload, expected_version, plan } => {
                self.keeper.commit(workload, expected_version, plan);
            }
            Output::Run { workload, effect } => {
                let idle = self.idle(&workload, &effect);
                self.executor.run(workload, effect, idle);
            }
            Output::Publish { workload, plan } => self.publish(&workload, &plan),
            Output::Reply { id, answer } => self.desk.reply(id, answer),
            Output::Look(source) => self.rim.poke(&source),
            Output::WakeAt(at) => self.wake_at = Some(self.wake_at.map_or(at, |known| known.min(at))),
            Output::Alarm(alarm) => self.alarm(alarm),
        }
    }

    /// How long the node of a drain has been idle, for the workload's own log.
    fn idle(&self, workload: &WorkloadId, effect: &Effect) -> Millis {
        let ostler_lifecycle::Act::Drain { node, .. } = &effect.act else { return Millis(0) };
        let look = self.engine.state(workload).and_then(|look| look.result.as_ref().ok());
        let node = look.and_then(|state| state.nodes.iter().find(|n| n.id == *node));
        node.map_or(Millis(0), |node| node.idle)
    }

    fn publish(&mut self, workload: &WorkloadId, plan: &Arc<Plan>) {
        let records: BTreeMap<_, _> = self.engine.records(workload).map(|i| (i.id(), i)).collect();
        self.board.in_force(workload, plan, |id| records.get(id).copied());
        let events = words::events(plan);
        words::log(workload, plan, &events);
        let config = self.rim.config();
        let config = config.iter().flat_map(|c| &c.workloads).find(|w| w.id == *workload);
        if config.is_some_and(|config| config.policy.is_shadow()) {
            return; // the workload's users would take what would be for what is
        }
        let Some(state) = self.engine.state(workload).and_then(|look| look.result.as_ref().ok()) else {
            return; // nobody there to be told
        };
        let pools: Vec<_> = config.into_iter().flat_map(|w| &w.pools).map(|p| p.pool.clone()).collect();
        let letter = published(state, &plan.report, &pools, records.into_values(), events);
        self.publisher.publish(workload, letter);
    }

    /// A fault in Ostler: said loudly, with what is needed to find it.
    fn alarm(&mut self, alarm: Alarm) {
        match alarm {
            Alarm::PlanDropped { workload, findings } => {
                self.board.dropped();
                if let Some(snapshot) = self.snapshots.get(&workload) {
                    self.planning.rescue(snapshot);
                }
                for finding in findings {
                    tracing::error!(%workload, %finding, "a plan would have broken a promise and was dropped; its snapshot is saved [OSTLER-D007]");
                }
            }
            Alarm::PlanFailed { workload, message } => {
                tracing::error!(%workload, message, "planning failed; nothing is decided for this workload until something new is seen; the snapshot is saved [OSTLER-D008]");
            }
        }
    }
}
