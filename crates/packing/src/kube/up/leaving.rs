//! Machines that are leaving: what is on them finds a place, or they stay.

use super::lot::{Levels, Lot};
use super::there::seek;
use crate::kube::ledger::NodeIx;
use crate::kube::problem::{RemovalCause, Stage};
use crate::kube::world::World;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Machines that are leaving, and where their pods go.
#[derive(Debug, Default)]
pub(super) struct Moved {
    /// By machine: spec and the node it goes to.
    gone: BTreeMap<usize, Vec<(u32, NodeIx)>>,
    stays: Vec<usize>,
}

impl Moved {
    /// Moves everything off the machines that are leaving. Those whose pods have no place stay, if their end
    /// can be taken back; otherwise the pods are demand like any other.
    pub(super) fn away(&mut self, world: &mut World<'_>, levels: &mut Levels) {
        for machine in world.order.clone() {
            if world.machine(machine).stage != Stage::Leaving {
                continue;
            }
            let Some(from) = world.nodes[machine] else { continue };
            let mark = world.ledger.mark();
            // Gone to all that must lie evenly too: it soon will be.
            world.ledger.remove_node(from);
            let mut specs: Vec<u32> =
                world.movable(machine).map(|pod| world.problem.cluster.pods[pod as usize].spec).collect();
            specs.sort_by(|&a, &b| {
                let key = |spec: u32| (world.ledger.request(spec), world.rank[spec as usize]);
                key(b).cmp(&key(a))
            });
            let mut moved = Vec::new();
            let mut without = Vec::new();
            for spec in specs {
                match find(world, spec) {
                    Some(to) => {
                        world.ledger.place(spec, to);
                        moved.push((spec, to));
                    }
                    None => without.push(spec),
                }
            }
            if !without.is_empty() && can_stay(world, machine) {
                world.ledger.back_to(mark);
                self.stay(world, machine);
                continue;
            }
            for spec in without {
                levels.add(world, spec, 1);
            }
            self.gone.insert(machine, moved);
        }
    }

    /// Machines whose room is wanted by these lots stay.
    pub(super) fn back(&mut self, world: &mut World<'_>, lots: &mut [Lot]) {
        for lot in lots.iter_mut() {
            let machines: Vec<usize> = self.gone.keys().copied().collect();
            // By name, not by place.
            let order: Vec<usize> = world
                .order
                .iter()
                .copied()
                .filter(|machine| machines.binary_search(machine).is_ok())
                .collect();
            for machine in order {
                if lot.left() == 0 {
                    break;
                }
                let wanted =
                    !matches!(world.machine(machine).leaving_for, Some(RemovalCause::Unready) | None)
                        && can_stay(world, machine);
                let Some(node) = world.nodes[machine].filter(|_| wanted) else { continue };
                let mark = world.ledger.mark();
                for &(spec, to) in &self.gone[&machine] {
                    world.ledger.unplace(spec, to);
                }
                world.ledger.restore_node(node);
                if !world.ledger.fits(lot.spec, node) {
                    world.ledger.back_to(mark);
                    continue;
                }
                self.gone.remove(&machine);
                self.stay(world, machine);
                seek(world, lot, &[node]);
            }
        }
    }

    fn stay(&mut self, world: &mut World<'_>, machine: usize) {
        self.stays.push(machine);
        let ready = world.machine(machine).node.is_some_and(|at| world.problem.cluster.nodes[at].ready);
        world.takes[machine] = ready;
    }

    /// Machines that are to stay, in the order of the problem.
    pub(super) fn stays(mut self) -> Vec<usize> {
        self.stays.sort_unstable();
        self.stays
    }
}

/// Its end can be taken back, and was not asked for by a bound or a change of the configuration.
fn can_stay(world: &World<'_>, machine: usize) -> bool {
    let cause = world.machine(machine).leaving_for;
    cause.is_some_and(|cause| {
        use RemovalCause::{MaxPerPool, MaxTotal, Outdated, PoolGone};
        !matches!(cause, MaxPerPool | MaxTotal | Outdated | PoolGone)
    })
}

/// A node that takes the pod, up before coming; the first by name.
fn find(world: &World<'_>, spec: u32) -> Option<NodeIx> {
    let order = world.order.iter().copied();
    let stage = |stage: Stage| {
        order.clone().filter(move |&machine| world.takes[machine] && world.machine(machine).stage == stage)
    };
    let machines = stage(Stage::Up).chain(stage(Stage::Leaving)).chain(stage(Stage::Coming));
    machines.filter_map(|machine| world.nodes[machine]).find(|&node| world.ledger.fits(spec, node))
}
