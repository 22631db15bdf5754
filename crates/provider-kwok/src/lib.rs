//! Simulated nodes: a machine is a Node object that Ostler makes itself, with a pretence of a kubelet behind it.
//! For tests, demonstrations and load; nothing runs on them.
//!
//! A machine is the Node, and the Node says all that there is to know about it, so that a restart loses nothing:
//!
//! | on the Node | holds |
//! |---|---|
//! | its name | the pool and a hash of the launch token: a token has one name |
//! | `spec.providerID` | `kwok://SITE/NAME`, the machine's id |
//! | label `ostler.dev/kwok` | the site |
//! | label `ostler.dev/pool` | the pool |
//! | annotations `ostler-…` | the tags of the contract, and the user's |
//! | annotation `ostler.dev/kwok-behaviour` | how it behaves, see [`Behaviour`] |
//! | annotation `ostler.dev/kwok-ended` | its end was asked for |
//! | annotation `ostler.dev/kwok-fault: dead` | a person's or a test's: its kubelet is dead, until this is removed |
//!
//! The [kubelet of pretence](Kubelet) of a site goes by what the API server shows, for all its nodes: it lets a
//! node become ready when its boot is over, renews its lease, takes its startup taints off, starts pods that were
//! bound to it, ends those that are deleted, and takes down a node whose end was asked for. Several Ostlers on one
//! site disturb each other as little as two of the same hand: all it does is idempotent.
//!
//! A node's lease outlives it by an hour: it is how a launch that is repeated late knows that its machine has ended.
//!
//! | annotation of a pod | does |
//! |---|---|
//! | `ostler.dev/kwok-run: 5s` | it succeeds so long after its start (a Job's pod) |
//! | `ostler.dev/kwok-ready: 5s` | it becomes ready so long after its start; `never` |
//! | `ostler.dev/kwok-stop: 5s` | it takes so long to end, its grace period at most (else as its node says, 1 s) |

mod config;
mod kubelet;
mod node;
mod provider;

pub use config::{Behaviour, KwokConfig, KwokTemplate, Refusal};
pub use kubelet::Kubelet;
pub use node::{ENDED, FAULT, NodeSpec, POOL, SITE};
pub use provider::KwokProvider;
