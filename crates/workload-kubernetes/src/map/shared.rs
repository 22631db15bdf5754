//! What many pods have in common, once in memory.

use super::pod::PodFacts;
use ostler_model::NodeId;
use ostler_model::kube::{Owner, PodSpec};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What nobody has any more is looked for whenever so many have come.
const SWEEP_MIN: usize = 1024;

/// Things that were seen. A look goes over all pods, and is the quicker the less memory it goes over.
#[derive(Debug, Default)]
pub struct Shared {
    specs: Things<PodSpec>,
    owners: Things<Owner>,
    names: Things<str>,
}

/// Things of one kind.
#[derive(Debug)]
struct Things<T: ?Sized> {
    all: BTreeSet<Arc<T>>,
    sweep_at: usize,
}

impl<T: ?Sized> Default for Things<T> {
    fn default() -> Self {
        Self { all: BTreeSet::new(), sweep_at: SWEEP_MIN }
    }
}

impl<T: Ord + ?Sized> Things<T> {
    /// The same thing as one that is known already, if there is one.
    fn one(&mut self, thing: Arc<T>) -> Arc<T> {
        if let Some(known) = self.all.get(&thing) {
            return known.clone();
        }
        if self.all.len() >= self.sweep_at {
            self.all.retain(|thing| Arc::strong_count(thing) > 1);
            self.sweep_at = (self.all.len() * 2).max(SWEEP_MIN);
        }
        self.all.insert(thing.clone());
        thing
    }
}

impl Shared {
    /// The same pod, made of things that are known already as far as they are.
    pub fn pod(&mut self, pod: PodFacts) -> PodFacts {
        PodFacts {
            spec: self.specs.one(pod.spec),
            owner: pod.owner.map(|owner| self.owners.one(owner)),
            node: pod.node.map(|node| NodeId::new(self.names.one(node.as_str().into()))),
            ..pod
        }
    }
}
