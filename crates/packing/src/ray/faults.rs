//! Records that are wrong: each is put right or left aside, and reported once.

use super::bounds::Standing;
use super::world::World;
use crate::problem::{Fault, FaultKind, Machine, Phase, Up};
use alloc::string::ToString;
use alloc::vec::Vec;
use ostler_model::{Quantity, Resources, Shape};

pub(super) fn faults(world: &World<'_>, standing: &Standing) -> Vec<Fault> {
    let mut out = Vec::new();
    for (n, machine) in world.problem.machines.iter().enumerate() {
        of_machine(machine, world.pool_of[n].is_some(), &mut out);
    }
    if standing.short {
        // The last pool of the configuration with a minimum is the one that comes off worst.
        let last = world.problem.pools.iter().rfind(|option| option.pool.min > 0);
        let last = last.map_or_else(Default::default, |option| option.pool.id.to_string());
        out.push(Fault { record: last, kind: FaultKind::MinAboveMax });
    }
    of_demand(world, &mut out);
    out
}

fn of_machine(machine: &Machine, known: bool, out: &mut Vec<Fault>) {
    let mut fault = |kind| out.push(Fault { record: machine.instance.to_string(), kind });
    if matches!(machine.phase, Phase::DrainRequested | Phase::Leaving) {
        return;
    }
    if !known {
        fault(FaultKind::UnknownPool);
    }
    match (&machine.up, machine.phase) {
        (None, Phase::Running) => fault(FaultKind::NoNode),
        (Some(up), _) => {
            if up.available.iter().any(|(name, amount)| amount > up.total.get(name)) {
                fault(FaultKind::AvailableAboveTotal);
            }
            if is_negative(up) {
                fault(FaultKind::NegativeAmount);
            }
        }
        _ => {}
    }
}

fn is_negative(up: &Up) -> bool {
    below_zero(&up.total) || below_zero(&up.available)
}

fn below_zero(resources: &Resources) -> bool {
    resources.iter().any(|(_, amount)| amount < Quantity::ZERO)
}

fn of_demand(world: &World<'_>, out: &mut Vec<Fault>) {
    let problem = world.problem;
    let mut look = |record: &dyn Fn() -> alloc::string::String, shape: &Shape, count: u64| {
        if below_zero(&shape.resources) {
            out.push(Fault { record: record(), kind: FaultKind::NegativeAmount });
        }
        if count == 0 {
            out.push(Fault { record: record(), kind: FaultKind::Empty });
        }
    };
    for task in &problem.tasks {
        look(&|| task.shape.to_string(), &task.shape, task.count);
    }
    for task in problem.floors.iter().flat_map(|floor| &floor.tasks) {
        look(&|| task.shape.to_string(), &task.shape, task.count);
    }
    for gang in &problem.gangs {
        for bundle in &gang.bundles {
            look(&|| gang.id.to_string(), &bundle.shape, bundle.count);
        }
    }
    let empty = problem.gangs.iter().filter(|gang| gang.bundles.is_empty());
    out.extend(empty.map(|gang| Fault { record: gang.id.to_string(), kind: FaultKind::Empty }));
}
