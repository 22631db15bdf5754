//! How long `ray` takes to decide on recorded problems: `cargo run --release --example ray_time -- FILE...`
#![allow(clippy::print_stdout, reason = "what it measures goes to the terminal")]

use std::time::Instant;

use ostler_packing::ray::decide;
use ostler_testkit::ray_case::Case;
use ostler_testkit::ray_problem::problem;

fn main() {
    let repeats = std::env::var("REPEATS").ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).expect("a file of one case");
        let case: Case = serde_json::from_str(&text).expect("a case");
        let problem = problem(&case, &case.scenes()[0]);
        drop(text);
        let mut best = u128::MAX;
        let mut launched = 0;
        for _ in 0..repeats {
            let start = Instant::now();
            let decision = decide(&problem);
            best = best.min(start.elapsed().as_micros());
            launched = decision.launches.iter().map(|launch| launch.count).sum();
        }
        println!("{}: {}.{:03} ms, {launched} launched", case.name, best / 1000, best % 1000);
    }
}
