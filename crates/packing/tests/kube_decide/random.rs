//! Random worlds with everything that a pod and a node may have: every decision keeps the laws. What breaks one is made
//! as small as it can be before it is shown.

use super::brute::Dice;
use super::laws;
use super::world::World;
use ostler_packing::kube::decide;
use ostler_packing::kube::ledger::Ledger;
use ostler_packing::kube::problem::Stage;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Worlds that are tried; `OSTLER_SEEDS=1000..9000` tries others.
const SEEDS: std::ops::Range<u64> = 0..400;

#[test]
fn random_worlds_keep_the_laws() {
    let seeds = std::env::var("OSTLER_SEEDS").ok().map_or(SEEDS, |text| {
        let (from, to) = text.split_once("..").expect("from..to");
        from.parse().expect("a number")..to.parse().expect("a number")
    });
    let mut broken = String::new();
    for seed in seeds {
        let lines = world(seed);
        if let Err(why) = breaks(&lines) {
            let lines = smallest(lines);
            let why = breaks(&lines).err().unwrap_or(why);
            writeln!(broken, "seed {seed}: {why}\n{}\n", lines.join("\n")).unwrap();
        }
    }
    assert!(broken.is_empty(), "{broken}");
}

/// Which law does the world break?
fn breaks(lines: &[String]) -> Result<(), String> {
    let kept = catch_unwind(AssertUnwindSafe(|| {
        let world = World::of(&lines.join("\n"));
        let decision = decide(&world.problem());
        laws::hold(&world, &decision);
    }));
    kept.map_err(|why| {
        let text = why.downcast_ref::<String>().cloned();
        text.or_else(|| why.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
    })
}

/// Leaves lines out, and words at the end of lines, for as long as it still breaks one.
fn smallest(mut lines: Vec<String>) -> Vec<String> {
    loop {
        let count: usize = lines.iter().map(|line| line.split(' ').count()).sum();
        let mut n = 0;
        while n < lines.len() {
            let line = lines.remove(n);
            if breaks(&lines).is_err() && is_a_world(&lines) {
                continue;
            }
            lines.insert(n, line);
            n += 1;
        }
        for n in 0..lines.len() {
            let fixed = if lines[n].starts_with("pods") || lines[n].starts_with("node") { 3 } else { 2 };
            let mut at = fixed;
            while at < lines[n].split(' ').count() {
                let mut words: Vec<&str> = lines[n].split(' ').collect();
                words.remove(at);
                let shorter = words.join(" ");
                let whole = std::mem::replace(&mut lines[n], shorter);
                if breaks(&lines).is_ok() || !is_a_world(&lines) {
                    lines[n] = whole;
                    at += 1;
                }
            }
        }
        if lines.iter().map(|line| line.split(' ').count()).sum::<usize>() == count {
            return lines;
        }
    }
}

/// Can the lines be read at all, are the nodes of the pods there, and are all pods of an app alike, their volumes
/// apart?
fn is_a_world(lines: &[String]) -> bool {
    let mut apps: std::collections::BTreeMap<&str, Vec<&str>> = std::collections::BTreeMap::new();
    for line in lines.iter().filter(|line| line.starts_with("pods")) {
        let mut words = line.split(' ').skip(2);
        let app = words.next().unwrap_or_default();
        let rest = words.filter(|word| !word.starts_with("volume") && !word.starts_with("on=")).collect();
        if *apps.entry(app).or_insert_with(|| Vec::clone(&rest)) != rest {
            return false;
        }
    }
    let has = |word: &str| lines.iter().any(|line| line.contains(word));
    if has("of-node") && !has("daemon") {
        return false;
    }
    catch_unwind(|| World::of(&lines.join("\n"))).is_ok_and(|world| {
        let there = |name: &str| {
            world.machines.iter().any(|machine| {
                let node = machine.node.map(|at| &world.cluster.nodes[at]);
                machine.stage != Stage::Ending && node.is_some_and(|node| node.id.as_str() == name)
            })
        };
        world.cluster.pods.iter().filter_map(|pod| pod.node.as_ref()).all(|node| there(node.as_str()))
    })
}

/// A world of this seed, line by line.
pub(crate) fn world(seed: u64) -> Vec<String> {
    let dice = &mut Dice::of(seed);
    let mut lines = Vec::new();
    policy(dice, &mut lines);
    let pools = pools(dice, &mut lines);
    nodes(dice, pools, &mut lines);
    extras(dice, pools, &mut lines);
    let pods = pods(dice);
    place(dice, &mut lines, pods);
    lines
}

fn one<'t>(dice: &mut Dice, of: &[&'t str]) -> &'t str {
    of[dice.roll(of.len() as u64) as usize]
}

/// Says the words once in `of`.
fn at_times(dice: &mut Dice, line: &mut String, of: u64, words: impl FnOnce(&mut Dice) -> String) {
    if dice.roll(of) == 0 {
        let words = words(dice);
        write!(line, " {words}").unwrap();
    }
}

fn policy(dice: &mut Dice, lines: &mut Vec<String>) {
    let expander = one(dice, &["cost", "cost", "cost", "least-waste", "priority", "most-pods"]);
    let mut line = format!("policy expander={expander}");
    at_times(dice, &mut line, 8, |dice| format!("max={}", 1 + dice.roll(8)));
    at_times(dice, &mut line, 8, |dice| format!("drains={}", 1 + dice.roll(2)));
    at_times(dice, &mut line, 8, |_| "strict".into());
    at_times(dice, &mut line, 8, |_| "no-consolidation".into());
    at_times(dice, &mut line, 8, |_| "newpods=30".into());
    at_times(dice, &mut line, 8, |_| "quiet=10".into());
    at_times(dice, &mut line, 8, |_| "unneeded=60".into());
    lines.push(line);
}

fn pools(dice: &mut Dice, lines: &mut Vec<String>) -> u64 {
    let count = 1 + dice.roll(4);
    for n in 0..count {
        let cpu = one(dice, &["1", "2", "4", "4", "8"]);
        let mut line = format!("pool p{n} cpu={cpu} mem={}", one(dice, &["4", "8", "16", "15.9"]));
        write!(line, " price=0.{} zone={}", 1 + dice.roll(9), one(dice, &["a", "b", "c"])).unwrap();
        write!(line, " max={}", one(dice, &["1", "2", "5", "50", "50"])).unwrap();
        at_times(dice, &mut line, 8, |_| "min=1".into());
        at_times(dice, &mut line, 5, |dice| format!("taint={}", one(dice, &["x", "y"])));
        at_times(dice, &mut line, 6, |_| "pods=3".into());
        at_times(dice, &mut line, 6, |_| "volumes.ebs=2".into());
        at_times(dice, &mut line, 6, |_| "gpu=1".into());
        at_times(dice, &mut line, 6, |dice| format!("priority={}", dice.roll(3)));
        at_times(dice, &mut line, 12, |_| "closed".into());
        at_times(dice, &mut line, 12, |_| "doubtful".into());
        at_times(dice, &mut line, 6, |_| "group=g groupmax=3".into());
        at_times(dice, &mut line, 12, |_| "gone".into());
        lines.push(line);
    }
    count
}

fn nodes(dice: &mut Dice, pools: u64, lines: &mut Vec<String>) {
    for n in 0..dice.roll(8) {
        let mut line = format!("node n{n} p{}", dice.roll(pools));
        let more = one(
            dice,
            &[
                " leaving=underused",
                " leaving=max_per_pool",
                " outdated",
                " failed",
                " notready=5000",
                "",
                "",
                "",
                "",
                "",
                "",
                "",
                " coming",
                " booting",
                " cordoned",
                " held",
                " notready=30",
                " ending",
            ],
        );
        line += more;
        at_times(dice, &mut line, 4, |dice| format!("unneeded={}", dice.roll(100)));
        lines.push(line);
    }
    if dice.roll(4) == 0 {
        lines.push(format!("foreign f0 cpu=4 mem=8 zone={}", one(dice, &["a", "b"])));
    }
}

fn extras(dice: &mut Dice, pools: u64, lines: &mut Vec<String>) {
    if dice.roll(3) == 0 {
        let mut line = format!("daemon d0 cpu=0.{} mem=0.1", dice.roll(6));
        at_times(dice, &mut line, 2, |_| "tolerate-all".into());
        at_times(dice, &mut line, 4, |_| "select.pool=p0".into());
        lines.push(line);
    }
    if dice.roll(6) == 0 {
        lines.push(format!("headroom {} cpu=1 mem=1", 1 + dice.roll(3)));
    }
    if dice.roll(6) == 0 {
        lines.push(format!("headroom 1 pool=p{} cpu=1 mem=1", dice.roll(pools)));
    }
}

/// Lines without the word at the front: `app words`, one for each pod.
fn pods(dice: &mut Dice) -> Vec<String> {
    let mut pods = Vec::new();
    for app in 0..1 + dice.roll(6) {
        let cpu = one(dice, &["0", "0.1", "0.5", "0.5", "1", "1", "2", "3", "9"]);
        let mut line = format!("a{app} cpu={cpu} mem={}", one(dice, &["0", "0.5", "1", "2", "4"]));
        at_times(dice, &mut line, 6, |dice| format!("spread=zone:{}", 1 + dice.roll(2)));
        // Evenly over hosts and all on one is too much to ask.
        match dice.roll(12) {
            0 | 1 => write!(line, " spread=host:{}", 1 + dice.roll(2)).unwrap(),
            2 => line += " together=host",
            _ => {}
        }
        at_times(dice, &mut line, 20, |_| "spread=zone:1:3".into());
        at_times(dice, &mut line, 8, |_| "apart=host".into());
        at_times(dice, &mut line, 12, |dice| format!("apart=zone:a{}", dice.roll(6)));
        at_times(dice, &mut line, 12, |_| "together=zone".into());
        at_times(dice, &mut line, 12, |dice| format!("together=zone:a{}", dice.roll(6)));
        at_times(dice, &mut line, 6, |dice| format!("tolerate={}", one(dice, &["x", "y"])));
        at_times(dice, &mut line, 16, |_| "tolerate-all".into());
        at_times(dice, &mut line, 8, |dice| format!("select.pool=p{}", dice.roll(4)));
        at_times(dice, &mut line, 10, |dice| format!("select.zone={}", one(dice, &["a", "b"])));
        at_times(dice, &mut line, 12, |_| "port=80".into());
        at_times(dice, &mut line, 12, |_| "gpu=1".into());
        at_times(dice, &mut line, 6, |dice| format!("priority={}", one(dice, &["-100", "-1", "10"])));
        at_times(dice, &mut line, 20, |_| "scheduler=other".into());
        at_times(dice, &mut line, 20, |_| "ignored=gated".into());
        at_times(dice, &mut line, 30, |_| "unjudged".into());
        at_times(dice, &mut line, 12, |_| "job".into());
        at_times(dice, &mut line, 20, |_| "bare".into());
        at_times(dice, &mut line, 20, |_| "local".into());
        at_times(dice, &mut line, 8, |dice| format!("age={}", dice.roll(60)));
        let volumes = dice.roll(8);
        for n in 0..1 + dice.roll(6) {
            let volume = match volumes {
                0 => format!(" volume=ebs/{app}-{n}"),
                1 => format!(" volume=ebs/{app}-{n}@{}", one(dice, &["a", "b"])),
                _ => String::new(),
            };
            pods.push(format!("{line}{volume}"));
        }
    }
    pods
}

/// Some of the pods run already, where the scheduler could have put them one after the other.
fn place(dice: &mut Dice, lines: &mut Vec<String>, pods: Vec<String>) {
    let share = dice.roll(4);
    let all: Vec<String> = pods.iter().map(|pod| format!("pods 1 {pod}")).collect();
    let world = World::of(&lines.iter().chain(&all).cloned().collect::<Vec<_>>().join("\n"));
    let mut ledger = Ledger::new(&world.cluster, &world.policy);
    let nodes: Vec<_> = ledger.nodes().collect();
    let daemon = lines.iter().find_map(|line| line.strip_prefix("daemon ").map(ToString::to_string));
    for (&at, node) in nodes.iter().zip(&world.cluster.nodes) {
        for spec in world.cluster.daemons.iter().map(|daemon| daemon.spec) {
            if ledger.wants_daemon(spec, at) && ledger.fits(spec, at) {
                ledger.place(spec, at);
                lines.push(format!("pods 1 {} of-node on={}", daemon.clone().unwrap_or_default(), node.id));
            }
        }
    }
    for (n, line) in all.into_iter().enumerate() {
        let spec = world.cluster.pods[n].spec;
        let mut on = None;
        if dice.roll(4) < share && !nodes.is_empty() && !line.contains("ignored") {
            let from = dice.roll(nodes.len() as u64) as usize;
            let fits = |k: &usize| {
                let at = (from + k) % nodes.len();
                let there = world.cluster.nodes[at].ready
                    && !lines.iter().any(|line| {
                        line.ends_with("ending")
                            && line.contains(&format!("node {} ", world.cluster.nodes[at].id))
                    });
                (there && ledger.fits(spec, nodes[at])).then_some(at)
            };
            on = (0..nodes.len()).find_map(|k| fits(&k));
        }
        match on {
            Some(at) => {
                ledger.place(spec, nodes[at]);
                let terminating = if dice.roll(12) == 0 { " terminating" } else { "" };
                lines.push(format!("{line} on={}{terminating}", world.cluster.nodes[at].id));
            }
            None if dice.roll(30) == 0 && !nodes.is_empty() => {
                lines.push(format!("{line} nominated=n{}", dice.roll(nodes.len() as u64)));
            }
            None => lines.push(line),
        }
    }
    if dice.roll(3) == 0 {
        lines.push(format!("budget a{} allowed={}", dice.roll(3), dice.roll(2)));
    }
}
