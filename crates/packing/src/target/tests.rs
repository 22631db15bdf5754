extern crate std;

use super::*;
use std::string::String;
use std::{format, vec};

/// `pools` as `min..max` with marks (`!` closed, `?` doubtful, `~` blind); workers as pool number and stage
/// (`a`sked, `s`tarting, `r`eady) with marks (`k` kept, `d` listed, `u` unseen).
fn ask(amount: Option<u32>, pools: &str, workers: &str) -> Question {
    let pools = pools.split_whitespace().map(|text| {
        let plain = text.trim_end_matches(['!', '?', '~']);
        let (min, max) = plain.split_once("..").expect("min..max");
        Pool {
            min: min.parse().expect("a number"),
            max: max.parse().expect("a number"),
            closed: text.contains('!'),
            doubtful: text.contains('?'),
            blind: text.contains('~'),
        }
    });
    let workers = workers.split_whitespace().map(|text| Worker {
        pool: text[..1].parse().ok(),
        stage: match &text[1..2] {
            "a" => Stage::Asked,
            "s" => Stage::Starting,
            _ => Stage::Ready,
        },
        keep: text[2..].contains('k'),
        listed: text[2..].contains('d'),
        unseen: text[2..].contains('u'),
    });
    Question { amount, max_total: None, pools: pools.collect(), workers: workers.collect() }
}

fn told(question: &Question) -> String {
    let answer = decide(question);
    let mut words = vec![format!("goal {}", answer.goal)];
    words.extend(answer.launches.iter().map(|(pool, cause, n)| format!("+{n} in {pool} for {cause}")));
    words.extend(answer.removals.iter().map(|(n, cause)| format!("-{n} {cause:?}")));
    words.extend((answer.short > 0).then(|| format!("short {}", answer.short)));
    words.extend((answer.held > 0).then(|| format!("held {}", answer.held)));
    words.join(", ")
}

fn check(amount: u32, pools: &str, workers: &str, expected: &str) {
    assert_eq!(told(&ask(Some(amount), pools, workers)), expected, "{amount} of {pools} with {workers}");
}

#[test]
fn grows_in_order_of_preference_within_bounds() {
    check(3, "0..8", "", "goal 3, +3 in 0 for target");
    check(5, "0..2 0..8", "0r", "goal 5, +1 in 0 for target, +3 in 1 for target");
    check(5, "0..2! 0..8", "", "goal 5, +5 in 1 for target");
    check(5, "0..8? 0..2", "", "goal 5, +2 in 1 for target, +3 in 0 for target");
    check(12, "0..8", "", "goal 8, +8 in 0 for target");
    check(3, "0..8!", "", "goal 3, short 3");
    check(0, "1..4 2..4", "", "goal 3, +1 in 0 for min, +2 in 1 for min");
    check(0, "2..8", "0r 0r", "goal 2");
}

#[test]
fn what_is_least_far_goes_first_then_the_youngest() {
    check(2, "0..8", "0r 0a 0s 0r", "goal 2, -1 Surplus, -2 Surplus");
    check(1, "0..8", "0r 0r 0r", "goal 1, -1 Surplus, -2 Surplus");
    check(1, "0..8 0..8", "0r 1r", "goal 1, -1 Surplus");
    check(0, "1..8 0..8", "0r 1r", "goal 1, -1 Surplus");
}

#[test]
fn kept_workers_stay_whatever_is_asked() {
    check(0, "0..8", "0rk 0rk 0r", "goal 2, -2 Surplus");
    check(1, "0..8", "0rkd 0r", "goal 1, -1 Surplus");
    check(1, "0..1", "0rk 0rk", "goal 2");
    check(0, "0..8", "xrk xr", "goal 1, -1 NoPool");
}

#[test]
fn listed_workers_go_and_are_replaced() {
    check(2, "0..2", "0rd 0r", "goal 2, +1 in 0 for target, -0 Listed");
    check(1, "0..2", "0rd 0r", "goal 1, -0 Listed");
    check(0, "1..2", "0rd", "goal 1, +1 in 0 for min, -0 Listed");
}

#[test]
fn a_provider_that_chooses_itself_is_not_asked_while_anything_is_protected() {
    check(1, "0..8~", "0rk 0r", "goal 1, held 1");
    check(1, "0..8~", "0r 0r", "goal 1, -1 Surplus");
    check(2, "0..8~", "0rd 0r", "goal 2");
    check(1, "0..8~ 0..8", "0rk 1r", "goal 1, -1 Surplus");
}

#[test]
fn what_cannot_be_seen_is_left_alone() {
    check(0, "0..8", "0ru 0r", "goal 0, -1 Surplus, held 1");
}

#[test]
fn bounds_that_shrink_remove_what_is_above_them() {
    check(4, "0..2 0..8", "0r 0r 0r 0r", "goal 4, +2 in 1 for target, -2 MaxPerPool, -3 MaxPerPool");
}

#[test]
fn without_a_wish_what_there_is_stays() {
    assert_eq!(told(&ask(None, "0..8", "0r 0r")), "goal 2");
    assert_eq!(told(&ask(None, "3..8", "0r")), "goal 3, +2 in 0 for min");
}

/// Every question of a small world: the goal is met or said to be missed, kept ones stay, no bound is broken, and
/// the answer applied leaves nothing to do.
#[test]
fn small_worlds() {
    let marks = ["r", "a", "s", "rk", "rd", "ru", "rkd"];
    for bounds in ["0..3", "1..2", "2..3!", "0..3~", "0..3?"] {
        for other in ["", "0..1", "1..2!"] {
            for amount in [None, Some(0), Some(1), Some(2), Some(3), Some(9)] {
                for code in 0..marks.len().pow(3) {
                    let of = |n: u32| marks[code / marks.len().pow(n) % marks.len()];
                    let second = if other.is_empty() { "x" } else { "1" };
                    let workers = format!("0{} {second}{} 0{}", of(0), of(1), of(2));
                    judge(&ask(amount, &format!("{bounds} {other}"), &workers));
                }
            }
        }
    }
}

fn judge(question: &Question) {
    let answer = decide(question);
    let words = || format!("{question:?}\n{answer:?}");
    assert!(
        answer.removals.keys().all(|&n| !question.workers[n].keep && !question.workers[n].unseen),
        "{}",
        words()
    );
    for (n, pool) in question.pools.iter().enumerate() {
        let new: u32 = answer.launches.iter().filter(|launch| launch.0 == n).map(|launch| launch.2).sum();
        assert!(new == 0 || staying(question, &answer, n) + new <= pool.max, "{}", words());
        assert!(new == 0 || !pool.closed, "{}", words());
    }
    let launched: u32 = answer.launches.iter().map(|launch| launch.2).sum();
    let after = count(question.workers.len() - answer.removals.len()) + launched;
    assert_eq!(after + answer.short, answer.goal + answer.held, "{}", words());
    let mut next = question.clone();
    let (mut n, removed) = (0, answer.removals.clone());
    next.workers.retain(|_| {
        n += 1;
        !removed.contains_key(&(n - 1))
    });
    for (pool, _, more) in &answer.launches {
        let new =
            Worker { pool: Some(*pool), stage: Stage::Asked, keep: false, listed: false, unseen: false };
        next.workers.extend((0..*more).map(|_| new));
    }
    let again = decide(&next);
    assert!(again.launches.is_empty() && again.removals.is_empty(), "{}\nagain {again:?}", words());
}
