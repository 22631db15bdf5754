//! What `ray` launches beside Ray 2.60.0, and what it does where Ray is odd; both are in `docs/ray-differences.md`.
//!
//! `UPDATE_EXPECT=1` writes the figures anew. `RAY_CASES=FILE[:FILE]` prints those of other cases.
#![allow(clippy::print_stdout, reason = "figures, for who asks for them")]

use std::cmp::Ordering;
use std::fmt::{self, Write as _};
use std::fs::{File, read_to_string, write};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use expect_test::expect;
use ostler_packing::problem::{Decision, Problem};
use ostler_packing::ray::decide;
use ostler_testkit::ray_case::Case;
use ostler_testkit::ray_problem::{bill, launches, problem, used_a_leaving_machine};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(format!("ray-2.60.0-{name}.jsonl"))
}

fn read(path: &Path) -> Vec<Case> {
    let lines = BufReader::new(File::open(path).unwrap()).lines();
    lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect()
}

/// Fewer, equal, more than Ray, and the sums of both.
#[derive(Default)]
struct Row {
    fewer: u32,
    equal: u32,
    more: u32,
    ours: f64,
    rays: f64,
}

impl Row {
    fn add(&mut self, ours: f64, rays: f64) {
        match ours.total_cmp(&rays) {
            Ordering::Less => self.fewer += 1,
            Ordering::Equal => self.equal += 1,
            Ordering::Greater => self.more += 1,
        }
        self.ours += ours;
        self.rays += rays;
    }
}

/// The figures over the decisions in which Ray raised no error: those that can be compared, then those in which
/// Ray placed demand on machines that are leaving, or may have.
fn figures(files: &[PathBuf]) -> String {
    let mut tables: [Table; 2] = Default::default();
    for case in files.iter().flat_map(|path| read(path)) {
        for scene in case.scenes() {
            let Some(rays) = scene.expected.as_ref().filter(|rays| rays.error.is_none()) else { continue };
            let problem = problem(&case, scene);
            let decision = decide(&problem);
            let (ours, theirs) = (bill(&case, &launches(&problem, &decision)), bill(&case, &rays.to_launch));
            let table = &mut tables[usize::from(used_a_leaving_machine(scene, rays))];
            table.decisions += 1;
            table.rows.iter_mut().zip(ours.into_iter().zip(theirs)).for_each(|(row, (a, b))| row.add(a, b));
            let left: u64 = decision.unplaced_tasks.iter().map(|left| left.count).sum();
            let rays: u64 = rays.infeasible_resource_requests.iter().map(|left| left.count).sum();
            table.rows[4].add(left as f64, rays as f64);
        }
    }
    let [clean, leaving] = tables;
    format!(
        "{clean}\nThose in which some machine is leaving, where Ray counts on it and Ostler does not:\n\n{leaving}"
    )
}

#[derive(Default)]
struct Table {
    decisions: u32,
    rows: [Row; 5],
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| {} decisions | fewer than Ray | equal | more | in all, Ostler | in all, Ray |",
            self.decisions
        )?;
        writeln!(f, "|---|---|---|---|---|---|")?;
        let names =
            ["nodes launched", "CPUs launched", "GPUs launched", "GiB launched", "requests left waiting"];
        for (name, Row { fewer, equal, more, ours, rays }) in names.iter().zip(&self.rows) {
            writeln!(f, "| {name} | {fewer} | {equal} | {more} | {ours:.0} | {rays:.0} |")?;
        }
        Ok(())
    }
}

const BEGIN: &str = "<!-- figures: written by the test `figures_are_in_the_document` -->\n";
const END: &str = "<!-- end of figures -->";

#[test]
fn figures_are_in_the_document() {
    if let Some(more) = std::env::var_os("RAY_CASES") {
        println!("{}", figures(&std::env::split_paths(&more).collect::<Vec<_>>()));
        return;
    }
    let figures = figures(&["cases", "sequences", "surprises"].map(data));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ray-differences.md");
    let text = read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("where the figures begin");
    let (old, after) = rest.split_once(END).expect("where the figures end");
    if old == figures {
        return;
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        write(&path, format!("{before}{BEGIN}{figures}{END}{after}")).unwrap();
        return;
    }
    panic!("docs/ray-differences.md is stale: run the test with UPDATE_EXPECT=1\nwas\n{old}\nis\n{figures}");
}

/// Every surprise has a line in the document.
#[test]
fn every_surprise_is_in_the_document() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ray-differences.md");
    let text = read_to_string(path).unwrap();
    let names: Vec<String> = read(&data("surprises")).into_iter().map(|case| case.name).collect();
    let missing: Vec<&String> = names.iter().filter(|name| !text.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "not in docs/ray-differences.md: {missing:?}");
}

fn show(problem: &Problem, decision: &Decision) -> String {
    let mut text = String::new();
    for launch in &decision.launches {
        let cause = format!("{:?}", launch.cause).to_lowercase();
        write!(text, " +{} {} ({cause})", launch.count, problem.pools[launch.pool].pool.id).unwrap();
    }
    for removal in &decision.removals {
        write!(text, " -{} ({:?})", problem.machines[removal.machine].instance, removal.cause).unwrap();
    }
    for left in &decision.unplaced_tasks {
        write!(text, " waits {} of {}", left.count, problem.tasks[left.index].shape).unwrap();
    }
    for left in &decision.unplaced_gangs {
        write!(text, " gang {} waits", left.index).unwrap();
    }
    for _ in &decision.unmet_floors {
        text.push_str(" floor not met in full");
    }
    for fault in &decision.faults {
        write!(text, " fault {:?} {}", fault.kind, fault.record).unwrap();
    }
    text
}

#[test]
fn what_it_does_where_ray_is_odd() {
    let mut text = String::new();
    for case in read(&data("surprises")) {
        let problem = problem(&case, &case.scenes()[0]);
        writeln!(text, "{}:{}", case.name, show(&problem, &decide(&problem))).unwrap();
    }
    expect![[r#"
        draining-node-is-free-capacity: +1 a (demand)
        overmax-victim-takes-demand: +1 b (demand) -i-4 (MaxPerPool)
        outdated-victim-takes-demand: +1 a (demand) -i-6 (Outdated)
        terminating-victim-uses-max-workers: +1 b (demand) -i-8 (MaxPerPool)
        min-workers-over-global-max: +3 a (min) fault MinAboveMax a
        type-removed-while-running: fault UnknownPool i-11
        available-above-total: waits 1 of GPU 1 fault AvailableAboveTotal i-13
        pending-check-on-launch-hash:
        idle-node-dies-for-a-queued-one: -i-18 (PendingIdle)
        constraint-is-all-or-nothing: +10 a (floor) floor not met in full
        constraint-one-bad-bundle: +3 a (floor) floor not met in full
        more-resource-types-beat-size: +1 cpu (demand) +1 lic (demand)
        zero-gpu-defeats-gpu-avoidance: +1 cpu (demand)
        bytes-drown-cpus: +1 fit (demand)
        one-unused-resource-hides-waste: +1 b (demand)
        one-unused-resource-hides-waste-memory: +1 b (demand)
        empty-selector-no-gpu-avoidance: +12 cpu (demand) +1 gpu (demand)
        fallback-buys-gpu-for-cpu-task: +1 gpu (demand)
        identical-types-round-robin: +6 a (demand)
        fallback-bundles-ignored: +1 g (gang)
        terminating-not-counted: +2 a (demand)
        greedy-overshoot: +2 c5 (demand)
        three-gpu-tasks-one-g4: +1 g4 (demand)
        max-zero-is-no-limit-down: -i-36 (MaxTotal) -i-37 (MaxTotal)
        busy-node-killed-over-max: -i-40 (MaxPerPool)
        spread-not-spread: +1 a (gang)
        gang-order-blocks: +1 a (gang) gang 0 waits
        min-workers-ignored-for-demand-order: +2 a (min)
        float-drift-launches-extra: +1 a (demand)
    "#]]
    .assert_eq(&text);
}
