//! Why: every launch, removal, refusal and wait has one of these, with a stable code.

mod words;

use alloc::string::String;
use ostler_lifecycle::StateName;
use ostler_model::{EndCause, Failure, InstanceId, LaunchCause, Millis, PoolId, Timestamp};
use ostler_packing::kube::problem::Keep as NodeStays;
use ostler_packing::problem::{Fault, Keep, Unfit};
use serde::{Deserialize, Serialize};

/// Why something was done, refused, or left waiting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum Reason {
    /// A new machine is wanted.
    Wanted {
        /// What for.
        cause: LaunchCause,
    },
    /// A queued launch was let through.
    LaunchTurn,
    /// A queued launch waits.
    LaunchHeld {
        /// What for.
        why: HoldReason,
    },
    /// The provider did not answer; the launch is asked again.
    LaunchUnanswered {
        /// How long it took.
        after: Millis,
        /// How often it has been asked.
        attempt: u32,
    },
    /// The provider accepted the launch and does not list the machine; the launch is asked again.
    LaunchVanished {
        /// How often it has been asked.
        attempt: u32,
    },
    /// The provider did not answer as often as it may; given up.
    LaunchGivenUp {
        /// How often it was asked.
        attempts: u32,
    },
    /// The provider refused the launch.
    LaunchRefused {
        /// What it said.
        failure: Failure,
    },
    /// Machines of the pool end before their node is up, or just after; it is left alone for a while.
    PoolRests {
        /// Until then.
        until: Timestamp,
    },
    /// The provider lists the machine that was asked for.
    MachineAppeared,
    /// The provider lists a machine that an earlier attempt asked for.
    MachineAppearedLate,
    /// The provider lists a machine of ours without a record; it has one now.
    MachineAdopted,
    /// The provider no longer lists the machine.
    MachineVanished,
    /// Preparing the machine begins.
    InstallBegins,
    /// The machine could not be prepared.
    InstallRefused {
        /// What went wrong.
        failure: Failure,
    },
    /// Preparing the machine took too long.
    InstallOverdue {
        /// How long.
        after: Millis,
    },
    /// The node joined the workload.
    NodeJoined,
    /// Another node runs on the machine of this one.
    NodeReplaced,
    /// The node did not join in time.
    NodeNeverJoined {
        /// How long it had.
        after: Millis,
    },
    /// The workload drains the node.
    NodeDraining,
    /// All that was on the node has left.
    NodeDrained,
    /// The workload took the drain back.
    NodeBack,
    /// The node is wanted again: its drain is to be taken back.
    DrainTakenBack,
    /// The node carries the mark of a drain that no record wants.
    DrainLeftOver,
    /// The workload says that the node is dead.
    NodeDead,
    /// The workload no longer lists the node.
    NodeLost {
        /// For how long it has not.
        after: Millis,
    },
    /// A machine is removed.
    Removed {
        /// Why.
        cause: EndCause,
    },
    /// The workload refused to let the node go.
    DrainRejected {
        /// What it said.
        message: String,
    },
    /// The workload could not be asked to let the node go.
    DrainFailed {
        /// What went wrong.
        failure: Failure,
    },
    /// The workload did nothing about the drain.
    DrainOverdue {
        /// For how long.
        after: Millis,
    },
    /// The node is gone, so its machine goes.
    MachineLeftOver,
    /// Another record owns the machine of this one.
    MachineOwnedByOther,
    /// The provider did not end the machine; it is asked again.
    TerminationRefused {
        /// What it said.
        failure: Failure,
    },
    /// The provider has not ended the machine in time; it is asked again.
    TerminationOverdue {
        /// How long it had.
        after: Millis,
    },
    /// A record has not moved on for long.
    Stuck {
        /// Where it is.
        state: StateName,
    },
    /// A record was left aside, or used with a correction.
    BadRecord {
        /// Which, and what is wrong.
        fault: Fault,
    },
    /// A record of an observation could not be understood.
    Unreadable {
        /// What it was.
        record: String,
    },
    /// A node has a status that we do not know.
    UnknownNodeStatus {
        /// Which node.
        node: String,
        /// The number of the status.
        status: i32,
    },
    /// Demand that no pool can take.
    Infeasible {
        /// Pool by pool.
        why: alloc::vec::Vec<(PoolId, Unfit)>,
    },
    /// A pod waits for something else than room, or for somebody else.
    PodIgnored {
        /// What it says.
        why: String,
    },
    /// A machine stays.
    Kept {
        /// Why.
        why: Keep,
    },
    /// A node of a Kubernetes cluster stays.
    NodeKept {
        /// Why.
        why: NodeStays,
    },
    /// A pool has machines and has left the configuration.
    PoolGone,
    /// What would be done, were it not that nothing may be.
    Would {
        /// What.
        what: String,
    },
    /// Nothing is decided for the workload.
    WorkloadHeld {
        /// Why not.
        why: HoldReason,
    },
    /// Nothing is decided for a provider's pools.
    ProviderHeld {
        /// Which provider.
        provider: String,
        /// What is wrong with it.
        failure: Failure,
    },
    /// The workload's control plane was replaced.
    SessionChanged {
        /// The new one.
        session: String,
    },
    /// A number of workers was asked for.
    TargetAccepted {
        /// Counts the wishes that were accepted.
        seq: u64,
        /// Workers in all.
        amount: u32,
        /// Workers that must stay.
        keep: u32,
        /// Workers that go first.
        delete: u32,
    },
    /// A wish was outside of the bounds.
    TargetClamped {
        /// What was asked for.
        amount: u32,
        /// What is aimed for.
        to: u32,
        /// The fewest.
        min: u32,
        /// The most.
        max: u32,
    },
    /// More workers must stay than were asked for.
    KeepWins {
        /// What was asked for, within the bounds.
        amount: u32,
        /// Workers that must stay.
        keep: u32,
    },
    /// Names that no worker has, or none any longer.
    NamesUnknown {
        /// The first few.
        first: alloc::vec::Vec<String>,
        /// How many in all.
        count: u32,
    },
    /// A wish was refused: the provider decides itself which machine ends, and some must stay.
    TargetRefused {
        /// What was asked for.
        amount: u32,
        /// The pool that would have to shrink.
        pool: PoolId,
    },
    /// Workers are wanted that no pool can give just now.
    TargetShort {
        /// How many.
        missing: u32,
    },
    /// Workers are too many and may not go.
    TargetHeld {
        /// How many.
        surplus: u32,
    },
    /// A worker does not answer, and must stay.
    KeptUnready {
        /// For how long it has not.
        after: Millis,
    },
    /// An event did not fit its record; a fault in Ostler that cost this record only.
    Illegal {
        /// What was tried.
        message: String,
    },
}

/// What something waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "hold")]
pub enum HoldReason {
    /// As many launches are under way as may be.
    ConcurrentLaunches {
        /// The bound.
        limit: u32,
    },
    /// The pool grows at its speed.
    UpscalingSpeed {
        /// Launches of the pool that may be under way.
        allowed: u64,
    },
    /// Machines on their way out still take the room.
    RoomTaken,
    /// The provider refused a moment ago.
    BackingOff {
        /// Until then.
        until: Timestamp,
    },
    /// The provider could not be listed.
    ProviderUnseen,
    /// The workload could not be observed.
    Unobserved {
        /// What is wrong, `None` before the first look.
        failure: Option<Failure>,
    },
    /// The workload has no head that is up.
    NoHead,
    /// It only says what it would do.
    Shadow,
}

/// What a code means, for the reference page and for `explain`.
#[derive(Debug, Clone, Copy)]
pub struct ReasonDoc {
    /// The stable code.
    pub code: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// What to do about it; empty if nothing needs doing.
    pub advice: &'static str,
}

macro_rules! reasons {
    ($($pattern:pat => $code:literal, $meaning:literal, $advice:literal;)*) => {
        /// Every code with its meaning, in the order of a life.
        pub const REASONS: &[ReasonDoc] =
            &[$(ReasonDoc { code: $code, meaning: $meaning, advice: $advice }),*];

        impl Reason {
            /// The stable code.
            pub const fn code(&self) -> &'static str {
                use LaunchCause as L;
                use EndCause as E;
                use HoldReason as H;
                match self { $($pattern => $code),* }
            }
        }
    };
}

reasons! {
    Self::Wanted { cause: L::Min } => "launch_min", "A machine was wanted so that its pool has its minimum.", "";
    Self::Wanted { cause: L::Floor } => "launch_floor", "A machine was wanted for a standing request for capacity (Ray: request_resources).", "";
    Self::Wanted { cause: L::Gang } => "launch_gang", "A machine was wanted for requests that are placed as a whole (Ray: a placement group).", "";
    Self::Wanted { cause: L::Demand } => "launch_demand", "A machine was wanted for waiting requests (Ray: tasks and actors).", "";
    Self::Wanted { cause: L::Target } => "launch_target", "A machine was wanted for the number of workers that was asked for (Polars: amount).", "";
    Self::Wanted { cause: L::Headroom } => "launch_headroom", "A machine was wanted so that room is kept free.", "";
    Self::Wanted { cause: L::Replacement } => "launch_replacement", "A cheaper machine was wanted in the place of others, which go once it is there.", "";
    Self::LaunchTurn => "launch_turn", "A queued launch was handed to the provider.", "";
    Self::LaunchHeld { why: H::ConcurrentLaunches { .. } } => "held_concurrent", "A launch waits, since as many are under way as may be.", "Raise max_concurrent_launches if the provider can take more.";
    Self::LaunchHeld { why: H::UpscalingSpeed { .. } } => "held_speed", "A launch waits, since its pool grows at the speed that is set.", "Raise upscaling_speed to grow faster.";
    Self::LaunchHeld { why: H::RoomTaken } => "held_room", "A launch waits until machines on their way out are gone: bounds hold for machines that exist.", "";
    Self::LaunchHeld { why: H::BackingOff { .. } } => "held_backoff", "A launch waits, since the provider refused its pool a moment ago.", "See the pool's last refusal.";
    Self::LaunchHeld { .. } => "held_provider", "A launch waits, since its provider cannot be listed.", "See the provider's failure.";
    Self::LaunchUnanswered { .. } => "launch_unanswered", "The provider showed no machine in time; the launch is asked again as a new attempt.", "";
    Self::LaunchVanished { .. } => "launch_vanished", "The provider accepted the launch and does not list its machine, as if that had ended at once; the launch is asked again as a new attempt.", "Find out what ends new machines: the provider's log, or somebody who deletes them.";
    Self::LaunchGivenUp { .. } => "launch_given_up", "The provider showed no machine, as often as it may be asked.", "Look at the provider; a machine that comes late will be adopted.";
    Self::LaunchRefused { .. } => "launch_refused", "The provider refused the launch; the demand goes elsewhere while the pool backs off.", "The provider's message says why: capacity, quota, rights.";
    Self::PoolRests { .. } => "pool_rests", "Machines of the pool end before their node is up, or as soon as it is; the pool rests, twice as long each time, and the demand goes elsewhere.", "Look at the log of such a machine: a wrong command, a wrong version, no memory.";
    Self::MachineAppeared => "machine_appeared", "The provider lists the machine that was asked for.", "";
    Self::MachineAppearedLate => "machine_appeared_late", "The provider lists a machine that an earlier attempt asked for; it is used.", "";
    Self::MachineAdopted => "machine_adopted", "The provider lists a machine with our tags that had no record; it has one now.", "";
    Self::MachineVanished => "machine_vanished", "The provider no longer lists the machine.", "If nobody removed it, look at the provider: it may have been reclaimed or have failed.";
    Self::InstallBegins => "install_begins", "The machine is up and is being prepared.", "";
    Self::InstallRefused { .. } => "install_failed", "The machine could not be prepared; it ends.", "The message says why.";
    Self::InstallOverdue { .. } => "install_overdue", "Preparing the machine took too long; it ends.", "Raise the install timeout, or make the set-up shorter.";
    Self::NodeJoined => "node_joined", "The workload sees the machine's node.", "";
    Self::NodeReplaced => "node_replaced", "A new node runs on the machine; it has a record of its own.", "";
    Self::NodeNeverJoined { .. } => "node_never_joined", "The machine came and its node did not; it ends.", "Look at the machine's log: wrong address, wrong version, a crash at start.";
    Self::NodeDraining => "node_draining", "The workload takes no more work onto the node.", "";
    Self::NodeDrained => "node_drained", "All that was on the node has left; its machine ends.", "";
    Self::NodeBack => "node_back", "The workload took the drain back: something on the node could not leave in time, or must not.", "The workload's events name the pod or the budget.";
    Self::DrainTakenBack => "drain_taken_back", "The node is wanted again, or what is on it has no place elsewhere any more: its drain is taken back.", "";
    Self::DrainLeftOver => "drain_left_over", "The node carried the mark of a drain that no record wants; the mark is removed.", "";
    Self::NodeDead => "node_dead", "The workload says that the node is dead; its machine ends.", "";
    Self::NodeLost { .. } => "node_lost", "The workload no longer lists the node; its machine ends.", "";
    Self::Removed { cause: E::Idle } => "removed_idle", "The node was idle for longer than its timeout and nothing needs it.", "";
    Self::Removed { cause: E::MaxPerPool } => "removed_max_per_pool", "The pool has more machines than its maximum.", "";
    Self::Removed { cause: E::MaxTotal } => "removed_max_total", "All pools together have more machines than the maximum.", "";
    Self::Removed { cause: E::Outdated } => "removed_outdated", "The machine was made from an older configuration.", "";
    Self::Removed { cause: E::PendingIdle } => "removed_pending_idle", "The machine was on its way and nothing has needed it for long.", "";
    Self::Removed { cause: E::PoolRefused } => "removed_pool_refused", "A queued launch was withdrawn, since its pool was refused; the demand goes elsewhere.", "";
    Self::Removed { cause: E::Surplus } => "removed_surplus", "There were more workers than were asked for.", "";
    Self::Removed { cause: E::Asked } => "removed_asked", "The worker was named as one that should go.", "";
    Self::Removed { cause: E::Underused } => "removed_underused", "The node was little used, and all on it has a place elsewhere.", "";
    Self::Removed { cause: E::Consolidated } => "removed_consolidated", "Cheaper machines take the node's place.", "";
    Self::Removed { cause: E::Unready } => "removed_unready", "The node was not ready for too long.", "";
    Self::Removed { .. } => "removed", "The machine was to be ended.", "";
    Self::DrainRejected { .. } => "drain_rejected", "The workload refused to let the node go, since it is in use again; it stays.", "";
    Self::DrainFailed { .. } => "drain_failed", "The workload could not be asked to let the node go; it stays.", "";
    Self::DrainOverdue { .. } => "drain_overdue", "The workload did nothing about the drain; the node stays.", "";
    Self::MachineLeftOver => "machine_left_over", "The node is gone, so its machine ends.", "";
    Self::MachineOwnedByOther => "machine_owned_by_other", "The record is closed, since another record owns its machine.", "";
    Self::TerminationRefused { .. } => "termination_refused", "The provider did not end the machine; it is asked again, ever more slowly.", "The machine still costs money: look at the provider.";
    Self::TerminationOverdue { .. } => "termination_overdue", "The provider has not ended the machine in time; it is asked again.", "The machine still costs money: look at the provider.";
    Self::Stuck { .. } => "stuck", "A record has not moved on for long.", "Look at the provider and the workload.";
    Self::BadRecord { .. } => "bad_record", "A record is wrong and was left aside or corrected; everything else was decided.", "The fault names the record.";
    Self::Unreadable { .. } => "unreadable", "A record of an observation could not be understood and was skipped.", "";
    Self::UnknownNodeStatus { .. } => "unknown_node_status", "A node has a status that this version does not know; the node is left alone.", "Is the workload newer than Ostler?";
    Self::Infeasible { .. } => "infeasible", "No pool can take this demand.", "The list says why for each pool: add a pool, raise a maximum, or ask for less.";
    Self::PodIgnored { .. } => "pod_ignored", "The pod brings no node.", "";
    Self::Kept { .. } => "kept", "The machine stays.", "";
    Self::NodeKept { .. } => "node_kept", "The node stays; the words say why.", "";
    Self::PoolGone => "pool_gone", "A pool has left the configuration while it has machines: they go once what is on them has another place.", "If they are to stay, put the pool back.";
    Self::Would { .. } => "would", "What Ostler would do, were it not in shadow.", "";
    Self::WorkloadHeld { why: H::Shadow } => "shadow", "Nothing is done: Ostler only says what it would do.", "Take `shadow` out of the configuration to let it act.";
    Self::WorkloadHeld { why: H::NoHead } => "held_no_head", "Nothing is launched or removed while the workload has no head.", "Start the head.";
    Self::WorkloadHeld { .. } => "held_unobserved", "Nothing is decided for the workload while it cannot be observed.", "Is it up, is the address right, is the token right?";
    Self::ProviderHeld { .. } => "held_provider_failure", "Nothing is decided for the provider's pools while it cannot be listed.", "The message says why.";
    Self::SessionChanged { .. } => "session_changed", "The workload's control plane was replaced.", "";
    Self::TargetAccepted { .. } => "target_accepted", "A number of workers was asked for and accepted; it holds until the next one.", "";
    Self::TargetClamped { .. } => "target_clamped", "The number that was asked for is outside of the bounds; the nearest bound is aimed for.", "Change the pool's min or max to go further.";
    Self::KeepWins { .. } => "target_keep_wins", "More workers must stay than were asked for; those stay.", "";
    Self::NamesUnknown { .. } => "target_names_unknown", "Workers were named that are not there, or no longer; those names mean nothing.", "";
    Self::TargetRefused { .. } => "target_refused", "Fewer workers were asked for while some must stay, of a provider that decides itself which machine ends; nothing was changed.", "Use a provider that can choose, or wait until no query runs.";
    Self::TargetShort { .. } => "target_short", "Workers are wanted that no pool can give just now.", "See the pools' last refusals.";
    Self::TargetHeld { .. } => "target_held", "There are more workers than were asked for, and the rest may not go: they are protected, or cannot be seen.", "";
    Self::KeptUnready { .. } => "kept_unready", "A worker does not answer its probe, or its node is not ready, and it stays since it is protected, or pods are on it.", "Is the probe right? The one who asks says that a query runs there.";
    Self::Illegal { .. } => "illegal", "An event did not fit its record, which was left as it is. This is a fault in Ostler.", "Please report it with the recording.";
}

/// Names that a note lists; the rest are counted.
const NAMES_SHOWN: usize = 5;
/// Bytes of a name that a note shows: names come from outside.
const NAME_SHOWN: usize = 64;

impl Reason {
    pub(crate) fn names_unknown(names: &[InstanceId]) -> Self {
        let short = |name: &InstanceId| {
            let text = name.as_str();
            String::from(&text[..text.floor_char_boundary(NAME_SHOWN)])
        };
        Self::NamesUnknown {
            first: names.iter().take(NAMES_SHOWN).map(short).collect(),
            count: u32::try_from(names.len()).unwrap_or(u32::MAX),
        }
    }
}
