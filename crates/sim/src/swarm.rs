//! Random scenarios: each seed chooses which kinds of trouble there are at all (a swarm finds more than one crowd
//! in which everything goes wrong at once), then how much of them and when.
//!
//! What comes out is text, so that a seed that fails can be cut down by hand and kept as a scenario.

use crate::random::Random;
use std::fmt::Write as _;

/// Faults come between these seconds; after that, all is quiet.
const TROUBLE_FROM_S: u64 = 1;
const TROUBLE_UNTIL_S: u64 = 120;
/// The end of the troubled part. No fault that lasts ends later.
const END_S: u64 = 150;
/// A fault that lasts is over by then: the longest time that a check waits is longer.
const LASTS_MAX_S: u64 = 25;

/// The scenario of a seed.
pub fn scenario(seed: u64) -> String {
    let mut text = format!("seed {seed}\nend {END_S}s\n");
    let pools = world(&mut text, &mut Random::stream(seed, "world"));
    knobs(&mut text, &mut Random::stream(seed, "knobs"));
    work(&mut text, &mut Random::stream(seed, "work"), &pools);
    trouble(&mut text, seed, &pools);
    crashes(&mut text, &mut Random::stream(seed, "crashes"));
    text
}

/// A pool, as far as the rest of a scenario must know it.
struct PoolFacts {
    name: &'static str,
    cpus: u64,
    gpus: u64,
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("a string takes all");
}

fn world(text: &mut String, random: &mut Random) -> Vec<PoolFacts> {
    let clouds = random.between(1, 2);
    for cloud in ["cloud", "other"].into_iter().take(clouds as usize) {
        let (appears, boots, stops) = (random.between(0, 3), random.between(0, 8), random.between(0, 4));
        line(text, format_args!("cloud {cloud} appears {appears}s boots {boots}s stops {stops}s"));
    }
    let (joins, shows) = (random.between(0, 6), random.between(0, 900));
    let (drains, notices) = (random.between(0, 2000), random.between(0, 5));
    line(text, format_args!("ray joins {joins}s shows {shows}ms drains {drains}ms notices {notices}s"));
    let (low, high) = (random.between(0, 50), random.between(50, 2500));
    line(text, format_args!("latency {low}ms..{high}ms"));
    line(text, format_args!("restart {}ms", random.between(100, 6000)));
    let mut pools = Vec::new();
    for name in ["a", "b", "c"].into_iter().take(random.between(1, 3) as usize) {
        let (cpus, gpus) = (*random.pick(&[1, 2, 4]), *random.pick(&[0, 0, 1]));
        let (min, max) = (*random.pick(&[0, 0, 1, 2]), random.between(2, 5));
        let gpu = if gpus > 0 { format!(",GPU={gpus}") } else { String::new() };
        let from = if clouds == 2 && random.chance(50) { " from other" } else { "" };
        line(text, format_args!("pool {name} CPU={cpus}{gpu} min {min} max {max}{from}"));
        pools.push(PoolFacts { name, cpus, gpus });
    }
    pools
}

fn knobs(text: &mut String, random: &mut Random) {
    if random.chance(20) {
        line(text, format_args!("knob scoring ray-exact"));
    }
    if random.chance(30) {
        line(text, format_args!("knob max_workers {}", random.between(4, 8)));
    }
    if random.chance(30) {
        line(text, format_args!("knob replace_outdated true"));
    }
    line(text, format_args!("knob idle_timeout {}s", random.between(2, 15)));
    line(text, format_args!("knob upscaling_speed_percent {}", random.pick(&[0, 100, 100, 500])));
    line(text, format_args!("knob max_concurrent_launches {}", random.between(1, 6)));
}

fn work(text: &mut String, random: &mut Random, pools: &[PoolFacts]) {
    for _ in 0..random.between(2, 10) {
        let (at, lasts) = (random.between(0, TROUBLE_UNTIL_S), random.between(1, 25));
        let pool = random.pick(pools);
        let cpus = random.between(1, pool.cpus);
        let gpu = if pool.gpus > 0 && random.chance(50) { ",GPU=1" } else { "" };
        let what = match random.between(0, 9) {
            0 => "floor",
            1 => "gang PACK",
            2 => "gang STRICT_PACK",
            3 => "gang SPREAD",
            4 => "gang STRICT_SPREAD",
            _ => "tasks",
        };
        let count = random.between(1, 4);
        line(text, format_args!("at {at}s {what} {count} CPU={cpus}{gpu} for {lasts}s"));
    }
}

/// One kind of trouble: its share of the seeds, and a line of it after `at TIME`.
type Kind = (&'static str, u64, fn(&mut Random, &PoolFacts) -> String);

const KINDS: &[Kind] = &[
    ("refuse", 40, |random, pool| {
        let class =
            random.pick(&["out_of_capacity", "quota", "denied", "transient", "throttled", "permanent"]);
        format!("refuse {} {class} for {}s", pool.name, lasts(random))
    }),
    ("unlisted", 30, |random, _| format!("unlisted cloud for {}s", lasts(random))),
    ("lost-launch", 30, |random, _| format!("fault cloud launch lose times {}", random.between(1, 2))),
    ("slow-launch", 30, |random, _| format!("fault cloud launch slow {}s", random.between(1, 15))),
    ("late-launch", 20, |random, _| format!("fault cloud launch lag {}s", random.between(1, 40))),
    ("flaky-launch", 20, |random, _| {
        format!("fault cloud launch refuse transient times {}", random.between(1, 8))
    }),
    ("bad-terminate", 30, |random, _| {
        let what = random.pick(&["refuse transient", "refuse denied", "lose", "slow 5s", "lag 30s"]);
        format!("fault cloud terminate {what} times {}", random.between(1, 3))
    }),
    ("slow-list", 30, |random, _| format!("fault cloud list slow {}s", random.between(1, 8))),
    ("kill", 40, |_, pool| format!("kill {}", pool.name)),
    ("head", 30, |random, _| {
        let down = random.between(1, 8);
        match random.between(0, 2) {
            0 => format!("replace-head {down}s same {}s", random.between(0, 6)),
            1 => format!("replace-head {down}s anew {}s", random.between(0, 6)),
            _ => format!("replace-head {down}s never"),
        }
    }),
    ("never-join", 30, |random, _| format!("never-join {}", random.between(1, 2))),
    ("reject-drains", 30, |random, _| format!("reject-drains {}", random.between(1, 3))),
    ("silence", 30, |random, _| format!("silence for {}s", lasts(random))),
    ("unknown-status", 20, |random, _| format!("unknown-status for {}s", lasts(random))),
    ("bad-records", 20, |random, _| format!("bad-records for {}s", lasts(random))),
    ("bounds", 20, |random, pool| {
        let min = random.between(0, 2);
        format!("bounds {} {min} {}", pool.name, random.between(min, 5))
    }),
    ("relaunch", 20, |_, pool| format!("relaunch {}", pool.name)),
    ("drop", 5, |_, pool| format!("drop {}", pool.name)),
    ("commit", 30, |random, _| {
        format!("commit-fails {}{}", random.between(1, 2), random.pick(&["", " written"]))
    }),
    ("crash", 40, |_, _| "crash".to_owned()),
];

fn lasts(random: &mut Random) -> u64 {
    random.between(1, LASTS_MAX_S)
}

fn trouble(text: &mut String, seed: u64, pools: &[PoolFacts]) {
    for (name, share, make) in KINDS {
        // A stream for each kind: a new kind of trouble leaves the others of a seed as they are.
        let random = &mut Random::stream(seed, name);
        if !random.chance(*share) {
            continue;
        }
        for _ in 0..random.between(1, 3) {
            let at = random.between(TROUBLE_FROM_S * 1000, TROUBLE_UNTIL_S * 1000);
            let pool = random.pick(pools);
            let what = make(random, pool);
            line(text, format_args!("at {at}ms {what}"));
        }
    }
}

/// Crashes at outputs hit the short moments between a decision and its deed, which crashes at times miss.
fn crashes(text: &mut String, random: &mut Random) {
    if random.chance(50) {
        for _ in 0..random.between(1, 4) {
            let mode = random.pick(&["before", "done", "ghosts"]);
            line(text, format_args!("crash {} {mode}", random.between(1, 900)));
        }
    }
}
