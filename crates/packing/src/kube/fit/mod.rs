//! The judge: does this pod fit on that node? One file for each filter of kube-scheduler, asked in its order; the
//! first that says no is the reason. `docs/kubernetes-filters.md` says how agreement is measured and what is not
//! covered.

mod affinity;
mod explain;
pub mod node_affinity;
mod ports;
mod resources;
mod spread;
pub mod taints;
mod volumes;

use super::ledger::{Kind, Ledger, Node, NodeIx};
use crate::problem::Unfit;
use ostler_model::kube::{Filter, PodSpec};

/// What one judgement looks at.
#[derive(Clone, Copy)]
struct Question<'q, 'a> {
    ledger: &'q Ledger<'a>,
    spec: &'a PodSpec,
    number: u32,
    kind: &'q Kind,
    node: &'q Node<'a>,
    at: NodeIx,
    /// Take the pods as placed that are nominated to the node and not of a lower priority.
    with_nominated: bool,
}

/// Why not, in numbers: places in lists of the spec or the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum No {
    UnknownSpec,
    UnknownNode,
    Unjudged,
    VolumeMissing(usize),
    Unschedulable,
    Taint,
    NodeAffinity,
    Port(u16),
    Resource(usize),
    VolumeInUse(usize),
    VolumeLimit(usize),
    VolumePlace(usize),
    Spread(usize),
    Affinity(usize),
    /// The label of the place, by its number.
    AntiAffinity(u32),
    Feature,
}

type Verdict = Result<(), No>;

impl<'a> Ledger<'a> {
    /// Does such a pod fit on the node, and if not, why? The first filter of the scheduler that says no, in the order
    /// of its profile. Costs what the pod's terms cost; allocates only to say why not.
    pub fn fit(&self, spec: u32, node: NodeIx) -> Result<(), Unfit> {
        self.judge(spec, node).map_err(|no| explain::unfit(self, spec, node, no))
    }

    /// [`Self::fit`] without the reason; allocates nothing.
    pub fn fits(&self, spec: u32, node: NodeIx) -> bool {
        self.judge(spec, node).is_ok()
    }

    /// Do the node's labels, taints, cordon and features allow such a pod, whatever runs on it? Answers are kept for
    /// each kind of pod and class of nodes.
    pub fn static_fit(&self, spec: u32, node: NodeIx) -> bool {
        self.question(spec, node).is_ok_and(|question| {
            question.spec.unjudged.is_none()
                && question.first_statics().is_ok()
                && question.last_statics().is_ok()
        })
    }

    /// Why [`Self::static_fit`] says no.
    pub fn static_unfit(&self, spec: u32, node: NodeIx) -> Option<Unfit> {
        let asked = self.question(spec, node).and_then(|question| {
            question.judged()?;
            question.first_statics()?;
            question.last_statics()
        });
        asked.err().map(|no| explain::unfit(self, spec, node, no))
    }

    fn question(&self, number: u32, at: NodeIx) -> Result<Question<'_, 'a>, No> {
        let (Some(spec), Some(kind)) = (self.spec(number), self.kind(number)) else {
            return Err(No::UnknownSpec);
        };
        let node = self.at(at).ok_or(No::UnknownNode)?;
        Ok(Question { ledger: self, spec, number, kind, node, at, with_nominated: false })
    }

    /// With pods that are nominated to the node it must fit, and without them too: they may never come, and it may
    /// need one of them.
    fn judge(&self, spec: u32, node: NodeIx) -> Verdict {
        let question = self.question(spec, node)?;
        if question.node.awaited > 0 {
            Question { with_nominated: true, ..question }.filters()?;
        }
        question.filters()
    }
}

impl<'q> Question<'q, '_> {
    fn filters(&self) -> Verdict {
        self.judged()?;
        volumes::all_there(self)?;
        self.first_statics()?;
        if self.on(Filter::NodePorts) {
            ports::free(self)?;
        }
        if self.on(Filter::NodeResourcesFit) {
            resources::fit(self)?;
        }
        if self.on(Filter::VolumeRestrictions) {
            volumes::not_in_use(self)?;
        }
        if self.on(Filter::NodeVolumeLimits) {
            volumes::within_limits(self)?;
        }
        volumes::in_place(self)?;
        if self.on(Filter::PodTopologySpread) {
            spread::even(self)?;
        }
        if self.on(Filter::InterPodAffinity) {
            affinity::respected(self)?;
        }
        self.last_statics()
    }

    fn judged(&self) -> Verdict {
        if self.spec.unjudged.is_some() { Err(No::Unjudged) } else { Ok(()) }
    }

    /// NodeUnschedulable, TaintToleration and NodeAffinity, which come before what changes.
    fn first_statics(&self) -> Verdict {
        let facts = self.ledger.statics.facts(self.kind.group, self.node);
        if self.on(Filter::NodeUnschedulable) && !facts.cordon() {
            return Err(No::Unschedulable);
        }
        if self.on(Filter::TaintToleration) && !facts.taints() {
            return Err(No::Taint);
        }
        if self.on(Filter::NodeAffinity) && !facts.affinity() {
            return Err(No::NodeAffinity);
        }
        Ok(())
    }

    /// NodeDeclaredFeatures, which comes last.
    fn last_statics(&self) -> Verdict {
        let facts = self.ledger.statics.facts(self.kind.group, self.node);
        if self.on(Filter::NodeDeclaredFeatures) && !facts.features() { Err(No::Feature) } else { Ok(()) }
    }

    fn on(&self, filter: Filter) -> bool {
        self.ledger.on(filter)
    }

    /// Kinds of pods to be taken as placed here.
    fn nominated(&self) -> impl Iterator<Item = (u32, &'q Kind)> + use<'q, '_> {
        let ledger = self.ledger;
        let list = if self.with_nominated { ledger.nominations() } else { &[] };
        let (at, priority) = (self.at, self.spec.priority);
        list.iter()
            .filter(move |one| one.active && one.node == at)
            .filter(move |one| ledger.spec(one.spec).is_some_and(|spec| spec.priority >= priority))
            .filter_map(move |one| Some((one.spec, ledger.kind(one.spec)?)))
    }
}
