//! Mistakes in a scenario.

use std::fmt;

/// One line that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong and what to write instead.
    pub message: String,
}

/// All of them, in the order of the lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistakes(pub Vec<Mistake>);

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |mistake: &Mistake| format!("line {}: {} [OSTLER-V001]", mistake.line, mistake.message);
        f.write_str(&self.0.iter().map(line).collect::<Vec<_>>().join("\n"))
    }
}

impl std::error::Error for Mistakes {}
