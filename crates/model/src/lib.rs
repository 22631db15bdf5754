//! The words of Ostler: identifiers, quantities, times, pools, demand, nodes and what providers list.
//!
//! Nothing here decides anything. Every other crate speaks in these types, so that two rooms never need to
//! translate between each other. All types derive `serde`: a recording is these words as JSON, in an
//! envelope with a version (crate `ostler-wire`; see `docs/adr/0002-model-derives-serde.md`).
#![no_std]

extern crate alloc;

pub mod cause;
pub mod cloud;
pub mod demand;
pub mod id;
pub mod kube;
pub mod label;
pub mod node;
pub mod observation;
pub mod policy;
pub mod pool;
pub mod price;
pub mod quantity;
pub mod target;
pub mod time;

pub use cause::{EndCause, LaunchCause};
pub use cloud::{CloudInstance, CloudPhase};
pub use demand::{Bundle, Demand, Floor, Gang, Shape, Strategy, Task};
pub use id::{CloudId, GangId, InstanceId, LaunchToken, NodeId, PoolId, ProviderId, WorkloadId};
pub use label::{Labels, Operator, Selector, Term};
pub use node::{Node, NodeStatus};
pub use observation::{EffectOutcome, EffectReport, Failure, FailureClass, Observed, WorkloadState};
pub use policy::{Policy, Scoring, Timeouts};
pub use pool::{NodeKind, Pool};
pub use price::Price;
pub use quantity::{Quantity, Resources};
pub use target::{Scale, Target, Wish};
pub use time::{Millis, Timestamp};
