//! Decisions exactly as the scheduler of Ray 2.60.0's autoscaler v2 makes them, at a cost that grows with what differs.
//!
//! The order of steps is Ray's: outdated nodes end, pools are filled to their minimum, nodes over the maximum of their
//! pool and then of the cluster end, the constraint is placed, gangs, plain requests, and what is idle then ends. Each
//! step sees what those before it placed. All oddities are kept; `ray` beside this module repairs them.
//!
//! Amounts are doubles, and are added, subtracted and compared in Ray's order, since a sum of doubles depends on it.
//! Only where Ray itself goes by the order of a protobuf map, which differs from process to process, the order of
//! names is taken: for the sum by which requests are sorted, and for means over what a running node has.
//!
//! Where Ray raises an error, and so decides nothing, the record that it stumbles over is left out, and named among
//! the [`Decision::faults`].

mod bounds;
mod catalog;
mod class;
mod contest;
mod decision;
mod demand;
mod idle;
mod input;
mod intern;
mod labels;
mod order;
mod score;
mod screen;
mod store;
mod trial;
mod world;

#[cfg(test)]
mod tests;

use alloc::vec::Vec;

pub use decision::{
    Cause, Decision, Demand, Fault, FaultCode, Launch, Memory, NodeRef, Placed, Record, Termination, Unplaced,
};
pub use input::{
    Amounts, Gang, Input, Instance, Kind, Node, Operator, PendingIdle, Placement, Pool, Request, Rule,
    Selector, State,
};

use catalog::Catalog;
use screen::{LeftOut, screen};
use world::{Fate, World};

/// So many records are left out one by one, as somebody would who mends Ray's errors one after the other; after that
/// all those at once on which a round fails, so that a bad input cannot take forever.
const ONE_BY_ONE: usize = 32;

/// Decides what to launch and what to end.
///
/// Gives also what to remember for the next decision; that matters with [`Input::pending_idle`] only.
pub fn decide(input: &Input<'_>, memory: &Memory) -> (Decision, Memory) {
    let mut faults = screen(input);
    let mut left_out = LeftOut::default();
    faults.iter().for_each(|fault| left_out.add(fault.record));
    loop {
        let mut remembered = memory.clone();
        match decide_without(input, &left_out, &mut remembered) {
            Ok(decision) => return (Decision { faults, ..decision }, remembered),
            Err(mut found) => {
                if faults.len() < ONE_BY_ONE {
                    found.truncate(1);
                }
                found.iter().for_each(|fault| left_out.add(fault.record));
                faults.extend(found);
            }
        }
    }
}

fn decide_without(
    input: &Input<'_>,
    left_out: &LeftOut,
    memory: &mut Memory,
) -> Result<Decision, Vec<Fault>> {
    let (catalog, ordered) = Catalog::build(input, left_out);
    let mut world = World::build(input, catalog, left_out);
    let mut decision = Decision::default();
    bounds::end_outdated(&mut world);
    bounds::fill_to_min(&mut world);
    bounds::end_over_pool_max(&mut world);
    bounds::end_over_max(&mut world);
    demand::place(&mut world, &ordered, &mut decision)?;
    idle::time_pending(&mut world, memory);
    idle::end_idle(&mut world);
    idle::forget_ended(&world, memory);
    read_off(world, &mut decision);
    Ok(decision)
}

/// Reads the decision off the list.
fn read_off(world: World<'_, '_>, decision: &mut Decision) {
    let mut launch_of = alloc::vec![None; world.type_count];
    for entry in &world.list {
        let node = &world.nodes[entry.node as usize];
        match node.fate {
            Fate::Keep => {}
            Fate::Launch => {
                let at = *launch_of[node.kind_of as usize].get_or_insert_with(|| {
                    decision.launches.push(Launch { pool: node.kind_of as usize, count: 0 });
                    decision.launches.len() - 1
                });
                decision.launches[at].count += 1;
            }
            Fate::End(cause) => {
                let instance = node.instance.map(|index| index as usize);
                decision.terminations.push(Termination { instance, cause, state: node.state });
            }
        }
    }
    decision.placed = world.placed;
}
