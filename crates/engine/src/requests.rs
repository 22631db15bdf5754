//! Requests from outside: judged in the order in which they come, written together, answered when that is on disk.
//! They wait for what is under way (a plan, a commit), and for no machine.

use crate::input::Request;
use crate::output::{Declined, Output};
use crate::room::{Room, Stage};
use alloc::sync::Arc;
use alloc::vec::Vec;
use ostler_model::Timestamp;
use ostler_planner::{Listings, Plan};

/// Requests of one workload that wait. Who asks asks one thing at a time; more than these are a fault outside.
const REQUESTS_MAX: usize = 256;

/// A request, and its answer once what it changes is on disk.
#[derive(Debug)]
pub(crate) struct Answered {
    request: Request,
    answer: Result<(), Declined>,
}

impl Room {
    /// Takes a request in.
    pub(crate) fn ask(&mut self, now: Timestamp, request: Request, outputs: &mut Vec<Output>) {
        self.drop_late(now, outputs);
        if self.requests.len() < REQUESTS_MAX {
            self.requests.push_back(request);
        } else {
            reply(request.id, Err(Declined::Overloaded), outputs);
        }
    }

    /// Judges what waits, each on top of what those before it change, and has the outcome written. To be called
    /// when nothing is under way.
    pub(crate) fn answer(&mut self, now: Timestamp, listings: &Listings, outputs: &mut Vec<Output>) {
        self.drop_late(now, outputs);
        let mut whole: Option<Plan> = None;
        let mut answered = Vec::new();
        while let Some(request) = self.requests.pop_front() {
            let memory = whole.as_ref().and_then(|plan| plan.memory.as_ref()).unwrap_or(&self.memory);
            let verdict = self.standing(now, memory, listings).accept(&request.wish);
            whole = join(whole, verdict.plan);
            answered.push(Answered { request, answer: verdict.answer.map_err(Declined::Refused) });
        }
        match whole {
            Some(plan) => {
                let plan = Arc::new(plan);
                let (workload, expected_version) = (self.setup.workload.clone(), self.version);
                outputs.push(Output::Commit { workload, expected_version, plan: plan.clone() });
                self.stage = Stage::Accepting(plan, answered);
            }
            None => answered.into_iter().for_each(|one| reply(one.request.id, one.answer, outputs)),
        }
    }

    /// A plan is ready, and requests have come since it was begun: it knows nothing of them, so it gives way and
    /// another is made. Not twice in a row, or who asks without end would stop all planning.
    pub(crate) fn gives_way(
        &mut self,
        now: Timestamp,
        listings: &Listings,
        outputs: &mut Vec<Output>,
    ) -> bool {
        let before = core::mem::take(&mut self.gave_way);
        if before || self.requests.is_empty() {
            return false;
        }
        self.answer(now, listings, outputs);
        self.gave_way = matches!(self.stage, Stage::Accepting(..));
        self.dirty |= self.gave_way;
        self.gave_way
    }

    /// What requests change is on disk.
    pub(crate) fn accepted(
        &mut self,
        plan: &Plan,
        version: u64,
        answered: Vec<Answered>,
        outputs: &mut Vec<Output>,
    ) {
        self.apply(plan, version);
        self.dirty = true;
        answered.into_iter().for_each(|one| reply(one.request.id, one.answer, outputs));
    }

    /// Nothing was written, and the records are read again: requests are judged anew after that.
    pub(crate) fn take_back(&mut self) {
        if let Stage::Accepting(_, answered) = core::mem::replace(&mut self.stage, Stage::Loading) {
            for one in answered.into_iter().rev() {
                self.requests.push_front(one.request);
            }
        }
    }

    /// The workload is no longer there.
    pub(crate) fn decline_all(&mut self, outputs: &mut Vec<Output>) {
        self.take_back();
        self.requests.drain(..).for_each(|request| reply(request.id, Err(Declined::Unavailable), outputs));
    }

    fn drop_late(&mut self, now: Timestamp, outputs: &mut Vec<Output>) {
        self.requests.retain(|request| {
            let late = request.give_up_at <= now;
            if late {
                reply(request.id, Err(Declined::Unavailable), outputs);
            }
            !late
        });
    }
}

/// Two changes of the memory as one: the later memory, and what both say.
fn join(first: Option<Plan>, second: Option<Plan>) -> Option<Plan> {
    match (first, second) {
        (Some(mut first), Some(second)) => {
            first.memory = second.memory;
            first.notes.extend(second.notes);
            Some(first)
        }
        (first, second) => first.or(second),
    }
}

fn reply(id: u64, answer: Result<(), Declined>, outputs: &mut Vec<Output>) {
    outputs.push(Output::Reply { id, answer });
}
