//! Why a shape has no place: pool by pool, for people.

use crate::problem::{Machine, Phase, PoolOption, Problem, Unfit};
use alloc::string::ToString;
use alloc::vec::Vec;
use ostler_model::{NodeKind, PoolId, Shape};

/// The first thing that stands against each pool, in the order of the configuration.
pub fn pools(problem: &Problem, shape: &Shape) -> Vec<(PoolId, Unfit)> {
    problem.pools.iter().map(|option| (option.pool.id.clone(), pool(problem, option, shape))).collect()
}

fn pool(problem: &Problem, option: &PoolOption, shape: &Shape) -> Unfit {
    let pool = &option.pool;
    for (resource, asked) in shape.resources.iter() {
        let has = pool.resources.get(resource);
        if asked > has {
            return Unfit::TooLarge { resource: resource.to_string(), asked, has };
        }
    }
    let selectors = &shape.selectors;
    if !selectors.is_empty() && !selectors.iter().any(|s| s.matches(&pool.labels)) {
        return Unfit::Labels;
    }
    if option.backing_off {
        return Unfit::BackingOff;
    }
    if pool.max == 0 && problem.head_pool.as_ref() == Some(&pool.id) {
        return Unfit::HeadPool;
    }
    let counts = |m: &&Machine| m.phase != Phase::Leaving && m.kind == NodeKind::Worker;
    let workers = problem.machines.iter().filter(counts).filter(|m| m.pool == pool.id).count() as u64;
    let all = problem.machines.iter().filter(counts).count() as u64 + 1;
    match problem.max_machines {
        Some(max) if all >= max && workers < u64::from(pool.max) => Unfit::TotalAtMax { max },
        _ => Unfit::PoolAtMax { max: pool.max },
    }
}
