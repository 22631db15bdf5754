//! What is decided about nodes, as text in and text out.

mod apply;
mod brute;
mod due;
mod grow;
mod laws;
mod random;
mod reports;
mod shrink;
mod turns;
mod words;
mod world;

use ostler_packing::kube::decide;
use world::World;

/// Decides, compares, and holds the decision against the laws.
fn check(text: &str, expected: &expect_test::Expect) {
    let world = World::of(text);
    let decision = decide(&world.problem());
    expected.assert_eq(&apply::text(&world, &decision));
    laws::hold(&world, &decision);
}
