//! Numbers that look random and are the same for the same seed, on every machine.

/// One stream of numbers (SplitMix64). Each purpose has a stream of its own, so that one more draw here does not
/// shift what is drawn there.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The stream of a purpose under a seed.
    pub(crate) fn stream(seed: u64, purpose: &str) -> Self {
        // FNV-1a: spreads the names well enough to start the streams apart.
        let hash = purpose
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
        let mut stream = Self(seed ^ hash);
        stream.next();
        stream
    }

    /// The next number.
    #[allow(clippy::should_implement_trait, reason = "an endless stream is no iterator to loop over")]
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high.saturating_sub(low) + 1)
    }

    /// True in `percent` of all cases.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.between(1, 100) <= percent
    }

    /// One of several; the slice must not be empty.
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.between(0, from.len() as u64 - 1) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn same_seed_same_numbers_other_purpose_other_numbers() {
        let draw = |seed, purpose| {
            let mut random = Random::stream(seed, purpose);
            (random.next(), random.between(3, 5))
        };
        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert_ne!(draw(1, "a").0, draw(1, "b").0);
        assert_ne!(draw(1, "a").0, draw(2, "a").0);
        assert!((3..=5).contains(&draw(9, "c").1));
    }
}
