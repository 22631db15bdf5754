//! When we decide, and what is outstanding: [`Engine::handle`] turns one [`Input`] into [`Output`]s.
//!
//! No clock, no IO: the shell around it tells what happened and does what it is told. Wake-ups carry no
//! decision; whatever woke the engine, a pass over the whole snapshot gives the same answer.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod effects;
mod engine;
mod input;
mod output;
mod requests;
mod room;

pub use engine::Engine;
pub use input::{Input, Request, Setup};
pub use output::{Alarm, Declined, Output, Source};
