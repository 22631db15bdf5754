//! `cargo xtask oracle`: decisions, compared with recorded ones.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use clap::Subcommand;
use ostler_testkit::ray_case::{Case, Verdict};

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
}

/// Whether all cases passed.
pub(crate) fn run(oracle: Oracle) -> Result<bool, String> {
    let Oracle::Ray { file, policy } = oracle;
    let at = file.display();
    let lines =
        BufReader::new(File::open(&file).map_err(|e| format!("cannot read {at}: {e} [XTASK-CASES-FILE]"))?);
    let (mut passed, mut failed) = (0, 0);
    for (number, line) in lines.lines().enumerate() {
        let line = line.map_err(|e| format!("cannot read {at}: {e} [XTASK-CASES-FILE]"))?;
        if line.trim().is_empty() {
            continue;
        }
        let case: Case = serde_json::from_str(&line)
            .map_err(|e| format!("{at} line {}: no case: {e} [XTASK-CASES-FORMAT]", number + 1))?;
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
