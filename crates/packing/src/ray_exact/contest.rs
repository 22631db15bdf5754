//! Nodes compete for demand: again and again the one with the best score takes what fits, and leaves the contest.
//!
//! Ray tries every node anew in every round. Here a node is tried again only when that could change something: what
//! it would take, and so its score, stays the same as long as each run still has as many left as it would take of it.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::catalog::Run;
use super::decision::{Demand, Fault, FaultCode, NodeRef, Record};
use super::score::Score;
use super::trial::{Mishap, Takes, Trial};
use super::world::{Entry, Source, World};

/// What a contest comes to. Nothing in the world has changed by it, save that there are more node objects.
#[derive(Debug)]
pub(super) struct Outcome {
    /// The nodes in the order in which they were chosen, then those that took nothing, then new ones.
    pub(super) list: Vec<Entry>,
    /// By run: how many no node took.
    pub(super) left: Vec<u64>,
    /// Slot, demand and count.
    pub(super) placed: Vec<(u32, Demand, u64)>,
}

/// Runs a contest of the nodes that exist, and then one of new nodes for what is left.
///
/// # Errors
///
/// The nodes or demand, in the order of the list, on which Ray fails in the round in which it does.
pub(super) fn contest(
    world: &mut World<'_, '_>,
    runs: &[Run],
    source: Source,
) -> Result<Outcome, Vec<Fault>> {
    let mut contest = Contest::new(world, runs, source);
    contest.existing()?;
    contest.new_nodes()?;
    Ok(Outcome { list: contest.list, left: contest.trial.left, placed: contest.placed })
}

struct Contest<'w, 'i, 'a, 'r> {
    world: &'w mut World<'i, 'a>,
    source: Source,
    trial: Trial<'r>,
    total_left: u64,
    groups: Vec<Group>,
    queue: BinaryHeap<Candidate>,
    /// By run: who takes how many of it, the most first.
    watch: Vec<BinaryHeap<(u64, u32, u32)>>,
    /// Groups to be tried again.
    stale: Vec<u32>,
    list: Vec<Entry>,
    placed: Vec<(u32, Demand, u64)>,
    /// By run: source that is next to be served, and how many of it are.
    served: Vec<(usize, u64)>,
}

/// Nodes that are tried as one: the first of them in the list.
struct Group {
    /// Place of the first in the list.
    at: u32,
    holding: u32,
    takes: Takes,
    /// `None`: it takes nothing.
    score: Option<Score>,
    /// What it would hold afterwards, once known.
    after: Option<u32>,
    /// Counts up whenever it is tried, to tell old entries of the queues.
    version: u32,
    stale: bool,
}

/// Whom a trial was about.
enum Who {
    Entry(Entry),
    Pool(u32),
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    score: Score,
    at: Reverse<u32>,
    group: u32,
    version: u32,
}

impl<'w, 'i, 'a, 'r> Contest<'w, 'i, 'a, 'r> {
    fn new(world: &'w mut World<'i, 'a>, runs: &'r [Run], source: Source) -> Self {
        let trial = Trial::new(runs, &world.catalog, source, world.input.conserve_gpu_nodes);
        Self {
            world,
            source,
            trial,
            total_left: runs.iter().map(|run| run.count).sum(),
            groups: Vec::new(),
            queue: BinaryHeap::new(),
            watch: Vec::new(),
            stale: Vec::new(),
            list: Vec::new(),
            placed: Vec::new(),
            served: alloc::vec![(0, 0); runs.len()],
        }
    }

    fn existing(&mut self) -> Result<(), Vec<Fault>> {
        let (entries, exhausted) = self.split_exhausted();
        let next = self.line_up(&entries);
        let mut chosen = alloc::vec![false; entries.len()];
        while let Some((group, at)) = self.best(&|_, at| Who::Entry(entries[at as usize]))? {
            let entry = entries[at as usize];
            chosen[at as usize] = true;
            let after = self.commit(group, entry.slot);
            let node = self.world.nodes[entry.node as usize].clone();
            let node = self.world.with_holding(node, self.source, after);
            self.add(entry.slot, node);
            match next[at as usize] {
                u32::MAX => self.retire(group),
                at => {
                    let node = entries[at as usize].node;
                    let holding = self.world.nodes[node as usize].holds[self.source as usize];
                    self.requeue(group, at, holding);
                }
            }
        }
        let rest = entries.iter().zip(&chosen).filter(|(_, chosen)| !**chosen);
        self.list.extend(rest.map(|(entry, _)| *entry));
        self.list.extend(exhausted);
        Ok(())
    }

    /// Running nodes that cannot take any of the shapes do not compete.
    fn split_exhausted(&self) -> (Vec<Entry>, Vec<Entry>) {
        let mut known = alloc::vec![None; self.world.store.holdings()];
        let mut exhausted = |entry: &Entry| {
            let holding = self.world.nodes[entry.node as usize].holds[self.source as usize];
            *known[holding as usize].get_or_insert_with(|| {
                let free = self.world.store.held(holding).free;
                self.world.store.runs(holding) && !self.trial.some_fits(free)
            })
        };
        match self.total_left {
            0 => (self.world.list.clone(), Vec::new()),
            _ => self.world.list.iter().partition(|entry| !exhausted(entry)),
        }
    }

    /// Makes the groups; by place in the list, where the next of the same group is.
    fn line_up(&mut self, entries: &[Entry]) -> Vec<u32> {
        let mut next = alloc::vec![u32::MAX; entries.len()];
        let mut last = alloc::vec![u32::MAX; self.world.store.twin_count()];
        self.clear();
        for (at, entry) in entries.iter().enumerate() {
            let holding = self.world.nodes[entry.node as usize].holds[self.source as usize];
            let last = &mut last[self.world.store.twin(holding)];
            match *last {
                u32::MAX => self.enter(at as u32, holding),
                last => next[last as usize] = at as u32,
            }
            *last = at as u32;
        }
        next
    }

    fn new_nodes(&mut self) -> Result<(), Vec<Fault>> {
        let most = self.world.input.max_nodes;
        let mut room = self.world.room();
        let pools: Vec<u32> = self.world.pool_indices().filter(|&pool| room[pool as usize] > 0).collect();
        self.clear();
        for (at, &pool) in pools.iter().enumerate() {
            let holding = self.world.new_node(pool).holds[self.source as usize];
            self.enter(at as u32, holding);
        }
        let mut end = pools.len() as u32;
        while most.is_none_or(|most| (self.list.len() as u64) < most) {
            let Some((group, _)) = self.best(&|group, _| Who::Pool(pools[group as usize]))? else { break };
            let pool = pools[group as usize];
            let slot = self.world.new_slot(pool);
            let after = self.commit(group, slot);
            let node = self.world.new_node(pool);
            let holding = node.holds[self.source as usize];
            let node = self.world.with_holding(node, self.source, after);
            self.add(slot, node);
            room[pool as usize] -= 1;
            match room[pool as usize] {
                0 => self.retire(group),
                _ => self.requeue(group, end, holding),
            }
            end += 1; // a pool that was just taken stands behind the others
        }
        Ok(())
    }

    fn clear(&mut self) {
        self.groups.clear();
        self.queue.clear();
        self.stale.clear();
        self.watch.clear();
        self.watch.resize_with(self.trial.runs.len(), BinaryHeap::new);
    }

    fn enter(&mut self, at: u32, holding: u32) {
        self.stale.push(self.groups.len() as u32);
        self.groups.push(Group {
            at,
            holding,
            takes: Vec::new(),
            score: None,
            after: None,
            version: 0,
            stale: true,
        });
    }

    /// The group that takes next, with its place; `None` when nothing more can be placed.
    fn best(&mut self, who: &dyn Fn(u32, u32) -> Who) -> Result<Option<(u32, u32)>, Vec<Fault>> {
        if self.total_left == 0 {
            return Ok(None);
        }
        self.refresh(who)?;
        while let Some(candidate) = self.queue.pop() {
            if self.groups[candidate.group as usize].version == candidate.version {
                return Ok(Some((candidate.group, candidate.at.0)));
            }
        }
        Ok(None)
    }

    /// Tries again all whose last trial does not hold any more.
    fn refresh(&mut self, who: &dyn Fn(u32, u32) -> Who) -> Result<(), Vec<Fault>> {
        let mut mishaps = Vec::new();
        for number in core::mem::take(&mut self.stale) {
            let group = &mut self.groups[number as usize];
            if !core::mem::replace(&mut group.stale, false) {
                continue;
            }
            group.version += 1;
            group.after = None;
            let held = self.world.store.held(group.holding);
            match self.trial.run(&mut self.world.catalog, held, &mut group.takes) {
                Ok(score) => {
                    group.score = score;
                    for &(run, count) in &group.takes {
                        self.watch[run as usize].push((count, number, group.version));
                    }
                    self.stand(number);
                }
                Err(mishap) => mishaps.push((group.at, number, mishap)),
            }
        }
        if mishaps.is_empty() {
            return Ok(());
        }
        mishaps.sort_unstable_by_key(|mishap| mishap.0);
        Err(mishaps.into_iter().map(|(at, group, mishap)| self.fault(who(group, at), mishap)).collect())
    }

    /// Lets the group's first node take what it would; gives what it then holds.
    fn commit(&mut self, number: u32, slot: u32) -> u32 {
        let after = self.after(number);
        let takes = core::mem::take(&mut self.groups[number as usize].takes);
        for &(run, count) in &takes {
            self.trial.spend(run, count);
            self.total_left -= count;
            self.serve(slot, run, count);
            self.invalidate(run);
        }
        self.groups[number as usize].takes = takes;
        self.trial.forget_finished(&self.world.catalog);
        after
    }

    /// What the group's first node would hold, found by trying once more.
    fn after(&mut self, number: u32) -> u32 {
        let group = &mut self.groups[number as usize];
        if let Some(after) = group.after {
            return after;
        }
        let held = self.world.store.held(group.holding);
        let mut took = held.took.to_vec();
        let again = self.trial.run(&mut self.world.catalog, held, &mut group.takes);
        debug_assert!(again.is_ok(), "it went well when it was tried the first time");
        for &(run, _) in &group.takes {
            let shape = self.trial.runs[run as usize].shape;
            if !took.contains(&shape) {
                took.push(shape);
            }
        }
        let mut key = self.world.store.key(group.holding);
        key.labels = self.trial.labels;
        key.free = self.world.store.free_number(&self.trial.free);
        key.took = self.world.store.took_number(&took);
        let after = self.world.store.holding(key);
        group.after = Some(after);
        after
    }

    /// Marks those stale that would take more of the run than is left.
    fn invalidate(&mut self, run: u32) {
        let left = self.trial.left[run as usize];
        let watch = &mut self.watch[run as usize];
        while watch.peek().is_some_and(|top| top.0 > left) {
            let Some((_, number, version)) = watch.pop() else { return };
            let group = &mut self.groups[number as usize];
            if group.version == version && !group.stale {
                group.stale = true;
                self.stale.push(number);
            }
        }
    }

    fn serve(&mut self, slot: u32, run: u32, mut count: u64) {
        let sources = &self.trial.runs[run as usize].sources;
        let (source, done) = &mut self.served[run as usize];
        while count > 0 && *source < sources.len() {
            let (demand, of) = sources[*source];
            let some = count.min(of - *done);
            self.placed.push((slot, demand, some));
            (count, *done) = (count - some, *done + some);
            if *done == of {
                (*source, *done) = (*source + 1, 0);
            }
        }
    }

    fn add(&mut self, slot: u32, node: super::world::Node) {
        self.list.push(Entry { slot, node: self.world.nodes.len() as u32 });
        self.world.nodes.push(node);
    }

    fn retire(&mut self, number: u32) {
        let group = &mut self.groups[number as usize];
        group.version += 1;
        group.stale = false;
    }

    /// The next node of the group stands for it now.
    fn requeue(&mut self, number: u32, at: u32, holding: u32) {
        let group = &mut self.groups[number as usize];
        group.at = at;
        if group.holding != holding && !group.stale {
            group.stale = true;
            self.stale.push(number);
        }
        group.holding = holding;
        if !group.stale {
            self.stand(number);
        }
    }

    fn stand(&mut self, number: u32) {
        let group = &self.groups[number as usize];
        if let Some(score) = group.score {
            let (at, version) = (Reverse(group.at), group.version);
            self.queue.push(Candidate { score, at, group: number, version });
        }
    }

    fn fault(&self, who: Who, mishap: Mishap) -> Fault {
        if let Mishap::LabelConflict(run) = mishap {
            let (source, _) = self.served[run as usize];
            let demand = self.trial.runs[run as usize].sources[source].0;
            return Fault { record: Record::Demand(demand), code: FaultCode::LabelConflict };
        }
        let record = match who {
            Who::Pool(pool) => Record::Pool(pool as usize),
            Who::Entry(entry) => match self.world.node_ref(entry.slot) {
                NodeRef::Instance(instance) => Record::Instance(instance),
                NodeRef::New(_, pool) => Record::Pool(pool),
            },
        };
        Fault { record, code: FaultCode::UsedOutOfRange }
    }
}
