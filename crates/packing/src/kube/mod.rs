//! Which nodes a Kubernetes cluster should have: every pod a place by the filters of kube-scheduler, no node that
//! could be spared.
//!
//! [`fit`] is the one judge of "does this pod fit on that node?", for growth, shrinking and explanation alike; it
//! looks at a [`Ledger`](ledger::Ledger), the working copy of who is where. `docs/kubernetes.md` says which
//! versions of the scheduler it is measured against, and what it does not cover.

mod bulk;
mod decide;
mod down;
pub mod fit;
mod keep;
pub mod ledger;
pub mod problem;
mod unused;
mod up;
mod world;

pub use decide::decide;
