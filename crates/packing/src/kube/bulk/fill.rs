//! What one machine would hold of the requests that are left.

use super::{Ask, Kind, worth};
use alloc::vec::Vec;

/// Fractional bits of a scaled column: the norm of the column is `1 << SCALE`.
const SCALE: u32 = 20;

/// The question, laid out for speed.
pub(super) struct Scene<'a> {
    pub(super) ask: &'a Ask<'a>,
    pub(super) width: usize,
    /// What one of each group asks for, group after group.
    asks: Vec<i64>,
    /// The same in parts of the column's norm.
    scaled: Vec<i64>,
    /// What one of each group is worth, in `2^-FINE` of a price.
    pub(super) worth: Vec<i64>,
    pub(super) kinds: Vec<Sort>,
}

/// A kind, laid out for speed.
pub(super) struct Sort {
    /// What is filled of it: the least of all kinds that are alike, so that they may stand for each other.
    pub(super) fills: Vec<i64>,
    /// The same in parts of the column's norm.
    scaled: Vec<i64>,
    /// Never zero.
    pub(super) price: u64,
    /// Groups that one may take, by place.
    pub(super) takers: Vec<usize>,
    /// What it could hold is worth no more than this.
    pub(super) most: i64,
    /// Takes part in this turn.
    pub(super) open: bool,
    /// Kinds that are as good, itself among them.
    pub(super) alike: Vec<usize>,
}

/// How the next request for a machine is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// What is most like the room that is left: large, and of its proportions.
    Alike,
    /// What is worth the most.
    Dearest,
    /// What leaves the room in the best proportions.
    Level,
    /// What is worth the least: as many as can be.
    Least,
}

/// What one machine holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) holds: Vec<(usize, u64)>,
    pub(super) worth: i64,
    pub(super) pods: u64,
    /// What stays free of the first two columns, in parts of the norm.
    pub(super) waste: i64,
}

/// Room that is used again and again.
#[derive(Default)]
pub(super) struct Scratch {
    active: Vec<usize>,
    free: Vec<i64>,
    free_scaled: Vec<i64>,
    weight: Vec<i64>,
}

impl Sort {
    /// The first two columns together, in parts of the norm.
    pub(super) fn size(&self) -> i64 {
        self.scaled.iter().take(2).sum()
    }
}

impl<'a> Scene<'a> {
    pub(super) fn of(ask: &'a Ask<'a>) -> Self {
        let width = ask.kinds.first().map_or(0, |kind| kind.has.len());
        let norm: Vec<i64> =
            (0..width).map(|c| ask.kinds.iter().map(|kind| kind.has[c]).max().unwrap_or(0).max(1)).collect();
        let part = |amount: i64, c: usize| {
            let part = (i128::from(amount.max(0)) << SCALE) / i128::from(norm[c]);
            i64::try_from(part).unwrap_or(i64::MAX).min(1 << (SCALE + 4))
        };
        let scale = |columns: &[i64]| -> Vec<i64> {
            columns.iter().enumerate().map(|(c, &amount)| part(amount, c)).collect()
        };
        let unpriced = ask.kinds.iter().all(|kind| kind.price == 0);
        let mut kinds: Vec<Sort> = Vec::new();
        for (n, kind) in ask.kinds.iter().enumerate() {
            let fits = |g: &usize| {
                let group = &ask.groups[*g];
                group.kinds.has(n) && group.ask.iter().zip(&kind.has).all(|(&ask, &has)| ask <= has)
            };
            let scaled = scale(&kind.has);
            // Without any price the sizes stand for it.
            let price = if unpriced { scaled.iter().take(2).sum::<i64>().unsigned_abs() } else { kind.price };
            kinds.push(Sort {
                fills: kind.has.clone(),
                scaled,
                price: price.clamp(1, 1 << 36),
                takers: (0..ask.groups.len()).filter(fits).collect(),
                most: 0,
                open: false,
                alike: alloc::vec![n],
            });
        }
        let asks = ask.groups.iter().flat_map(|group| group.ask.iter().copied()).collect();
        let scaled = ask.groups.iter().flat_map(|group| scale(&group.ask)).collect();
        let mut scene = Self { ask, width, asks, scaled, worth: Vec::new(), kinds };
        scene.find_alike(&scale);
        scene
    }

    /// Kinds of one price and nearly one size that take the same groups may stand for each other.
    fn find_alike(&mut self, scale: &dyn Fn(&[i64]) -> Vec<i64>) {
        let mut by_price: Vec<usize> = (0..self.kinds.len()).collect();
        by_price.sort_by_key(|&k| (self.ask.kinds[k].price, k));
        for run in by_price.chunk_by(|&a, &b| self.ask.kinds[a].price == self.ask.kinds[b].price) {
            for &a in run {
                let alike = |&b: &usize| are_alike(&self.ask.kinds[a], &self.ask.kinds[b]);
                let mut others: Vec<usize> = run.iter().copied().filter(alike).collect();
                others.retain(|&b| self.kinds[b].takers == self.kinds[a].takers);
                if others.len() < 2 {
                    continue;
                }
                let least = |c: usize| others.iter().map(|&b| self.ask.kinds[b].has[c]).min().unwrap_or(0);
                let fills: Vec<i64> = (0..self.width).map(least).collect();
                let kind = &self.kinds[a];
                // The least of all must still take what each would.
                if kind.takers.iter().all(|&g| self.ask_of(g).iter().zip(&fills).all(|(a, f)| a <= f)) {
                    self.kinds[a].scaled = scale(&fills);
                    self.kinds[a].fills = fills;
                    self.kinds[a].alike = others;
                }
            }
        }
    }

    /// Lets only these kinds take part, and prices the groups by them.
    pub(super) fn only(&mut self, ask: &Ask<'_>, takes_part: impl Fn(&Kind) -> bool) {
        for (sort, kind) in self.kinds.iter_mut().zip(ask.kinds) {
            sort.open = takes_part(kind) && kind.room > 0;
        }
        let groups = ask.groups.len();
        let mut served: Vec<Vec<usize>> = alloc::vec![Vec::new(); groups];
        for (k, sort) in self.kinds.iter().enumerate().filter(|(_, sort)| sort.open) {
            sort.takers.iter().for_each(|&g| served[g].push(k));
        }
        let mut classes: Vec<usize> = (0..groups).filter(|&g| !served[g].is_empty()).collect();
        classes.sort_by(|&a, &b| (&served[a], a).cmp(&(&served[b], b)));
        self.worth = alloc::vec![0; groups];
        let mut most = alloc::vec![alloc::vec![0_i64; self.width]; self.kinds.len()];
        for class in classes.chunk_by(|&a, &b| served[a] == served[b]) {
            let by = &served[class[0]];
            let machines: Vec<(&[i64], u64)> =
                by.iter().map(|&k| (&*self.kinds[k].scaled, self.kinds[k].price)).collect();
            let mut demand = alloc::vec![0_i128; self.width];
            for &g in class {
                for (sum, &part) in demand.iter_mut().zip(self.scaled_of(g)) {
                    *sum += i128::from(part) * i128::from(ask.groups[g].count);
                }
            }
            let price = worth::columns(&machines, &demand);
            for &g in class {
                let value = |(&part, &price): (&i64, &i64)| i128::from(part) * i128::from(price);
                let value: i128 = self.scaled_of(g).iter().zip(&price).map(value).sum();
                self.worth[g] = i64::try_from(value >> SCALE).unwrap_or(i64::MAX >> 16).max(1);
            }
            for &k in by {
                most[k].iter_mut().zip(&price).for_each(|(most, &price)| *most = (*most).max(price));
            }
        }
        for (sort, price) in self.kinds.iter_mut().zip(most) {
            let value = |(&part, &price): (&i64, &i64)| i128::from(part) * i128::from(price);
            let value: i128 = sort.scaled.iter().zip(&price).map(value).sum();
            sort.most = i64::try_from(value >> SCALE).unwrap_or(i64::MAX >> 16);
        }
    }

    pub(super) fn ask_of(&self, g: usize) -> &[i64] {
        &self.asks[g * self.width..][..self.width]
    }

    fn scaled_of(&self, g: usize) -> &[i64] {
        &self.scaled[g * self.width..][..self.width]
    }

    /// What a new machine of this kind would hold.
    pub(super) fn load(&self, k: usize, left: &[u64], rule: Rule, scratch: &mut Scratch) -> Load {
        let sort = &self.kinds[k];
        scratch.free.clone_from(&sort.fills);
        scratch.free_scaled.clone_from(&sort.scaled);
        scratch.active.clone_from(&sort.takers);
        self.fill(left, rule, scratch)
    }

    /// What would go into this room beside what is there.
    pub(super) fn top_up(
        &self,
        free: &[i64],
        takers: &[usize],
        left: &[u64],
        rule: Rule,
        scratch: &mut Scratch,
        k: usize,
    ) -> Load {
        scratch.free.clear();
        scratch.free.extend_from_slice(free);
        scratch.free_scaled.clear();
        let sort = &self.kinds[k];
        scratch.free_scaled.extend(free.iter().zip(&sort.fills).zip(&sort.scaled).map(
            |((&free, &all), &part)| {
                if all > 0 { (i128::from(part) * i128::from(free) / i128::from(all)) as i64 } else { 0 }
            },
        ));
        scratch.active.clear();
        scratch.active.extend_from_slice(takers);
        self.fill(left, rule, scratch)
    }

    /// One request after the other, by the rule, until none fits any more.
    fn fill(&self, left: &[u64], rule: Rule, scratch: &mut Scratch) -> Load {
        let Scratch { active, free, free_scaled, weight } = scratch;
        weight.clear();
        // Each column counts by its part of this machine.
        weight.extend(free_scaled.iter().map(|&free| if free > 0 { (1_i64 << 40) / free / free } else { 0 }));
        let mut load = Load::default();
        let taken = |load: &Load, g: usize| {
            load.holds.iter().find(|(held, _)| *held == g).map_or(0, |(_, count)| *count)
        };
        active.retain(|&g| left[g] > 0);
        loop {
            let mut best: Option<(i64, usize)> = None;
            active.retain(|&g| {
                let ask = &self.asks[g * self.width..][..self.width];
                if !ask.iter().zip(&*free).all(|(ask, free)| ask <= free) {
                    return false;
                }
                let score = match rule {
                    Rule::Alike => {
                        let scaled = &self.scaled[g * self.width..][..self.width];
                        let mut score = 0;
                        for c in 0..self.width {
                            score += scaled[c] * free_scaled[c] * weight[c];
                        }
                        score
                    }
                    Rule::Dearest => self.worth[g],
                    Rule::Least => -self.worth[g],
                    Rule::Level => {
                        let scaled = &self.scaled[g * self.width..][..self.width];
                        level(scaled, free_scaled, weight) + (self.worth[g] >> 40)
                    }
                };
                if best.is_none_or(|(most, _)| score > most) {
                    best = Some((score, g));
                }
                true
            });
            let Some((_, g)) = best else { break };
            let here = left[g] - taken(&load, g);
            let fits = |(&ask, &free): (&i64, &i64)| if ask > 0 { (free / ask).unsigned_abs() } else { here };
            let fits = self.ask_of(g).iter().zip(&*free).map(fits).min().unwrap_or(here).min(here);
            // A part of what fits at once: the proportions shift with what is put in.
            let count = (fits / 8).max(1);
            self.put(g, count, free, free_scaled);
            match load.holds.iter_mut().find(|(held, _)| *held == g) {
                Some((_, held)) => *held += count,
                None => load.holds.push((g, count)),
            }
            load.worth = load.worth.saturating_add(self.worth[g].saturating_mul(count as i64));
            load.pods += count;
            if here == count {
                active.retain(|&other| other != g);
            }
        }
        load.waste = free_scaled.iter().take(2).map(|&free| free.max(0)).sum();
        load.holds.sort_unstable();
        load
    }

    fn put(&self, g: usize, count: u64, free: &mut [i64], free_scaled: &mut [i64]) {
        let scaled = &self.scaled[g * self.width..][..self.width];
        for c in 0..self.width {
            free[c] -= self.asks[g * self.width + c] * count as i64;
            free_scaled[c] = (free_scaled[c] - scaled[c] * count as i64).max(0);
        }
    }

    /// What a machine with this load has left of what is filled.
    pub(super) fn free_after(&self, has: &[i64], holds: &[(usize, u64)]) -> Vec<i64> {
        let mut free = has.to_vec();
        for &(g, count) in holds {
            free.iter_mut().zip(self.ask_of(g)).for_each(|(free, ask)| *free -= ask * count as i64);
        }
        free
    }
}

/// The share that is left of the scarcest column against that of the most plentiful, after this request.
fn level(ask: &[i64], free: &[i64], weight: &[i64]) -> i64 {
    let (mut least, mut most) = (i64::MAX, 0);
    for c in 0..ask.len().min(2) {
        if weight[c] > 0 {
            let after = (free[c] - ask[c]).max(0) * (weight[c].isqrt());
            least = least.min(after);
            most = most.max(after);
        }
    }
    least.saturating_sub(most)
}

/// Of the same price and, column by column, of nearly the same size.
pub(crate) fn are_alike(a: &Kind, b: &Kind) -> bool {
    let near = |(&a, &b): (&i64, &i64)| (i128::from(a) - i128::from(b)).abs() * 20 <= i128::from(a.max(b));
    a.price == b.price
        && a.priority == b.priority
        && a.doubtful == b.doubtful
        && a.room > 0
        && b.room > 0
        && a.has.iter().zip(&b.has).all(near)
}
