//! Reasons as people read them.

use super::{HoldReason, Reason};
use core::fmt;
use ostler_model::{EndCause, LaunchCause};
use ostler_packing::kube::problem::{Keep as NodeStays, RemovalCause};
use ostler_packing::problem::{Fault, Keep, Unfit};

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wanted { cause } => write!(f, "wanted for {}", words(*cause)),
            Self::LaunchTurn => f.write_str("handed to the provider"),
            Self::LaunchHeld { why } | Self::WorkloadHeld { why } => write!(f, "waits: {why}"),
            Self::LaunchUnanswered { after, attempt } => {
                write!(f, "no machine after {after} (attempt {attempt}), asked again")
            }
            Self::LaunchVanished { attempt } => {
                write!(
                    f,
                    "the provider accepted it, and does not list its machine (attempt {attempt}), asked again"
                )
            }
            Self::LaunchGivenUp { attempts } => write!(f, "no machine after {attempts} attempts, given up"),
            Self::LaunchRefused { failure } => write!(f, "the provider refused: {failure}"),
            Self::PoolRests { .. } => {
                f.write_str("its machines end before or just after their node is up; it rests")
            }
            Self::MachineAppeared => f.write_str("the provider lists it"),
            Self::MachineAppearedLate => f.write_str("the provider lists a machine of an earlier attempt"),
            Self::MachineAdopted => f.write_str("the provider lists a machine of ours without a record"),
            Self::MachineVanished => f.write_str("the provider no longer lists it"),
            Self::InstallBegins => f.write_str("being prepared"),
            Self::InstallRefused { failure } => write!(f, "could not be prepared: {failure}"),
            Self::InstallOverdue { after } => write!(f, "not prepared after {after}"),
            Self::NodeJoined => f.write_str("its node joined"),
            Self::NodeReplaced => f.write_str("another node runs on its machine"),
            Self::NodeNeverJoined { after } => write!(f, "its node did not join within {after}"),
            Self::NodeDraining => f.write_str("the workload drains it"),
            Self::NodeDrained => f.write_str("all that was on its node has left"),
            Self::NodeBack => f.write_str("the workload took the drain back"),
            Self::DrainTakenBack => f.write_str("wanted again, its drain is taken back"),
            Self::DrainLeftOver => f.write_str("carries the mark of a drain that nobody wants"),
            Self::NodeDead => f.write_str("the workload says that its node is dead"),
            Self::NodeLost { after } => write!(f, "the workload has not listed its node for {after}"),
            Self::Removed { cause } => f.write_str(end_words(*cause)),
            Self::DrainRejected { message } => write!(f, "the workload keeps it: {message}"),
            Self::DrainFailed { failure } => write!(f, "the workload could not be asked: {failure}"),
            Self::DrainOverdue { after } => write!(f, "the workload did not act on the drain for {after}"),
            Self::MachineLeftOver => f.write_str("its node is gone"),
            Self::MachineOwnedByOther => f.write_str("another record owns its machine"),
            Self::TerminationRefused { failure } => write!(f, "the provider did not end it: {failure}"),
            Self::TerminationOverdue { after } => write!(f, "the provider did not end it within {after}"),
            Self::Stuck { state } => write!(f, "still {state}"),
            Self::BadRecord { fault } => write!(f, "{} {}", fault.record, fault_words(fault)),
            Self::Unreadable { record } => write!(f, "skipped: {record}"),
            Self::UnknownNodeStatus { node, status } => {
                write!(f, "node {node} has the unknown status {status}")
            }
            Self::PodIgnored { why } => f.write_str(why),
            Self::Infeasible { why } if why.is_empty() => f.write_str("there is no pool"),
            Self::Infeasible { why } => {
                for (n, (pool, unfit)) in why.iter().enumerate() {
                    write!(f, "{}{pool} {}", if n == 0 { "" } else { "; " }, Unfitness(unfit))?;
                }
                Ok(())
            }
            Self::Kept { why } => f.write_str(keep_words(*why)),
            Self::Would { what } => f.write_str(what),
            Self::NodeKept { why } => write!(f, "{}", NodeKeep(why)),
            Self::PoolGone => f.write_str(
                "it is not configured any more; its machines go once what is on them has another place",
            ),
            Self::ProviderHeld { provider, failure } => write!(f, "provider {provider}: {failure}"),
            Self::SessionChanged { session } => write!(f, "the control plane was replaced, now {session}"),
            Self::TargetAccepted { seq, amount, keep, delete } => {
                write!(f, "wish {seq}: {amount} workers, {keep} to keep, {delete} to go first")
            }
            Self::TargetClamped { amount, to, min, max } => {
                write!(f, "{amount} workers were asked for, {to} are aimed for (from {min} to {max})")
            }
            Self::KeepWins { amount, keep } => {
                write!(f, "{keep} workers must stay, {amount} were asked for")
            }
            Self::NamesUnknown { first, count } => {
                write!(f, "no worker is called {}", first.join(", "))?;
                match *count as usize - first.len().min(*count as usize) {
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }
            }
            Self::TargetRefused { amount, pool } => {
                write!(
                    f,
                    "{amount} workers were asked for: pool {pool} would shrink, whose provider cannot spare those that must stay"
                )
            }
            Self::TargetShort { missing } => {
                write!(f, "{missing} workers are wanted that no pool can give just now")
            }
            Self::TargetHeld { surplus } => write!(f, "{surplus} workers are too many and may not go"),
            Self::KeptUnready { after } => write!(f, "has not answered for {after}, and must stay"),
            Self::Illegal { message } => f.write_str(message),
        }
    }
}

impl fmt::Display for HoldReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConcurrentLaunches { limit } => {
                write!(f, "{limit} launches are under way, the most that may be")
            }
            Self::UpscalingSpeed { allowed } => write!(f, "its pool grows by at most {allowed} at a time"),
            Self::RoomTaken => f.write_str("machines on their way out still take the room"),
            Self::BackingOff { .. } => f.write_str("the provider refused its pool a moment ago"),
            Self::ProviderUnseen => f.write_str("its provider cannot be listed"),
            Self::Unobserved { failure: Some(failure) } => {
                write!(f, "the workload cannot be observed: {failure}")
            }
            Self::Unobserved { failure: None } => f.write_str("the workload has not been observed yet"),
            Self::NoHead => f.write_str("the workload has no head that is up"),
            Self::Shadow => f.write_str("only says what it would do"),
        }
    }
}

/// Puts an [`Unfit`] into words.
struct Unfitness<'a>(&'a Unfit);

impl fmt::Display for Unfitness<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Unfit::TooLarge { resource, asked, has } => {
                write!(f, "is too small ({resource}: asks {asked}, a machine has {has})")
            }
            Unfit::TakenByDaemons { resource, asked, has, taken, daemons } => {
                write!(f, "is too small ({resource}: asks {asked}, a machine has {has}, ")?;
                write!(f, "DaemonSets take {taken}: {daemons})")
            }
            Unfit::Labels => f.write_str("has none of the labels"),
            Unfit::PoolAtMax { max } => write!(f, "is at its maximum of {max}"),
            Unfit::TotalAtMax { max } => write!(f, "would exceed the maximum of {max} machines in all"),
            Unfit::BackingOff => f.write_str("was refused by its provider a moment ago"),
            Unfit::Strategy => f.write_str("cannot hold the parts as the strategy wants"),
            Unfit::HeadPool => f.write_str("is the head's and gives no workers"),
            Unfit::GroupAtMax { max } => write!(f, "is of a group at its maximum of {max}"),
            Unfit::NoRoom { resource, asked, free } => {
                write!(f, "has too little left ({resource}: asks {asked}, free {free})")
            }
            Unfit::Unschedulable => f.write_str("is cordoned"),
            Unfit::Taint { taint } => write!(f, "has the taint {taint}"),
            Unfit::NodeSelector { label } if label.is_empty() => {
                f.write_str("is not what the node affinity asks for")
            }
            Unfit::NodeSelector { label } => write!(f, "lacks the label {label} as it is asked for"),
            Unfit::Port { port } => write!(f, "has port {port} taken"),
            Unfit::Affinity { topology } => {
                write!(f, "is not with the pods that it must be with ({topology})")
            }
            Unfit::AntiAffinity { topology } => {
                write!(f, "is with pods that it must not be with ({topology})")
            }
            Unfit::Spread { topology } => write!(f, "would make the spread over {topology} too uneven"),
            Unfit::VolumePlace { volume } => write!(f, "cannot reach the volume {volume}"),
            Unfit::VolumeLimit { driver } => write!(f, "can attach no more volumes of {driver}"),
            Unfit::VolumeInUse { volume } => write!(f, "cannot share the volume {volume}"),
            Unfit::VolumeMissing { what } => write!(f, "waits for a volume: {what}"),
            Unfit::Feature { feature } => write!(f, "does not declare {feature}"),
            Unfit::CannotJudge { what } => write!(f, "cannot be judged: {what}"),
        }
    }
}

/// Puts what keeps a node into words.
struct NodeKeep<'a>(&'a NodeStays);

impl fmt::Display for NodeKeep<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            NodeStays::NotOurs => "not ours",
            NodeStays::Coming => "on its way",
            NodeStays::Leaving => "already on its way out",
            NodeStays::NeededByPending => "waiting pods have their place here",
            NodeStays::Headroom => "room that is to be kept free is here",
            NodeStays::Min => "its pool would fall below its minimum",
            NodeStays::Used { percent } => return write!(f, "used at {percent} %"),
            NodeStays::NoPlace { pod } => return write!(f, "pod {pod} has no place elsewhere"),
            NodeStays::Due { cause, pod } => {
                return write!(f, "{}, but pod {pod} has no place elsewhere", due_words(*cause));
            }
            NodeStays::Blocked { pod, by } => return write!(f, "pod {pod} may not be moved ({by})"),
            NodeStays::NotLongEnough => "unneeded, but not for long enough",
            NodeStays::Quiet => "a node came or could not be drained a short while ago",
            NodeStays::PendingPods => "a pod waits that a node could take",
            NodeStays::DrainBudget => "as many nodes as may be are on their way out",
            NodeStays::Held => "an annotation says that it stays",
            NodeStays::DrainFailed => "it could not be drained a short while ago",
            NodeStays::Unseen => "its pool cannot be seen",
            NodeStays::Off => "removing nodes is switched off",
            NodeStays::Replacing => "it replaces others that have not gone yet",
            NodeStays::ReplacementComing => "it goes once the machine is up that takes what is on it",
            NodeStays::NotLookedAt => "a later plan looks at it: this one had enough to do",
            NodeStays::CannotJudge { what } => return write!(f, "cannot be judged: {what}"),
        })
    }
}

const fn due_words(cause: RemovalCause) -> &'static str {
    match cause {
        RemovalCause::PoolGone => "its pool is not configured any more",
        RemovalCause::MaxPerPool => end_words(EndCause::MaxPerPool),
        RemovalCause::MaxTotal => end_words(EndCause::MaxTotal),
        _ => end_words(EndCause::Outdated),
    }
}

const fn words(cause: LaunchCause) -> &'static str {
    match cause {
        LaunchCause::Min => "the pool's minimum",
        LaunchCause::Floor => "a standing request for capacity",
        LaunchCause::Gang => "requests that are placed as a whole",
        LaunchCause::Demand => "waiting requests",
        LaunchCause::Target => "the number of workers that was asked for",
        LaunchCause::Headroom => "room that is to be kept free",
        LaunchCause::Replacement => "a cheaper machine in the place of others",
    }
}

const fn end_words(cause: EndCause) -> &'static str {
    match cause {
        EndCause::Outdated => "made from an older configuration",
        EndCause::MaxPerPool => "its pool is over its maximum",
        EndCause::MaxTotal => "all pools together are over the maximum",
        EndCause::Idle => "idle for longer than the timeout, and nothing needs it",
        EndCause::PendingIdle => "on its way, and nothing has needed it for long",
        EndCause::PoolRefused => "its pool was refused, the demand goes elsewhere",
        EndCause::NodeDead => "its node is dead",
        EndCause::NodeLost => "its node is lost",
        EndCause::NodeDraining => "the workload drained it",
        EndCause::NeverJoined => "its node never joined",
        EndCause::InstallFailed => "it could not be prepared",
        EndCause::Vanished => "its machine vanished",
        EndCause::Replaced => "another node runs on its machine",
        EndCause::Asked => "it was named as one that should go",
        EndCause::Surplus => "there are more workers than were asked for",
        EndCause::Underused => "little used, and all on it has a place elsewhere",
        EndCause::Consolidated => "cheaper machines take its place",
        EndCause::Unready => "not ready for too long",
    }
}

const fn keep_words(keep: Keep) -> &'static str {
    match keep {
        Keep::Head => "it is the head",
        Keep::Busy => "something runs on it",
        Keep::NeededByDemand => "waiting demand has its place here",
        Keep::NeededByFloor => "a standing request has its place here",
        Keep::Min => "its pool would fall below its minimum",
        Keep::NotIdleLongEnough => "idle, but not for long enough",
        Keep::NoTimeout => "no idle timeout is set",
        Keep::Coming => "on its way",
        Keep::Protected => "protected, or not ours to judge",
        Keep::Kept => "whoever asked for workers wants this one kept",
        Keep::Counted => "one of the number of workers that is aimed for",
        Keep::Leaving => "already on its way out",
    }
}

const fn fault_words(fault: &Fault) -> &'static str {
    use ostler_packing::problem::FaultKind as F;
    match fault.kind {
        F::UnknownPool => "belongs to a pool that the configuration no longer has",
        F::AvailableAboveTotal => "reports more free than there is; taken as all free",
        F::NegativeAmount => "reports an amount below zero; taken as zero",
        F::NoNode => "is recorded as running, and the workload has no such node",
        F::MinAboveMax => "has minimums that together exceed the maximum over all pools",
        F::Empty => "asks for nothing",
        F::Contradiction => "asks for what cannot be at once",
    }
}
