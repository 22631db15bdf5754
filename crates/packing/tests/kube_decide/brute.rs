//! Tiny worlds, where every packing can be tried: as many pods are placed as can be, and hardly dearer.

use super::world::World;
use ostler_packing::kube::decide;
use std::fmt::Write;

/// Worlds that are tried; each is another, and they are the same on every run.
const WORLDS: u64 = 400;
/// The price is at most so much of the lowest, in percent. It is the lowest in nearly all.
const FACTOR: u64 = 100;
/// So many of the worlds are planned at the lowest price, at the least, in percent.
const BEST: u64 = 100;

struct Tiny {
    /// CPU, memory, price, at most.
    kinds: Vec<(u64, u64, u64, u64)>,
    pods: Vec<(u64, u64)>,
}

/// A row of numbers that looks random.
pub(crate) struct Dice(u64);

impl Dice {
    /// Another row for each seed.
    pub(crate) fn of(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// The next number.
    pub(crate) fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

impl Tiny {
    fn of(seed: u64) -> Self {
        let mut dice = Dice::of(seed);
        let kind = |dice: &mut Dice| {
            let (cpu, mem) = (1 + dice.roll(8), 1 + dice.roll(16));
            (cpu, mem, 1 + cpu * 3 + mem + dice.roll(6), 1 + dice.roll(4))
        };
        let kinds = (0..1 + dice.roll(3)).map(|_| kind(&mut dice)).collect();
        let pods = (0..1 + dice.roll(6)).map(|_| (1 + dice.roll(4), 1 + dice.roll(8))).collect();
        Self { kinds, pods }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (n, (cpu, mem, price, max)) in self.kinds.iter().enumerate() {
            writeln!(text, "pool k{n} cpu={cpu} mem={mem} price={price} max={max}").unwrap();
        }
        for (n, (cpu, mem)) in self.pods.iter().enumerate() {
            writeln!(text, "pods 1 a{n} cpu={cpu} mem={mem}").unwrap();
        }
        text
    }

    /// The most pods that can be placed, and the lowest price for that: every pod on every machine, or
    /// nowhere.
    fn best(&self) -> (usize, u64) {
        let mut best = (0, 0);
        self.search(0, &mut Vec::new(), 0, 0, &mut best);
        best
    }

    fn search(
        &self,
        at: usize,
        open: &mut Vec<(usize, u64, u64)>,
        placed: usize,
        price: u64,
        best: &mut (usize, u64),
    ) {
        if at == self.pods.len() {
            if placed > best.0 || (placed == best.0 && price < best.1) {
                *best = (placed, price);
            }
            return;
        }
        if placed + self.pods.len() - at < best.0 {
            return;
        }
        let (cpu, mem) = self.pods[at];
        for n in 0..open.len() {
            let (kind, free_cpu, free_mem) = open[n];
            if cpu <= free_cpu && mem <= free_mem {
                open[n] = (kind, free_cpu - cpu, free_mem - mem);
                self.search(at + 1, open, placed + 1, price, best);
                open[n] = (kind, free_cpu, free_mem);
            }
        }
        for (kind, &(has_cpu, has_mem, costs, max)) in self.kinds.iter().enumerate() {
            let there = open.iter().filter(|one| one.0 == kind).count() as u64;
            if there < max && cpu <= has_cpu && mem <= has_mem {
                open.push((kind, has_cpu - cpu, has_mem - mem));
                self.search(at + 1, open, placed + 1, price + costs, best);
                open.pop();
            }
        }
        self.search(at + 1, open, placed, price, best);
    }
}

#[test]
fn tiny_worlds_are_planned_as_well_as_can_be() {
    let (mut lowest, mut full) = (0, 0);
    for seed in 0..WORLDS {
        let tiny = Tiny::of(seed);
        let world = World::of(&tiny.text());
        let decision = decide(&world.problem());
        super::laws::hold(&world, &decision);
        let (most, least) = tiny.best();
        let left: u64 = decision.unplaced.iter().map(|one| one.count).sum();
        let placed = tiny.pods.len() - left as usize;
        let price: u64 =
            decision.launches.iter().map(|launch| tiny.kinds[launch.pool].2 * launch.count).sum();
        assert_eq!(placed, most, "seed {seed}\n{}", tiny.text());
        full += 1;
        assert!(price * 100 <= least * FACTOR, "seed {seed}: {price} for {least}\n{}", tiny.text());
        lowest += u64::from(price == least);
    }
    assert!(lowest * 100 >= full * BEST, "{lowest} of {full} at the lowest price");
}
