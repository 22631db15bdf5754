//! The world before and after a plan, replayed from the plan's own steps.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use ostler_lifecycle::{Event, Instance, StateName};
use ostler_model::{InstanceId, Node, NodeId, Pool, PoolId, WorkloadState};
use ostler_planner::{Plan, Snapshot, Step};

/// What the promises look at.
pub(crate) struct World<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) plan: &'a Plan,
    pub(crate) before: BTreeMap<&'a InstanceId, &'a Instance>,
    pub(crate) after: BTreeMap<InstanceId, Instance>,
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
        for step in &plan.steps {
            replay_step(snapshot, &changed, &mut after, step)?;
        }
        for (id, instance) in &changed {
            if after.get(*id) != Some(*instance) {
                return Err(format!("the record of {id} is not what its steps lead to"));
            }
        }
        let observed = snapshot.state.as_ref().and_then(|observed| observed.result.as_ref().ok());
        let nodes = observed.into_iter().flat_map(|state| state.nodes.iter().map(|node| (&node.id, node)));
        Ok(Self { snapshot, plan, before, after, nodes: nodes.collect(), state: observed })
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

    /// Records that the plan makes.
    pub(crate) fn births(&self) -> impl Iterator<Item = &Instance> {
        self.after.values().filter(|i| !self.before.contains_key(i.id()))
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
