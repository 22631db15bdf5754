//! Machines of the node groups of a server that speaks Cluster Autoscaler's external gRPC provider protocol.
//!
//! The protocol knows sizes: a group wants so many machines, has these, and can be told to want more or to
//! end one by name. It knows no tokens and no tags. So whose a machine is, and what is under way, is in a
//! **ledger** on disk, and everything is done by **levels**, which can be done again at any time:
//!
//! - A launch is noted first. Wanted are the machines that stay and the launches that wait; what the group's
//!   size is short of that is asked for, never more. What the group makes by itself (a replacement, say)
//!   counts as coming. A machine that is new goes to the launch that has waited longest; one that nobody
//!   waits for is adopted: it is listed, and launched for nobody.
//! - A size that was asked for is in the ledger before the call, and is believed for a while even if the
//!   answer was lost or the server shows it late, so nothing is asked for twice.
//! - A machine that is reported as failed while it is made refuses the launch that it would have served, with
//!   the server's words, and is ended, so that the group's size falls with it; it never counts as coming.
//! - What has not come in time is taken back from the size, once, and the launch is refused.
//! - An end is in the ledger before the call. An end that was accepted is not asked for again; one whose
//!   answer was lost only if the group's size says that it was not heard. Some servers lower the size with
//!   each repeated call, and end a healthy machine.
//!
//! If the ledger is lost, machines stay, and are adopted. What has no word in the protocol is not there: tags
//! of the user, variables for joining, and the time at which a machine was made. Prices, templates and
//! options of groups are not asked for. `docs/externalgrpc.md` is the page for those who use it.
//!
//! | file | holds |
//! |---|---|
//! | `book.rs` | what the ledger says: pure |
//! | `look.rs`, `error.rs` | the server's words in ours: pure |
//! | `ledger.rs` | the book on disk |
//! | `client.rs` | the calls |
//! | `group.rs` | one group: looks and what is done |
//! | `provider.rs` | the contract in front of the groups |
//! | `double.rs` | a cloud in memory behind the protocol, for tests (feature `server`) |
//!
//! Bounds: 50,000 machines of a group, 32 MiB of an answer, ids of 1,024 bytes, 500 characters of a server's
//! words, 8 groups looked at at once, 2,000 ended machines remembered for each group, `timeout` for each
//! call, and [`Capabilities::answers_within`](ostler_provider::Capabilities::answers_within) for all of a
//! call of ours.

mod book;
mod client;
mod config;
#[cfg(feature = "server")]
pub mod double;
mod error;
mod group;
mod ledger;
mod look;
#[cfg(feature = "server")]
pub mod proto;
#[cfg(not(feature = "server"))]
mod proto;
mod provider;

pub use config::{Config, Timing, Tls};
pub use ledger::{FileStorage, Storage};
pub use provider::ExternalGrpcProvider;
