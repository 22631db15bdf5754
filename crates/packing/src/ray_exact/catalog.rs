//! All demand, once: names become numbers, equal requests become one run with a count.

use alloc::vec::Vec;

use super::decision::{Demand, Record};
use super::input::{Amounts, Input, Request};
use super::intern::{List, Names};
use super::labels::{Label, Labels};
use super::order::{self, SortKey};
use super::screen::LeftOut;

/// Every node has 1.0 of each resource whose name starts so.
const IMPLICIT: &str = "node:__internal_implicit_resource_";

/// What demand names. Resources that no request names are none of its business.
#[derive(Debug)]
pub(super) struct Catalog<'a> {
    resources: Names<'a>,
    /// By resource: what a node has of it that does not name it, 1.0 or 0.0.
    pub(super) defaults: Vec<f64>,
    pub(super) labels: Labels<'a>,
    pub(super) shapes: Vec<Shape>,
}

/// What one request needs. Two shapes may be equal.
#[derive(Debug, PartialEq)]
pub(super) struct Shape {
    /// Resource and amount; zeros are kept.
    pub(super) needs: List<(u32, f64)>,
    /// It names GPU, be it 0 of it.
    pub(super) names_gpu: bool,
    pub(super) selectors: Option<u32>,
    /// Its selectors hold for every node.
    pub(super) any_node: bool,
    /// Not on a node with one of these labels; leaves them on the node that it takes.
    pub(super) apart: List<Label>,
}

impl Shape {
    /// It asks for nothing but resources.
    pub(super) fn is_plain(&self) -> bool {
        self.any_node && self.apart.is_empty()
    }
}

/// Equal requests that follow each other in the order in which they are tried.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) shape: u32,
    pub(super) count: u64,
    /// Where they come from, in order, with how many each.
    pub(super) sources: Vec<(Demand, u64)>,
}

/// Demand in the order in which it is tried.
#[derive(Debug)]
pub(super) struct Ordered {
    pub(super) constraint: Vec<Run>,
    /// By gang, in order.
    pub(super) gangs: Vec<(usize, Vec<Run>)>,
    pub(super) requests: Vec<Run>,
}

impl<'a> Catalog<'a> {
    pub(super) fn build(input: &Input<'a>, left_out: &LeftOut) -> (Self, Ordered) {
        let mut catalog = Self {
            resources: Names::default(),
            defaults: Vec::new(),
            labels: Labels::new(),
            shapes: Vec::new(),
        };
        let kept = |demand: &Demand| !left_out.has(Record::Demand(*demand));
        let constraint = catalog.runs(named(&input.constraint, Demand::Constraint).filter(|r| kept(&r.0)));
        let mut gangs = Vec::new();
        for gang in order::gangs(&input.gangs).into_iter().filter(|&gang| kept(&Demand::Gang(gang))) {
            let bundles = order::merged(&input.gangs[gang]);
            let runs = catalog.runs(bundles.iter().map(|bundle| (Demand::Gang(gang), bundle)));
            gangs.push((gang, runs));
        }
        let requests = catalog.runs(named(&input.requests, Demand::Request).filter(|r| kept(&r.0)));
        (catalog, Ordered { constraint, gangs, requests })
    }

    pub(super) fn resources(&self) -> usize {
        self.resources.len()
    }

    pub(super) fn resource(&self, name: &str) -> Option<u32> {
        self.resources.find(name)
    }

    fn runs<'r>(&mut self, requests: impl Iterator<Item = (Demand, &'r Request<'a>)>) -> Vec<Run>
    where
        'a: 'r,
    {
        let mut sorted: Vec<_> = requests
            .filter(|(_, request)| request.count > 0)
            .map(|(demand, request)| (SortKey::of(request), demand, request))
            .collect();
        sorted.sort_by(|a, b| a.0.cmp(&b.0));
        let mut runs: Vec<Run> = Vec::new();
        for (_, demand, request) in sorted {
            let shape = self.shape(request);
            let source = (demand, request.count);
            match runs.last_mut() {
                Some(last) if self.shapes[last.shape as usize] == shape => {
                    last.count += request.count;
                    last.sources.push(source);
                }
                _ => {
                    let number = self.shapes.len() as u32;
                    self.shapes.push(shape);
                    runs.push(Run { shape: number, count: request.count, sources: Vec::from([source]) });
                }
            }
        }
        runs
    }

    fn shape(&mut self, request: &Request<'a>) -> Shape {
        Shape {
            needs: self.needs(&request.resources),
            names_gpu: request.resources.iter().any(|amount| amount.0 == "GPU"),
            selectors: self.labels.selectors(request),
            any_node: request.selectors.is_empty() || request.selectors.iter().any(|rules| rules.is_empty()),
            apart: self.labels.apart(request),
        }
    }

    fn needs(&mut self, amounts: &Amounts<'a>) -> List<(u32, f64)> {
        let mut needs = Vec::new();
        for &(name, amount) in amounts {
            let resource = self.resources.number(name);
            if resource as usize == self.defaults.len() {
                self.defaults.push(if name.starts_with(IMPLICIT) { 1.0 } else { 0.0 });
            }
            needs.push((resource, amount));
        }
        needs.sort_unstable_by_key(|need| need.0);
        needs.into_boxed_slice()
    }
}

fn named<'r, 'a>(
    requests: &'r [Request<'a>],
    demand: fn(usize) -> Demand,
) -> impl Iterator<Item = (Demand, &'r Request<'a>)> {
    requests.iter().enumerate().map(move |(index, request)| (demand(index), request))
}

impl Run {
    /// Which of the sources are left when only the last `count` are.
    pub(super) fn last(&self, count: u64) -> Vec<(Demand, u64)> {
        let mut rest = count;
        let mut left = Vec::new();
        for &(demand, of) in self.sources.iter().rev() {
            let some = of.min(rest);
            rest -= some;
            if some > 0 {
                left.push((demand, some));
            }
        }
        left
    }
}
