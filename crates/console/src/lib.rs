//! The HTTP read model: status, health, readiness, metrics, and the page. It decides nothing and changes nothing.

mod read_model;

pub use read_model::{Counters, LaunchCount, ReadModel};
