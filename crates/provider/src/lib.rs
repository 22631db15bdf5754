//! The contract with what machines come from: clouds, schedulers, hosts, processes.
//!
//! A provider is small: it can [list](Provider::list), [launch](Provider::launch) and
//! [terminate](Provider::terminate). It never sees a demand and holds no policy; what it can and cannot do is
//! data ([`Capabilities`]), how it fails is a class ([`ProviderError`]). [`tags`] is how it knows its machines
//! again, [`fake`] a cloud in memory with faults on order, and `conformance` (a feature) the suite of tests that
//! each implementation passes. `docs/recipes/add-a-provider.md` leads through adding one.

#[cfg(feature = "conformance")]
pub mod conformance;
mod contract;
mod error;
pub mod fake;
pub mod tags;

pub use contract::{Capabilities, LaunchSpec, Listing, Provider, ServedPool};
pub use error::ProviderError;
