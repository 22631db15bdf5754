//! Clusters that are larger than one plan can look at: each node has its turn.

use super::apply::apply;
use super::laws::hold;
use super::world::World;
use ostler_packing::kube::decide;
use ostler_packing::kube::problem::Keep;
use std::fmt::Write;

/// Only one of 300 nodes can go: it goes in the first plan, since all are looked at.
#[test]
fn k02_every_candidate_is_looked_at() {
    let mut text = String::from("pool big cpu=4 mem=16\n");
    for n in 0..300 {
        writeln!(text, "node n{n:03} big").unwrap();
        let cpu = if n == 290 { "0.3" } else { "3.5" };
        writeln!(text, "pods 1 a{n} cpu={cpu} mem=1 on=n{n:03}").unwrap();
    }
    let world = World::of(&text);
    let decision = decide(&world.problem());
    let gone: Vec<&str> =
        decision.removals.iter().map(|removal| &*world.machines[removal.machine].name).collect();
    assert_eq!(gone, ["n290"]);
    assert!(decision.kept.iter().all(|(_, keep)| *keep != Keep::NotLookedAt));
}

/// 300 nodes, each with a pod that can be nowhere else, but for one.
fn hundreds(policy: &str, one: usize, its_pods: &str) -> String {
    let mut text = format!("{policy}\npool big cpu=4 mem=16\n");
    for n in 0..300 {
        writeln!(text, "node n{n:03} big").unwrap();
        if n == one {
            writeln!(text, "{its_pods}").unwrap();
        } else {
            writeln!(text, "pods 1 a{n} cpu=0.5 mem=1 select.host=n{n:03} on=n{n:03}").unwrap();
        }
    }
    text
}

/// What goes first in so many plans.
fn first_to_go(mut world: World, plans: usize) -> Option<String> {
    for _ in 0..plans {
        let decision = decide(&world.problem());
        let missed = decision.kept.iter().filter(|(_, keep)| *keep == Keep::NotLookedAt).count();
        assert!(missed >= 250, "{missed} is less than the test is about");
        if let [gone] = &decision.removals[..] {
            return Some(world.machines[gone.machine].name.to_string());
        }
        assert!(decision.removals.is_empty());
        world = apply(&world, &decision);
    }
    None
}

/// With work for some twenty of 300 nodes in a plan, the only one that can go is found, though it is the last by any
/// other order.
#[test]
fn k02_those_that_were_not_looked_at_have_their_turn() {
    let text = hundreds("policy work=60000", 290, "pods 1 web cpu=1.5 mem=1 port=80 on=n290");
    assert_eq!(first_to_go(World::of(&text), 15).as_deref(), Some("n290"));
}

/// One that is too much for any plan keeps the others waiting for one plan, not for good.
#[test]
fn k02_a_node_that_cannot_be_looked_at_keeps_no_other_waiting() {
    let mut text = hundreds("policy work=60000", 290, "pods 1 web cpu=1.5 mem=1 port=80 on=n290");
    // What is on n100 is tried on all other nodes, and has its place on the last.
    text = text.replace("pods 1 a100 cpu=0.5 mem=1 select.host=n100 on=n100", "");
    text.push_str("pool dear cpu=8 mem=64 price=9\nnode x dear\npods 1 x cpu=1 mem=1 select.host=x on=x\n");
    for n in 0..30 {
        writeln!(text, "pods 1 b{n} cpu=0.1 mem=0.1 port={} select.pool=dear on=n100", 1000 + n).unwrap();
    }
    assert_eq!(first_to_go(World::of(&text), 20).as_deref(), Some("n290"));
}

/// Of more nodes than a plan tries to replace one by one, each has its turn too.
#[test]
fn k46_each_is_tried_for_something_cheaper_in_its_turn() {
    let mut text = hundreds("", 290, "pods 1 web cpu=3.8 mem=1 on=n290");
    writeln!(text, "pool small cpu=4 mem=4 price=0.5").unwrap();
    let mut world = World::of(&text);
    let replaced = (0..3).find_map(|_| {
        let decision = decide(&world.problem());
        let old = decision.replacements.first().map(|one| one.old.clone());
        world = apply(&world, &decision);
        old
    });
    assert_eq!(replaced.map(|old| world.machines[old[0]].name.to_string()).as_deref(), Some("n290"));
}

/// A pool of 500 nodes that cannot go does not keep the four of another from being looked at.
#[test]
fn k46_small_pools_are_not_starved() {
    let mut text = String::from("pool a cpu=4 mem=16\npool b cpu=4 mem=16 taint=b\n");
    for n in 0..500 {
        writeln!(text, "node a{n:03} a\npods 1 a cpu=2.5 mem=1 on=a{n:03}").unwrap();
    }
    for n in 0..4 {
        writeln!(text, "node b{n} b\npods 1 b cpu=2 mem=1 on=b{n} tolerate=b select.pool=b").unwrap();
    }
    let world = World::of(&text);
    let decision = decide(&world.problem());
    hold(&world, &decision);
    let gone = decision.removals.iter().filter(|one| world.machines[one.machine].pool == Some(1)).count();
    assert_eq!((gone, decision.removals.len()), (2, 2));
}
