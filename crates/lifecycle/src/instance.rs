//! The record.

use crate::state::{State, StateName};
use alloc::string::String;
use alloc::vec::Vec;
use ostler_model::{CloudId, InstanceId, LaunchCause, LaunchToken, NodeKind, PoolId, Timestamp};
use serde::{Deserialize, Serialize};

/// Entries of a record's history that are kept. A life has about ten; a machine that a provider refuses to end
/// goes round Terminating and TerminationFailed for as long as it refuses, and must not grow the record.
pub const HISTORY_MAX: usize = 32;

/// Our record of one machine, from the wish to have it to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    pub(crate) id: InstanceId,
    pub(crate) serial: u64,
    pub(crate) pool: PoolId,
    pub(crate) kind: NodeKind,
    pub(crate) launch_hash: String,
    pub(crate) launched_for: Option<LaunchCause>,
    pub(crate) attempt: u32,
    pub(crate) epoch: u32,
    pub(crate) state: State,
    pub(crate) since: Timestamp,
    pub(crate) history: Vec<Entered>,
}

/// When a state was entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entered {
    /// The state.
    pub state: StateName,
    /// When.
    pub at: Timestamp,
}

impl Instance {
    /// A wish: a new record in [`State::Queued`].
    pub fn queued(id: InstanceId, serial: u64, pool: PoolId, cause: LaunchCause, now: Timestamp) -> Self {
        Self::born(id, serial, pool, NodeKind::Worker, Some(cause), State::Queued, now)
    }

    /// A machine that exists without a record: a new record in [`State::Allocated`]. Its launch hash is
    /// unknown and left empty, which never counts as outdated.
    pub fn adopted(
        id: InstanceId,
        serial: u64,
        pool: PoolId,
        kind: NodeKind,
        cloud: CloudId,
        now: Timestamp,
    ) -> Self {
        Self::born(id, serial, pool, kind, None, State::Allocated { cloud }, now)
    }

    fn born(
        id: InstanceId,
        serial: u64,
        pool: PoolId,
        kind: NodeKind,
        launched_for: Option<LaunchCause>,
        state: State,
        now: Timestamp,
    ) -> Self {
        let history = alloc::vec![Entered { state: state.name(), at: now }];
        Self {
            id,
            serial,
            pool,
            kind,
            launch_hash: String::new(),
            launched_for,
            attempt: 0,
            epoch: 0,
            state,
            since: now,
            history,
        }
    }

    /// Its id.
    pub const fn id(&self) -> &InstanceId {
        &self.id
    }
    /// Position in the order of birth, unique within the workload.
    pub const fn serial(&self) -> u64 {
        self.serial
    }
    /// Its pool.
    pub const fn pool(&self) -> &PoolId {
        &self.pool
    }
    /// Head or worker.
    pub const fn kind(&self) -> NodeKind {
        self.kind
    }
    /// The pool's launch hash when it was last asked for; empty before that and for an adopted machine.
    pub fn launch_hash(&self) -> &str {
        &self.launch_hash
    }
    /// What it was made for; `None` for an adopted machine.
    pub const fn launched_for(&self) -> Option<LaunchCause> {
        self.launched_for
    }
    /// How often the provider has been asked; 0 before the first time.
    pub const fn attempt(&self) -> u32 {
        self.attempt
    }
    /// How many transitions it has had; names one of them for effects and their reports.
    pub const fn epoch(&self) -> u32 {
        self.epoch
    }
    /// Where it is.
    pub const fn state(&self) -> &State {
        &self.state
    }
    /// Since when it is there.
    pub const fn since(&self) -> Timestamp {
        self.since
    }
    /// The last [`HISTORY_MAX`] states with the time of entry, the present one last.
    pub fn history(&self) -> &[Entered] {
        &self.history
    }
    /// The token of its present attempt.
    pub fn token(&self) -> LaunchToken {
        LaunchToken::of(&self.id, self.attempt)
    }
}
