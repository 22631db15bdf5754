//! Records that Ray cannot decide on: found before, or while, a decision is made, and left out of it.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::decision::{Demand, Fault, FaultCode, Record};
use super::input::{Gang, Input, Instance, Kind, Pool, Request, State};

/// Records that are left out.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    records: BTreeSet<Record>,
}

impl LeftOut {
    pub(super) fn add(&mut self, record: Record) {
        self.records.insert(record);
    }

    pub(super) fn has(&self, record: Record) -> bool {
        self.records.contains(&record)
    }
}

/// What can be seen to be bad without deciding anything.
pub(super) fn screen(input: &Input<'_>) -> Vec<Fault> {
    let good = |pool: &&Pool<'_>| pool_fault(input, pool).is_none();
    let known: BTreeSet<&str> = input.pools.iter().filter(good).map(|pool| pool.name).collect();
    let pools = indexed(&input.pools, Record::Pool, |pool| pool_fault(input, pool));
    let instances =
        indexed(&input.instances, Record::Instance, |instance| instance_fault(input, &known, instance));
    let requests = indexed(&input.requests, |i| Record::Demand(Demand::Request(i)), request_fault);
    let constraint = indexed(&input.constraint, |i| Record::Demand(Demand::Constraint(i)), request_fault);
    let gangs = indexed(&input.gangs, |i| Record::Demand(Demand::Gang(i)), gang_fault);
    pools.chain(instances).chain(requests).chain(constraint).chain(gangs).collect()
}

fn indexed<T>(
    records: &[T],
    record: impl Fn(usize) -> Record,
    fault: impl Fn(&T) -> Option<FaultCode>,
) -> impl Iterator<Item = Fault> {
    let found = move |(i, item)| fault(item).map(|code| Fault { record: record(i), code });
    records.iter().enumerate().filter_map(found)
}

fn pool_fault(input: &Input<'_>, pool: &Pool<'_>) -> Option<FaultCode> {
    if pool.min_workers > input.max_nodes_of(pool) {
        return Some(FaultCode::MinAboveMax);
    }
    pool.resources.iter().any(|amount| !amount.1.is_finite()).then_some(FaultCode::AmountInvalid)
}

/// Ray looks up the limit of each running node's pool. Without the pool that is an error, unless the node is ended
/// for being outdated before.
fn instance_fault(input: &Input<'_>, known: &BTreeSet<&str>, instance: &Instance<'_>) -> Option<FaultCode> {
    let node = instance.node.as_ref().filter(|_| instance.state == State::Running)?;
    let mut amounts = node.total.iter().chain(&node.available);
    if amounts.any(|amount| !amount.1.is_finite()) {
        return Some(FaultCode::AmountInvalid);
    }
    let ended = !input.disable_launch_config_check && instance.kind == Kind::Worker;
    let missing = !ended && !known.contains(instance.pool);
    missing.then_some(FaultCode::PoolUnknown)
}

fn request_fault(request: &Request<'_>) -> Option<FaultCode> {
    let bad = |amount: f64| !amount.is_finite() || amount < 0.0;
    request.resources.iter().any(|amount| bad(amount.1)).then_some(FaultCode::AmountInvalid)
}

fn gang_fault(gang: &Gang<'_>) -> Option<FaultCode> {
    if gang.bundles.iter().any(|bundle| bundle.count > 0 && bundle.placement.len() > 1) {
        return Some(FaultCode::ConstraintsTooMany);
    }
    gang.bundles.iter().find_map(request_fault)
}
