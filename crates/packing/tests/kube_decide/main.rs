//! What is decided about nodes, as text in and text out.

mod apply;
mod brute;
mod grow;
mod laws;
mod random;
mod reports;
mod shrink;
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

#[test]
fn zz_scratch() {
    let Ok(dir) = std::env::var("SCRATCH") else { return };
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    for f in files {
        let text = std::fs::read_to_string(&f).unwrap();
        println!("=== {}", f.display());
        let run = || {
            let world = World::of(&text);
            let decision = decide(&world.problem());
            println!("{}", apply::text(&world, &decision));
            let mut w = world.clone();
            if text.contains("#trace") {
                let mut d = decision.clone();
                for _ in 0..24 {
                    w = apply::apply(&w, &d);
                    d = decide(&w.problem());
                    println!("-- then\n{}", apply::text(&w, &d));
                }
            }
            laws::hold(&world, &decision);
        };
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err() {
            println!("!!! PANIC");
        }
    }
}
