//! Candidates compete for requests: again and again the best takes what it can.
//!
//! What a candidate would take stays true until fewer are left of a request than it takes. So each is judged once,
//! and again only then, and one that stays the best takes many times in one step.

use super::fit::{Ask, Takes, fill};
use super::ledger::Slot;
use super::mark::Mark;
use super::pass::{Pick, Work, spec};
use super::score::{Filled, Rule, Score, score};
use super::world::World;
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::cmp::Reverse;

/// Candidates that compete for requests.
pub(super) struct Race<'r, 'a> {
    world: &'r World<'a>,
    work: &'r Work,
    rule: Rule,
    slots: &'r [Slot],
    supply: Vec<(usize, u64)>,
    /// What is left on the candidate that is being judged.
    scratch: RefCell<Vec<i128>>,
}

/// What a candidate would take.
#[derive(Default)]
struct Offer {
    takes: Takes,
    /// Changes with every new judgement; an entry of the queue with another number is void.
    version: u32,
    turn: u32,
}

type Queue = BinaryHeap<(Score, Reverse<(u32, u32)>, u32)>;

impl<'r, 'a> Race<'r, 'a> {
    pub(super) fn new(
        world: &'r World<'a>,
        work: &'r Work,
        rule: Rule,
        slots: &'r [Slot],
        supply: Vec<(usize, u64)>,
    ) -> Self {
        Self { world, work, rule, slots, supply, scratch: RefCell::default() }
    }

    /// Runs until nobody can take anything, or `limit` machines have taken.
    pub(super) fn run(&mut self, ask: &mut Ask, mut limit: u64, in_turns: bool, picks: &mut Vec<Pick>) {
        let mut offers: Vec<Offer> = self.supply.iter().map(|_| Offer::default()).collect();
        let mut queue = Queue::new();
        // For each item who takes how many of it, at most `most` of them at once.
        let mut takers: Vec<Vec<usize>> = ask.items.iter().map(|_| Vec::new()).collect();
        let mut most: Vec<u64> = alloc::vec![0; ask.items.len()];
        for (n, offer) in offers.iter_mut().enumerate() {
            offer.turn = n as u32;
            self.judge(n, ask, offer, &mut queue, &mut takers, &mut most);
        }
        let mut turn = self.supply.len() as u32;
        while limit > 0 {
            let Some((best, Reverse((_, n)), version)) = queue.pop() else { break };
            let n = n as usize;
            if offers[n].version != version {
                continue;
            }
            let tied = in_turns && queue.peek().is_some_and(|(other, ..)| *other == best);
            let (slot, supply) = self.supply[n];
            let count = if tied { 1 } else { steady(&offers[n].takes, ask, &most).min(supply).min(limit) };
            for &(item, takes) in &offers[n].takes {
                ask.items[item].left -= takes * count;
            }
            if offers[n].takes.iter().any(|&(item, _)| ask.items[item].left == 0) {
                ask.refresh(self.world);
            }
            picks.push(Pick { slot, count, takes: offers[n].takes.clone() });
            limit -= count;
            self.supply[n].1 -= count;
            if in_turns {
                offers[n].turn = turn;
                turn = turn.saturating_add(1);
            }
            if self.supply[n].1 > 0 {
                queue.push((best, Reverse((offers[n].turn, n as u32)), version));
            } else {
                offers[n].version = offers[n].version.wrapping_add(1);
                offers[n].takes.clear();
            }
            let taken = picks.last().map(|pick| pick.takes.clone()).unwrap_or_default();
            self.review(&taken, ask, &mut offers, &mut queue, &mut takers, &mut most);
        }
    }

    /// Judges those again that counted on more of a request than is left.
    fn review(
        &self,
        taken: &Takes,
        ask: &Ask,
        offers: &mut [Offer],
        queue: &mut Queue,
        takers: &mut [Vec<usize>],
        most: &mut [u64],
    ) {
        for &(item, _) in taken {
            let left = ask.items[item].left;
            if left >= most[item] {
                continue;
            }
            let takes = |offer: &Offer| offer.takes.iter().find(|(i, _)| *i == item).map_or(0, |(_, n)| *n);
            let (stale, fine): (Vec<_>, Vec<_>) =
                core::mem::take(&mut takers[item]).into_iter().partition(|&n| takes(&offers[n]) > left);
            most[item] = fine.iter().map(|&n| takes(&offers[n])).max().unwrap_or(0);
            takers[item] = fine.into_iter().filter(|&n| takes(&offers[n]) > 0).collect();
            takers[item].sort_unstable();
            takers[item].dedup();
            for n in stale {
                if takes(&offers[n]) > left {
                    self.judge(n, ask, &mut offers[n], queue, takers, most);
                }
            }
        }
    }

    fn judge(
        &self,
        n: usize,
        ask: &Ask,
        offer: &mut Offer,
        queue: &mut Queue,
        takers: &mut [Vec<usize>],
        most: &mut [u64],
    ) {
        offer.version = offer.version.wrapping_add(1);
        let slot = &self.slots[self.supply[n].0];
        let spec = spec(self.world, slot.kind);
        let mut scratch = self.scratch.borrow_mut();
        let free: &mut Vec<i128> = &mut scratch;
        free.clone_from(&slot.free);
        fill(self.world, ask, spec.class, free, &mut offer.takes);
        self.work.add(1 + offer.takes.len());
        if offer.takes.is_empty() || self.supply[n].1 == 0 {
            return;
        }
        for &(item, takes) in &offer.takes {
            takers[item].push(n);
            most[item] = most[item].max(takes);
        }
        let mark = Mark::of(self.world, self.rule, slot, spec, ask, &offer.takes);
        let conserve = self.world.problem.conserve_gpu;
        let has_gpu = self.world.names.gpu.is_some_and(|gpu| spec.total[gpu] > 0);
        let gpu = if self.rule == Rule::Raw { mark.gpu_named } else { mark.gpu };
        let filled = Filled {
            spec,
            free,
            label: mark.label,
            gpu_ok: !conserve || !has_gpu || gpu,
            touched: mark.touched,
        };
        let score = score(self.rule, &filled, &self.world.weights);
        queue.push((score, Reverse((offer.turn, n as u32)), offer.version));
    }
}

/// How many machines may take the same before any candidate would have to be judged again.
fn steady(takes: &Takes, ask: &Ask, most: &[u64]) -> u64 {
    let spare = |&(item, n): &(usize, u64)| ask.items[item].left.saturating_sub(most[item]) / n;
    takes
        .iter()
        .map(spare)
        .min()
        .unwrap_or(0)
        .saturating_add(1)
        .min(takes.iter().map(|&(item, n)| ask.items[item].left / n).min().unwrap_or(1))
}
