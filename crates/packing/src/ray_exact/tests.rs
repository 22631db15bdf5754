//! What Ray does, one rule a test. A cluster in words goes in, the decision in words comes out.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use expect_test::{Expect, expect};

use super::*;

/// Lines: `max N`, `idle SECONDS`, `check`,
/// `pool NAME AMOUNTS [min=N] [max=N] [hash=H] [prio=N] [label:KEY=VALUE]`, `node POOL TOTAL | FREE [idle=MS] [hash=H]`,
/// `pending POOL STATE`, `want COUNT AMOUNTS [in:KEY=VALUE] [else]`, `hold COUNT AMOUNTS`,
/// `gang pack|spread|any COUNT AMOUNTS`. A pool has at most 10 workers if it does not say.
fn check(text: &str, decision: Expect) {
    let input = parse(text);
    decision.assert_eq(&render(&input, &decide(&input, &Memory::default()).0));
}

fn parse(text: &str) -> Input<'_> {
    let mut input = Input { disable_launch_config_check: true, conserve_gpu_nodes: true, ..Input::default() };
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "max" => input.max_nodes = Some(number(rest) as u64),
            "idle" => input.idle_timeout_s = Some(number(rest)),
            "check" => input.disable_launch_config_check = false,
            "pool" => input.pools.push(pool(rest)),
            "node" => input.instances.push(node(rest)),
            "pending" => input.instances.push(pending(rest)),
            "want" => input.requests.push(request(rest)),
            "hold" => input.constraint.push(request(rest)),
            "gang" => input.gangs.push(gang(rest)),
            _ => panic!("{line}"),
        }
    }
    input
}

fn number(text: &str) -> f64 {
    text.parse().unwrap()
}

/// The words `KEY=VALUE` whose key starts so, without it.
fn words<'a>(text: &'a str, start: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let pairs = text.split_whitespace().filter_map(|word| word.split_once('='));
    pairs.filter_map(move |(key, value)| Some((key.strip_prefix(start)?, value)))
}

fn word<'a>(text: &'a str, key: &'a str) -> Option<&'a str> {
    words(text, key).find(|word| word.0.is_empty()).map(|word| word.1)
}

fn amounts(text: &str) -> Amounts<'_> {
    let named = |key: &str| key.starts_with(|c: char| c.is_uppercase());
    words(text, "").filter(|word| named(word.0)).map(|(name, amount)| (name, number(amount))).collect()
}

fn pool(text: &str) -> Pool<'_> {
    Pool {
        name: text.split_whitespace().next().unwrap(),
        resources: amounts(text),
        labels: words(text, "label:").collect(),
        min_workers: word(text, "min").map_or(0, |min| number(min) as u64),
        max_workers: word(text, "max").map_or(10, |max| number(max) as u64),
        priority: word(text, "prio").map_or(0, |priority| number(priority) as i64),
        launch_config_hash: word(text, "hash").unwrap_or(""),
        ..Pool::default()
    }
}

fn node(text: &str) -> Instance<'_> {
    let (total, free) = text.split_once('|').unwrap();
    let idle_ms = word(text, "idle").map_or(0, |ms| number(ms) as i64);
    let node = Node { idle_ms, total: amounts(total), available: amounts(free), ..Node::default() };
    let launch_config_hash = word(text, "hash").unwrap_or("");
    Instance { launch_config_hash, has_ray_node_id: true, node: Some(node), ..pending(text) }
}

fn pending(text: &str) -> Instance<'_> {
    let state = match text.split_whitespace().nth(1) {
        Some("queued") => State::Queued,
        Some("requested") => State::Requested,
        Some("stopping") => State::StopRequested,
        _ => State::Running,
    };
    let pool = text.split_whitespace().next().unwrap();
    Instance { pool, state, kind: Kind::Worker, launch_config_hash: "", has_ray_node_id: false, node: None }
}

fn request(text: &str) -> Request<'_> {
    let (count, rest) = text.split_once(' ').unwrap();
    let rule = |(key, value)| Rule { key, operator: Operator::In, values: Vec::from([value]) };
    let mut selectors: Vec<Selector<'_>> = words(rest, "in:").map(|word| Vec::from([rule(word)])).collect();
    if rest.split_whitespace().any(|word| word == "else") {
        selectors.push(Vec::new());
    }
    Request { resources: amounts(rest), count: number(count) as u64, selectors, placement: Vec::new() }
}

fn gang(text: &str) -> Gang<'_> {
    let (strategy, rest) = text.split_once(' ').unwrap();
    let placement = match strategy {
        "pack" => Vec::from([Placement::Affinity("group", "")]),
        "spread" => Vec::from([Placement::AntiAffinity("group", "")]),
        _ => Vec::new(),
    };
    Gang { bundles: Vec::from([Request { placement, ..request(rest) }]), in_requests_field: true }
}

fn render(input: &Input<'_>, decision: &Decision) -> String {
    let mut lines = Vec::new();
    for launch in &decision.launches {
        lines.push(format!("launch {} {}", launch.count, input.pools[launch.pool].name));
    }
    lines.extend(decision.terminations.iter().map(|end| match end.instance {
        Some(index) => format!("end {index} {:?}", end.cause),
        None => format!("end a new node {:?}", end.cause),
    }));
    lines.extend(
        decision.infeasible_requests.iter().map(|left| format!("left {} of {}", left.count, left.request)),
    );
    lines.extend(decision.infeasible_gangs.iter().map(|gang| format!("left gang {gang}")));
    if decision.infeasible_constraint {
        lines.push("left the constraint".into());
    }
    lines.extend(decision.faults.iter().map(|fault| format!("without {:?}: {}", fault.record, fault.code)));
    lines.join("\n")
}

/// The example of the specification: 2 GPUs are asked for, and A's least item, 2/6 of GPU in use, beats B's, where the
/// TPU lies idle. Both have one of the resources asked for.
#[test]
fn six_gpus_beat_two_beside_an_idle_tpu() {
    check("pool a GPU=6\n pool b GPU=2 TPU=1\n want 1 GPU=2", expect!["launch 1 a"]);
    check("pool b GPU=2 TPU=1\n pool a GPU=6\n want 1 GPU=2", expect!["launch 1 a"]);
}

#[test]
fn score_is_label_gpu_resources_least_mean_in_this_order() {
    check(
        "pool a CPU=4\n pool b CPU=4 GPU=1 label:team=x\n want 1 CPU=1 in:team=x else",
        expect!["launch 1 b"],
    );
    check("pool gpu CPU=4 GPU=1\n pool cpu CPU=64\n want 1 CPU=1", expect!["launch 1 cpu"]);
    check(
        "pool small CPU=1\n pool both CPU=96 SSD=96\n want 1 CPU=1\n want 1 SSD=1",
        expect!["launch 1 both"],
    );
    check("pool big CPU=8\n pool small CPU=2\n want 1 CPU=2", expect!["launch 1 small"]);
    check("pool a CPU=4 prio=0\n pool b CPU=4 prio=1\n want 1 CPU=4", expect!["launch 1 b"]);
}

#[test]
fn equal_pools_are_launched_in_turns() {
    check(
        "pool a CPU=4\n pool b CPU=4\n want 5 CPU=4",
        expect![[r#"
            launch 3 a
            launch 2 b"#]],
    );
}

#[test]
fn amounts_are_subtracted_one_by_one() {
    check("pool a CPU=2\n want 20 CPU=0.1", expect!["launch 2 a"]);
    check("pool a CPU=1\n want 8 CPU=0.125", expect!["launch 1 a"]);
}

#[test]
fn free_nodes_come_before_new_ones_and_a_stopping_one_counts_as_free() {
    check("pool a CPU=4\n node a CPU=4 | CPU=2\n want 4 CPU=1", expect!["launch 1 a"]);
    check("pool a CPU=4\n pending a stopping\n want 4 CPU=1", expect![""]);
}

#[test]
fn bounds_hold_before_demand() {
    check("pool a CPU=4 min=2\n pending a queued", expect!["launch 1 a"]);
    check(
        "pool a CPU=4 max=1\n node a CPU=4 | CPU=4 idle=5\n pending a requested\n want 3 CPU=4",
        expect![[r#"
            end 1 MaxNodesPerPool { max: 1 }
            left 1 of 0"#]],
    );
    check(
        "max 1\n pool a CPU=4\n node a CPU=4 |\n node a CPU=4 | CPU=2",
        expect!["end 1 MaxNodes { max: 1 }"],
    );
}

#[test]
fn new_nodes_of_one_minimum_are_one_object() {
    check(
        "max 2\n pool a CPU=4 min=3",
        expect![[r#"
            end a new node MaxNodes { max: 2 }
            end a new node MaxNodes { max: 2 }
            end a new node MaxNodes { max: 2 }"#]],
    );
}

#[test]
fn idle_nodes_end_down_to_the_minimum() {
    check(
        "idle 60\n pool a CPU=4 min=1\n node a CPU=4 | CPU=4 idle=60001\n node a CPU=4 | CPU=4 idle=70000",
        expect!["end 1 Idle { idle_ms: 70000 }"],
    );
    check("idle 60\n pool a CPU=4\n node a CPU=4 | CPU=4 idle=60000", expect![""]);
    check("idle 60\n pool a CPU=4\n node a CPU=4 | CPU=4 idle=70000\n hold 1 CPU=1", expect![""]);
}

#[test]
fn outdated_nodes_end_and_those_not_up_yet_always_are() {
    check(
        "check\n pool a CPU=4 hash=new\n node a CPU=4 | CPU=4 hash=new\n node a CPU=4 | CPU=4 hash=old\n pending a queued",
        expect![[r#"
            end 1 Outdated
            end 2 Outdated"#]],
    );
}

#[test]
fn gangs_and_the_constraint_are_all_or_nothing() {
    check("pool a CPU=4 max=1\n gang pack 2 CPU=2", expect!["launch 1 a"]);
    check("pool a CPU=4 max=1\n gang spread 2 CPU=1", expect!["left gang 0"]);
    check("pool a CPU=4 max=2\n gang spread 2 CPU=1\n want 6 CPU=1", expect!["launch 2 a"]);
    check("pool a CPU=4\n hold 3 CPU=4\n hold 1 GPU=1", expect!["left the constraint"]);
}

#[test]
fn a_record_on_which_ray_fails_is_left_out() {
    check(
        "pool a CPU=4\n node gone CPU=4 | CPU=4\n want 1 CPU=4",
        expect![[r#"
            launch 1 a
            without Instance(0): RAY-POOL-UNKNOWN"#]],
    );
    check(
        "pool a CPU=4\n node a CPU=4 | CPU=6\n want 1 CPU=1\n want 1 GPU=1",
        expect![[r#"
            launch 1 a
            left 1 of 1
            without Instance(0): RAY-USED-OUT-OF-RANGE"#]],
    );
    // placed demand brings it back into range, and Ray does not notice
    check("pool a CPU=4\n node a CPU=4 | CPU=6\n want 6 CPU=1", expect![""]);
}

/// Times of nodes on their way are kept by number, and forgotten as they end.
#[test]
fn unneeded_nodes_on_their_way_end_after_their_own_timeout() {
    let text = "pool a CPU=4\n pending a queued\n pending a queued";
    let at = |now_s, memory: &Memory| {
        let pending_idle = Some(PendingIdle { timeout_s: 10.0, now_s });
        let input = Input { pending_idle, ..parse(text) };
        let (decision, memory) = decide(&input, memory);
        (render(&input, &decision), memory)
    };
    let (first, memory) = at(100.0, &Memory::default());
    assert_eq!((first.as_str(), &memory.unneeded_since_s["a"][..]), ("", &[100.0, 100.0][..]));
    let (second, memory) = at(111.0, &memory);
    expect![[r#"
        end 0 Idle { idle_ms: 11000 }
        end 1 Idle { idle_ms: 11000 }"#]]
    .assert_eq(&second);
    assert!(memory.unneeded_since_s["a"].is_empty());
}

/// A cube is rounded once: in the first three cases `u * u * u` is one step off.
#[test]
fn cubes_are_rounded_once() {
    assert_eq!(score::cubed(0.3), 0.026_999_999_999_999_996);
    assert_eq!(score::cubed(0.65), 0.274_625);
    assert_eq!(score::cubed(1.0 / 3.0), 0.037_037_037_037_037_03);
    assert_eq!(score::cubed(0.375), 0.052_734_375);
    assert_eq!(score::cubed(1.0), 1.0);
}
