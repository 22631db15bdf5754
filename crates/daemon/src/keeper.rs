//! The store on a thread of its own: its calls wait for the disk. The lease is renewed there too, so that a
//! thread that cannot write cannot believe that it still leads.

use crate::clock::now;
use crate::error::DaemonError;
use crate::kubernetes::Claims;
use crate::words;
use ostler_engine::Input;
use ostler_lifecycle::Instance;
use ostler_model::{Millis, WorkloadId};
use ostler_planner::{Memory, Plan};
use ostler_store::{Commit, CommitError, Store, Term};
use ostler_wire::{memory_from_text, memory_to_text, record_from_text, record_to_text};
use std::sync::Arc;
use std::sync::mpsc as sync;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// Between two tries to read records that cannot be read.
const LOAD_AGAIN: Duration = Duration::from_secs(1);

/// This process, for people: in containers the host is the pod, and every process has the number 1.
pub(crate) fn process_name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{}-{}", host.trim(), std::process::id())
}

enum Job {
    Load(WorkloadId),
    Commit { workload: WorkloadId, expected_version: u64, plan: Arc<Plan> },
    Stop,
}

/// The store, from the loop's side.
#[derive(Debug)]
pub(crate) struct Keeper {
    jobs: sync::Sender<Job>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Keeper {
    /// Becomes the one writer of the store, and starts its thread. The receiver tells when it is not any more.
    pub(crate) fn start(
        mut store: Box<dyn Store>,
        lease: Millis,
        claims: Claims,
        inputs: mpsc::Sender<Input>,
    ) -> Result<(Self, oneshot::Receiver<DaemonError>), DaemonError> {
        let term = store.acquire(&process_name(), now(), lease)?;
        tracing::info!(%term, "this Ostler leads");
        let (jobs, queue) = sync::channel();
        let (lost, lost_rx) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("keeper".to_owned())
            .spawn(move || {
                let renew_every = Duration::from_millis(lease.0 / 3).max(Duration::from_millis(100));
                if let Err(error) = (Work { store, term, claims, inputs, renew_every }).run(&queue) {
                    let _ = lost.send(error);
                }
            })
            .map_err(|_| DaemonError::Part("the keeper's thread"))?;
        Ok((Self { jobs, thread: Some(thread) }, lost_rx))
    }

    pub(crate) fn load(&self, workload: WorkloadId) {
        let _ = self.jobs.send(Job::Load(workload));
    }

    pub(crate) fn commit(&self, workload: WorkloadId, expected_version: u64, plan: Arc<Plan>) {
        let _ = self.jobs.send(Job::Commit { workload, expected_version, plan });
    }

    /// Ends the thread after what was asked of it, and steps down.
    pub(crate) fn stop(mut self) {
        let _ = self.jobs.send(Job::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Work {
    store: Box<dyn Store>,
    term: Term,
    claims: Claims,
    inputs: mpsc::Sender<Input>,
    renew_every: Duration,
}

impl Work {
    fn run(&mut self, queue: &sync::Receiver<Job>) -> Result<(), DaemonError> {
        let mut renewed = Instant::now();
        loop {
            let wait = self.renew_every.saturating_sub(renewed.elapsed());
            match queue.recv_timeout(wait) {
                Ok(Job::Load(workload)) => self.load(workload),
                Ok(Job::Commit { workload, expected_version, plan }) => {
                    self.commit(workload, expected_version, &plan)?;
                }
                Ok(Job::Stop) | Err(sync::RecvTimeoutError::Disconnected) => {
                    return self.store.release(self.term).map_err(DaemonError::from);
                }
                Err(sync::RecvTimeoutError::Timeout) => {}
            }
            if renewed.elapsed() >= self.renew_every {
                self.store.renew(self.term, now())?;
                renewed = Instant::now();
            }
        }
    }

    fn load(&mut self, workload: WorkloadId) {
        loop {
            match self.store.load(&workload) {
                Ok(records) => {
                    let (instances, memory) = decode(&workload, &records);
                    let version = records.version;
                    let _ = self.inputs.blocking_send(Input::Loaded { workload, version, instances, memory });
                    return;
                }
                Err(error) => {
                    tracing::error!(%workload, %error, "the records cannot be read; trying again");
                    if self.inputs.is_closed() {
                        return;
                    }
                    std::thread::sleep(LOAD_AGAIN);
                }
            }
        }
    }

    fn commit(&mut self, workload: WorkloadId, expected: u64, plan: &Plan) -> Result<(), DaemonError> {
        if !self.claims.hold() {
            tracing::warn!(%workload, "a plan is not written: another Ostler may lead now [OSTLER-D014]");
            return Ok(()); // who waits for the Lease to be lost hears of it
        }
        let commit = encode(&workload, expected, self.term, plan);
        let input = match self.store.commit(&commit) {
            Ok(version) => Input::Committed { workload, version },
            Err(CommitError::TermLost { .. }) => {
                return Err(DaemonError::Part("the lease on the store (another Ostler took it over), which"));
            }
            Err(error) => {
                tracing::warn!(%workload, %error, "the plan was not written; deciding anew");
                std::thread::sleep(Duration::from_millis(50)); // a full disk is not hammered
                Input::CommitRefused { workload }
            }
        };
        let _ = self.inputs.blocking_send(input);
        Ok(())
    }
}

/// One record that cannot be read costs that record: its machine is found again by its tags.
fn decode(workload: &WorkloadId, records: &ostler_store::Records) -> (Vec<Instance>, Memory) {
    let mut instances = Vec::with_capacity(records.instances.len());
    for (id, text) in &records.instances {
        match record_from_text(text) {
            Ok(instance) => instances.push(instance),
            Err(error) => tracing::error!(%workload, %id, %error, "a record was left aside"),
        }
    }
    let memory = records.memory.as_deref().map(memory_from_text);
    let memory = memory.transpose().unwrap_or_else(|error| {
        tracing::error!(%workload, %error, "the planner's memory was left aside");
        None
    });
    let highest = instances.iter().map(Instance::serial).max().unwrap_or(0);
    let mut memory = memory.unwrap_or_else(|| Memory { seed: seed(), ..Memory::default() });
    memory.serial = memory.serial.max(highest);
    (instances, memory)
}

/// Unlike that of any other store: the standard library's hasher is keyed at random.
fn seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(now().0)
}

fn encode(workload: &WorkloadId, expected_version: u64, term: Term, plan: &Plan) -> Commit {
    Commit {
        workload: workload.clone(),
        expected_version,
        term,
        upserts: plan.changed.iter().map(|i| (i.id().clone(), record_to_text(i))).collect(),
        deletes: plan.forgotten.clone(),
        memory: plan.memory.as_ref().map(memory_to_text),
        journal: words::journal(plan),
    }
}
