//! What is free where: machines that are alike, with a count. Placing is tried on it and booked when it holds.

use super::fit::fits;
use super::world::World;
use crate::problem::{LaunchCause, Phase};
use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::vec::Vec;

/// Machines that are alike.
#[derive(Clone)]
pub(super) struct Slot {
    /// What they are.
    pub(super) kind: Kind,
    /// What is free on each.
    pub(super) free: Vec<i128>,
    /// How many there are.
    pub(super) count: u64,
    /// Those that exist, from `first` on, the one to fill first in front; empty for machines to be launched.
    pub(super) members: Rc<[usize]>,
    /// Where in `members` the machines of this slot begin.
    pub(super) first: usize,
    /// How far they are: machines at work before those on their way.
    pub(super) stage: Stage,
    /// Resources that something placed here asks for.
    pub(super) touched: u128,
    /// A request that wants a GPU was placed here.
    pub(super) gpu: bool,
    /// The same for one that only names it.
    pub(super) gpu_named: bool,
    /// The preference of the first request with selectors that was placed here.
    pub(super) label: i32,
    /// What they are launched for.
    pub(super) cause: Option<LaunchCause>,
}

/// Which kind of machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Index into [`World::specs`].
    Known(usize),
    /// A new machine of this pool.
    Fresh(usize),
}

/// How far a machine is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    Running,
    Coming,
}

/// Machines that may take something, in order; equals are decided by it.
#[derive(Clone)]
pub(super) struct Ledger {
    pub(super) slots: Vec<Slot>,
    /// Machines that each pool may still launch.
    pub(super) room: Vec<u64>,
    /// The same over all pools.
    pub(super) total_room: u64,
}

impl Slot {
    pub(super) fn fresh(world: &World<'_>, pool: usize, count: u64, cause: LaunchCause) -> Self {
        Self {
            kind: Kind::Fresh(pool),
            free: world.fresh[pool].total.clone(),
            count,
            members: Rc::new([]),
            first: 0,
            stage: Stage::Coming,
            touched: 0,
            gpu: false,
            gpu_named: false,
            label: 0,
            cause: Some(cause),
        }
    }
    /// The machines of this slot, if they exist.
    pub(super) fn machines(&self) -> &[usize] {
        let all = self.members.get(self.first..).unwrap_or_default();
        &all[..all.len().min(usize::try_from(self.count).unwrap_or(usize::MAX))]
    }
}

/// Groups the machines that stay. `whole`: as if nothing ran on them, as floors see them. Machines on which no
/// request fits are left out: nothing can happen to them.
pub(super) fn slots(world: &World<'_>, stays: &[bool], whole: bool) -> Vec<Slot> {
    let mut groups: BTreeMap<(usize, Stage, &[i128]), Vec<usize>> = BTreeMap::new();
    for &machine in &world.canonical {
        let (true, Some((spec, free))) = (stays[machine], &world.hosts[machine]) else { continue };
        let free = if whole { &world.specs[*spec].total } else { free };
        if !world.requests.all.iter().any(|request| fits(request, free)) {
            continue;
        }
        let stage = stage(world.problem.machines[machine].phase);
        groups.entry((*spec, stage, free)).or_default().push(machine);
    }
    let mut place = alloc::vec![0; world.canonical.len()];
    world.canonical.iter().enumerate().for_each(|(n, &machine)| place[machine] = n);
    let mut slots: Vec<(usize, Slot)> = groups
        .into_iter()
        .map(|((spec, stage, free), mut members)| {
            let first = members.iter().map(|&m| place[m]).min().unwrap_or(0);
            members.sort_by_key(|&m| (warmth(world, m), place[m]));
            let slot = Slot {
                kind: Kind::Known(spec),
                free: free.to_vec(),
                count: members.len() as u64,
                members: members.into(),
                first: 0,
                stage,
                touched: 0,
                gpu: false,
                gpu_named: false,
                label: 0,
                cause: None,
            };
            (first, slot)
        })
        .collect();
    slots.sort_by_key(|(first, _)| *first);
    slots.into_iter().map(|(_, slot)| slot).collect()
}

fn stage(phase: Phase) -> Stage {
    if phase.is_coming() { Stage::Coming } else { Stage::Running }
}

/// Which of several like machines takes demand first: those that will stay anyway, then the least idle, then
/// those that are nearest to being there.
fn warmth(world: &World<'_>, machine: usize) -> (bool, u8, u64) {
    let machine = &world.problem.machines[machine];
    let idle = machine.up.as_ref().map_or(0, |up| if up.busy { 0 } else { up.idle.0 });
    let phase = match machine.phase {
        Phase::Installing => 1,
        Phase::Allocated => 2,
        Phase::Requested => 3,
        Phase::Queued => 4,
        _ => 0,
    };
    (!machine.keep, phase, idle)
}
