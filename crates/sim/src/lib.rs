//! A virtual world in virtual time: clouds, a Ray cluster, a store, and one Ostler after the other in it.
//!
//! The engine, the planner and the audit in here are those of the daemon; only what is around them is played. A
//! run depends on its [`Scenario`] alone, so whatever is found is found again: a [`swarm`] of random scenarios
//! looks for it, a [`CrashPoint`] kills Ostler at any of its outputs, and checks judge after every event.

mod call;
mod check;
mod codec;
mod end;
mod happening;
pub mod kube;
mod random;
mod ray;
mod scenario;
mod score;
mod shell;
mod simulation;
pub mod swarm;
mod trace;
mod world;

pub use end::End;
pub use happening::{CrashMode, CrashPoint, Happening};
pub use ray::{Kind, Life, RayHabits, Rejoin, Stage, VirtualNode, VirtualRay, Work};
pub use scenario::{Mistake, Mistakes, Scenario};
pub use score::Score;
pub use simulation::{Broken, Put, Simulation};
pub use trace::Trace;
pub use world::{Tally, World};

/// Why a scenario has no score.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// `OSTLER-V001` Its text cannot be understood.
    #[error(transparent)]
    Text(#[from] Mistakes),
    /// `OSTLER-V002` A promise did not hold.
    #[error("{0}. This is a fault in Ostler: please report it with the scenario [OSTLER-V002]")]
    Broken(#[from] Broken),
}

/// Runs a scenario from its text to its end.
///
/// # Errors
/// All mistakes of the text at once, or the first promise that did not hold.
pub fn run(text: &str) -> Result<Score, RunError> {
    let mut simulation = Simulation::new(Scenario::parse(text)?);
    simulation.run()?;
    Ok(Score::of(&simulation.world))
}
