//! Which machines go, and how: the policy says which it could do without.

use super::problem::Question;
use crate::draft::{Draft, Serial};
use crate::reason::Reason;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use ostler_lifecycle::{Event, Instance, StateName};
use ostler_model::{EndCause, Pool, PoolId, Timestamp};
use ostler_packing::problem::{Decision, Machine, Phase, Removal, RemovalCause};

/// Removes what may go. What a bound takes counts before what idleness may take down to the minimum.
pub(crate) fn removals(draft: &mut Draft<'_>, question: &Question, decision: &Decision, seen_at: Timestamp) {
    let is_idle =
        |removal: &&Removal| matches!(removal.cause, RemovalCause::Idle | RemovalCause::PendingIdle);
    let (idle, bound): (Vec<&Removal>, Vec<&Removal>) = decision.removals.iter().partition(is_idle);
    for removal in bound {
        if let Some((serial, _)) = candidate(question, removal) {
            remove(draft, serial, end_cause(removal.cause), seen_at);
        }
    }
    let mut spare = Spare::of(draft, question);
    for removal in idle {
        if let Some((serial, machine)) = candidate(question, removal)
            && spare.has(machine)
        {
            remove(draft, serial, end_cause(removal.cause), seen_at);
            if !stays(&draft.instances[&serial]) {
                spare.take(machine);
            }
        }
    }
}

/// A machine of ours that may go. A policy may not know what is held (Ray's does not), nor that a node at work is
/// not idle.
fn candidate<'q>(question: &'q Question, removal: &Removal) -> Option<(Serial, &'q Machine)> {
    let serial = question.serials.get(removal.machine).copied().flatten()?;
    let machine = question.problem.machines.get(removal.machine)?;
    let busy = machine.up.as_ref().is_some_and(|up| up.busy);
    let may_go = !(machine.keep || busy && removal.cause == RemovalCause::Idle);
    may_go.then_some((serial, machine))
}

/// How many machines each pool has above its minimum. For the policies a machine that was asked to go counts until
/// it does; one that follows it out because of that would be one too many. And against a node that is up, only
/// nodes that are up count: a launch may yet be refused, and its machine never join.
struct Spare {
    all: BTreeMap<PoolId, u64>,
    up: BTreeMap<PoolId, u64>,
}

impl Spare {
    fn of(draft: &Draft<'_>, question: &Question) -> Self {
        let foreign = question.problem.machines.iter().zip(&question.serials);
        let foreign: Vec<&PoolId> =
            foreign.filter(|(_, serial)| serial.is_none()).map(|(machine, _)| &machine.pool).collect();
        let above_min = |counts: fn(&Instance) -> bool| {
            let mut staying: BTreeMap<&PoolId, u64> = BTreeMap::new();
            let ours = draft.instances.values().filter(|i| counts(i)).map(Instance::pool);
            for pool in ours.chain(foreign.iter().copied()) {
                *staying.entry(pool).or_insert(0) += 1;
            }
            let above = |pool: &Pool| {
                let here = staying.get(&pool.id).copied().unwrap_or(0);
                (pool.id.clone(), here.saturating_sub(u64::from(pool.min.min(pool.max))))
            };
            draft.snapshot.pools.iter().map(above).collect()
        };
        Self { all: above_min(stays), up: above_min(|i| i.state().name() == StateName::Running) }
    }

    /// A pool that the configuration no longer has needs none of its machines.
    fn has(&self, machine: &Machine) -> bool {
        let spare = if machine.phase == Phase::Running { &self.up } else { &self.all };
        spare.get(&machine.pool).is_none_or(|spare| *spare > 0)
    }

    fn take(&mut self, machine: &Machine) {
        let take = |spare: &mut BTreeMap<PoolId, u64>| {
            if let Some(spare) = spare.get_mut(&machine.pool) {
                *spare = spare.saturating_sub(1);
            }
        };
        take(&mut self.all);
        if machine.phase == Phase::Running {
            take(&mut self.up);
        }
    }
}

fn stays(instance: &Instance) -> bool {
    use StateName::{Allocated, Installing, Queued, Requested, Running};
    matches!(instance.state().name(), Queued | Requested | Allocated | Installing | Running)
}

/// The machine's stage decides how it goes: what does not exist is withdrawn, what the workload does not see is
/// ended, what it does see is drained first, and what is already leaving is left alone.
fn remove(draft: &mut Draft<'_>, serial: Serial, cause: EndCause, seen_at: Timestamp) {
    let reason = Reason::Removed { cause };
    match draft.instances[&serial].state().name() {
        StateName::Queued => draft.apply(serial, Event::Withdrawn { cause }, reason),
        // It cannot be called back: it keeps its room until it has come, and goes then. Were the record closed,
        // another would take its place, and there would be one machine too many.
        StateName::Requested => {}
        StateName::Allocated | StateName::Installing => {
            draft.apply(serial, Event::TerminationRequested { cause }, reason);
        }
        // What was seen before the node came up, or came back from a drain that was refused, says nothing of it.
        StateName::Running if seen_at > draft.instances[&serial].since() => {
            let busy_grace = draft.snapshot.now + draft.snapshot.policy.drain_grace;
            let deadline = (cause != EndCause::Idle).then_some(busy_grace);
            draft.apply(serial, Event::DrainRequested { cause, deadline }, reason);
        }
        _ => {}
    }
}

const fn end_cause(cause: RemovalCause) -> EndCause {
    match cause {
        RemovalCause::Outdated => EndCause::Outdated,
        RemovalCause::MaxPerPool => EndCause::MaxPerPool,
        RemovalCause::MaxTotal => EndCause::MaxTotal,
        RemovalCause::Idle => EndCause::Idle,
        RemovalCause::PendingIdle => EndCause::PendingIdle,
    }
}
