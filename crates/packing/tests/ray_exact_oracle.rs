//! `ray-exact` decides as Ray 2.60.0 did on every recorded case.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use ostler_testkit::ray_case::{Case, RayExact, Verdict, check};

/// Compares all cases of a file; gives what was noted on those that passed.
fn check_file(name: &str, cases: usize) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let lines = BufReader::new(File::open(path).unwrap()).lines();
    let (mut notes, mut failures, mut count) = (Vec::new(), Vec::new(), 0);
    for line in lines {
        let case: Case = serde_json::from_str(&line.unwrap()).unwrap();
        count += 1;
        match check(&case, &mut RayExact::default()) {
            Verdict::Passed(noted) => notes.extend(noted.iter().map(|note| format!("{}: {note}", case.name))),
            Verdict::Failed(difference) => failures.push(format!("{}{difference}", case.name)),
        }
    }
    assert!(failures.is_empty(), "{} of {count} differ:\n{}", failures.len(), failures.join("\n"));
    assert_eq!(count, cases, "cases in {name}");
    notes
}

#[test]
fn decides_as_ray_on_recorded_cases() {
    let notes = check_file("ray-2.60.0-cases.jsonl", 400);
    let gone = "Ray raises KeyError 'gone-type': left out instances[1] i-0002 [RAY-POOL-UNKNOWN]";
    assert_eq!(notes, [format!("shared-330-edge: {gone}"), format!("shared-380-edge: {gone}")]);
}

#[test]
fn decides_as_ray_over_several_rounds() {
    assert_eq!(check_file("ray-2.60.0-sequences.jsonl", 40), [""; 0]);
}

#[test]
fn decides_as_ray_where_ray_is_odd() {
    let notes = check_file("ray-2.60.0-surprises.jsonl", 29);
    assert_eq!(
        notes,
        [
            "type-removed-while-running: Ray raises KeyError 'gone': left out instances[1] i-11 [RAY-POOL-UNKNOWN]",
            "available-above-total: Ray raises AssertionError Invalid utilization: -0.25: left out instances[1] i-13 \
             [RAY-USED-OUT-OF-RANGE]",
        ]
    );
}
