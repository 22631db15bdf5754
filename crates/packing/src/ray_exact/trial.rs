//! What one node would take of the requests that are left, and how it would score.

use alloc::vec::Vec;
use core::ops::Range;

use super::catalog::{Catalog, Run, Shape};
use super::class::Class;
use super::score::{Score, least_and_mean};
use super::store::Held;
use super::world::Source;

/// What a node takes: run and count, in the order in which they are tried.
pub(super) type Takes = Vec<(u32, u64)>;

/// Why Ray would fail on this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mishap {
    /// A share in use below 0 or above 1.
    UsedOutOfRange,
    /// This run would give the node a second value for a label.
    LabelConflict(u32),
}

/// A run with some left, with what is looked at most often.
#[derive(Debug)]
struct Active {
    run: u32,
    shape: u32,
    /// Part of the needs.
    needs: Range<usize>,
    /// It asks for nothing but resources.
    plain: bool,
}

/// Demand that is left, and the room to try it in.
#[derive(Debug)]
pub(super) struct Trial<'r> {
    pub(super) runs: &'r [Run],
    /// By run: how many are left.
    pub(super) left: Vec<u64>,
    source: Source,
    conserve_gpu: bool,
    /// Runs with some left, in order.
    active: Vec<Active>,
    /// How many of them have none left by now.
    finished: usize,
    /// What they need, one after the other.
    needs: Vec<(u32, f64)>,
    /// By active run and resource: what each run from there on needs at least.
    least: Vec<f64>,
    pub(super) free: Vec<f64>,
    pub(super) labels: u32,
    /// By resource: number of the trial that last asked for it.
    asked: Vec<u32>,
    number: u32,
}

impl<'r> Trial<'r> {
    pub(super) fn new(runs: &'r [Run], catalog: &Catalog<'_>, source: Source, conserve_gpu: bool) -> Self {
        let mut trial = Self {
            runs,
            left: runs.iter().map(|run| run.count).collect(),
            source,
            conserve_gpu,
            active: Vec::new(),
            finished: 0,
            needs: Vec::new(),
            least: Vec::new(),
            free: alloc::vec![0.0; catalog.resources()],
            labels: 0,
            asked: alloc::vec![0; catalog.resources()],
            number: 0,
        };
        trial.find_active(catalog);
        trial
    }

    /// Takes some of a run away.
    pub(super) fn spend(&mut self, run: u32, count: u64) {
        let left = &mut self.left[run as usize];
        *left -= count;
        self.finished += usize::from(*left == 0);
    }

    /// Drops runs of which nothing is left, once they are so many that it pays.
    pub(super) fn forget_finished(&mut self, catalog: &Catalog<'_>) {
        const PAYS: usize = 64; // one of so many active runs
        if self.finished > 0 && self.finished * PAYS >= self.active.len() {
            self.find_active(catalog);
        }
    }

    fn find_active(&mut self, catalog: &Catalog<'_>) {
        self.finished = 0;
        self.active.clear();
        self.needs.clear();
        for (run, _) in self.left.iter().enumerate().filter(|(_, left)| **left > 0) {
            let number = self.runs[run].shape;
            let shape = &catalog.shapes[number as usize];
            let start = self.needs.len();
            self.needs.extend(shape.needs.iter());
            let (needs, plain) = (start..self.needs.len(), shape.is_plain());
            self.active.push(Active { run: run as u32, shape: number, needs, plain });
        }
        self.find_least();
    }

    fn find_least(&mut self) {
        let width = self.free.len();
        self.least.clear();
        self.least.resize(self.active.len() * width, 0.0);
        for at in (0..self.active.len()).rev() {
            for &(resource, amount) in &self.needs[self.active[at].needs.clone()] {
                let after = self.least.get((at + 1) * width + resource as usize).copied().unwrap_or(amount);
                self.least[at * width + resource as usize] = amount.min(after);
            }
        }
    }

    /// Whether a node with so much free could take anything at all, by resources alone.
    pub(super) fn some_fits(&self, free: &[u64]) -> bool {
        let covers = |need: &(u32, f64)| need.1 <= 0.0 || f64::from_bits(free[need.0 as usize]) >= need.1;
        self.active.iter().any(|active| self.needs[active.needs.clone()].iter().all(covers))
    }

    /// Fills `takes`. `free` and `labels` are afterwards what the node would have.
    pub(super) fn run(
        &mut self,
        catalog: &mut Catalog<'_>,
        node: Held<'_>,
        takes: &mut Takes,
    ) -> Result<Option<Score>, Mishap> {
        takes.clear();
        self.labels = node.labels;
        for (free, bits) in self.free.iter_mut().zip(node.free) {
            *free = f64::from_bits(*bits);
        }
        self.take(catalog, takes)?;
        let score = self.score(catalog, node, takes)?;
        Ok((!takes.is_empty()).then_some(score))
    }

    fn take(&mut self, catalog: &mut Catalog<'_>, takes: &mut Takes) -> Result<(), Mishap> {
        let mut full = self.is_full(0);
        for (at, active) in self.active.iter().enumerate() {
            if full {
                break;
            }
            let needs = &self.needs[active.needs.clone()];
            if !fits(&self.free, needs) {
                continue;
            }
            let left = self.left[active.run as usize];
            let most = if active.plain { left } else { self.most(catalog, active, left) };
            let count = fill(&mut self.free, needs, most);
            if count > 0 {
                self.labels = self.labels_after(catalog, active)?;
                takes.push((active.run, count));
                full = self.is_full(at + 1);
            }
        }
        Ok(())
    }

    /// How many of the run its selectors and labels allow on the node.
    fn most(&self, catalog: &mut Catalog<'_>, active: &Active, left: u64) -> u64 {
        let shape = &catalog.shapes[active.shape as usize];
        let selected =
            shape.selectors.is_none_or(|number| catalog.labels.preference(number, self.labels) > 0);
        match shape.apart.is_empty() {
            _ if !selected => 0,
            true => left,
            false => left.min(u64::from(!catalog.labels.has_any(self.labels, &shape.apart))),
        }
    }

    /// The labels of the node when it has taken some of the run.
    fn labels_after(&self, catalog: &mut Catalog<'_>, active: &Active) -> Result<u32, Mishap> {
        let apart = &catalog.shapes[active.shape as usize].apart;
        if active.plain || apart.is_empty() {
            return Ok(self.labels);
        }
        catalog.labels.with(self.labels, apart).ok_or(Mishap::LabelConflict(active.run))
    }

    /// Whether each run from here on needs more of something than there is.
    fn is_full(&self, at: usize) -> bool {
        let width = self.free.len();
        let Some(least) = self.least.get(at * width..(at + 1) * width) else { return false };
        least.iter().zip(&self.free).any(|(&least, &free)| least > free.max(0.0))
    }

    fn score(&mut self, catalog: &mut Catalog<'_>, node: Held<'_>, takes: &Takes) -> Result<Score, Mishap> {
        self.number += 1;
        let (mut preference, mut names_gpu, mut resources) = (0, false, 0);
        let taken = takes.iter().map(|take| self.runs[take.0 as usize].shape);
        for number in node.took.iter().copied().chain(taken) {
            let shape = &catalog.shapes[number as usize];
            names_gpu |= shape.names_gpu;
            resources += ask(&mut self.asked, self.number, shape, node.class);
            if let Some(selectors) = shape.selectors.filter(|_| preference == 0) {
                preference = catalog.labels.preference(selectors, self.labels);
            }
        }
        let terms = &node.class.terms[self.source as usize];
        let asked = |resource| self.asked[resource as usize] == self.number;
        let (least, mean) = least_and_mean(terms, &self.free, asked).ok_or(Mishap::UsedOutOfRange)?;
        let gpu_ok = !self.conserve_gpu || !node.class.gpu || names_gpu;
        Ok(Score { preference, gpu_ok, resources, least, mean, rank: node.class.rank })
    }
}

/// Marks what the shape asks for; how many of these the node has that no shape asked for before.
fn ask(asked: &mut [u32], number: u32, shape: &Shape, class: &Class) -> u32 {
    let mut new = 0;
    for &(resource, amount) in shape.needs.iter() {
        if amount > 0.0 && asked[resource as usize] != number {
            asked[resource as usize] = number;
            new += u32::from(class.has[resource as usize]);
        }
    }
    new
}

/// Whether there is as much of all as is needed, as doubles, without tolerance.
fn fits(free: &[f64], needs: &[(u32, f64)]) -> bool {
    needs.iter().all(|need| need.1 <= free[need.0 as usize])
}

/// Takes as many as fit, at most `most`. Amounts are subtracted one by one, so that twenty times 0.1 do not fit into 2.
fn fill(free: &mut [f64], needs: &[(u32, f64)], most: u64) -> u64 {
    const SINGLY: u64 = 4; // most nodes take few of one shape; what is faster for many is slower for these
    let mut count = 0;
    while count < most && fits(free, needs) {
        if count == SINGLY
            && let Some(more) = fill_exactly(free, needs, most - count)
        {
            return count + more;
        }
        for &(resource, amount) in needs {
            free[resource as usize] -= amount;
        }
        count += 1;
    }
    count
}

/// The same in one step, where all amounts are whole numbers, or multiples of 1/1024, that doubles hold and subtract
/// exactly.
fn fill_exactly(free: &mut [f64], needs: &[(u32, f64)], most: u64) -> Option<u64> {
    let mut count = most;
    let needs = || needs.iter().filter(|need| need.1 > 0.0);
    for &(resource, amount) in needs() {
        let (free, amount, _) = whole(free[resource as usize], amount)?;
        count = count.min(free / amount);
    }
    for &(resource, amount) in needs() {
        let (whole, amount, unit) = whole(free[resource as usize], amount)?;
        free[resource as usize] = (whole - count * amount) as f64 * unit;
    }
    Some(count)
}

/// Both numbers in whole units, and the unit.
fn whole(a: f64, b: f64) -> Option<(u64, u64, f64)> {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53: doubles hold each whole number up to here
    for unit in [1.0, 1.0 / 1024.0] {
        let (a, b) = (a / unit, b / unit);
        let (whole_a, whole_b) = (a as u64, b as u64);
        if a < EXACT && b <= a && whole_a as f64 == a && whole_b as f64 == b {
            return Some((whole_a, whole_b, unit));
        }
    }
    None
}
