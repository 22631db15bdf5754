//! What goes into the room of machines that are there.

use super::{Bits, Group};
use alloc::vec::Vec;

/// Room on one machine.
#[derive(Debug, Clone)]
pub(crate) struct Spare {
    /// What is free; may be below zero.
    pub(crate) free: Vec<i64>,
    /// Which groups it takes, by its class: place in `takes` of [`spare`].
    pub(crate) class: usize,
}

/// So many of a group go to a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) spare: usize,
    pub(crate) group: usize,
    pub(crate) count: u64,
}

/// Fills the machines in the order in which they are given; `left` is what of each group has no place yet.
/// `takes`: the groups that each class of machines would take.
pub(crate) fn spare(groups: &[Group], takes: &[Bits], spares: &[Spare], left: &mut [u64]) -> Vec<Taken> {
    let width = groups.first().map_or(0, |group| group.ask.len());
    let mut taken = Vec::new();
    // Groups of each class, the one that asks for the most first.
    let order: Vec<Vec<usize>> = takes.iter().map(|takes| takes.iter().collect()).collect();
    let least: Vec<Vec<i64>> = order
        .iter()
        .map(|of| {
            (0..width).map(|c| of.iter().map(|&g| groups[g].ask[c]).min().unwrap_or(i64::MAX)).collect()
        })
        .collect();
    let mut active: Vec<usize> = Vec::new();
    let mut free: Vec<i64> = Vec::new();
    for (n, machine) in spares.iter().enumerate() {
        // Most full machines end here.
        if machine.free.iter().zip(&least[machine.class]).any(|(&free, &least)| least > 0 && free < least) {
            continue;
        }
        free.clone_from(&machine.free);
        active.clear();
        active.extend(order[machine.class].iter().copied().filter(|&g| left[g] > 0));
        loop {
            let mut best: Option<(u64, usize)> = None;
            active.retain(|&g| {
                let ask = &groups[g].ask;
                if left[g] == 0 || ask.iter().zip(&free).any(|(&ask, &free)| ask > 0 && ask > free) {
                    return false;
                }
                let score = alike(ask, &free, &machine.free);
                if best.is_none_or(|(most, _)| score > most) {
                    best = Some((score, g));
                }
                true
            });
            let Some((_, group)) = best else { break };
            let ask = &groups[group].ask;
            let fits =
                |(&ask, &free): (&i64, &i64)| if ask > 0 { (free / ask).unsigned_abs() } else { u64::MAX };
            let fits = ask.iter().zip(&free).map(fits).min().unwrap_or(u64::MAX).min(left[group]);
            let count = (fits / 8).max(1);
            free.iter_mut().zip(ask).for_each(|(free, ask)| *free -= ask * count as i64);
            left[group] -= count;
            match taken.last_mut() {
                Some(Taken { spare, group: last, count: so_far }) if *spare == n && *last == group => {
                    *so_far += count;
                }
                _ => taken.push(Taken { spare: n, group, count }),
            }
        }
    }
    taken
}

/// How large the request is and how much of the proportions of the room; of a machine that had `all`.
fn alike(ask: &[i64], free: &[i64], all: &[i64]) -> u64 {
    let mut score = 0_u64;
    for c in 0..ask.len() {
        if all[c] > 0 && ask[c] > 0 {
            let asked = share(ask[c], all[c]);
            let left = share(free[c].max(0), all[c]);
            score += asked * left;
        }
    }
    score
}

/// `part` of `all`, in 2^-20.
fn share(part: i64, all: i64) -> u64 {
    let (part, all) = (part.unsigned_abs(), all.unsigned_abs());
    // Bytes and the like are brought down first, so that nothing overflows.
    let down = 21_u32.saturating_sub(part.leading_zeros());
    ((part >> down) << 20) / (all >> down).max(1)
}
