//! The record of one instance: its states, the events that move it, and the effect that its state calls for.
//!
//! [`Instance::transition`] is the only way a state changes. The edges are Ray 2.60.0's, state by state
//! (`docs/ray-behaviours.md`); the effect of a state is a function of the record alone, so a crash between
//! writing the record and acting on it loses nothing.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod effect;
mod event;
mod instance;
mod state;
mod transition;

pub use effect::{Act, Effect, due_effect};
pub use event::Event;
pub use instance::{Entered, HISTORY_MAX, Instance};
pub use state::{State, StateName};
pub use transition::IllegalTransition;
