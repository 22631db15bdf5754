//! A handful of requests: every way of placing them is tried, so that the everyday case is planned at the
//! lowest price.

use super::fill::Scene;
use super::open::Bounds;
use super::{Batch, Packed};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Requests at most.
const HANDFUL: u64 = 8;
/// Steps at most: some milliseconds. What was found by then is the answer.
const STEPS: u32 = 60_000;

/// One machine while it is filled.
#[derive(Clone)]
struct Machine {
    kind: usize,
    free: Vec<i64>,
    holds: Vec<usize>,
}

struct Search<'s, 'a> {
    scene: &'s Scene<'a>,
    /// The group of each request, the one that is worth the most first.
    requests: Vec<usize>,
    /// Kinds that take part, the cheapest first.
    kinds: Vec<usize>,
    open: Vec<Machine>,
    steps: u32,
    /// How many are left over, the price, and the machines.
    best: Option<(usize, u128, Vec<Machine>)>,
}

/// The best packing of what is left; nothing if that is more than a handful.
pub(super) fn best(scene: &Scene<'_>, bounds: &Bounds, packed: &Packed) -> Option<(Packed, Bounds)> {
    let served = |g: &usize| scene.kinds.iter().any(|kind| kind.open && kind.takers.binary_search(g).is_ok());
    let groups: Vec<usize> = (0..packed.left.len()).filter(served).collect();
    let count: u64 = groups.iter().map(|&g| packed.left[g]).sum();
    if count == 0 || count > HANDFUL {
        return None;
    }
    let mut requests: Vec<usize> = groups.iter().flat_map(|&g| (0..packed.left[g]).map(move |_| g)).collect();
    requests.sort_by_key(|&g| (core::cmp::Reverse(scene.worth[g]), g));
    let mut kinds: Vec<usize> = (0..scene.kinds.len()).filter(|&k| scene.kinds[k].open).collect();
    kinds.sort_by_key(|&k| (scene.kinds[k].price, k));
    let mut search = Search { scene, requests, kinds, open: Vec::new(), steps: STEPS, best: None };
    search.place(0, &mut bounds.clone(), 0, 0, 0);
    let (_, _, machines) = search.best?;
    let (mut packed, mut bounds) = (packed.clone(), bounds.clone());
    for machine in machines {
        let mut holds: BTreeMap<usize, u64> = BTreeMap::new();
        machine.holds.iter().for_each(|&g| *holds.entry(g).or_default() += 1);
        holds.iter().for_each(|(&g, &count)| packed.left[g] -= count);
        bounds.take(machine.kind, 1);
        packed.batches.push(Batch { kind: machine.kind, count: 1, holds: holds.into_iter().collect() });
    }
    Some((packed, bounds))
}

impl Search<'_, '_> {
    /// Places the requests from `at` on. `from`: the first machine that may take the next one, if it is equal
    /// to the one before.
    fn place(&mut self, at: usize, bounds: &mut Bounds, left: usize, price: u128, from: usize) {
        let better = |best: &Option<(usize, u128, Vec<Machine>)>| {
            best.as_ref().is_none_or(|(least, costs, _)| (left, price) < (*least, *costs))
        };
        if self.steps == 0 || !better(&self.best) {
            return;
        }
        self.steps -= 1;
        let Some(&g) = self.requests.get(at) else {
            self.best = Some((left, price, self.open.clone()));
            return;
        };
        let again = self.requests.get(at + 1) == Some(&g);
        for n in from..self.open.len() {
            let takes = self.scene.kinds[self.open[n].kind].takers.binary_search(&g).is_ok();
            if takes && self.fits(g, &self.open[n].free) {
                self.put(g, n, -1);
                self.place(at + 1, bounds, left, price, if again { n } else { 0 });
                self.put(g, n, 1);
            }
        }
        for k in 0..self.kinds.len() {
            let kind = self.kinds[k];
            let sort = &self.scene.kinds[kind];
            if bounds.room(kind) == 0 || sort.takers.binary_search(&g).is_err() {
                continue;
            }
            let costs = u128::from(sort.price);
            self.open.push(Machine { kind, free: sort.fills.clone(), holds: Vec::new() });
            let n = self.open.len() - 1;
            bounds.take(kind, 1);
            self.put(g, n, -1);
            self.place(at + 1, bounds, left, price + costs, if again { n } else { 0 });
            bounds.give_back(kind, 1);
            self.open.pop();
        }
        self.place(at + 1, bounds, left + 1, price, if again { self.open.len() } else { 0 });
    }

    fn fits(&self, g: usize, free: &[i64]) -> bool {
        self.scene.ask_of(g).iter().zip(free).all(|(ask, free)| ask <= free)
    }

    /// Takes one of the group from the room of a machine, or gives it back.
    fn put(&mut self, g: usize, n: usize, by: i64) {
        let machine = &mut self.open[n];
        machine.free.iter_mut().zip(self.scene.ask_of(g)).for_each(|(free, ask)| *free += by * ask);
        if by < 0 {
            machine.holds.push(g);
        } else {
            machine.holds.pop();
        }
    }
}
