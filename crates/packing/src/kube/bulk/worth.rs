//! What a unit of each resource is worth, by the prices of the machines that could give it.
//!
//! The dual of "cover this demand with fractions of machines at the lowest price": prices of the columns
//! under which no machine is worth more than it costs, and the demand is worth as much as can be. Found by
//! moving one column's share at a time: with two columns that matter this is exact, with more it is near
//! enough for a score.

use alloc::vec::Vec;

/// Prices of the resources by what machines cost.
pub(crate) struct Prices {
    norm: Vec<i64>,
    price: Vec<i64>,
}

impl Prices {
    /// By these machines, each with its columns and price, for this demand.
    pub(crate) fn of(machines: &[(Vec<i64>, u64)], demand: &[i128]) -> Self {
        let most = |c: usize| machines.iter().map(|(has, _)| has[c]).max().unwrap_or(0).max(1);
        let norm: Vec<i64> = (0..demand.len()).map(most).collect();
        let scaled: Vec<Vec<i64>> = machines.iter().map(|(has, _)| scale(has, &norm)).collect();
        let rows: Vec<(&[i64], u64)> = scaled
            .iter()
            .zip(machines)
            .map(|(has, (_, price))| (&**has, (*price).clamp(1, 1 << 36)))
            .collect();
        let demand: Vec<i128> =
            demand.iter().zip(&norm).map(|(&d, &norm)| (d.max(0) << 20) / i128::from(norm)).collect();
        Self { price: columns(&rows, &demand), norm }
    }

    /// What a machine gives for its price: a million is what the best one gives.
    pub(crate) fn worth_per_price(&self, has: &[i64], price: u64) -> i64 {
        let parts = scale(has, &self.norm);
        let worth: i128 = parts.iter().zip(&self.price).map(|(&a, &b)| i128::from(a) * i128::from(b)).sum();
        let rate = (worth >> 20) * 1_000_000 / i128::from(price.clamp(1, 1 << 36));
        i64::try_from(rate >> FINE).unwrap_or(i64::MAX)
    }
}

/// In 2^-20 of the norm.
fn scale(has: &[i64], norm: &[i64]) -> Vec<i64> {
    let part = |(&has, &norm): (&i64, &i64)| {
        i64::try_from((i128::from(has.max(0)) << 20) / i128::from(norm)).unwrap_or(i64::MAX >> 20)
    };
    has.iter().zip(norm).map(part).collect()
}

/// Full shares of a column.
const WHOLE: u64 = 1 << 16;
/// Fractional bits of a worth.
pub(super) const FINE: u32 = 12;
/// Rounds over the columns; each is kept only if it gains, and most gain nothing after six.
const ROUNDS: usize = 24;
/// A share is multiplied by these, over 64.
const STEPS: [u64; 10] = [0, 16, 32, 48, 60, 68, 80, 128, 256, 1024];

/// Prices of columns (in `2^-FINE` of the price of the whole norm). `machines`: scaled columns and price, not
/// zero; `demand`: scaled.
pub(super) fn columns(machines: &[(&[i64], u64)], demand: &[i128]) -> Vec<i64> {
    let mut best: Vec<u64> = demand.iter().map(|&d| if d > 0 { WHOLE } else { 0 }).collect();
    let mut value = worth(machines, demand, &best);
    for column in 0..best.len() {
        // Begin from the better of one column alone and all alike.
        let alone: Vec<u64> = (0..best.len()).map(|c| if c == column { WHOLE } else { 0 }).collect();
        let found = worth(machines, demand, &alone);
        if found > value {
            (best, value) = (alone, found);
        }
    }
    for _ in 0..ROUNDS {
        let before = value;
        for column in 0..best.len() {
            for step in STEPS {
                let mut next = best.clone();
                next[column] = (next[column].max(WHOLE / 256) * step / 64).min(WHOLE << 12);
                let found = worth(machines, demand, &next);
                if found > value {
                    (best, value) = (next, found);
                }
            }
        }
        if value == before {
            break;
        }
    }
    scaled(machines, &best)
}

/// What the demand is worth at these shares, brought down to where no machine is worth more than it costs.
fn worth(machines: &[(&[i64], u64)], demand: &[i128], shares: &[u64]) -> u128 {
    let (price, has) = tightest(machines, shares);
    let wanted: u128 = demand
        .iter()
        .zip(shares)
        .map(|(&d, &s)| u128::try_from(d).unwrap_or(0).saturating_mul(s.into()))
        .sum();
    wanted.saturating_mul(price.into()) / has.max(1)
}

fn scaled(machines: &[(&[i64], u64)], shares: &[u64]) -> Vec<i64> {
    let (price, has) = tightest(machines, shares);
    let one = |&share: &u64| {
        let worth = (u128::from(share) << (FINE + 20)).saturating_mul(price.into()) / has.max(1);
        i64::try_from(worth).unwrap_or(i64::MAX >> 16).min(i64::MAX >> 16)
    };
    shares.iter().map(one).collect()
}

/// The machine that gives the most for its price: its price, and what it has at these shares.
fn tightest(machines: &[(&[i64], u64)], shares: &[u64]) -> (u64, u128) {
    let mut best = (1, 0);
    for (columns, price) in machines {
        let has: u128 =
            columns.iter().zip(shares).map(|(&c, &s)| u128::from(c.unsigned_abs()) * u128::from(s)).sum();
        if has * u128::from(best.0) > best.1 * u128::from(*price) {
            best = (*price, has);
        }
    }
    best
}
