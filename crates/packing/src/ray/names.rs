//! Resource names become small numbers, so that fitting compares arrays and no text.

use crate::problem::Problem;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use ostler_model::{Resources, Shape};

/// Every machine has one of whatever carries this prefix (Ray: `IMPLICIT_RESOURCE_PREFIX`).
const IMPLICIT: &str = "node:__internal_implicit_resource_";

/// What a machine with it costs so much more for that it should not idle: Ray's names of accelerators.
const ACCELERATORS: [&str; 5] = ["GPU", "HPU", "NPU", "TPU", "neuron_cores"];

/// The amount of an implicit resource: one unit, in ten-thousandths.
const ONE: i128 = 10_000;

/// The names that some pool declares or some request asks for. All others (a node's own `node:10.0.0.1`, what a
/// placed group holds) can change no decision and are left out.
pub(super) struct Names<'a> {
    index: BTreeMap<&'a str, usize>,
    implicit: Vec<usize>,
    /// The number of `GPU`.
    pub(super) gpu: Option<usize>,
    /// The numbers of accelerators.
    pub(super) accelerators: Vec<usize>,
}

impl<'a> Names<'a> {
    pub(super) fn of(problem: &'a Problem) -> Self {
        let mut names: BTreeSet<&str> = BTreeSet::new();
        let mut add = |resources: &'a Resources| {
            names.extend(resources.0.iter().filter(|(_, a)| a.as_ten_thousandths() > 0).map(|(n, _)| &**n));
        };
        problem.pools.iter().for_each(|option| add(&option.pool.resources));
        shapes(problem).for_each(|shape| add(&shape.resources));
        let index: BTreeMap<&str, usize> = names.into_iter().enumerate().map(|(n, name)| (name, n)).collect();
        let implicit = index.iter().filter(|(n, _)| n.starts_with(IMPLICIT)).map(|(_, &i)| i).collect();
        let accelerators = ACCELERATORS.iter().filter_map(|name| index.get(name).copied()).collect();
        let gpu = index.get("GPU").copied();
        Self { index, implicit, gpu, accelerators }
    }
    pub(super) fn len(&self) -> usize {
        self.index.len()
    }
    /// The name behind a number.
    pub(super) fn name(&self, number: usize) -> &'a str {
        self.index.iter().find(|(_, n)| **n == number).map_or("", |(name, _)| name)
    }
    pub(super) fn get(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }
    /// Amounts by number, nothing below zero; implicit resources that are not named are one.
    pub(super) fn amounts(&self, resources: &Resources) -> Vec<i128> {
        let mut out = alloc::vec![0; self.len()];
        for &i in &self.implicit {
            out[i] = ONE;
        }
        for (name, amount) in resources.iter() {
            if let Some(i) = self.get(name) {
                out[i] = amount.as_ten_thousandths().max(0);
            }
        }
        out
    }
}

/// Every shape that the problem asks for.
pub(super) fn shapes(problem: &Problem) -> impl Iterator<Item = &Shape> {
    let tasks = problem.tasks.iter().map(|task| &task.shape);
    let sets = problem.gangs.iter().flat_map(|g| core::iter::once(&g.bundles).chain(&g.fallbacks));
    let bundles = sets.flatten().map(|bundle| &bundle.shape);
    let floors = problem.floors.iter().flat_map(|floor| &floor.tasks).map(|task| &task.shape);
    tasks.chain(bundles).chain(floors)
}
