//! The shell around the engine: it looks, plans off the engine's thread, writes, acts, and tells. It decides
//! nothing.
//!
//! ```text
//! sources (pollers) ──Input──▶ shell ──Output──▶ keeper (store) · planning · executor · publisher · board
//!        ▲                       │
//!        └────────── pokes ◀─────┘
//! ```

mod board;
mod clock;
mod connect;
mod desk;
mod error;
mod executor;
mod keeper;
mod kubernetes;
mod look;
mod notices;
mod planning;
mod publisher;
mod reload;
mod rim;
mod shell;
mod sources;
mod words;

pub use board::Board;
pub use connect::RealOutside;
pub use error::DaemonError;
pub use kubernetes::{Claims, lead, lost};
pub use look::look;
pub use ostler_workload_kubernetes::lease::Loss;
pub use reload::Loader;
pub use rim::{Connect, Connected, Rim};
pub use shell::{Options, run};
