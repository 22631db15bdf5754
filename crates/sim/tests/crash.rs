//! Ostler is killed at every output of its engine, in each of three ways; the end is as if it had not been.
#![allow(clippy::print_stdout, reason = "whoever looks into one run wants to see it")]

use ostler_sim::{Broken, CrashPoint, End, Scenario, Simulation};
use std::fmt::Write as _;

/// Kills Ostler once at each output of the scenario's undisturbed run.
fn check(text: &str) {
    let scenario = Scenario::parse(text).expect("the scenario is in order");
    let undisturbed = run(&scenario).unwrap_or_else(|what| panic!("without a crash: {what}"));
    assert_eq!((undisturbed.unowned, undisturbed.empty, undisturbed.failures_by_us), (0, 0, 0));
    let mut wrong = String::new();
    let mut crashes = 0;
    let visit = |point: CrashPoint, result: Result<End, Broken>| {
        crashes += 1;
        let what = match result {
            Ok(end) if end == undisturbed => return,
            Ok(end) => end.to_string(),
            Err(broken) => broken.to_string(),
        };
        writeln!(wrong, "crash {} {}  # {what}", point.output, point.mode.name())
            .expect("a string takes all");
    };
    let end = Simulation::each_crash(scenario, visit);
    assert_eq!(end.as_ref(), Ok(&undisturbed), "the same scenario ends in the same way");
    assert!(crashes >= 100, "only {crashes} crashes: the scenario is too short to say anything");
    assert!(
        wrong.is_empty(),
        "without a crash: {undisturbed}\nadd one of these lines to the scenario to see it:\n{wrong}"
    );
}

fn run(scenario: &Scenario) -> Result<End, String> {
    let mut simulation = Simulation::new(scenario.clone());
    simulation.trace.wanted = std::env::var_os("TRACE").is_some();
    let result = simulation.run().map_err(|broken| broken.to_string());
    if simulation.trace.wanted {
        print!("{}", simulation.trace);
    }
    result.map(|()| End::of(&simulation.world))
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
    match run(&scenario) {
        Ok(end) => println!("{end}"),
        Err(broken) => panic!("{broken}"),
    }
}
