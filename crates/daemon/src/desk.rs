//! Between the doors of workloads and the engine: wishes in, answers and the picture out. Decides nothing.

use crate::rim::Rim;
use ostler_engine::{Declined, Engine, Input, Request, Source};
use ostler_model::{CloudInstance, Millis, Timestamp, WorkloadId};
use ostler_planner::WishRefusal;
use ostler_workload::{Asked, Outcome, Workload};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Wishes between the doors and the loop, over all workloads. Each door has a bound of its own.
const WISHES_MAX: usize = 64;

type Wishes = mpsc::Sender<(WorkloadId, Asked)>;

/// The loop's side of all doors.
#[derive(Debug)]
pub(crate) struct Desk {
    wishes: Wishes,
    doors: BTreeMap<WorkloadId, (Arc<dyn Workload>, tokio::task::JoinHandle<()>)>,
    waiting: BTreeMap<u64, oneshot::Sender<Outcome>>,
    last: u64,
}

impl Desk {
    pub(crate) fn new() -> (Self, mpsc::Receiver<(WorkloadId, Asked)>) {
        let (wishes, receiver) = mpsc::channel(WISHES_MAX);
        (Self { wishes, doors: BTreeMap::new(), waiting: BTreeMap::new(), last: 0 }, receiver)
    }

    /// Opens the doors of workloads that are new, and leaves those that are gone.
    pub(crate) fn follow_rim(&mut self, rim: &Arc<Rim>) {
        let now: BTreeMap<_, _> = rim.workloads().into_iter().collect();
        self.doors.retain(|id, (workload, task)| {
            let same = now.get(id).is_some_and(|connected| Arc::ptr_eq(&connected.workload, workload));
            if !same {
                task.abort();
            }
            same
        });
        for (id, connected) in now {
            if connected.workload.door().is_some() && !self.doors.contains_key(&id) {
                let serve = serve(rim.clone(), id.clone(), connected.workload.clone(), self.wishes.clone());
                self.doors.insert(id, (connected.workload, tokio::spawn(serve)));
            }
        }
    }

    /// A wish for the engine.
    pub(crate) fn take(&mut self, now: Timestamp, workload: WorkloadId, asked: Asked) -> Input {
        self.last += 1;
        self.waiting.insert(self.last, asked.answer);
        let give_up_at = now + Millis(u64::try_from(asked.patience.as_millis()).unwrap_or(u64::MAX));
        Input::Asked { workload, request: Request { id: self.last, wish: asked.wish, give_up_at } }
    }

    /// The engine's answer.
    pub(crate) fn reply(&mut self, id: u64, answer: Result<(), Declined>) {
        if let Some(waiting) = self.waiting.remove(&id) {
            let _ = waiting.send(outcome(answer)); // who asked may have gone
        }
    }

    /// Tells those who must see for themselves what a provider lists.
    pub(crate) fn tell(&self, rim: &Rim, input: &Input) {
        let Input::Listed { provider, look } = input else { return };
        for (id, connected) in rim.workloads() {
            if connected.workload.door().is_none() {
                continue;
            }
            let ours = look.result.as_ref().ok().map(|machines| {
                machines
                    .iter()
                    .filter(|machine| machine.workload == id)
                    .cloned()
                    .collect::<Vec<CloudInstance>>()
            });
            connected.workload.machines(provider, ours.as_deref());
        }
    }

    /// Shows each what the engine knows of it.
    pub(crate) fn show(&self, now: Timestamp, engine: &Engine) {
        for (id, (workload, _)) in &self.doors {
            if let Some((door, scale)) = workload.door().zip(engine.scale(now, id)) {
                door.show(scale);
            }
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.doors.values().for_each(|(_, task)| task.abort());
    }
}

/// Carries wishes from one door to the loop, and has the workload looked at when it knocks.
async fn serve(rim: Arc<Rim>, id: WorkloadId, workload: Arc<dyn Workload>, wishes: Wishes) {
    let Some(door) = workload.door() else { return };
    let Some(mut inbox) = door.inbox() else { return };
    loop {
        tokio::select! {
            asked = inbox.recv() => match asked {
                Some(asked) => {
                    if wishes.send((id.clone(), asked)).await.is_err() {
                        return;
                    }
                }
                None => return,
            },
            () = door.knocked() => rim.poke(&Source::Workload(id.clone())),
        }
    }
}

fn outcome(answer: Result<(), Declined>) -> Outcome {
    match answer {
        Ok(()) => Outcome::Accepted,
        Err(Declined::Refused(WishRefusal::CannotChoose { pool })) => Outcome::Refused(format!(
            "pool {pool} would shrink, and its provider decides itself which worker ends: it cannot spare those in \
             workers_to_keep"
        )),
        Err(Declined::Refused(WishRefusal::TooManyNames)) => Outcome::TooManyNames,
        Err(Declined::Unavailable) => Outcome::Unavailable,
        Err(Declined::Overloaded) => Outcome::Overloaded,
    }
}
