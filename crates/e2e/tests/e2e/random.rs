//! Random numbers that can be had again.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

/// A stream of numbers from a seed (splitmix64, public domain by Sebastiano Vigna).
#[derive(Debug)]
pub(crate) struct Random {
    seed: u64,
    state: u64,
}

impl Random {
    /// `OSTLER_E2E_SEED`, else another in each run; a test prints it.
    pub(crate) fn of_this_run() -> Self {
        let given = std::env::var("OSTLER_E2E_SEED").ok().and_then(|text| text.parse().ok());
        let seed = given.unwrap_or_else(|| RandomState::new().hash_one(0) % 1_000_000);
        Self { seed, state: seed }
    }
    /// The next number, from 0 to below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

impl fmt::Display for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OSTLER_E2E_SEED={}", self.seed)
    }
}
