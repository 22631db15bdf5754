//! Why a shape has no place: pool by pool, for people.

use crate::problem::{Machine, Phase, Problem, Unfit};
use alloc::string::ToString;
use alloc::vec::Vec;
use ostler_model::{NodeKind, PoolId, Shape};

/// The first thing that stands against each pool, in the order of the configuration. `launched`: new machines of
/// each pool that the decision brings, by index.
pub(crate) fn pools(problem: &Problem, launched: &[u64], shape: &Shape) -> Vec<(PoolId, Unfit)> {
    let why = |n: usize| pool(problem, launched, n, shape);
    problem.pools.iter().enumerate().map(|(n, option)| (option.pool.id.clone(), why(n))).collect()
}

fn pool(problem: &Problem, launched: &[u64], n: usize, shape: &Shape) -> Unfit {
    let option = &problem.pools[n];
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
    let here =
        problem.machines.iter().filter(counts).filter(|m| m.pool == pool.id).count() as u64 + launched[n];
    let all = problem.machines.iter().filter(counts).count() as u64 + launched.iter().sum::<u64>() + 1;
    match problem.max_machines {
        _ if here >= u64::from(pool.max) => Unfit::PoolAtMax { max: pool.max },
        Some(max) if all >= max => Unfit::TotalAtMax { max },
        _ => Unfit::Strategy,
    }
}
