//! Shrinking: machines whose pods all have a place elsewhere, and cheaper machines for those that have none.
//!
//! [`keep`](super::keep) says which machines are no candidates. The others are looked at in an order that
//! does not change from one plan to the next ([`order`]): those that were found unneeded before, the empty
//! ones, then the dearest for what they give. Each is taken out of the ledger and its pods are placed on
//! nodes that stay ([`moving`]); what was promised to one is gone for the next. Whether a machine that could
//! go does go now is for the timers, the drain budgets and the gate. Only when nothing can go any more are
//! cheaper machines looked for ([`replace`]).

mod bounds;
mod coming;
mod moving;
mod order;
mod replace;

use super::keep::{self, Facts, Sizes, drains::Drains};
use super::problem::{Decision, Keep, Place, Removal, RemovalCause, Stage, Turn};
use super::up::{Grown, Waiting};
use super::world::World;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use moving::{Mover, Stuck};

/// Decides what goes, and says of every machine that does not why it stays.
pub(super) fn shrink(world: &mut World<'_>, waiting: &Waiting, grown: &Grown, decision: &mut Decision) {
    let problem = world.problem;
    if !problem.policy.scale_down {
        decision.kept = (0..problem.machines.len()).map(|machine| (machine, Keep::Off)).collect();
        return;
    }
    let awaited: BTreeSet<usize> = decision
        .placed
        .iter()
        .filter_map(|&(_, place)| if let Place::Machine(machine) = place { Some(machine) } else { None })
        .collect();
    let facts = Facts::of(world, awaited);
    let mut kept: BTreeMap<usize, Keep> =
        (0..problem.machines.len()).filter_map(|machine| Some((machine, facts.keep(machine)?))).collect();
    let waits = (0..problem.machines.len())
        .filter(|machine| !kept.contains_key(machine))
        .filter_map(|machine| Some((machine, facts.waits(machine)?)))
        .collect();
    let gate = keep::gate(problem, !decision.placed.is_empty(), waiting.any);
    // Machines that were to leave and stay after all are in use.
    for &machine in &decision.stays {
        kept.insert(machine, Keep::NeededByPending);
    }
    let values = order::Values::of(world);
    let holds = Holds { gate, waits };
    let window = best_window(world, &values, &kept, &holds, grown);
    let mut go = Going::of(world, holds);
    let mut mover = Mover::of(world, &values, &kept, grown, window);
    let before = kept.clone();
    machines_that_go(world, &values, &mut mover, &mut kept, &mut go);
    coming::unneeded(world, decision, &mut kept, &mut go);
    decision.replacements = replace::cheaper(world, &values, grown, (&before, &mut kept), &mut go, decision);
    decision.turn = go.turn;
    decision.removals = go.removals;
    decision.unneeded = go.unneeded;
    decision.unneeded.sort_unstable();
    decision.unneeded.dedup();
    decision.moved = go.moved;
    decision.moved.sort_unstable();
    let leaves: BTreeSet<usize> = decision.removals.iter().map(|removal| removal.machine).collect();
    decision.kept = kept.into_iter().filter(|(machine, _)| !leaves.contains(machine)).collect();
}

/// How many targets are compared for each pod that moves.
const WINDOWS: [usize; 3] = [1, 32, 100];
/// With more pods than this the ways are not tried against each other: each try takes some tenths of a
/// second.
const MANY_PODS: usize = 40_000;

/// The way of choosing targets by which the dearest machines can go; the first of equals.
fn best_window(
    world: &mut World<'_>,
    values: &order::Values,
    kept: &BTreeMap<usize, Keep>,
    holds: &Holds,
    grown: &Grown,
) -> usize {
    let pods: usize = (0..world.problem.machines.len()).map(|machine| world.pods[machine].len()).sum();
    if pods > MANY_PODS {
        return WINDOWS[1];
    }
    let mark = world.ledger.mark();
    let mut best = (0, WINDOWS[0]);
    for window in WINDOWS {
        let mut go = Going::of(world, holds.clone());
        let mut mover = Mover::of(world, values, kept, grown, window);
        machines_that_go(world, values, &mut mover, &mut kept.clone(), &mut go);
        world.ledger.back_to(mark);
        let saved: u128 = go.unneeded.iter().map(|&machine| u128::from(world.machine(machine).price.0)).sum();
        if saved > best.0 {
            best = (saved, window);
        }
        if go.unneeded.len() < 2 || go.turn.empty.is_some() {
            // Nothing to choose between, or hardly so: the next plan sees what is left. Or more than enough to do once.
            break;
        }
    }
    best.1
}

fn machines_that_go<'a>(
    world: &mut World<'a>,
    values: &order::Values,
    mover: &mut Mover,
    kept: &mut BTreeMap<usize, Keep>,
    go: &mut Going<'a>,
) {
    bounds::outdated(world, mover, kept, go);
    bounds::above(world, values, mover, kept, go);
    candidates(world, values, mover, kept, go);
}

/// What holds machines that could go.
#[derive(Clone)]
struct Holds {
    /// All of them.
    gate: Option<Keep>,
    /// One of them: something on it is let finish.
    waits: BTreeMap<usize, Keep>,
}

/// What goes, and what still holds it.
struct Going<'a> {
    sizes: Sizes,
    drains: Drains<'a>,
    holds: Holds,
    removals: Vec<Removal>,
    unneeded: Vec<usize>,
    /// Pods of machines that go, and the machine that each goes to.
    moved: Vec<(usize, usize)>,
    turn: Turn,
}

impl<'a> Going<'a> {
    fn of(world: &World<'a>, holds: Holds) -> Self {
        Self {
            sizes: Sizes::of(world),
            drains: Drains::of(world),
            holds,
            removals: Vec::new(),
            unneeded: Vec::new(),
            moved: Vec::new(),
            turn: Turn { empty: None, ..world.problem.turn.clone() },
        }
    }

    /// The machine could go: it goes now, or says what it waits for.
    fn ask(
        &mut self,
        world: &World<'a>,
        machine: usize,
        cause: RemovalCause,
        moves: &[(u32, usize)],
    ) -> Option<Keep> {
        self.unneeded.push(machine);
        if waits_for_machine(world, moves) {
            return Some(Keep::ReplacementComing);
        }
        // That its successor has just come is no reason to wait.
        let gate = self.holds.gate.as_ref();
        let gate = gate.filter(|keep| !(world.machine(machine).replaced && **keep == Keep::Quiet));
        if let Some(keep) = self.holds.waits.get(&machine).or(gate) {
            return Some(keep.clone());
        }
        if !keep::long_enough(world, machine) {
            return Some(Keep::NotLongEnough);
        }
        self.force(world, machine, cause, moves)
    }

    /// The same without gate and timer.
    fn force(
        &mut self,
        world: &World<'a>,
        machine: usize,
        cause: RemovalCause,
        moves: &[(u32, usize)],
    ) -> Option<Keep> {
        if waits_for_machine(world, moves) {
            return Some(Keep::ReplacementComing);
        }
        if let Some(keep) = self.holds.waits.get(&machine) {
            return Some(keep.clone());
        }
        if !self.drains.take(world, machine, cause) {
            return Some(Keep::DrainBudget);
        }
        self.removals.push(Removal { machine, cause });
        self.moved.extend(moves.iter().map(|&(pod, target)| (pod as usize, target)));
        None
    }

    /// Why a machine stays that is due to go, and has a pod without a place elsewhere.
    fn due(&self, world: &World<'_>, machine: usize, cause: RemovalCause, pod: u32) -> Keep {
        let pod = world.problem.cluster.pods[pod as usize].name.clone();
        self.holds.waits.get(&machine).cloned().unwrap_or(Keep::Due { cause, pod })
    }

    /// There was no work left for the machine: the next plan begins with the first such, but for one that had its turn
    /// and is too much for any plan.
    fn miss(&mut self, world: &World<'_>, machine: usize) {
        let name = &world.machine(machine).name;
        if self.turn.empty.is_none() && world.problem.turn.empty.as_ref() != Some(name) {
            self.turn.empty = Some(name.clone());
        }
    }
}

/// Is something to move to a machine that is not up yet?
fn waits_for_machine(world: &World<'_>, moves: &[(u32, usize)]) -> bool {
    moves.iter().any(|&(_, target)| world.machine(target).stage == Stage::Coming)
}

/// Every machine that nothing keeps, in order: does all on it have a place elsewhere? If the work is used up before
/// all were looked at, the next plan begins with the first that was not.
fn candidates<'a>(
    world: &mut World<'a>,
    values: &order::Values,
    mover: &mut Mover,
    kept: &mut BTreeMap<usize, Keep>,
    go: &mut Going<'a>,
) {
    let policy = world.problem.policy;
    for machine in order::in_turn(world, order::candidates(world, values, kept, &go.removals)) {
        let Some(pool) = world.machine(machine).pool else { continue };
        let share = keep::used::share(world, machine);
        let under = keep::used::is_under(share, policy.utilization_threshold_percent);
        let used = || Keep::Used { percent: share.div_ceil(1000) };
        let ready = is_ready(world, machine);
        if mover.is_target_of_moves(machine) || (!under && !policy.consolidate && ready) {
            kept.insert(machine, used());
            continue;
        }
        let lost = world.lost[machine];
        if let Some(keep) = go.sizes.keep(pool).filter(|_| !lost) {
            kept.insert(machine, keep);
            continue;
        }
        match mover.empty(world, machine) {
            Ok(moves) => {
                if !lost {
                    go.sizes.take(pool);
                }
                let cause = match () {
                    () if !ready => RemovalCause::Unready,
                    () if world.foreign(machine).next().is_none() => RemovalCause::Empty,
                    () if under => RemovalCause::Underused,
                    () => RemovalCause::Consolidated,
                };
                if let Some(keep) = go.ask(world, machine, cause, &moves) {
                    kept.insert(machine, keep);
                }
            }
            Err(stuck) => {
                if matches!(stuck, Stuck::Work) {
                    go.miss(world, machine);
                }
                let waits = go.holds.waits.get(&machine).cloned();
                let keep = waits.unwrap_or_else(|| match stuck {
                    Stuck::Pod(pod) if under => {
                        Keep::NoPlace { pod: world.problem.cluster.pods[pod as usize].name.clone() }
                    }
                    Stuck::Pod(_) => used(),
                    Stuck::Headroom => Keep::Headroom,
                    Stuck::Work => Keep::NotLookedAt,
                });
                kept.insert(machine, keep);
            }
        }
    }
}

fn is_ready(world: &World<'_>, machine: usize) -> bool {
    world
        .machine(machine)
        .node
        .is_some_and(|at| world.problem.cluster.nodes.get(at).is_some_and(|node| node.ready))
}
