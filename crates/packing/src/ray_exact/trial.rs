//! What one node would take of the requests that are left, and how it would score.

use alloc::vec::Vec;

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

/// Demand that is left, and the room to try it in.
#[derive(Debug)]
pub(super) struct Trial<'r> {
    pub(super) runs: &'r [Run],
    /// By run: how many are left.
    pub(super) left: Vec<u64>,
    source: Source,
    conserve_gpu: bool,
    /// Runs with some left, in order.
    active: Vec<u32>,
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
            least: Vec::new(),
            free: alloc::vec![0.0; catalog.resources()],
            labels: 0,
            asked: alloc::vec![0; catalog.resources()],
            number: 0,
        };
        trial.forget_finished(catalog);
        trial
    }

    /// Drops runs of which nothing is left.
    pub(super) fn forget_finished(&mut self, catalog: &Catalog<'_>) {
        self.active = (0..self.runs.len() as u32).filter(|&run| self.left[run as usize] > 0).collect();
        let width = self.free.len();
        self.least.clear();
        self.least.resize(self.active.len() * width, 0.0);
        for at in (0..self.active.len()).rev() {
            let shape = &catalog.shapes[self.runs[self.active[at] as usize].shape as usize];
            for &(resource, amount) in shape.needs.iter() {
                let after = self.least.get((at + 1) * width + resource as usize).copied().unwrap_or(amount);
                self.least[at * width + resource as usize] = amount.min(after);
            }
        }
    }

    /// Whether a node with so much free could take anything at all, by resources alone.
    pub(super) fn some_fits(&self, catalog: &Catalog<'_>, free: &[u64]) -> bool {
        let fits = |shape: &Shape| {
            let mut needs = shape.needs.iter().filter(|need| need.1 > 0.0);
            needs.all(|need| f64::from_bits(free[need.0 as usize]) >= need.1)
        };
        let mut active = self.active.iter();
        active.any(|&run| fits(&catalog.shapes[self.runs[run as usize].shape as usize]))
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
        for at in 0..self.active.len() {
            if full {
                break;
            }
            let run = self.active[at];
            let left = self.left[run as usize];
            let shape = &catalog.shapes[self.runs[run as usize].shape as usize];
            if let Some(selectors) = shape.selectors
                && catalog.labels.preference(selectors, self.labels) == 0
            {
                continue;
            }
            let count = if shape.apart.is_empty() {
                fill(&mut self.free, shape, left)
            } else if catalog.labels.has_any(self.labels, &shape.apart) || fill(&mut self.free, shape, 1) == 0
            {
                0
            } else {
                let labels = catalog.labels.with(self.labels, &shape.apart);
                self.labels = labels.ok_or(Mishap::LabelConflict(run))?;
                1
            };
            if count > 0 {
                takes.push((run, count));
                full = self.is_full(at + 1);
            }
        }
        Ok(())
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

/// Takes as many of the shape as fit, at most `most`: amounts are subtracted one by one, as doubles, without
/// tolerance, so that ten times 0.1 need not fit into 1.
fn fill(free: &mut [f64], shape: &Shape, most: u64) -> u64 {
    let fits = |free: &[f64]| shape.needs.iter().all(|need| need.1 <= free[need.0 as usize]);
    if !fits(free) {
        return 0;
    }
    if let Some(count) = fill_exactly(free, shape, most) {
        return count;
    }
    let mut count = 0;
    while count < most && fits(free) {
        for &(resource, amount) in shape.needs.iter() {
            free[resource as usize] -= amount;
        }
        count += 1;
    }
    count
}

/// The same in one step, where all amounts are whole numbers, or multiples of 1/1024, that doubles hold and subtract
/// exactly.
fn fill_exactly(free: &mut [f64], shape: &Shape, most: u64) -> Option<u64> {
    let mut count = most;
    let needs = || shape.needs.iter().filter(|need| need.1 > 0.0);
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
