//! `cargo xtask oracle`: decisions, compared with recorded ones.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use clap::Subcommand;
use ostler_testkit::ray_case::{Case, Verdict};
use serde_json::Value;

use crate::kube_case::{self, Outcome};
use crate::kube_weigh::Weights;
use crate::policy::Policy;

/// A scheduler whose decisions were recorded.
#[derive(Debug, Subcommand)]
pub(crate) enum Oracle {
    /// Ray's autoscaler v2. Ends with the line `N passed, M failed`.
    Ray {
        /// Cases, one JSON object a line.
        file: PathBuf,
        /// Who decides.
        #[arg(long, value_enum, default_value = "ray-exact")]
        policy: Policy,
    },
    /// The filters of kube-scheduler (`tools/kube-oracle` writes the cases). Ends with the line `N passed, M failed`.
    Kube {
        /// Cases, one world a line.
        file: PathBuf,
        /// Also weigh the parts of the cases: how many answers each of them decides.
        #[arg(long)]
        weigh: bool,
    },
}

/// Whether all cases passed.
pub(crate) fn run(oracle: Oracle) -> Result<bool, String> {
    match oracle {
        Oracle::Ray { file, policy } => ray(&file, policy),
        Oracle::Kube { file, weigh } => kube(&file, weigh),
    }
}

/// The lines of a file, numbered from one, without empty ones.
fn lines(file: &Path) -> Result<impl Iterator<Item = Result<(usize, String), String>>, String> {
    let at = file.display().to_string();
    let unreadable = move |error| format!("cannot read {at}: {error} [XTASK-CASES-FILE]");
    let lines = BufReader::new(File::open(file).map_err(&unreadable)?).lines();
    let numbered = (1..).zip(lines).map(move |(number, line)| Ok((number, line.map_err(&unreadable)?)));
    Ok(numbered.filter(|line| line.as_ref().map_or(true, |(_, text)| !text.trim().is_empty())))
}

fn ray(file: &Path, policy: Policy) -> Result<bool, String> {
    let at = file.display();
    let (mut passed, mut failed) = (0, 0);
    for line in lines(file)? {
        let (number, line) = line?;
        let case: Case = serde_json::from_str(&line)
            .map_err(|e| format!("{at} line {number}: no case: {e} [XTASK-CASES-FORMAT]"))?;
        match policy.judge(&case) {
            Verdict::Passed(notes) => {
                passed += 1;
                notes.iter().for_each(|note| println!("{}: {note}", case.name));
            }
            Verdict::Failed(difference) => {
                failed += 1;
                println!("FAILED {}{difference}", case.name);
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    Ok(failed == 0)
}

/// A world with a difference is printed whole, so that it can be kept as a case.
fn kube(file: &Path, weigh: bool) -> Result<bool, String> {
    let at = file.display();
    let (mut sum, mut weights) = (Outcome::default(), Weights::new());
    for line in lines(file)? {
        let (number, line) = line?;
        let odd = |why: String| format!("{at} line {number}: no case: {why} [XTASK-CASES-FORMAT]");
        let case: Value = serde_json::from_str(&line).map_err(|error| odd(error.to_string()))?;
        let outcome = kube_case::compare(&case).map_err(odd)?;
        for difference in &outcome.differences {
            println!("FAILED line {number}: {difference}");
        }
        if !outcome.differences.is_empty() {
            println!("{line}");
        }
        sum.add(outcome);
        if weigh {
            weights.add(&case, number).map_err(odd)?;
        }
    }
    if weigh {
        println!("{weights}");
    }
    println!("{} fit; noes: {:?}; not judged: {}", sum.fits, sum.noes, sum.unjudged);
    let failed = sum.differences.len();
    println!("{} passed, {failed} failed", sum.pairs - failed);
    Ok(failed == 0)
}
