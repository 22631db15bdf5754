//! What the providers list, against our records. A provider that cannot be listed holds its own pools only.
//!
//! A listing says that a machine is *not* there only about records that entered their state before the look
//! began: otherwise an old look would end what was launched after it.

use crate::draft::{Draft, Serial};
use crate::plan::{Severity, Subject};
use crate::reason::Reason;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::ToString;
use alloc::vec::Vec;
use ostler_lifecycle::{Event, Instance, State, StateName};
use ostler_model::{
    CloudId, CloudInstance, CloudPhase, EndCause, InstanceId, NodeId, NodeKind, PoolId, WorkloadState,
};

/// Requested → Allocated by token, listed no longer → Terminated, machines without a record → new records.
pub(crate) fn machines(draft: &mut Draft<'_>, state: &WorkloadState) {
    say_held_providers(draft);
    let mut machines = listed(draft);
    machines.sort_by(|a, b| a.id.cmp(&b.id));
    claim(draft, &machines);
    end_vanished(draft, &machines, state);
    adopt(draft, &machines);
}

fn say_held_providers(draft: &mut Draft<'_>) {
    for provider in draft.providers() {
        let Some(observed) = draft.snapshot.listings.get(provider) else { continue };
        if let Err(failure) = &observed.result {
            let reason = Reason::ProviderHeld { provider: provider.to_string(), failure: failure.clone() };
            draft.note(Subject::Provider(provider.clone()), Severity::Error, reason);
        }
    }
}

/// Every machine that a successful look shows.
fn listed<'a>(draft: &Draft<'a>) -> Vec<&'a CloudInstance> {
    let listings = &draft.snapshot.listings;
    listings.values().filter_map(|observed| observed.result.as_ref().ok()).flatten().collect()
}

/// A requested record takes the machine that carries its token: that of its present attempt before that of an
/// earlier one, which came late.
fn claim(draft: &mut Draft<'_>, machines: &[&CloudInstance]) {
    let owners = draft.owners();
    let mut by_record: BTreeMap<&InstanceId, Vec<&CloudInstance>> = BTreeMap::new();
    for machine in machines {
        if let Some((instance, _)) = &machine.launched_for
            && owners.of(&machine.id, &machine.pool).is_none()
            && machine.phase != CloudPhase::Stopping
        {
            by_record.entry(instance).or_default().push(machine);
        }
    }
    for serial in draft.serials(|i| i.state().name() == StateName::Requested) {
        let instance = &draft.instances[&serial];
        let Some(machine) = best_claim(instance, by_record.get(instance.id())) else { continue };
        let on_time = attempt_of(machine) == instance.attempt();
        let reason = if on_time { Reason::MachineAppeared } else { Reason::MachineAppearedLate };
        end_refusal(draft, serial);
        draft.apply(serial, Event::Allocated { cloud: machine.id.clone() }, reason);
    }
}

/// A pool that gave a machine which was asked for after its last refusal refuses no more.
fn end_refusal(draft: &mut Draft<'_>, serial: Serial) {
    let instance = &draft.instances[&serial];
    let Some(memory) = draft.memory.pools.get_mut(instance.pool()) else { return };
    if memory.refusal.as_ref().is_some_and(|refusal| refusal.at < instance.since()) {
        memory.refusal = None;
    }
}

fn best_claim<'m>(
    instance: &Instance,
    machines: Option<&Vec<&'m CloudInstance>>,
) -> Option<&'m CloudInstance> {
    let claimable = machines?.iter().filter(|machine| attempt_of(machine) <= instance.attempt());
    claimable.max_by_key(|machine| attempt_of(machine)).copied()
}

fn attempt_of(machine: &CloudInstance) -> u32 {
    machine.launched_for.as_ref().map_or(0, |(_, attempt)| *attempt)
}

fn end_vanished(draft: &mut Draft<'_>, machines: &[&CloudInstance], state: &WorkloadState) {
    let up: BTreeSet<&NodeId> = state.nodes.iter().filter(|n| n.status.is_up()).map(|n| &n.id).collect();
    let is_up = |instance: &Instance| instance.state().node().is_some_and(|node| up.contains(node));
    let there: BTreeSet<(&CloudId, &PoolId)> = machines.iter().map(|m| (&m.id, &m.pool)).collect();
    for serial in draft.serials(|i| i.state().cloud().is_some()) {
        let instance = &draft.instances[&serial];
        let Some(looked_at) = draft.looked_at(instance.pool()) else { continue };
        let is_there = |cloud| there.contains(&(cloud, instance.pool()));
        let gone = instance.state().cloud().is_some_and(|cloud| !is_there(cloud));
        // A pool may have left the configuration together with its provider, and nobody lists its machines then.
        let alive = draft.pool(instance.pool()).is_none() && is_up(instance);
        if gone && !alive && looked_at > instance.since() {
            // For a machine that we asked to end this is the good end, and the record keeps its own cause.
            let event = Event::MachineGone { cause: EndCause::Vanished };
            let reason = match instance.state().end_cause() {
                Some(cause) => Reason::Removed { cause },
                None => Reason::MachineVanished,
            };
            draft.apply(serial, event, reason);
        }
    }
}

/// Machines with our tags that no record owns get one: launched by an attempt that was given up, or by a store
/// that was lost. They are capacity like any other, and go like any other.
fn adopt(draft: &mut Draft<'_>, machines: &[&CloudInstance]) {
    let owners = draft.owners();
    let ended = just_ended(draft);
    let waiting = draft.instances.values().filter(|i| i.state().name() == StateName::Queued);
    let queued: BTreeMap<InstanceId, Serial> = waiting.map(|i| (i.id().clone(), i.serial())).collect();
    for machine in machines {
        let ours = machine.kind == NodeKind::Worker && machine.phase != CloudPhase::Stopping;
        let owned = owners.of(&machine.id, &machine.pool).is_some();
        if !ours || owned || is_ended_since(draft, &ended, machine) {
            continue;
        }
        let (serial, id) = draft.memory.next_id();
        let instance = Instance::adopted(
            id,
            serial,
            machine.pool.clone(),
            machine.kind,
            machine.id.clone(),
            draft.snapshot.now,
        );
        draft.create(instance, Reason::MachineAdopted);
        if let Some((record, _)) = &machine.launched_for {
            withdraw(draft, queued.get(record).copied());
        }
    }
}

/// Its machine came while the record waited to ask for another one.
fn withdraw(draft: &mut Draft<'_>, queued: Option<Serial>) {
    let waits = |serial: &Serial| draft.instances[serial].state().name() == StateName::Queued;
    if let Some(serial) = queued.filter(waits) {
        let event = Event::Withdrawn { cause: EndCause::PendingIdle };
        draft.apply(serial, event, Reason::MachineAppearedLate);
    }
}

/// When the last record of each machine ended.
fn just_ended(draft: &Draft<'_>) -> BTreeMap<(CloudId, PoolId), Serial> {
    let ended = |i: &Instance| match i.state() {
        State::Terminated { cloud: Some(cloud), .. } => Some(((cloud.clone(), i.pool().clone()), i.serial())),
        _ => None,
    };
    draft.instances.values().filter_map(ended).collect()
}

/// Was the machine's record ended after the look that still shows it? Then the look is old, not the machine new.
fn is_ended_since(
    draft: &Draft<'_>,
    ended: &BTreeMap<(CloudId, PoolId), Serial>,
    machine: &CloudInstance,
) -> bool {
    let key = (machine.id.clone(), machine.pool.clone());
    let Some(instance) = ended.get(&key).and_then(|serial| draft.instances.get(serial)) else {
        return false;
    };
    draft.looked_at(&machine.pool).is_none_or(|at| at <= instance.since())
}
