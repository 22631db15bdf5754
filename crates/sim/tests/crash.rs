//! Ostler is killed at every output of its engine, in each of three ways; the end is as if it had not been.

use ostler_sim::{CrashMode, CrashPoint, End, Put, Scenario, Simulation};
use std::fmt::Write as _;

/// Kills Ostler once at each output of the scenario's undisturbed run.
fn check(text: &str) {
    let scenario = Scenario::parse(text).expect("the scenario is in order");
    let (undisturbed, outputs) =
        run(&scenario, None).unwrap_or_else(|what| panic!("without a crash: {what}"));
    assert_eq!((undisturbed.unowned, undisturbed.empty, undisturbed.failures_by_us), (0, 0, 0));
    let mut wrong = String::new();
    let mut runs = 0;
    for (n, Put { kind, writes }) in outputs.iter().enumerate() {
        for mode in CrashMode::ALL {
            let point = CrashPoint { output: n as u64 + 1, mode };
            // Where nothing that changes the world is under way, all modes are the same.
            let asks = matches!(*kind, "commit" | "run");
            if (mode == CrashMode::Done && !asks) || (mode == CrashMode::Ghosts && !writes) {
                continue;
            }
            runs += 1;
            let line = format!("crash {} {}", point.output, mode.name());
            match run(&scenario, Some(point)) {
                Ok((end, _)) if end == undisturbed => {}
                Ok((end, _)) => writeln!(wrong, "{line}  # at a {kind}: {end}").expect("a string takes all"),
                Err(what) => writeln!(wrong, "{line}  # at a {kind}: {what}").expect("a string takes all"),
            }
        }
    }
    assert!(runs >= 100, "only {runs} crashes: the scenario is too short to say anything");
    assert!(
        wrong.is_empty(),
        "without a crash: {undisturbed}\nadd one of these lines to the scenario to see it:\n{wrong}"
    );
}

fn run(scenario: &Scenario, crash: Option<CrashPoint>) -> Result<(End, Vec<Put>), String> {
    let mut simulation =
        Simulation::new(Scenario { crashes: crash.into_iter().collect(), ..scenario.clone() });
    simulation.trace.wanted = std::env::var_os("TRACE").is_some();
    let result = simulation.run().map_err(|broken| broken.to_string());
    if simulation.trace.wanted {
        print!("{}", simulation.trace);
    }
    result.map(|()| (End::of(&simulation.world), simulation.outputs))
}

macro_rules! worlds {
    ($($name:ident: $file:literal;)*) => {$(
        #[test]
        fn $name() {
            check(include_str!(concat!("worlds/", $file, ".txt")));
        }
    )*};
}

worlds! {
    up_and_down: "up-and-down";
    keeps_minimum: "keeps-minimum";
    stays_up: "stays-up";
    refused: "refused";
    lost_answers: "lost-answers";
    drain_rejected: "drain-rejected";
    machine_killed: "machine-killed";
    head_restart: "head-restart";
    new_bounds: "new-bounds";
}

/// `FILE=world.txt TRACE=1 cargo test -p ostler-sim --test crash one_file -- --ignored --nocapture`
#[test]
#[ignore = "for looking into one scenario"]
fn one_file() {
    let file = std::env::var("FILE").expect("FILE names a scenario");
    let text = std::fs::read_to_string(&file).expect("FILE can be read");
    let scenario = Scenario::parse(&text).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    match run(&scenario, None) {
        Ok((end, outputs)) => println!("{end}; {} outputs", outputs.len()),
        Err(broken) => panic!("{broken}"),
    }
}
