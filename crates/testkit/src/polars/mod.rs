//! A double of the Polars scheduler, written from the specification of its scaling service alone, and a world for it
//! to live in: the real service in front, a provider with faults behind, and a clock that is turned by hand.

pub mod client;
pub mod random;
pub mod scheduler;
pub mod world;
