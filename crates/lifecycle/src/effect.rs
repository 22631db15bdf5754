//! What the outside world should be asked to do for an instance. A function of the record alone.

use crate::instance::Instance;
use crate::state::State;
use ostler_model::{CloudId, EndCause, InstanceId, LaunchToken, Millis, NodeId, PoolId, Timestamp};
use serde::{Deserialize, Serialize};

/// One act that a record calls for. Doing it twice does it once: `instance` and `epoch` name it, a launch also
/// carries a token that the provider knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// The record.
    pub instance: InstanceId,
    /// Its pool.
    pub pool: PoolId,
    /// The transition of the record that called for it.
    pub epoch: u32,
    /// Not before this time.
    pub not_before: Timestamp,
    /// What to do.
    pub act: Act,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "act")]
pub enum Act {
    /// Ask the provider for a machine.
    Launch {
        /// Makes it idempotent.
        token: LaunchToken,
        /// How often it has been asked for.
        attempt: u32,
    },
    /// Prepare the machine.
    Install {
        /// The machine.
        cloud: CloudId,
    },
    /// Ask the workload to let the node go.
    Drain {
        /// The node.
        node: NodeId,
        /// Why.
        cause: EndCause,
        /// By when its work should have left.
        deadline: Option<Timestamp>,
    },
    /// Ask the workload to take the drain of the node back.
    Undrain {
        /// The node.
        node: NodeId,
    },
    /// Ask the provider to end the machine.
    Terminate {
        /// The machine.
        cloud: CloudId,
        /// Why.
        cause: EndCause,
    },
}

/// The first wait after a provider failed to end a machine, or a workload to let a node go; doubled with each
/// further failure.
const BACKOFF: Millis = Millis::secs(1);
/// Where that doubling ends: a machine costs money for as long as it is there, so it is asked about at least
/// once a minute.
const BACKOFF_MAX: Millis = Millis::secs(60);

/// Drains within this time before the present one count as tries of one and the same wish.
const DRAIN_AGAIN_WITHIN: Millis = Millis::secs(600);

/// The effect that this record calls for, if any.
pub fn due_effect(instance: &Instance) -> Option<Effect> {
    let act = match instance.state() {
        State::Requested => Act::Launch { token: instance.token(), attempt: instance.attempt() },
        State::Installing { cloud } => Act::Install { cloud: cloud.clone() },
        State::DrainRequested { node, cause, deadline, .. } => {
            Act::Drain { node: node.clone(), cause: *cause, deadline: *deadline }
        }
        State::UndrainRequested { node, .. } => Act::Undrain { node: node.clone() },
        State::Terminating { cloud, cause } => Act::Terminate { cloud: cloud.clone(), cause: *cause },
        State::Queued
        | State::Allocated { .. }
        | State::Running { .. }
        | State::Draining { .. }
        | State::Drained { .. }
        | State::Terminated { .. }
        | State::AllocationFailed { .. }
        | State::AllocationTimedOut { .. }
        | State::InstallFailed { .. }
        | State::TerminationFailed { .. } => return None,
    };
    Some(Effect {
        instance: instance.id().clone(),
        pool: instance.pool().clone(),
        epoch: instance.epoch(),
        not_before: instance.since() + backoff(instance),
        act,
    })
}

/// What was refused is not asked for in a tight loop.
fn backoff(instance: &Instance) -> Millis {
    use crate::state::StateName::{DrainRequested, Terminating, TerminationFailed, UndrainRequested};
    let since = instance.since();
    let refused = instance.history().iter().filter(|entered| match instance.state().name() {
        Terminating => entered.state == TerminationFailed,
        again @ (DrainRequested | UndrainRequested) => {
            entered.state == again && entered.at < since && since.since(entered.at) <= DRAIN_AGAIN_WITHIN
        }
        _ => false,
    });
    match refused.count() {
        0 => Millis(0),
        n => Millis(BACKOFF.0 << (n - 1).min(16)).min(BACKOFF_MAX),
    }
}
