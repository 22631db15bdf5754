//! The `ostler` binary in front of real Rays, as its users run it: a cluster, a configuration, a program of Ray.
//!
//! Nothing of Ostler is linked in. What it does is seen from outside: its API, its commands, its log, the
//! processes of the host, and what Ray's own programs say.

mod binary;
mod cost;
mod ostler;
mod picture;
mod world;

pub use binary::ostler_binary;
pub use cost::{Spans, cpu_seconds, cpu_seconds_of_threads, load_average, megabytes};
pub use ostler::{Entry, Finished, Ostler};
pub use picture::Picture;
pub use world::{Gate, Machine, World, alone, pools, step};
