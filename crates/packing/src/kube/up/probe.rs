//! What a new machine of each pool is like with its daemon pods.

use crate::kube::bulk::Bits;
use crate::kube::world::World;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// What a new machine of each pool is like.
pub(in crate::kube) struct Probes {
    /// What is free on one, by pool.
    pub(in crate::kube) free: Vec<Vec<i64>>,
    /// Pools whose labels, taints and features suit a nature of pods.
    suits: BTreeMap<u32, Bits>,
    none: Bits,
}

impl Probes {
    pub(in crate::kube) fn of(world: &mut World<'_>) -> Self {
        let mark = world.ledger.mark();
        let problem = world.problem;
        let mut free = Vec::with_capacity(problem.pools.len());
        for option in &problem.pools {
            let node = world.ledger.add_node(&option.template);
            free.push(world.ledger.free(node).to_vec());
            world.ledger.back_to(mark);
        }
        Self { free, suits: BTreeMap::new(), none: Bits::default() }
    }

    /// Pools that suit the nature of this spec, room or not.
    pub(in crate::kube) fn suits(&mut self, world: &mut World<'_>, spec: u32) -> &Bits {
        if world.ledger.spec(spec).is_none_or(|spec| spec.unjudged.is_some()) {
            return &self.none;
        }
        let nature = world.ledger.nature(spec);
        self.suits.entry(nature).or_insert_with(|| {
            let mark = world.ledger.mark();
            let problem = world.problem;
            let mut bits = Bits::default();
            for (n, option) in problem.pools.iter().enumerate() {
                let node = world.ledger.add_node(&option.template);
                if world.ledger.static_fit(spec, node) {
                    bits.set(n);
                }
                world.ledger.back_to(mark);
            }
            bits
        })
    }
}
