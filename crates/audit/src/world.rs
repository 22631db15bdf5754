//! The world before and after a plan, replayed from the plan's own steps.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use ostler_lifecycle::{Event, Instance, State, StateName};
use ostler_model::{InstanceId, Node, NodeId, Pool, PoolId, WorkloadState};
use ostler_planner::{Plan, Snapshot, Step};

/// What the promises look at.
pub(crate) struct World<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) plan: &'a Plan,
    pub(crate) before: BTreeMap<&'a InstanceId, &'a Instance>,
    pub(crate) after: BTreeMap<InstanceId, Instance>,
    /// The record before each step, in step with the plan's; `None` where the step makes it.
    pub(crate) moved: Vec<Option<State>>,
    pub(crate) nodes: BTreeMap<&'a NodeId, &'a Node>,
    pub(crate) state: Option<&'a WorkloadState>,
}

impl<'a> World<'a> {
    /// Applies the steps to the records of the snapshot. `Err`: a step is not legal, or the records that the
    /// plan gives are not those that its steps lead to.
    pub(crate) fn replay(snapshot: &'a Snapshot, plan: &'a Plan) -> Result<Self, String> {
        let changed: BTreeMap<&InstanceId, &Instance> = plan.changed.iter().map(|i| (i.id(), i)).collect();
        let before: BTreeMap<_, _> = snapshot.instances.iter().map(|i| (i.id(), i)).collect();
        let mut after: BTreeMap<InstanceId, Instance> =
            snapshot.instances.iter().map(|i| (i.id().clone(), i.clone())).collect();
        let mut moved = Vec::new();
        for step in &plan.steps {
            moved.push(after.get(&step.instance).map(|instance| instance.state().clone()));
            replay_step(snapshot, &changed, &mut after, step)?;
        }
        for (id, instance) in &changed {
            if after.get(*id) != Some(*instance) {
                return Err(format!("the record of {id} is not what its steps lead to"));
            }
        }
        kept(plan, &changed, &after)?;
        let observed = snapshot.state.as_ref().and_then(|observed| observed.result.as_ref().ok());
        let nodes = observed.into_iter().flat_map(|state| state.nodes.iter().map(|node| (&node.id, node)));
        Ok(Self { snapshot, plan, before, after, moved, nodes: nodes.collect(), state: observed })
    }

    /// Workers whose machine exists or has been asked for, in all and of one pool.
    pub(crate) fn machines<'i>(instances: impl Iterator<Item = &'i Instance>, pool: Option<&PoolId>) -> u64 {
        let exists = |i: &&Instance| {
            !i.state().name().is_final()
                && i.state().name() != StateName::Queued
                && pool.is_none_or(|pool| i.pool() == pool)
        };
        instances.filter(exists).count() as u64
    }

    /// A pool of the configuration.
    pub(crate) fn pool(&self, id: &PoolId) -> Option<&'a Pool> {
        self.snapshot.pools.iter().find(|pool| pool.id == *id)
    }

    /// Steps with their events, without those that make a record.
    pub(crate) fn events(&self) -> impl Iterator<Item = (&'a Step, &'a Event)> {
        self.plan.steps.iter().filter_map(|step| step.event.as_ref().map(|event| (step, event)))
    }

    /// The same, with the state that each record was in before its step.
    pub(crate) fn moves(&self) -> impl Iterator<Item = (&'a Step, &'a Event, &State)> {
        let steps = self.plan.steps.iter().zip(&self.moved);
        steps.filter_map(|(step, from)| Some((step, step.event.as_ref()?, from.as_ref()?)))
    }

    /// Records that the plan makes.
    pub(crate) fn births(&self) -> impl Iterator<Item = &Instance> {
        self.after.values().filter(|i| !self.before.contains_key(i.id()))
    }
}

/// What the steps change is written, and only what has ended is forgotten: a record that is lost is a machine
/// that nobody owns.
fn kept(
    plan: &Plan,
    changed: &BTreeMap<&InstanceId, &Instance>,
    after: &BTreeMap<InstanceId, Instance>,
) -> Result<(), String> {
    let forgotten: BTreeSet<&InstanceId> = plan.forgotten.iter().collect();
    for id in &forgotten {
        if after.get(*id).is_none_or(|instance| !instance.state().name().is_final()) {
            return Err(format!("{id} would be forgotten and has not ended"));
        }
    }
    let lost = |step: &&Step| !changed.contains_key(&step.instance) && !forgotten.contains(&step.instance);
    match plan.steps.iter().find(lost) {
        Some(step) => Err(format!("{} has steps, and its record is not written", step.instance)),
        None => Ok(()),
    }
}

fn replay_step(
    snapshot: &Snapshot,
    changed: &BTreeMap<&InstanceId, &Instance>,
    after: &mut BTreeMap<InstanceId, Instance>,
    step: &Step,
) -> Result<(), String> {
    let id = &step.instance;
    match &step.event {
        Some(event) => {
            let instance = after.get_mut(id).ok_or_else(|| format!("{id} has no record for {event}"))?;
            instance.transition(event, snapshot.now).map_err(|error| error.to_string())
        }
        None if after.contains_key(id) => Err(format!("{id} is made twice")),
        None => {
            let made =
                changed.get(id).ok_or_else(|| format!("{id} is made, and is not among the records"))?;
            let born = born(made, snapshot)?;
            after.insert(id.clone(), born);
            Ok(())
        }
    }
}

/// The record as it was at its birth: rebuilt from what never changes.
fn born(made: &Instance, snapshot: &Snapshot) -> Result<Instance, String> {
    let first = made.history().first().map(|entered| entered.state);
    let (id, serial, pool) = (made.id().clone(), made.serial(), made.pool().clone());
    match (first, made.launched_for(), made.state().cloud()) {
        (Some(StateName::Queued), Some(cause), _) => {
            Ok(Instance::queued(id, serial, pool, cause, snapshot.now))
        }
        (Some(StateName::Allocated), None, Some(cloud)) => {
            Ok(Instance::adopted(id, serial, pool, made.kind(), cloud.clone(), snapshot.now))
        }
        _ => Err(format!("{} begins neither queued nor allocated", made.id())),
    }
}
