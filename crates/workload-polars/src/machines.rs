//! The workers' machines, as the providers list them, and which of them are ready: each is probed by a task.

use crate::config::Probe;
use crate::probe::is_ready;
use ostler_model::{CloudId, CloudInstance, CloudPhase, Node, NodeId, NodeStatus, ProviderId};
use ostler_workload::Door;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;

/// A worker that is not ready yet is asked this soon again, and then ever less often, up to the interval.
const SOON: Duration = Duration::from_millis(50);
/// Noes in a row until a ready worker counts as not ready: one that is busy may miss a question.
const NOES: u32 = 3;
/// Questions under way at one time.
const AT_ONCE: usize = 32;

/// What is known, shared with the tasks that probe.
#[derive(Debug)]
pub(crate) struct Machines {
    shared: Arc<Shared>,
    providers: BTreeSet<ProviderId>,
    tasks: Mutex<BTreeMap<Key, JoinHandle<()>>>,
}

type Key = (ProviderId, CloudId);

#[derive(Debug)]
struct Shared {
    probe: Probe,
    door: Arc<Door>,
    state: Mutex<State>,
    moved: Notify,
    slots: Semaphore,
}

#[derive(Debug, Default)]
struct State {
    looked: BTreeSet<ProviderId>,
    machines: BTreeMap<Key, Seen>,
    /// Nodes that were asked to go, for as long as their machines are listed.
    draining: BTreeSet<NodeId>,
}

#[derive(Debug)]
struct Seen {
    machine: CloudInstance,
    /// `None`: not asked yet.
    ready: Option<bool>,
}

impl Machines {
    pub(crate) fn new(probe: Probe, providers: BTreeSet<ProviderId>, door: Arc<Door>) -> Self {
        let state = Mutex::default();
        let shared = Shared { probe, door, state, moved: Notify::new(), slots: Semaphore::new(AT_ONCE) };
        Self { shared: Arc::new(shared), providers, tasks: Mutex::default() }
    }

    /// Takes over what a provider lists.
    pub(crate) fn listed(&self, provider: &ProviderId, listed: Option<&[CloudInstance]>) {
        let mut state = self.shared.lock();
        state.looked.insert(provider.clone());
        if let Some(listed) = listed {
            let alive = |machine: &&CloudInstance| machine.phase != CloudPhase::Stopping;
            let now: BTreeMap<&CloudId, &CloudInstance> =
                listed.iter().filter(alive).map(|machine| (&machine.id, machine)).collect();
            state.machines.retain(|(of, id), _| of != provider || now.contains_key(id));
            let State { machines, draining, .. } = &mut *state;
            draining.retain(|node| machines.values().any(|seen| name(&seen.machine) == node.as_str()));
            for (id, machine) in now {
                let key = (provider.clone(), id.clone());
                let seen = state
                    .machines
                    .entry(key)
                    .or_insert_with(|| Seen { machine: machine.clone(), ready: None });
                seen.machine = machine.clone();
            }
        }
        self.follow(&state);
        drop(state);
        self.shared.moved.notify_waiters();
    }

    /// One task for each machine, none for others.
    fn follow(&self, state: &State) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.retain(|key, task| {
            let stays = state.machines.contains_key(key);
            if !stays {
                task.abort();
            }
            stays
        });
        for key in state.machines.keys() {
            let task = || tokio::spawn(watch(self.shared.clone(), key.clone()));
            tasks.entry(key.clone()).or_insert_with(task);
        }
    }

    /// The ready workers, once every provider has been looked at and every machine has been asked. A provider that
    /// fails is waited for until its first look has failed.
    pub(crate) async fn ready(&self) -> Vec<Node> {
        loop {
            let moved = self.shared.moved.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            if let Some(nodes) = self.known() {
                return nodes;
            }
            moved.await;
        }
    }

    fn known(&self) -> Option<Vec<Node>> {
        let state = self.shared.lock();
        let looked = self.providers.iter().all(|provider| state.looked.contains(provider));
        let asked = state.machines.values().all(|seen| seen.ready.is_some());
        let ready = state.machines.values().filter(|seen| seen.ready == Some(true));
        (looked && asked).then(|| ready.map(|seen| node(&seen.machine, &state.draining)).collect())
    }

    /// From now on a worker that is there counts as leaving.
    pub(crate) fn drain(&self, node: &NodeId) {
        let mut state = self.shared.lock();
        if state.machines.values().any(|seen| name(&seen.machine) == node.as_str()) {
            state.draining.insert(node.clone());
        }
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        let tasks = self.tasks.get_mut().unwrap_or_else(PoisonError::into_inner);
        tasks.values().for_each(JoinHandle::abort);
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn machine(&self, key: &Key) -> Option<CloudInstance> {
        self.lock().machines.get(key).map(|seen| seen.machine.clone())
    }

    /// Notes an answer, and has the loop look if it is another than before.
    fn note(&self, key: &Key, ready: bool) {
        let mut state = self.lock();
        let Some(seen) = state.machines.get_mut(key) else { return };
        let before = seen.ready.replace(ready);
        drop(state);
        if before != Some(ready) {
            self.moved.notify_waiters();
            if before.unwrap_or(false) != ready {
                self.door.knock();
            }
        }
    }
}

/// Asks one machine for as long as it is listed.
async fn watch(shared: Arc<Shared>, key: Key) {
    let (mut ready, mut noes, mut wait) = (false, 0, SOON);
    while let Some(machine) = shared.machine(&key) {
        let yes = {
            let Ok(_slot) = shared.slots.acquire().await else { return };
            is_ready(&shared.probe, name(&machine), &machine).await
        };
        noes = if yes { 0 } else { noes + 1 };
        ready = yes || ready && noes < NOES;
        shared.note(&key, ready);
        wait = if ready { shared.probe.interval } else { (wait * 3 / 2).min(shared.probe.interval) };
        tokio::time::sleep(wait).await;
    }
}

/// What the program on the machine was told to call itself.
fn name(machine: &CloudInstance) -> &str {
    machine.launched_for.as_ref().map_or(machine.id.as_str(), |(instance, _)| instance.as_str())
}

fn node(machine: &CloudInstance, draining: &BTreeSet<NodeId>) -> Node {
    let id = NodeId::from(name(machine));
    // What else it does is the scheduler's business; nothing is decided by idleness here.
    let status = if draining.contains(&id) { NodeStatus::Draining } else { NodeStatus::Running };
    Node {
        id,
        cloud: Some(machine.id.clone()),
        pool: Some(machine.pool.clone()),
        head: false,
        status,
        idle: ostler_model::Millis(0),
        total: ostler_model::Resources::default(),
        available: ostler_model::Resources::default(),
        labels: ostler_model::Labels::default(),
        address: machine.address.clone(),
        instance_type: String::new(),
        activity: Vec::new(),
    }
}
