//! A cloud in memory, for simulation and for tests: deterministic, in its own time, with faults on order.
//!
//! [`FakeCloud`] is a plain value with synchronous methods: time stands until [`FakeCloud::set_now`] moves it, and
//! each call says when its answer arrives. [`FakeProvider`] puts the [`Provider`](crate::Provider) trait in front.

mod cloud;
mod fault;
mod provider;

pub use cloud::{Answer, Calls, FakeCloud, Habits};
pub use fault::{Call, Fault, Trouble};
pub use provider::FakeProvider;
