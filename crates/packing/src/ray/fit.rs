//! Does it fit, and how often: a machine takes the requests of a list in order, as many of each as it can.

use super::request::Request;
use super::world::World;
use alloc::vec::Vec;

/// Requests to place: their number, and how many are left. In the order in which they are placed.
#[derive(Clone)]
pub(super) struct Item {
    pub(super) request: usize,
    pub(super) left: u64,
}

/// What one machine takes: position of the item, and how many of it.
pub(super) type Takes = Vec<(usize, u64)>;

/// Requests to place together with what holds for all of them.
pub(super) struct Ask {
    pub(super) items: Vec<Item>,
    /// Positions of the items of which some are left, each with what every one from there on needs at least.
    live: Vec<(usize, Need)>,
    /// A machine takes one only, and none if it has a part of this gang.
    pub(super) apart: Option<usize>,
}

/// Amounts by resource number.
type Need = Vec<(usize, i128)>;

impl Ask {
    pub(super) fn of(world: &World<'_>, items: Vec<Item>, apart: Option<usize>) -> Self {
        let mut ask = Self { items, live: Vec::new(), apart };
        ask.refresh(world);
        ask
    }
    /// Forgets items of which none are left.
    pub(super) fn refresh(&mut self, world: &World<'_>) {
        let mut live: Vec<(usize, Need)> = Vec::with_capacity(self.items.len());
        for (position, item) in self.items.iter().enumerate().rev().filter(|(_, item)| item.left > 0) {
            let need = &world.requests.all[item.request].need;
            let least = live.last().map_or_else(|| need.clone(), |(_, later)| common(need, later));
            live.push((position, least));
        }
        live.reverse();
        self.live = live;
    }
    pub(super) fn is_done(&self) -> bool {
        self.items.iter().all(|item| item.left == 0)
    }
}

/// What both need at least.
fn common(a: &[(usize, i128)], b: &[(usize, i128)]) -> Need {
    let in_b = |r: usize| b.iter().find(|(other, _)| *other == r).map(|(_, amount)| *amount);
    a.iter().filter_map(|&(r, amount)| Some((r, amount.min(in_b(r)?)))).collect()
}

/// Fills one machine; `free` becomes what is left on it, `takes` what it takes.
pub(super) fn fill(world: &World<'_>, ask: &Ask, class: usize, free: &mut [i128], takes: &mut Takes) {
    takes.clear();
    if ask.apart.is_some_and(|gang| world.classes[class].parts_of.contains(&gang)) {
        return;
    }
    let mut checked = false;
    for &(position, ref least) in &ask.live {
        let item = &ask.items[position];
        if item.left == 0 {
            continue;
        }
        if !checked && least.iter().any(|&(r, amount)| free[r] < amount) {
            break;
        }
        checked = true;
        let request = &world.requests.all[item.request];
        if !fits(request, free) || world.rank(item.request, class).is_none() {
            continue;
        }
        let limit = if ask.apart.is_some() { 1 } else { item.left };
        let n = limit.min(times(request, free));
        request.need.iter().for_each(|&(r, amount)| free[r] -= amount * i128::from(n));
        takes.push((position, n));
        if ask.apart.is_some() {
            break;
        }
        checked = false;
    }
}

/// Does one of it fit?
pub(super) fn fits(request: &Request, free: &[i128]) -> bool {
    request.need.iter().all(|&(r, amount)| free[r] >= amount)
}

/// How many of it fit; without limit if it needs nothing.
fn times(request: &Request, free: &[i128]) -> u64 {
    request.need.iter().map(|&(r, amount)| divide(free[r], amount)).min().unwrap_or(u64::MAX)
}

/// Division of amounts above zero; 64 bits are much faster and nearly always enough.
fn divide(a: i128, b: i128) -> u64 {
    match (u64::try_from(a), u64::try_from(b)) {
        (Ok(a), Ok(b)) => a / b,
        _ => u64::try_from(a / b).unwrap_or(u64::MAX),
    }
}
